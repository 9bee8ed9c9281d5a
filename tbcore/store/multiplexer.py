"""Multiplexer: the index over all runs, and the interface through which plugins read data.

All data is reached through the attribute `_state`, whose value is immutable. Each method reads the
attribute once, and so needs no lock. A commit sets the attribute to a new state.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from tbcore.errors import NotFoundError
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.kinds import Claims, Kind, matches
from tbcore.store.items import Item, UnreadableItem, decode_items, items_at
from tbcore.store.sampling import sampled_rows_of
from tbcore.store.series import (
    CRC,
    FILE,
    INDEX,
    LENGTH,
    OFFSET,
    STEP,
    VALUE,
    WALL_TIME,
    ItemSeries,
    LastPoints,
    Rows,
    ScalarSeries,
    Series,
    UnsampledSeries,
)
from tbcore.store.status import LoadStatus
from tbcore.store.view import ClaimsKey, RunView, TagView

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_NAMES_COMPARED = 200
"""Maximum number of names that an unknown name is compared with. For long names, one comparison
takes a millisecond."""
_MAX_NAME_CHARS = 200
"""Maximum length of a name in a message."""
_MAX_WARNED_TAGS = 100
"""Maximum number of tags whose unreadable items are logged; more lines would not help."""
_MAX_CACHED_CLAIMS = 64
"""Maximum number of results of `tags` that are cached. Each plugin requests about one."""
_NO_TIMES: Mapping[str, float] = {}


class KindSummary(NamedTuple):
    """In how many runs and tags a kind occurs."""

    kind: Kind
    num_runs: int
    num_tags: int
    """Number of distinct tag names: a tag that several runs have counts once."""
    example_run: str
    example_tag: str
    """A tag of `example_run` with this kind."""


class RunDetails(NamedTuple):
    """What a list of runs shows about a run. Times are seconds since the epoch; None if unknown."""

    name: str
    first_event_time: float | None
    last_event_time: float | None
    """When the last event was written; for several files, the maximum over their last events."""
    modified: float | None
    """When the newest event file was written to, as of the last scan of the logdir."""
    nonfinite_tags: tuple[str, ...]
    """Tags with a scalar that is NaN or infinite, in order of first appearance."""


class TagsByRun(Mapping[str, list[str]]):
    """Maps run names to tags. Shared by all callers; each access returns a new list."""

    __slots__ = ("_json", "_shared")

    def __init__(self, shared: dict[str, list[str]]) -> None:
        self._shared = shared
        self._json: bytes | None = None

    def as_json(self) -> bytes:
        """The whole mapping as JSON, which may be megabytes. It is encoded once for all requests.

        Raises TypeError for names that are not valid Unicode.
        """
        if self._json is None:
            self._json = orjson.dumps(self._shared)
        return self._json

    def __getitem__(self, run: str) -> list[str]:
        return self._shared[run].copy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._shared)

    def __len__(self) -> int:
        return len(self._shared)

    def __repr__(self) -> str:
        return repr(self._shared)


class _CachedResults:
    """Cached results that depend only on the runs, their tags and their kinds.

    Each result is computed on first use. If two threads compute it at the same time, they store
    equal results.
    """

    __slots__ = ("generation", "kinds", "summaries", "tags")

    def __init__(self, generation: int) -> None:
        self.generation = generation
        """The first generation for which the results are valid; see `runs_generation`."""
        self.tags: dict[ClaimsKey, TagsByRun] = {}
        """Maps claims to the result of `Multiplexer.tags`."""
        self.kinds: frozenset[Kind] | None = None
        """The kinds of all runs; None before the first call of `Multiplexer.has`."""
        self.summaries: list[KindSummary] | None = None
        """The result of `Multiplexer.kinds`; None before the first call."""


@dataclass(frozen=True, slots=True)
class _State:
    """All runs as they were at one commit.

    The keys of all dictionaries are run names, in order of discovery.
    """

    generation: int = 0
    runs: dict[str, RunView] = field(default_factory=dict)
    run_generations: dict[str, int] = field(default_factory=dict)
    details: dict[str, RunDetails] = field(default_factory=dict)
    cached: _CachedResults = field(default_factory=lambda: _CachedResults(0))


class Multiplexer:
    """All runs and the data in them. Its methods may be called on any thread."""

    def __init__(self) -> None:
        self._state = _State()
        self._status = LoadStatus()
        self._subscribers: tuple[Callable[[], None], ...] = ()
        self._subscribing = threading.Lock()
        self._warned: set[tuple[str, str]] = set()
        """Run and tag of each warning that `_warn_once` has logged."""

    # -- for readers ---------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """Increases by one with each commit that changes something. Use it as a key of caches."""
        return self._state.generation

    @property
    def runs_generation(self) -> int:
        """The generation in which the list of runs, a list of tags or a kind last changed."""
        return self._state.cached.generation

    def runs(self) -> list[str]:
        """Run names in order of discovery: new runs come last, and no run changes its place."""
        return list(self._state.runs)

    def run_generations(self) -> dict[str, int]:
        """Maps run names to the generation in which the run last changed."""
        return dict(self._state.run_generations)

    def has(self, claims: Claims) -> bool:
        """Whether any run has a series that one of the claims matches."""
        state = self._state
        kinds = state.cached.kinds
        if kinds is None:
            kinds = frozenset(kind for run in state.runs.values() for kind in run.kinds())
            state.cached.kinds = kinds
        return any(matches(claims, kind) for kind in kinds)

    def tags(self, claims: Claims) -> Mapping[str, list[str]]:
        """Maps run names to the run's tags that the claims match, in order of first appearance.

        Runs without such tags have []. The result does not change when tags are added later.
        """
        state, key = self._state, tuple(claims)
        found = state.cached.tags.get(key)
        if found is None:
            found = TagsByRun({name: run.tags_matching(key) for name, run in state.runs.items()})
            if len(state.cached.tags) >= _MAX_CACHED_CLAIMS:
                state.cached.tags = {}
            state.cached.tags[key] = found
        return found

    def scalars(
        self, run: str, tag: str, *, claims: Claims | None = None, samples: int = 0
    ) -> ScalarSeries:
        """The points of one tag, sampled to at most `samples` points (0: all).

        Merges, in the order written, the tag's scalar series that one of the claims matches, or all
        its scalar series if `claims` is None. Raises NotFoundError if the run or the tag is
        unknown, or if the tag has no series that a claim matches; if `claims` is None, also for a
        tag without scalars.
        """
        _, view = self._find(run, tag, claims)
        series = [
            s
            for s in view.series
            if s.kind.is_scalar and (claims is None or matches(claims, s.kind))
        ]
        if not series and claims is None:
            raise NotFoundError(f"tag {_quoted(tag)} of run {_quoted(run)} has no numbers")
        if (
            len(series) == 1
            and series[0].ordinal_ranges is None
            and not 0 < samples < len(series[0])
        ):
            return UnsampledSeries(series[0])
        return ScalarSeries(*_merged(series, samples, (STEP, WALL_TIME, VALUE)))

    def item_series(self, run: str, tag: str, claims: Claims) -> ItemSeries:
        """Ordinals, steps and wall times of all items of one tag, without the items themselves.

        Fast for any number of items. Raises NotFoundError like `scalars`.
        """
        _, view = self._find(run, tag, claims)
        return ItemSeries(*_merged(_references(view, claims), 0, (STEP, WALL_TIME)))

    def items_etag(self, run: str, tag: str, claims: Claims) -> str:
        """An identifier of all items of one tag.

        The identifier changes whenever an item of this tag is added, replaced or dropped, and does
        not depend on other tags. It can be the cache key and the ETag of results that depend on
        these items alone. Raises NotFoundError like `scalars`.
        """
        run_view, view = self._find(run, tag, claims)
        digest = hashlib.blake2b(digest_size=16)
        for series in _references(view, claims):
            ordinals = series.ordinals_between(0, len(series))
            files = series.column(FILE)
            for column in (ordinals, files, *map(series.column, (OFFSET, LENGTH, INDEX, CRC))):
                digest.update(column.tobytes())
            for index in np.unique(files).tolist():
                version = run_view.files[index].version.replace("-", " ")  # as in older etags
                digest.update(f"{index} {version} ".encode())
        return digest.hexdigest()

    def last_points(self, run: str, claims: Claims) -> LastPoints:
        """The last point of each tag of the run, among the series that one of the claims matches.

        Much faster than `scalars` for each tag. Raises NotFoundError for an unknown run.
        """
        view = self._run(run)
        claimed = {kind for kind in view.kinds() if kind.is_scalar and matches(claims, kind)}
        tags, points = [], []
        for tag, tag_view in view.tags.items():
            series = [s for s in tag_view.series if s.length and s.kind in claimed]
            if series:
                last = series[0] if len(series) == 1 else max(series, key=_last_ordinal)
                tags.append(tag)
                points.append(last.last_point())
        step, wall_time, value = zip(*points, strict=True) if points else ((), (), ())
        return LastPoints(
            tags, np.array(step, np.int64), np.array(wall_time, float), np.array(value, float)
        )

    def items(self, run: str, tag: str, claims: Claims, *, samples: int = 0) -> list[Item]:
        """The items of one tag, sampled to at most `samples` items (0: all), without their data.

        Scalar series have no items, and are left out. Raises NotFoundError like `scalars`.
        """
        run_view, view = self._find(run, tag, claims)
        series = _references(view, claims)
        items = []
        for part in _sample(series, samples):
            items += items_at(part.series, part.rows, part.ordinals, run_view.files)
        return items if len(series) < 2 else sorted(items, key=lambda item: item.ordinal)

    def item(self, run: str, tag: str, claims: Claims, ordinal: int) -> Item:
        """The item with this ordinal.

        Raises NotFoundError like `scalars`, and if there is no such item.
        """
        run_view, view = self._find(run, tag, claims)
        for series in _references(view, claims):
            row = series.row_of(ordinal)
            if row is not None:
                rows = np.array([row], np.int64)
                return items_at(series, rows, series.ordinals_at(rows), run_view.files)[0]
        raise NotFoundError(f"tag {_quoted(tag)} of run {_quoted(run)} has no item {ordinal}")

    def read_items(
        self,
        run: str,
        tag: str,
        claims: Claims,
        decode: Callable[[Any], T],
        *,
        samples: int = 0,
    ) -> list[tuple[Item, T]]:
        """The items of one tag, each with the result of `decode`.

        `decode` is called with what `Item.read` returns. This is faster than reading the items one
        by one. Items that cannot be read, or for which `decode` raises a DataError or
        NotFoundError, are omitted; this is logged once for each tag. If all items are omitted,
        raises the error of the last item. Raises NotFoundError like `scalars`.
        """
        items = self.items(run, tag, claims, samples=samples)
        found, unreadable = decode_items(items, decode)
        if unreadable:
            self._warn_once(run, tag, unreadable, len(items))
            if not found:
                raise unreadable[-1].error
        return found

    def metadata(self, run: str, tag: str) -> SummaryMetadata:
        """The first metadata that was written for this tag; an empty message if there is none.

        Raises NotFoundError for an unknown run or tag.
        """
        _, view = self._find(run, tag, None)
        return SummaryMetadata.FromString(view.metadata or b"")

    def kinds(self) -> list[KindSummary]:
        """All kinds that occur, in order of first appearance."""
        state = self._state
        summaries = state.cached.summaries
        if summaries is None:
            summaries = state.cached.summaries = _summarize(state.runs)
        return list(summaries)

    def first_event_time(self, run: str) -> float | None:
        """Wall time of the run's first event, in seconds since the epoch; None without an event.

        Raises NotFoundError for an unknown run.
        """
        return self._run(run).first_event_time

    def run_details(self) -> list[RunDetails]:
        """What a list of runs shows, for each run in the order of `runs`.

        `modified` can change without a new generation, when a file was written to but has no new
        event.
        """
        return list(self._state.details.values())

    def file_paths(self, run: str) -> list[str]:
        """Paths of the run's event files, in the order in which they are read.

        Raises NotFoundError for an unknown run.
        """
        return sorted(file.path for file in self._run(run).files)

    @property
    def status(self) -> LoadStatus:
        """The loader's progress."""
        return self._status

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls `callback` after each commit and each change of status.

        Returns a function that ends the subscription. The callback runs on the loader's thread, so
        it should be fast.
        """
        with self._subscribing:
            self._subscribers = (*self._subscribers, callback)

        def unsubscribe() -> None:
            with self._subscribing:
                self._subscribers = tuple(s for s in self._subscribers if s is not callback)

        return unsubscribe

    # -- for the loader ------------------------------------------------------------------------

    def commit(
        self,
        changed: Mapping[str, RunView],
        removed: Collection[str] = (),
        modified: Mapping[str, float] = _NO_TIMES,
    ) -> None:
        """Replaces the views of changed runs, and drops removed runs. For one thread only.

        New runs are appended in the order given. A run that is both removed and changed counts as
        new. `modified` maps names of runs to the time of the last write to the run's files, if that
        time changed. A commit that only changes such times does not begin a new generation.
        """
        old = self._state
        removed = [name for name in removed if name in old.runs]
        if not changed and not removed and not modified:
            return
        runs, details = dict(old.runs), dict(old.details)
        for name in removed:
            del runs[name], details[name]
        runs.update(changed)
        for name in {**changed, **modified}:
            if name in runs:
                details[name] = _details(name, runs[name], details.get(name), modified.get(name))
        if not changed and not removed:
            self._state = replace(old, details=details)
            return
        generation = old.generation + 1
        run_generations = dict(old.run_generations)
        tags_or_kinds_changed = bool(removed)
        for name in removed:
            del run_generations[name]
        for name, view in changed.items():
            before = old.runs.get(name)
            if before is None or before.tag_index is not view.tag_index:
                tags_or_kinds_changed = True
            run_generations[name] = generation
        cached = _CachedResults(generation) if tags_or_kinds_changed else old.cached
        self._state = _State(generation, runs, run_generations, details, cached)
        self._notify()

    def set_status(self, status: LoadStatus) -> None:
        """Replaces the status."""
        if status != self._status:
            self._status = status
            self._notify()

    # -- private -------------------------------------------------------------------------------

    def _notify(self) -> None:
        """Calls all subscribers."""
        for callback in self._subscribers:
            try:
                callback()
            except Exception:
                # For example, its event loop was closed. The other subscribers are still called.
                logger.debug("a subscriber failed", exc_info=True)

    def _warn_once(
        self, run: str, tag: str, unreadable: Sequence[UnreadableItem], num_items: int
    ) -> None:
        """Logs that items are left out, once for each tag: pages read them again and again."""
        if (run, tag) in self._warned or len(self._warned) >= _MAX_WARNED_TAGS:
            return
        self._warned.add((run, tag))
        logger.warning(
            "run %s, tag %s: %d of %d items cannot be read and are left out; the first: %s",
            _quoted(run),
            _quoted(tag),
            len(unreadable),
            num_items,
            unreadable[0],
        )

    def _run(self, name: str) -> RunView:
        """The view of this run. Raises NotFoundError."""
        runs = self._state.runs
        view = runs.get(name)
        if view is None:
            raise NotFoundError(f"no run {_quoted(name)}{_close_matches(name, runs)}")
        return view

    def _find(self, run: str, tag: str, claims: Claims | None) -> tuple[RunView, TagView]:
        """The views of a run and of one of its tags.

        Raises NotFoundError if there is no such run or tag, or if the tag has no series that a
        claim matches.
        """
        run_view = self._run(run)
        view = run_view.tags.get(tag)
        if view is not None and (
            claims is None or any(matches(claims, series.kind) for series in view.series)
        ):
            return run_view, view
        candidates = run_view.tags if claims is None else run_view.tags_matching(tuple(claims))
        raise NotFoundError(
            f"no tag {_quoted(tag)} in run {_quoted(run)}{_close_matches(tag, candidates)}"
        )


def _details(
    name: str, view: RunView, before: RunDetails | None, modified: float | None
) -> RunDetails:
    """The details of a run. If `modified` is None, the time in `before` is used."""
    if modified is None and before is not None:
        modified = before.modified
    return RunDetails(
        name, view.first_event_time, view.last_event_time, modified, view.nonfinite_tags
    )


class _SampledRows(NamedTuple):
    """The rows of one series that are in a sample, and their ordinals."""

    series: Series
    rows: Rows
    ordinals: Rows


def _sample(all_series: Sequence[Series], samples: int) -> list[_SampledRows]:
    """Samples the rows of all series together. Returns, for each series, its rows in the sample."""
    if len(all_series) == 1:
        rows = all_series[0].sampled_rows(samples)
        return [_SampledRows(all_series[0], rows, all_series[0].ordinals_at(rows))]
    # 1. Merge the ordinals of all series; each ordinal of a tag is in one series only.
    # 2. Sample the merged ordinals.
    # 3. In each series, find the rows whose ordinals are in the sample.
    parts = []
    ordinals_by_series = [series.ordinals_between(0, len(series)) for series in all_series]
    merged = np.empty(0, np.int64)
    if ordinals_by_series:
        merged = np.sort(np.concatenate(ordinals_by_series))  # 1.
    sample = merged[sampled_rows_of(merged, samples)]  # 2.
    for series, ordinals in zip(all_series, ordinals_by_series, strict=True):
        rows = np.flatnonzero(np.isin(ordinals, sample, assume_unique=True))  # 3.
        parts.append(_SampledRows(series, rows, ordinals[rows]))
    return parts


def _last_ordinal(series: Series) -> int:
    """The ordinal of the last row."""
    return int(series.ordinals_between(len(series) - 1, len(series))[0])


def _references(view: TagView, claims: Claims) -> list[Series]:
    """The tag's series of references, not of scalars, that one of the claims matches."""
    return [s for s in view.series if not s.kind.is_scalar and matches(claims, s.kind)]


