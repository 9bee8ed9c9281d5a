"""Views: immutable snapshots of runs. Requests read views only, and so need no lock.

A block is a `SeriesBlock`: several series of equal length in one stretch of memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tbcore.kinds import Claim, Kind, matches
from tbcore.store.series import Series, SeriesBlock

ClaimsKey = tuple[Claim, ...]

_MAX_CACHED_CLAIMS = 64
"""Maximum number of results that a TagIndex caches. Each plugin requests about one."""
_MAX_CACHED_EXTENSIONS = 64
"""Maximum number of extended schemas that a RunSchema caches."""
_MAX_BLOCKS = 64
"""Maximum number of blocks of a LazyTagMap that is extended; most maps have a few blocks."""


class FileRef(NamedTuple):
    """An event file of a run, as it was when it was last opened."""

    path: str
    version: str = ""
    """See EventFile. Empty before the file was opened for the first time."""


class TagView:
    """One tag of a run: its series, and what they share."""

    __slots__ = ("metadata", "num_rows", "series")

    def __init__(self, series: tuple[Series, ...], num_rows: int, metadata: bytes | None) -> None:
        self.series = series
        """At least one series, in order of first appearance. No two have the same kind."""
        self.num_rows = num_rows
        """Number of rows written so far, including dropped ones: the ordinal of the next row."""
        self.metadata = metadata
        """The first SummaryMetadata of the tag, serialized; None if there is none."""

    def __reduce__(self) -> tuple[type[TagView], tuple[object, ...]]:
        """Pickles the arguments of the constructor: several times as fast as the default."""
        return TagView, (self.series, self.num_rows, self.metadata)


class LazyTagMap(Mapping[str, TagView]):
    """Maps the tags of a run to their views, each of which is created on first access.

    Used for runs that consist of a few tables. A sweep has thousands of such runs, and a page
    shows a few of them.
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
        """The blocks that the entries of the schema refer to."""
        self._materialized = [*materialized, *({} for _ in blocks[len(materialized) :])]
        """For each block, a dict that maps tags to the views created so far. Extended maps share
        the dicts: no series may be created twice, since appending relies on its identity."""

    def __reduce__(self) -> tuple[type[LazyTagMap], tuple[object, ...]]:
        """Pickles the blocks alone. Views are created again on access."""
        return LazyTagMap, (self._schema, self._blocks)

    def __getitem__(self, tag: str) -> TagView:
        entry = self._schema.entries[tag]
        materialized = self._materialized[entry.block_index]
        view = materialized.get(tag)
        if view is None:
            series = self._blocks[entry.block_index].series(entry.series_index, entry.kind)
            # If two threads create the view at the same time, both use the view stored first.
            view = materialized.setdefault(tag, TagView((series,), len(series), entry.metadata))
        return view

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema.entries)

    def __len__(self) -> int:
        return len(self._schema.entries)

    def tags_and_kinds(self) -> Iterator[tuple[str, tuple[Kind]]]:
        """Yields each tag with the kind of its series. Creates no series."""
        for tag, entry in self._schema.entries.items():
            yield tag, (entry.kind,)

    def extended_schema(self, added: RunSchema) -> RunSchema | None:
        """The schema of this map's tags, followed by the tags of `added`.

        Returns None if a tag is in both schemas. Also returns None if this map has more than
        _MAX_BLOCKS blocks: then creating a schema costs more than it saves.
        """
        if len(self._blocks) > _MAX_BLOCKS:
            return None
        return self._schema.extended_by(added, len(self._blocks))

    def extended(self, schema: RunSchema, blocks: Sequence[SeriesBlock]) -> LazyTagMap:
        """A map of this map's tags, followed by new tags.

        `schema` is the result of `extended_schema`. `blocks` have the rows of the new tags.
        """
        return LazyTagMap(schema, [*self._blocks, *blocks], self._materialized)


class SchemaEntry(NamedTuple):
    """The kind of a tag's series, and where the series is."""

    block_index: int
    """Index of the block in the run's list of blocks."""
    series_index: int
    """Index of the series in the block."""
    kind: Kind
    metadata: bytes | None
    """The first SummaryMetadata of the tag, serialized; None if there is none."""


