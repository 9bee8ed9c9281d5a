"""Views: what readers see of a run. Immutable, so that no reader needs a lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tbcore.kinds import Claim, Kind, matches
from tbcore.store.series import Series, SeriesBlock

ClaimsKey = tuple[Claim, ...]

_MAX_REMEMBERED = 64
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


class Begun(Mapping[str, TagView]):
    """Tags of a run that has just begun; a series is made when somebody asks for it.

    A sweep has thousands of such runs, of which a page shows a few.
    """

    __slots__ = ("_blocks", "_made", "_plan")

    def __init__(
        self,
        plan: Plan,
        blocks: Sequence[SeriesBlock],
        made: Sequence[dict[str, TagView]] = (),
    ) -> None:
        self._plan = plan
        self._blocks = blocks
        """As many as the plan says."""
        self._made = [*made, *({} for _ in blocks[len(made) :])]
        """By block. Of each tag there is one series at most: who appends goes by its identity."""

    def __reduce__(self) -> tuple[type[Begun], tuple[object, ...]]:
        """As of Series; what was made is made again."""
        return Begun, (self._plan, self._blocks)

    def __getitem__(self, tag: str) -> TagView:
        place = self._plan.places[tag]
        made = self._made[place.block]
        view = made.get(tag)
        if view is None:
            series = self._blocks[place.block].series(place.number, place.kind)
            # Of two threads that make it the second takes what the first has made.
            view = made.setdefault(tag, TagView((series,), len(series), place.metadata))
        return view

    def __iter__(self) -> Iterator[str]:
        return iter(self._plan.places)

    def __len__(self) -> int:
        return len(self._plan.places)

    def kinds_by_tag(self) -> Iterator[tuple[str, tuple[Kind]]]:
        """As of RunView, without making any series."""
        for tag, place in self._plan.places.items():
            yield tag, (place.kind,)

    def plan_with(self, plan: Plan) -> Plan | None:
        """The plan of these tags and more; None where one of them is there already, or where
        there are so many blocks that it costs more than it spares to make a plan each time."""
        if len(self._blocks) > _MAX_BLOCKS:
            return None
        return self._plan.followed_by(plan, len(self._blocks))

    def grown(self, plan: Plan, blocks: Sequence[SeriesBlock]) -> Begun:
        """With the plan that `plan_with` made, and the blocks of the new tags."""
        return Begun(plan, [*self._blocks, *blocks], self._made)


class Place(NamedTuple):
    """Where a tag of a plan is."""

    block: int
    number: int
    """In the block."""
    kind: Kind
    metadata: bytes | None
    """As of TagView."""


class Plan:
    """Which tags runs begin with, and where they are: one object for all that are alike."""

    __slots__ = ("_followers", "places", "shape")

    def __init__(self, places: Mapping[str, Place]) -> None:
        self.places = places
        """By tag, in order of first appearance."""
        self.shape = Shape()
        """Of the runs as long as they have no other tags."""
        self._followers: dict[Plan, Plan | None] = {}

    def __reduce__(self) -> tuple[type[Plan], tuple[object, ...]]:
        """Answers are found again."""
        return Plan, (self.places,)

    def followed_by(self, other: Plan, num_blocks: int) -> Plan | None:
        """Of runs that go on with the other one, behind so many blocks; None where a tag is in
        both."""
        if other not in self._followers:
            both = None
            if self.places.keys().isdisjoint(other.places):
                more = {
                    tag: place._replace(block=num_blocks + place.block)
                    for tag, place in other.places.items()
                }
                both = Plan({**self.places, **more})
            if len(self._followers) >= _MAX_REMEMBERED:
                self._followers.clear()
            self._followers[other] = both
        return self._followers[other]


class Shape:
    """Stands for the tags of a run and their kinds: views with the same shape have the same.

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
    """A reference names its file by its place in here."""
    first_event_time: float | None = None
    """Seconds since the epoch; None as long as there is no event."""
    last_event_time: float | None = None
    """Likewise, of the event of any kind that stands last in its file: the latest of all files."""
    nonfinite_tags: tuple[str, ...] = ()
    """Tags with a scalar that is NaN or infinite, in order of first appearance."""
    shape: Shape = field(default_factory=Shape)

    def tags_of(self, claims: ClaimsKey) -> list[str]:
        """Tags with a series that one of the claims matches. Shared: not to be changed."""
        tags = self.shape.tags.get(claims)
        if tags is None:
            claimed = {kind for kind in self.kinds() if matches(claims, kind)}
            tags = []
            if claimed:
                tags = [
                    tag
                    for tag, kinds in self.kinds_by_tag()
                    if any(kind in claimed for kind in kinds)
                ]
            if len(self.shape.tags) >= _MAX_REMEMBERED:
                self.shape.tags = {}
            self.shape.tags[claims] = tags
        return tags

    def kinds(self) -> frozenset[Kind]:
        """Kinds of all series."""
        kinds = self.shape.kinds
        if kinds is None:
            kinds = frozenset(kind for _, kinds in self.kinds_by_tag() for kind in kinds)
            self.shape.kinds = kinds
        return kinds

    def kinds_by_tag(self) -> Iterator[tuple[str, tuple[Kind, ...]]]:
        """Each tag with the kinds of its series, in order of first appearance."""
        if isinstance(self.tags, Begun):
            yield from self.tags.kinds_by_tag()
            return
        for tag, view in self.tags.items():
            yield tag, tuple(series.kind for series in view.series)
