"""Views: immutable snapshots of runs. Requests read views only, and so need no lock.

The tags of a run and their kinds are a `Schema`, which runs with equal tags share. The series of a
tag are made on request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from tbcore.errors import NotFoundError
from tbcore.eventfiles.addresses import open_event_file, storage_of
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.eventfiles.storage import EventFile, OpenFile
from tbcore.eventfiles.table import Columns, Table, plugin_name
from tbcore.kinds import (
    SESSION_START_TAG,
    Claim,
    Claims,
    Kind,
    has_own_metadata,
    have_tags,
    matches,
)
from tbcore.store.series import (
    MIN_ROWS_TO_CACHE,
    LastPoints,
    Part,
    ScalarSeries,
    Series,
    UnsampledSeries,
    merged_columns,
)
from tbcore.text import close_matches, quoted

ClaimsKey = tuple[Claim, ...]
LoggedHParams = bytes | Mapping[str, float | str | bool] | None
"""The serialized SummaryMetadata in which hyperparameters were logged, or those decoded from it as
in `RunHParams.values`; None or empty if there are none."""

MAX_CACHED_RESULTS = 64
"""Maximum number of results of one method that are cached. Each plugin requests about one."""


class FileRef(NamedTuple):
    """An event file of a run, as it was when it was last opened."""

    path: str
    version: str = ""
    """See EventFile. Empty until the file is first opened, and in storages whose versions change
    whenever a file grows."""

    @classmethod
    def of(cls, file: EventFile) -> FileRef:
        is_of_content = storage_of(file.path).has_versions_of_content
        return cls(file.path, "" if is_of_content else file.version)

    def checked_path(self) -> str:
        """The path, for opening the file. Raises PermissionError if it must not be opened."""
        return self.path

    def open(self) -> OpenFile:
        """Opens the file. Raises OSError."""
        return open_event_file(EventFile.unlisted(self.checked_path()))


class SourceRef(FileRef):
    """A file that another program wrote."""

    name: str
    """Its path below the log directory."""
    has_times: bool
    """Whether it says when its points were logged."""
    id: str
    """Different for another run that takes over the name."""
    state: str = ""
    """What it says about the run: `finished`, `failed`, `running`, or ""."""

    def as_json(self) -> dict[str, str | bool]:
        return {"file": self.name, "has_times": self.has_times, "id": self.id, "state": self.state}


class TagInfo(NamedTuple):
    """The kinds and the metadata of a tag of a run."""

    kinds: tuple[Kind, ...]
    """The kinds of its series, in order of first appearance."""
    metadata: bytes | None
    """Its first SummaryMetadata, serialized, without what is a run's own; None if there is none."""