class RunSchema:
    """The tags of a LazyTagMap, and where their series are. Runs with equal tags share a schema."""

    __slots__ = ("_extensions", "entries", "tag_index")

    def __init__(self, entries: Mapping[str, SchemaEntry]) -> None:
        self.entries = entries
        """Maps each tag to its entry, in order of first appearance."""
        self.tag_index = TagIndex()
        """Shared by the views of all runs that have exactly the tags of this schema."""
        self._extensions: dict[RunSchema, RunSchema | None] = {}
        """Maps each schema that was passed to `extended_by` to the result."""

    def __reduce__(self) -> tuple[type[RunSchema], tuple[object, ...]]:
        """Pickles the entries alone. Cached results are computed again."""
        return RunSchema, (self.entries,)

    def extended_by(self, other: RunSchema, num_blocks: int) -> RunSchema | None:
        """The schema of runs that have the tags of this schema, followed by those of `other`.

        `num_blocks` is the number of blocks that this schema describes, so it is the same in every
        call; the blocks of `other` come after these blocks. Returns None if a tag is in both
        schemas.
        """
        if other not in self._extensions:
            extended = None
            if self.entries.keys().isdisjoint(other.entries):
                other_entries = {
                    tag: entry._replace(block_index=num_blocks + entry.block_index)
                    for tag, entry in other.entries.items()
                }
                extended = RunSchema({**self.entries, **other_entries})
            if len(self._extensions) >= _MAX_CACHED_EXTENSIONS:
                self._extensions.clear()
            self._extensions[other] = extended
        return self._extensions[other]


class TagIndex:
    """Cached results that depend only on a run's tags and their kinds.

    Views of runs with the same tags and kinds may share a TagIndex. A run gets a new TagIndex when
    a tag or a kind is added, and keeps the old one when only rows are added. So if two views of a
    run have the same TagIndex, their tags and kinds are the same.
    """

    __slots__ = ("kinds", "tags_by_claims")

    def __init__(self) -> None:
        self.tags_by_claims: dict[ClaimsKey, list[str]] = {}
        """Maps claims to the result of `RunView.tags_matching`."""
        self.kinds: frozenset[Kind] | None = None
        """The result of `RunView.kinds`; None before the first call."""


@dataclass(frozen=True, slots=True)
class RunView:
    """One run as it was at a commit."""

    tags: Mapping[str, TagView] = field(default_factory=dict)
    """Maps each tag to its view, in order of first appearance."""
    files: tuple[FileRef, ...] = ()
    """The run's files. A row of references has the index of its file in this tuple."""
    first_event_time: float | None = None
    """When the first event was written, in seconds since the epoch; None if there is no event."""
    last_event_time: float | None = None
    """When the last event was written, in seconds since the epoch; None if there is no event. For
    several files, this is the maximum over their last events."""
    nonfinite_tags: tuple[str, ...] = ()
    """Tags with a scalar that is NaN or infinite, in order of first appearance."""
    tag_index: TagIndex = field(default_factory=TagIndex)
    """Cached results for `tags`."""

    def tags_matching(self, claims: ClaimsKey) -> list[str]:
        """Tags with a series that one of the claims matches, in order of first appearance.

        The list is shared, and must not be changed.
        """
        tags = self.tag_index.tags_by_claims.get(claims)
        if tags is None:
            claimed = {kind for kind in self.kinds() if matches(claims, kind)}
            tags = []
            if claimed:
                tags = [
                    tag
                    for tag, kinds in self.tags_and_kinds()
                    if any(kind in claimed for kind in kinds)
                ]
            if len(self.tag_index.tags_by_claims) >= _MAX_CACHED_CLAIMS:
                self.tag_index.tags_by_claims = {}
            self.tag_index.tags_by_claims[claims] = tags
        return tags

    def kinds(self) -> frozenset[Kind]:
        """The kinds of all series."""
        kinds = self.tag_index.kinds
        if kinds is None:
            kinds = frozenset(kind for _, kinds in self.tags_and_kinds() for kind in kinds)
            self.tag_index.kinds = kinds
        return kinds

    def tags_and_kinds(self) -> Iterator[tuple[str, tuple[Kind, ...]]]:
        """Yields each tag with the kinds of its series, in order of first appearance."""
        if isinstance(self.tags, LazyTagMap):
            yield from self.tags.tags_and_kinds()
            return
        for tag, view in self.tags.items():
            yield tag, tuple(series.kind for series in view.series)
