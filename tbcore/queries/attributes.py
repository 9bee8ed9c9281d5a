"""Attributes of runs, as columns: hyperparameters, values of tags, steps and times.

    attributes = RunAttributes(multiplexer)
    columns = attributes.columns()
    columns.hparams("lr")                      # [0.1, None, 0.01], one for each of columns.runs
    columns.points("val/loss", "last", None)   # [(100, 0.25), None, (90, 0.5)]
    columns.runs_found(parse("lr>0.05"))       # ["a"]

The last point of a tag is found without reading the others; all else is computed from all points of
a tag. Each is cached until the run changes.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import chain, compress, islice
from typing import NamedTuple, TypeVar

from tbcore.errors import TbcoreError
from tbcore.eventfiles.steps import last_row_until
from tbcore.queries.evaluation import (
    Attribute,
    Comparison,
    Glob,
    Has,
    HParam,
    Node,
    Point,
    QueryError,
    comparisons,
    matching_runs,
)
from tbcore.queries.syntax import MAX_QUERY_CHARACTERS
from tbcore.store.hyperparameters import InheritedHParams
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.notes import Notes, open_notes
from tbcore.store.series import Part, ScalarSeries, Series, extreme_rows, merged_columns
from tbcore.store.state import State
from tbcore.store.view import RunView, Schema, StoredRun
from tbcore.text import close_names, listed

MAX_NAMES = 1000
"""Maximum number of hyperparameters, and of tags, whose names are listed."""
_MAX_NAMES = 3
"""Maximum number of names that are listed in place of similar ones."""
_NUM_RUNS_AT_ONCE = 4000
"""Number of runs whose points are read between two checks of whether the work shall go on: about
20 ms."""
_MAX_CACHED_COLUMNS = 16
"""Maximum number of columns of points that are cached."""
_MAX_CACHED_POINTS = 300_000
"""Maximum number of points in all cached columns, at 170 bytes each; a single column may have
more."""

T = TypeVar("T")
_ColumnKey = tuple[str, str, int | None]
"""Tag, statistic and step."""
_CachedColumn = dict[str, tuple[int, Point | None]]
"""Maps each run to the run's generation and its point."""


class Names:
    """Names of hyperparameters, or of tags, and the number of runs that have each name."""

    def __init__(self, names: Iterable[str]) -> None:
        """`names` has each name once for each run that has it."""
        self.num_runs = Counter(names)
        """Maps each name to the number of runs that have it."""
        self.close = lru_cache(maxsize=32)(self._close)
        """Returns up to three names that are similar to an unknown one. Among 100,000 names, the
        search takes 0.3 s, and a page asks again after each commit."""

    @cached_property
    def _by_lowered(self) -> Mapping[str, list[str]]:
        by_lowered: dict[str, list[str]] = {}
        for name in self.num_runs:
            by_lowered.setdefault(name.lower(), []).append(name)
        return by_lowered

    def candidates(self, name: str) -> list[str]:
        """The names that equal this one if case is ignored."""
        return self._by_lowered.get(name.lower(), [])

    def matching(self, name: str | Glob) -> frozenset[str]:
        """The names that equal a name, or match a glob, once they are lower-cased."""
        if isinstance(name, str):
            return frozenset(self.candidates(name))
        return frozenset(n for n in self.num_runs if name.pattern.fullmatch(n.lower()))

    def _close(self, name: str) -> Sequence[str]:
        close = close_names(name.lower(), self._by_lowered)
        return [self._by_lowered[lowered][0] for lowered in close]

    def most_common(self) -> list[str]:
        """Up to MAX_NAMES names, the most common first. Names too long for a query are left out."""
        names = [name for name, _ in self.num_runs.most_common(MAX_NAMES)]
        return [name for name in names if len(name) <= MAX_QUERY_CHARACTERS]

    def common(self) -> str:
        """The most common names for a message, and how many more there are."""
        return listed(self.most_common(), len(self.num_runs))


class Unknown(NamedTuple):
    """A hyperparameter or tag in a query that no run has."""

    node: Comparison | Has
    what: str
    """`hyperparameter` or `tag`."""
    close: Sequence[str]
    """Names that are similar to it, the closest first."""
    common: str
    """Names that most runs have, and how many more there are; "" if there are none."""
    values: Sequence[Attribute]
    """For a hyperparameter that is compared with a number, values of the tag with its name; if
    there is none, and no similar hyperparameter, the last values of similar tags."""


class Index:
    """The names of tags and hyperparameters of all runs, and the values of hyperparameters."""

    def __init__(self, hparams: InheritedHParams, schemas: Sequence[Schema]) -> None:
        self.hparams = hparams
        self.hparam_names = Names(name for _, own in hparams.own.values() for name in own.values)
        self.tags = Names(chain.from_iterable(schema.tags for schema in schemas))
        self._schemas = schemas

    @cached_property
    def scalar_tags(self) -> Names:
        """The tags with scalars."""
        return Names(
            tag
            for schema in self._schemas
            for tag, (kinds, _) in schema.tags.items()
            if kinds[0].is_scalar or any(kind.is_scalar for kind in kinds)
        )


