"""Views: what readers see of a run. Immutable, so that no reader needs a lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tbcore.kinds import Claim, Kind, matches
from tbcore.store.series import Series, SeriesBlock

ClaimsKey = tuple[Claim, ...]

_MAX_CACHED_CLAIMS = 64
"""Answers kept for each run; there are about as many claims as plugins."""
_MAX_BLOCKS = 64
"""Of runs that take what follows as another table; most have a few."""


class FileRef(NamedTuple):
    """An event file that references point into."""

    path: str
    device: int
    """-1, as the inode, as long as the file was never opened."""
    inode: int


class TagView:
    """All that is known of one tag of a run."""

    __slots__ = ("metadata", "num_rows", "series")

    def __init__(self, series: tuple[Series, ...], num_rows: int, metadata: bytes | None) -> None:
        self.series = series
        """At least one, in order of first appearance, each of another kind."""
        self.num_rows = num_rows
        """Rows ever written, dropped ones included: the ordinal of the next one."""
        self.metadata = metadata
        """The first SummaryMetadata of the tag, serialized."""

    def __reduce__(self) -> tuple[type[TagView], tuple[object, ...]]:
        """As of Series."""
        return TagView, (self.series, self.num_rows, self.metadata)


class LazyTagMap(Mapping[str, TagView]):
    """Tags of a run that has just begun; a series is materialized when somebody asks for it.

    A sweep has thousands of such runs, of which a page shows a few.
    """

    __slots__ = ("_blocks", "_materialized", "_schema")

    def __init__(
        self,
        schema: RunSchema,
        blocks: Sequence[SeriesBlock],
        materialized: Sequence[dict[str, TagView]] = (),
    ) -> None:
        self._schema = schema
        self._blocks = blocks
        """As many as the schema says."""
        self._materialized = [*materialized, *({} for _ in blocks[len(materialized) :])]
        """By block. Of each tag there is one series at most: who appends goes by its identity."""

    def __reduce__(self) -> tuple[type[LazyTagMap], tuple[object, ...]]:
        """As of Series; what was materialized is materialized again."""
        return LazyTagMap, (self._schema, self._blocks)

    def __getitem__(self, tag: str) -> TagView:
        entry = self._schema.entries[tag]
        materialized = self._materialized[entry.block]
        view = materialized.get(tag)
        if view is None:
            series = self._blocks[entry.block].series(entry.number, entry.kind)
            # Of two threads that make it the second takes what the first has materialized.
            view = materialized.setdefault(tag, TagView((series,), len(series), entry.metadata))
        return view

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema.entries)

    def __len__(self) -> int:
        return len(self._schema.entries)

    def kinds_by_tag(self) -> Iterator[tuple[str, tuple[Kind]]]:
        """As of RunView, without making any series."""
        for tag, entry in self._schema.entries.items():
            yield tag, (entry.kind,)

    def extended_schema(self, schema: RunSchema) -> RunSchema | None:
        """The schema of these tags and more; None where one of them is there already, or where
        there are so many blocks that it costs more than it spares to make a schema each time."""
        if len(self._blocks) > _MAX_BLOCKS:
            return None
        return self._schema.extended_by(schema, len(self._blocks))

    def extended(self, schema: RunSchema, blocks: Sequence[SeriesBlock]) -> LazyTagMap:
        """With the schema that `extended_schema` materialized, and the blocks of the new tags."""
        return LazyTagMap(schema, [*self._blocks, *blocks], self._materialized)


class SchemaEntry(NamedTuple):
    """Where a tag of a schema is."""

    block: int
    number: int
    """In the block."""
    kind: Kind
    metadata: bytes | None
    """As of TagView."""


class RunSchema:
    """Which tags runs begin with, and where they are: one object for all that are alike."""

    __slots__ = ("_extensions", "entries", "tag_index")

    def __init__(self, entries: Mapping[str, SchemaEntry]) -> None:
        self.entries = entries
        """By tag, in order of first appearance."""
        self.tag_index = TagIndex()
        """Of the runs as long as they have no other tags."""
        self._extensions: dict[RunSchema, RunSchema | None] = {}

    def __reduce__(self) -> tuple[type[RunSchema], tuple[object, ...]]:
        """Answers are found again."""
        return RunSchema, (self.entries,)

    def extended_by(self, other: RunSchema, num_blocks: int) -> RunSchema | None:
        """Of runs that go on with the other one, behind so many blocks; None where a tag is in
        both."""
        if other not in self._extensions:
            both = None
            if self.entries.keys().isdisjoint(other.entries):
                more = {
                    tag: entry._replace(block=num_blocks + entry.block)
                    for tag, entry in other.entries.items()
                }
                both = RunSchema({**self.entries, **more})
            if len(self._extensions) >= _MAX_CACHED_CLAIMS:
                self._extensions.clear()
            self._extensions[other] = both
        return self._extensions[other]


class TagIndex:
    """Stands for the tags of a run and their kinds: views with the same tag_index have the same.

    Holds answers that depend on these alone, so that rows which arrive cost none of them.
    """

    __slots__ = ("kinds", "tags")

    def __init__(self) -> None:
        self.tags: dict[ClaimsKey, list[str]] = {}
        self.kinds: frozenset[Kind] | None = None


@dataclass(frozen=True, slots=True)
class RunView:
    """One run as it was at a commit."""

    tags: Mapping[str, TagView] = field(default_factory=dict)
    """In order of first appearance."""
    files: tuple[FileRef, ...] = ()
    """A reference names its file by its entry in here."""
    first_event_time: float | None = None
    """Seconds since the epoch; None as long as there is no event."""
    last_event_time: float | None = None
    """Likewise, of the event of any kind that stands last in its file: the latest of all files."""
    nonfinite_tags: tuple[str, ...] = ()
    """Tags with a scalar that is NaN or infinite, in order of first appearance."""
    tag_index: TagIndex = field(default_factory=TagIndex)

    def tags_matching(self, claims: ClaimsKey) -> list[str]:
        """Tags with a series that one of the claims matches. Shared: not to be changed."""
        tags = self.tag_index.tags.get(claims)
        if tags is None:
            claimed = {kind for kind in self.kinds() if matches(claims, kind)}
            tags = []
            if claimed:
                tags = [
                    tag
                    for tag, kinds in self.kinds_by_tag()
                    if any(kind in claimed for kind in kinds)
                ]
            if len(self.tag_index.tags) >= _MAX_CACHED_CLAIMS:
                self.tag_index.tags = {}
            self.tag_index.tags[claims] = tags
        return tags

    def kinds(self) -> frozenset[Kind]:
        """Kinds of all series."""
        kinds = self.tag_index.kinds
        if kinds is None:
            kinds = frozenset(kind for _, kinds in self.kinds_by_tag() for kind in kinds)
            self.tag_index.kinds = kinds
        return kinds

    def kinds_by_tag(self) -> Iterator[tuple[str, tuple[Kind, ...]]]:
        """Each tag with the kinds of its series, in order of first appearance."""
        if isinstance(self.tags, LazyTagMap):
            yield from self.tags.kinds_by_tag()
            return
        for tag, view in self.tags.items():
            yield tag, tuple(series.kind for series in view.series)
