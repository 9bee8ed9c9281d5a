"""Views: what readers see of a run. Immutable, so that no reader needs a lock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tbcore.kinds import Claim, Kind, matches
from tbcore.store.series import Series

ClaimsKey = tuple[Claim, ...]

_MAX_REMEMBERED = 64
"""Answers kept for each run; there are about as many claims as plugins."""


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
                    for tag, view in self.tags.items()
                    if any(series.kind in claimed for series in view.series)
                ]
            if len(self.shape.tags) >= _MAX_REMEMBERED:
                self.shape.tags = {}
            self.shape.tags[claims] = tags
        return tags

    def kinds(self) -> frozenset[Kind]:
        """Kinds of all series."""
        kinds = self.shape.kinds
        if kinds is None:
            kinds = frozenset(s.kind for view in self.tags.values() for s in view.series)
            self.shape.kinds = kinds
        return kinds
