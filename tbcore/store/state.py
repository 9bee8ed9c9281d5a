"""State: all runs as they were at one commit. Immutable, so that requests need no lock."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import NamedTuple

import orjson

from tbcore.errors import NotFoundError
from tbcore.kinds import Claims, Kind, matches
from tbcore.store.series import Series
from tbcore.store.view import ClaimsKey, RunView, Schema

_MAX_NAMES_COMPARED = 200
"""Maximum number of names that an unknown name is compared with. For long names, one comparison
takes a millisecond."""
_MAX_NAME_CHARS = 200
"""Maximum length of a name in a message."""
_MAX_CACHED_CLAIMS = 64
"""Maximum number of results of `tags` that are cached. Each plugin requests about one."""


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


class Listings:
    """What depends only on the runs, their tags and their kinds. Computed on first use.

    If two threads compute the same at the same time, the results are equal.
    """

    def __init__(self, generation: int, schemas: Mapping[str, Schema]) -> None:
        self.generation = generation
        """The first generation for which the results are valid."""
        self._schemas = schemas
        self.tags = lru_cache(maxsize=_MAX_CACHED_CLAIMS)(self._tags)

    def _tags(self, claims: ClaimsKey) -> TagsByRun:
        """The tags of each run that one of the claims matches."""
        return TagsByRun({n: schema.tags_matching(claims) for n, schema in self._schemas.items()})

    @cached_property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of all runs."""
        return frozenset(kind for schema in self._schemas.values() for kind in schema.kinds())

    @cached_property
    def summaries(self) -> list[KindSummary]:
        """All kinds that occur, in order of first appearance."""
        tags_by_kind: dict[Kind, dict[str, None]] = {}  # The keys are tags, and keep their order.
        examples: dict[Kind, tuple[str, str]] = {}
        num_runs: dict[Kind, int] = {}
        for name, schema in self._schemas.items():
            for tag, info in schema.tags.items():
                for kind in info.kinds:
                    tags_by_kind.setdefault(kind, {})[tag] = None
                    examples.setdefault(kind, (name, tag))
            for kind in schema.kinds():
                num_runs[kind] = num_runs.get(kind, 0) + 1
        return [
            KindSummary(kind, num_runs[kind], len(tags), *examples[kind])
            for kind, tags in tags_by_kind.items()
        ]


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

    def run(self, name: str) -> RunView:
        """The view of a run. Raises NotFoundError."""
        view = self.runs.get(name)
        if view is None:
            raise NotFoundError(f"no run {quoted(name)}{_close_matches(name, self.runs)}")
        return view

    def find(self, run: str, tag: str, claims: Claims | None) -> tuple[RunView, list[Series]]:
        """The view of a run, and the series of a tag that one of the claims matches.

        Raises NotFoundError if there is no such run or tag, or no such series.
        """
        view = self.run(run)
        schema = view.schema
        if tag in schema.tags:
            series = view.series(tag)
            if claims is not None:
                series = [each for each in series if matches(claims, each.kind)]
            if series:
                return view, series
        candidates = schema.tags if claims is None else schema.tags_matching(tuple(claims))
        close = _close_matches(tag, candidates)
        raise NotFoundError(f"no tag {quoted(tag)} in run {quoted(run)}{close}")

    def committed(
        self,
        changed: Mapping[str, RunView],
        removed: Collection[str],
        modified: Mapping[str, float],
    ) -> State:
        """The state after a commit, for which see `Multiplexer.commit`."""
        removed = [name for name in removed if name in self.runs]
        if not changed and not removed and not modified:
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
                )
        if not changed and not removed:
            return replace(self, details=details)
        generation = self.generation + 1
        generations = {n: old for n, old in self.run_generations.items() if n not in removed}
        generations.update(dict.fromkeys(changed, generation))
        has_new_tags = removed or any(
            name not in self.runs or self.runs[name].schema is not view.schema
            for name, view in changed.items()
        )
        listings = self.listings
        if has_new_tags:
            listings = Listings(generation, {name: view.schema for name, view in runs.items()})
        return State(generation, runs, generations, details, listings)


def quoted(name: str) -> str:
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
    return f"; close: {', '.join(map(quoted, close))}" if close else ""