class RunAttributes:
    """Makes columns of attributes, and caches those that are slow to compute. Thread-safe."""

    def __init__(self, multiplexer: Multiplexer) -> None:
        self.multiplexer = multiplexer
        self._lock = threading.Lock()
        self._index = Index(InheritedHParams(-1), ())
        self._cache: dict[_ColumnKey, _CachedColumn] = {}
        """Columns of points, the most recently used last."""

    def columns(self) -> RunColumns:
        """Columns for all runs, as of the last commit."""
        with self._lock:
            state, hparams = self.multiplexer._with_hparams()
            if self._index.hparams is not hparams:
                self._index = Index(hparams, [view.schema for view in state.runs.values()])
            notes = self.multiplexer._board.notes or self.multiplexer._board.notes_fault
            return RunColumns(state, self._index, self._cached_column, list(state.runs), notes)

    def _cached_column(self, key: _ColumnKey, state: State) -> _CachedColumn:
        """The cached points of a column, without those of removed runs. Callers add to it."""
        with self._lock:
            column = self._cache.pop(key, {})
            if len(column) > len(state.runs):
                # Another thread may be adding to the column, so iterate over a copy.
                column = {run: known for run, known in dict(column).items() if run in state.runs}
            self._cache[key] = column
            while len(self._cache) > 1 and (
                len(self._cache) > _MAX_CACHED_COLUMNS
                or sum(map(len, self._cache.values())) > _MAX_CACHED_POINTS
            ):
                del self._cache[next(iter(self._cache))]
            return column


class RunColumns:
    """Columns for some or all runs, as of one commit. Implements QueriedRuns.

    Hyperparameters and tags are found by their exact name, or else by a name that differs only in
    case.
    """

    def __init__(
        self,
        state: State,
        index: Index,
        cached_column: Callable[[_ColumnKey, State], _CachedColumn],
        runs: Sequence[str],
        notes: Notes | str | None,
        check: Callable[[], object] = bool,
    ) -> None:
        """`notes` are for queries, or why there are none. `check` is called repeatedly while
        columns are computed, and may raise an exception."""
        self._state, self.notes, self.check = state, notes, check
        self._cached = cached_column
        self.report: Callable[..., object] = lambda *lines: None
        """Called with the problems of hyperparameters, a line each, when an answer depends on
        them."""
        self.runs = runs
        self.generation = state.generation
        self.now = time.time()
        self.index = index
        details = [state.details[run] for run in runs]
        self.first_event_times: Sequence[float | None] = [run.first_event_time for run in details]
        self.last_event_times: Sequence[float | None] = [run.last_event_time for run in details]
        self.states: Sequence[str] = [run.state(self.now) for run in details]
        self.is_nonfinite: Sequence[bool] = [bool(run.nonfinite_tags) for run in details]

    def changed_since(self, generation: int) -> RunColumns:
        """Columns for the runs that have changed, or inherit changes, since a generation."""
        generations, hparams = self._state.run_generations, self.index.hparams.generations
        runs = [
            run
            for run in self.runs
            if generations[run] > generation or hparams.get(run, 0) > generation
        ]
        return RunColumns(self._state, self.index, self._cached, runs, self.notes, self.check)

    def runs_found(self, query: Node) -> list[str]:
        """The runs that a query finds. Raises QueryError if a regular expression takes too long."""
        return list(compress(self.runs, matching_runs(query, self, self.check).tolist()))

    def unknown(self, query: Node) -> Iterator[Unknown]:
        """The hyperparameters and tags in a query that no run has, in the query's order."""
        index = self.index
        for node in comparisons(query):
            match node:
                case Comparison(Attribute("hparam")):
                    what, known, names = "hyperparameter", index.hparam_names, index.hparam_names
                case Comparison(Attribute("value")) | Has(str()):
                    what, known, names = "tag", index.tags, index.scalar_tags
                case _:
                    continue
            name = node.name
            if not known.candidates(name):
                close = known.close(name)
                values: list[Attribute] = []
                if isinstance(node, Has):
                    close = [*close_names(name.lower(), ["nan"]), *close][:_MAX_NAMES]
                elif known is index.hparam_names and node.number is not None:
                    if tags := index.scalar_tags.candidates(name):
                        values = [Attribute("value", tags[0], stat) for stat in ("last", "min")]
                    elif not close:
                        similar = index.scalar_tags.close(name)
                        values = [Attribute("value", tag, "last") for tag in similar]
                yield Unknown(node, what, close, names.common(), values)

    def hparams(self, name: str) -> list[HParam | None]:
        """The values of a hyperparameter."""
        self.check()
        self.report(*self.index.hparams.problems)
        by_run = self.index.hparams.by_run
        find = _finder(name, self.index.hparam_names.candidates(name))
        owns = map(by_run.get, self.runs)
        return [None if o is None or (k := find(o.values)) is None else o.values[k] for o in owns]

    def points(self, tag: str, stat: str, step: int | None) -> list[Point | None]:
        """Step and value of one point of a tag for each run.

        `stat` is `last` for the last point written, `min` or `max` for the one with the lowest or
        highest finite value, or `at` for the last one written whose step is at most `step`. The
        value of `change` is the last one less that of `at`, `step` steps before the last one. That
        of `nan` is the step of the first point that is NaN or infinite.
        """
        if not self.index.tags.candidates(tag):
            return [None] * len(self.runs)
        cached = self._cached((tag, stat, step), self._state)
        generations = self._state.run_generations
        changed = {
            run: named
            for run, named in zip(self.runs, self.views(tag), strict=True)
            if cached.get(run, (None, None))[0] != generations[run]
        }
        rest = iter(changed.items())
        while part := dict(islice(rest, _NUM_RUNS_AT_ONCE)):
            self.check()
            for run, point in zip(part, _points_of(part.values(), stat, step), strict=True):
                cached[run] = generations[run], point
        return [cached[run][1] for run in self.runs]

    def views(self, tag: str) -> list[tuple[RunView, str | None]]:
        """The data of each run, and the name of the tag in it; None for a run without the tag."""
        find = _finder(tag, self.index.tags.candidates(tag))
        views = [self._state.runs[run] for run in self.runs]
        return [(view, find(view.schema.tags)) for view in views]

    def has(self, tag: str | Glob) -> list[bool]:
        """Whether each run has a tag that equals `tag`, or matches a glob; see QueriedRuns."""
        names = self.index.tags.matching(tag)
        runs = self._state.runs
        return [not runs[run].schema.tags.keys().isdisjoint(names) for run in self.runs]

    def noted(self, sign: str, text: str | Glob, at: int) -> list[bool]:
        """Whether users have noted such a thing about each run; see QueriedRuns."""
        if isinstance(self.notes, str):
            raise QueryError(self.notes, at)
        try:
            notes = self.notes or open_notes()
            found = notes.found(sign, text.pattern if isinstance(text, Glob) else text)
        except (TbcoreError, OSError) as error:
            raise QueryError(str(error), at) from None
        return [run in found for run in self.runs]

    def last_steps(self) -> list[int | None]:
        """The highest step of each run."""
        return [self._state.runs[run].highest_step() for run in self.runs]