class Schema:
    """The tags of a run. A run has another schema as soon as a tag or a kind is added.

    So if two views of a run have the same schema, their tags and kinds are the same. Results that
    depend on these alone are cached here.
    """

    def __init__(self, tags: Mapping[str, TagInfo]) -> None:
        self.tags = tags
        """All tags, in order of first appearance."""
        self.mixed = frozenset(tag for tag, info in tags.items() if len(info.kinds) > 1)
        """The tags with several kinds."""

    def __reduce__(self) -> tuple[type[Schema], tuple[object, ...]]:
        """Pickles the tags alone. Cached results are computed again."""
        return Schema, (self.tags,)

    # The caches are made when they are first used: there may be many schemas with one run each.

    @cached_property
    def extended(self) -> Callable[[Columns], Schema]:
        return lru_cache(maxsize=MAX_CACHED_RESULTS)(self._extended)

    @cached_property
    def tags_matching(self) -> Callable[[ClaimsKey], list[str]]:
        return lru_cache(maxsize=MAX_CACHED_RESULTS)(self._tags_matching)

    def _extended(self, columns: Columns) -> Schema:
        """The schema with the tags of this one, followed by the new tags and kinds of a table.

        Returns this schema itself if there are none.
        """
        new: dict[str, TagInfo] = {}
        for index in columns.order:
            tag, field_, is_scalar, metadata = columns.entries[index]
            kinds, known = new.get(tag) or self.tags.get(tag) or _NO_TAG
            plugin = kinds[0].plugin_name if kinds else ""
            if known is None and metadata is not None:
                plugin = plugin_name(metadata)
                kinds = tuple(_kind(kind.field, plugin, kind.is_scalar) for kind in kinds)
            kind = _kind(field_, plugin, is_scalar)
            if kind not in kinds:
                kinds = (*kinds, kind)
            info = TagInfo(kinds, metadata if known is None else known)
            if info != self.tags.get(tag):
                new[tag] = info
        return Schema({**self.tags, **new}) if new else self

    def _tags_matching(self, claims: ClaimsKey) -> list[str]:
        """Tags with a kind that one of the claims matches, in order of first appearance.

        The list is shared, and must not be changed.
        """
        claimed = {kind for kind in self.kinds if matches(claims, kind)}
        if not claimed:
            return []
        found = [tag for tag, info in self.tags.items() if not claimed.isdisjoint(info.kinds)]
        if not have_tags(claims):
            return found
        return [t for t in found if any(matches(claims, kind, t) for kind in self.tags[t].kinds)]

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of all series."""
        return frozenset(kind for info in self.tags.values() for kind in info.kinds)


_NO_TAG = TagInfo((), None)
EMPTY_SCHEMA = Schema({})
"""The schema that all others extend, so that equal runs have the same schema."""


@dataclass(frozen=True, slots=True)
class RunView:
    """One run as it was at a commit; without data, unless it is of a subclass."""

    schema: Schema = EMPTY_SCHEMA
    first_event_time: float | None = None
    """When the first event was written, in seconds since the epoch; None if there is no event."""
    last_event_time: float | None = None
    """When the last event was written, in seconds since the epoch; None if there is no event. For
    several files, this is the maximum over their last events."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The rows of the run, in the order written."""
        return ()

    @property
    def files(self) -> tuple[FileRef, ...]:
        """The run's files. A reference has the index of its file in this tuple."""
        return ()

    @property
    def source(self) -> SourceRef | None:
        """The first file of a run that another program logged; None for one of event files."""
        return next((file for file in self.files[:1] if isinstance(file, SourceRef)), None)

    @property
    def own_metadata(self) -> Mapping[str, bytes]:
        """Maps tags to their first SummaryMetadata, serialized, where `has_own_metadata`."""
        return {}

    @property
    def logged_hparams(self) -> LoggedHParams:
        """The hyperparameters that the run itself logged; equal as long as they are."""
        return self.own_metadata.get(SESSION_START_TAG)

    @property
    def nonfinite_tags(self) -> tuple[str, ...]:
        """The tags with a scalar that is NaN or infinite, in order of first appearance."""
        found = {table.columns.entries[i].tag for table in self.tables for i in table.nonfinite}
        return tuple(tag for tag in self.schema.tags if tag in found) if found else ()

    def series(self, tag: str) -> list[Series]:
        """The series of a tag, one for each of its kinds. Raises KeyError for an unknown tag."""
        parts = [
            (table, index) for table in self.tables for index in table.columns.indices.get(tag, ())
        ]
        kinds = self.schema.tags[tag].kinds
        if len(kinds) == 1:
            return [Series(kinds[0], parts)]
        by_key: dict[tuple[str, bool], list[Part]] = {}
        for table, index in parts:
            by_key.setdefault(table.columns.entries[index][1:3], []).append((table, index))
        return [Series(kind, by_key.get((kind.field, kind.is_scalar), ())) for kind in kinds]

    def find(self, run: str, tag: str, claims: Claims | None) -> list[Series]:
        """Those series of a tag that one of the claims matches; `run` is the name of the run.

        Raises NotFoundError if there is no such tag, or no such series.
        """
        tags = self.schema.tags
        series = self.series(tag) if tag in tags else []
        if claims is not None:
            series = [each for each in series if matches(claims, each.kind, tag)]
        if series:
            return series
        candidates = tags if claims is None else self.schema.tags_matching(tuple(claims))
        close = close_matches(tag, candidates)
        raise NotFoundError(f"no tag {quoted(tag)} in run {quoted(run)}{close}")

    def scalars(
        self,
        run: str,
        tag: str,
        claims: Claims | None = None,
        samples: int = 0,
        cached: Callable[[Kind, tuple[Part, ...]], ScalarSeries] = UnsampledSeries,
    ) -> ScalarSeries:
        """See `Multiplexer.scalars`; `cached` makes long series that are not sampled."""
        series = [each for each in self.find(run, tag, claims) if each.kind.is_scalar]
        if not series and claims is None:
            raise NotFoundError(f"tag {quoted(tag)} of run {quoted(run)} has no numbers")
        if len(series) == 1 and not 0 < samples < len(series[0]):
            make = cached if len(series[0]) >= MIN_ROWS_TO_CACHE else UnsampledSeries
            return make(series[0].kind, series[0].parts)
        return ScalarSeries(*merged_columns(series, samples, ("step", "wall_time", "value")))

    def metadata(self, run: str, tag: str) -> SummaryMetadata:
        """See `Multiplexer.metadata`."""
        self.find(run, tag, None)
        return SummaryMetadata.FromString(self.metadata_of(tag) or b"")

    def metadata_of(self, tag: str) -> bytes | None:
        """The first SummaryMetadata of a tag, serialized; None if there is none, or no such tag."""
        own = self.own_metadata.get(tag) if has_own_metadata(tag) else None
        return own or self.schema.tags.get(tag, _NO_TAG).metadata

    def last_points(self, claims: ClaimsKey) -> LastPoints:
        """The last point of each tag, among its scalars that one of the claims matches."""
        # 1. Find the last column of each tag: if it has several kinds, the one with the last row.
        # 2. Read the last rows of these columns, table by table.
        tags, mixed = self.schema.tags_matching(claims), self.schema.mixed
        claimed = {kind for kind in self.schema.kinds if matches(claims, kind)}
        wanted = {
            (tag, kind.field, kind.is_scalar)
            for tag in tags
            for kind in self.schema.tags[tag].kinds
            if kind in claimed and (tag not in mixed or matches(claims, kind, tag))
        }
        last: dict[str, tuple[int, int, int]] = {}  # 1
        for number, table in enumerate(self.tables):
            columns = table.columns.entries[: table.columns.num_scalar]
            for index, (tag, field_, is_scalar, _) in enumerate(columns):
                if (tag, field_, is_scalar) in wanted:
                    rank = int(table.ordinals[index][-1]) if tag in mixed else number
                    if tag not in last or last[tag][0] < rank:
                        last[tag] = rank, number, index
        found = [tag for tag in tags if tag in last]
        points = np.array([last[tag] for tag in found], np.int64).reshape(-1, 3)
        step, wall_time, value = (np.empty(len(found), t) for t in (np.int64, float, float))
        for number in np.unique(points[:, 1]).tolist():  # 2
            table, picked = self.tables[number], np.flatnonzero(points[:, 1] == number)
            indices = points[picked, 2]
            rows = np.array(table.bounds)[indices + 1] - 1
            wall_time[picked], value[picked] = table.wall_time[rows], table.value[rows]
            step[picked] = [table.step[index][-1] for index in indices.tolist()]
        return LastPoints(found, step, wall_time, value)

    def last_point(self, tag: str) -> tuple[int, float] | None:
        """Step and value of the last scalar of a tag, of any kind; None if it has no scalar."""
        for table in reversed(self.tables):
            num_scalar = table.columns.num_scalar
            found = [i for i in table.columns.indices.get(tag, ()) if i < num_scalar]
            if found:
                index = found[0]
                if len(found) > 1:
                    index = max(found, key=lambda i: int(table.ordinals[i][-1]))
                return int(table.step[index][-1]), float(table.value[table.bounds[index + 1] - 1])
        return None

    def point(self, tag: str, stat: str) -> tuple[int, float] | None:
        """Step and value of the first scalar of a tag, of any kind, with the lowest (`min`) or the
        highest (`max`) finite value, or the first that is not finite (`nan`); None without one."""
        try:
            found = getattr(self.scalars("", tag), stat)
        except NotFoundError:
            return None
        return found and (found.step, found.value)

    def highest_step(self) -> int | None:
        """The highest step of all rows that are not graphs; None if there are none."""
        highest = [table.highest_step for table in self.tables]
        return max((step for step in highest if step >= -(1 << 63)), default=None)