def _merged(
    all_series: Sequence[Series], samples: int, column_indices: Sequence[int]
) -> Iterator[NDArray[Any]]:
    """Samples all series together. Yields the ordinals, then the columns with these indices.

    Arrays are read-only. Rows are sorted by ordinal.
    """
    if len(all_series) == 1 and (samples == 0 or len(all_series[0]) <= samples):
        series = all_series[0]
        # Not copied: there may be millions of rows.
        merged = [series.ordinals_between(0, len(series)), *map(series.column, column_indices)]
    else:
        parts = _sample(all_series, samples)
        merged = [np.concatenate([part.ordinals for part in parts] or [np.empty(0, np.int64)])]
        for index in column_indices:
            empty = np.empty(0, np.int64 if index == STEP else np.float64)
            columns = [part.series.column_at(index, part.rows) for part in parts]
            merged.append(np.concatenate(columns or [empty]))
        if len(parts) > 1:
            order = np.argsort(merged[0])
            merged = [column[order] for column in merged]
    for column in merged:
        column.flags.writeable = False
    return iter(merged)


def _summarize(runs: Mapping[str, RunView]) -> list[KindSummary]:
    """Counts the runs and tags of each kind."""
    tags_by_kind: dict[Kind, dict[str, None]] = {}  # The tags are the keys, and keep their order.
    examples: dict[Kind, tuple[str, str]] = {}
    num_runs: dict[Kind, int] = {}
    for name, run in runs.items():
        for tag, kinds in run.tags_and_kinds():
            for kind in kinds:
                tags_by_kind.setdefault(kind, {})[tag] = None
                examples.setdefault(kind, (name, tag))
        for kind in run.kinds():
            num_runs[kind] = num_runs.get(kind, 0) + 1
    return [
        KindSummary(kind, num_runs[kind], len(tags), *examples[kind])
        for kind, tags in tags_by_kind.items()
    ]


def _quoted(name: str) -> str:
    """A name for a message: in quotes, on one line, at most 200 characters."""
    return repr(name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}...")


def _close_matches(name: str, candidates: Iterable[str]) -> str:
    """The end of a message about an unknown name: names that are similar to it, if any."""
    likely = [c for c in candidates if abs(len(c) - len(name)) <= 3 + len(name) // 4]
    if len(name) > _MAX_NAME_CHARS or not likely:
        return ""
    if len(likely) > _MAX_NAMES_COMPARED:
        # Names are paths, and most mistakes are near the end. So the names that begin like the
        # unknown name are compared first.
        likely.sort(key=lambda c: c[:3] != name[:3])
    close = get_close_matches(name, likely[:_MAX_NAMES_COMPARED], n=3)
    return f"; close: {', '.join(map(_quoted, close))}" if close else ""