def _finder(name: str, candidates: Sequence[str]) -> Callable[[Mapping[str, T]], str | None]:
    """A function that finds the key for a name in a mapping, or else one of the candidates."""
    others = frozenset(candidates) - {name}

    def find(mapping: Mapping[str, T]) -> str | None:
        if name in mapping:
            return name
        if mapping.keys().isdisjoint(others):  # Fast, as it iterates over the few candidates.
            return None
        return next(key for key in mapping if key in others)

    return find


def _points_of(
    tags: Iterable[tuple[RunView, str | None]], stat: str, step: int | None
) -> list[Point | None]:
    """The points of some runs and tags; see `RunColumns.points`. None for no tag."""
    tags = list(tags)
    if stat not in ("last", "change"):
        return _selected(tags, stat, [step] * len(tags))
    last = [None if tag is None else view.last_point(tag) for view, tag in tags]
    if stat == "last":
        return last
    before = _selected(tags, "at", [point and point[0] - (step or 0) for point in last])
    pairs = zip(last, before, strict=True)
    return [(end[0], end[1] - start[1]) if end and start else None for end, start in pairs]


def _selected(
    tags: Sequence[tuple[RunView, str | None]], stat: str, limits: Sequence[int | None]
) -> list[Point | None]:
    """The points that `min`, `max` or `nan` selects, or `at` with a limit for each tag."""
    points: list[Point | None] = []
    whole: dict[int, Part] = {}
    """The series that are in a single table, by their position in `points`."""
    for (view, tag), limit in zip(tags, limits, strict=True):
        if tag is None or (stat == "nan" and tag not in view.nonfinite_tags):
            points.append(None)
        elif stat == "nan" or (stat != "at" and isinstance(view, StoredRun)):
            point = view.point(tag, stat)
            points.append(point and (point[0], point[0] if stat == "nan" else point[1]))
        else:
            all_series = [each for each in view.series(tag) if each.kind.is_scalar]
            if len(all_series) == 1 and len(all_series[0].parts) == 1:
                whole[len(points)] = all_series[0].parts[0]
            points.append(_point_of(all_series, stat, limit) if len(points) not in whole else None)
    if stat == "at":
        rows = [last_row_until(t.step[i], limits[n] or 0) for n, (t, i) in whole.items()]
    else:
        rows = extreme_rows([table.value[table.rows(i)] for table, i in whole.values()], stat)
    for number, (table, i), row in zip(whole, whole.values(), rows, strict=True):
        if row is not None:
            points[number] = int(table.step[i][row]), float(table.value[table.bounds[i] + row])
    return points


def _point_of(all_series: Sequence[Series], stat: str, step: int | None) -> Point | None:
    """The point of one tag, whose series have a kind each."""
    if not all_series:
        return None
    merged = ScalarSeries(*merged_columns(all_series, 0, ("step", "wall_time", "value")))
    point = merged.at(step) if step is not None else getattr(merged, stat)
    return point and (point.step, point.value)
