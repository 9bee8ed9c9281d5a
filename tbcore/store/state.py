"""State: all runs as they were at one commit. Immutable, so that requests need no lock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import orjson

from tbcore.errors import NotFoundError
from tbcore.eventfiles.storage import EventFile
from tbcore.kinds import Kind
from tbcore.store.series import Part, UnsampledSeries
from tbcore.store.view import MAX_CACHED_RESULTS, ClaimsKey, RunView, Schema, SourceRef
from tbcore.text import close_matches, quoted


class KindSummary(NamedTuple):
    """The number of runs and tags in which a kind occurs, with an example."""

    kind: Kind
    num_runs: int
    num_tags: int
    """Number of distinct tag names: a tag that several runs have counts once."""
    example_run: str
    example_tag: str
    """A tag of `example_run` with this kind."""


LIVE_SECONDS = 300
"""A run is live if it was written to within this time. tbcore/web/shell/state/tree.js has the same
limit."""


def run_state(
    last_event: float | None, modified: float | None, now: float, source: SourceRef | None
) -> str:
    """`live` if a run was written to recently, and within LIVE_SECONDS of its last event, else
    `quiet`. If another program logged how the run ended, `finished` or `failed`; "" if it logged
    neither that nor times, so that nobody knows."""
    if source and source.state != "running" and (source.state or not source.has_times):
        return source.state
    if last_event is None:
        return "quiet"
    written = last_event if modified is None else modified
    is_live = abs(now - written) < LIVE_SECONDS and written - last_event < LIVE_SECONDS
    return "live" if is_live else "quiet"


class RunDetails(NamedTuple):
    """A run's entry in a list of runs. Times are in seconds since the epoch; None if unknown."""

    name: str
    first_event_time: float | None
    last_event_time: float | None
    """When the last event was written; for several files, the maximum over their last events."""
    modified: float | None
    """When the newest event file was written to, as of the last scan of the logdir."""
    nonfinite_tags: tuple[str, ...]
    """Tags with a scalar that is NaN or infinite, in order of first appearance."""
    source: SourceRef | None
    """See `RunView`."""

    def state(self, now: float) -> str:
        """See `run_state`."""
        return run_state(self.last_event_time, self.modified, now, self.source)


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


class Listings:
    """Results that depend only on the runs, their tags and their kinds, computed on first use.

    Without a lock: if two threads compute a result at the same time, both get equal results.
    """

    def __init__(self, generation: int, schemas: Mapping[str, Schema]) -> None:
        self.generation = generation
        """The first generation for which the results are valid."""
        self._schemas = schemas
        self.tags = lru_cache(maxsize=MAX_CACHED_RESULTS)(self._tags)

    def _tags(self, claims: ClaimsKey) -> TagsByRun:
        """Maps each run to its tags that one of the claims matches."""
        found = {each: each.tags_matching(claims) for each in set(self._schemas.values())}
        return TagsByRun({name: found[schema] for name, schema in self._schemas.items()})

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of all runs."""
        return frozenset(kind for schema in set(self._schemas.values()) for kind in schema.kinds)

    @cached_property
    def summaries(self) -> list[KindSummary]:
        """All kinds that occur, in order of first appearance."""
        # Many runs share a schema, so the runs are counted by schema. All keys are in the order of
        # first appearance.
        num_runs = Counter(self._schemas.values())
        first_run: dict[Schema, str] = {}
        for name, schema in self._schemas.items():
            first_run.setdefault(schema, name)
        found: dict[Kind, tuple[dict[Schema, None], dict[str, None]]] = {}
        for schema in num_runs:
            for tag, info in schema.tags.items():
                for kind in info.kinds:
                    schemas, tags = found.setdefault(kind, ({}, {}))
                    schemas[schema] = tags[tag] = None
        return [
            KindSummary(
                kind,
                sum(map(num_runs.__getitem__, schemas)),
                len(tags),
                first_run[next(iter(schemas))],
                next(iter(tags)),
            )
            for kind, (schemas, tags) in found.items()
        ]


SideFiles = Mapping[str, Mapping[str, Sequence[EventFile]]]
"""See `Scan.side_files`."""


@dataclass(frozen=True, slots=True)
class State:
    """All runs as they were at one commit.

    The keys of all dictionaries are run names, in order of discovery.
    """

    generation: int = 0
    runs: Mapping[str, RunView] = field(default_factory=dict)
    run_generations: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, RunDetails] = field(default_factory=dict)
    listings: Listings = field(default_factory=lambda: Listings(0, {}))
    side_files: SideFiles = field(default_factory=dict)
    cached_series: Callable[[Kind, tuple[Part, ...]], UnsampledSeries] = field(
        default_factory=lambda: lru_cache(maxsize=1)(UnsampledSeries)
    )
    """Caches the columns of a long series, which a page requests again and again. Only the last one
    requested is kept, and only until the next commit."""

    def run(self, name: str) -> RunView:
        """The view of a run. Raises NotFoundError."""
        view = self.runs.get(name)
        if view is None:
            raise NotFoundError(f"no run {quoted(name)}{close_matches(name, self.runs)}")
        return view

    def committed(
        self,
        changed: Mapping[str, RunView],
        removed: Collection[str],
        modified: Mapping[str, float],
        side_files: SideFiles,
    ) -> State:
        """The state after a commit; see `Multiplexer._commit` for the arguments."""
        removed = [name for name in removed if name in self.runs]
        has_new_files = side_files != self.side_files
        if not changed and not removed and not modified and not has_new_files:
            return self
        runs, details = dict(self.runs), dict(self.details)
        for name in removed:
            del runs[name], details[name]
        runs.update(changed)
        for name in {**changed, **modified}:
            if name in runs:
                view, before = runs[name], details.get(name)
                details[name] = RunDetails(
                    name,
                    view.first_event_time,
                    view.last_event_time,
                    modified.get(name, before.modified if before else None),
                    view.nonfinite_tags,
                    view.source,
                )
        if not changed and not removed and not has_new_files:
            return replace(self, details=details)
        generation = self.generation + 1
        generations = {n: old for n, old in self.run_generations.items() if n not in removed}
        generations.update(dict.fromkeys(changed, generation))
        if has_new_files:
            is_new = {n for n in runs if side_files.get(n) != self.side_files.get(n)}
            generations.update(dict.fromkeys(is_new, generation))
        has_new_tags = removed or any(
            name not in self.runs
            or self.runs[name].schema is not view.schema
            or self.runs[name].logged_hparams != view.logged_hparams
            for name, view in changed.items()
        )
        listings = self.listings
        if has_new_tags or (has_new_files and _paths(side_files) != _paths(self.side_files)):
            listings = Listings(generation, {name: view.schema for name, view in runs.items()})
        return State(generation, runs, generations, details, listings, side_files)


def _paths(side_files: SideFiles) -> list[tuple[str, str]]:
    """The runs and paths of all files."""
    return [(run, f.path) for run, by in side_files.items() for fs in by.values() for f in fs]