@dataclass(frozen=True, slots=True)
class LoadedView(RunView):
    """A run whose rows are in memory."""

    tables: tuple[Table, ...] = ()
    files: tuple[FileRef, ...] = ()
    own_metadata: Mapping[str, bytes] = field(default_factory=dict)


class StoredRun(RunView):
    """A run of an index, whose rows are read on request. See `RunIndex`."""

    __slots__ = ()

    @property
    def revision(self) -> str:
        """Changes whenever the run does."""
        raise NotImplementedError

    @property
    def problems(self) -> Sequence[str]:
        """One line for each damaged record."""
        raise NotImplementedError

    @property
    def sizes(self) -> Sequence[int]:
        """The sizes of the files in bytes."""
        raise NotImplementedError

    @property
    def modified(self) -> float:
        """When the newest file was written to, in seconds since the epoch."""
        raise NotImplementedError

    @property
    def known_files(self) -> Sequence[EventFile]:
        """The files as they were when they were read. `ctime_ns` is negative for a file that had
        changed just before, since another change within the clock's resolution cannot be seen."""
        raise NotImplementedError

    @property
    def may_be_opened(self) -> bool:
        """Whether the user permits the index to open the run's files: see `RunIndex.found`."""
        raise NotImplementedError

    def check(self) -> None:
        """Raises DataLossError if the index's data about its series cannot be read."""

    def is_as_of(self, files: Sequence[EventFile]) -> bool:
        """Whether the files have not changed since they were read."""
        known = self.known_files
        return all(file.ctime_ns >= 0 for file in known) and (
            sorted(map(_status, known)) == sorted(map(_status, files))
        )


def _status(file: EventFile) -> tuple[str, int, int, str]:
    """Changes whenever the file does, and is the same on all machines that share the directory."""
    is_of_content = storage_of(file.path).has_versions_of_content
    return file.path, file.size, file.mtime_ns, file.version if is_of_content else ""


_kind = lru_cache(maxsize=1 << 12)(Kind)
"""Returns the same object for equal arguments: there may be a million tags."""
