"""Hyperparameters of runs: a run that logged none has those of a run above or below it.

exp             logged lr: 0.1     has lr: 0.1
exp/train       logged none        has those of exp, the nearest run above it
pytorch         logged none        has those of pytorch/1700000000, the only run below it with any

The only module of `store` that imports from `values`. It is imported when hyperparameters are first
asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tbcore.errors import DataError
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.store.state import State
from tbcore.store.view import LoggedHParams
from tbcore.text import quoted
from tbcore.values import hparam_text, paths_above, session_start


class RunHParams(NamedTuple):
    """The hyperparameters of a run, its own or inherited."""

    source: str
    """The run that logged them: the run itself, or the one that it inherits them from."""
    values: Mapping[str, float | str | bool]
    """By name, in the order of names. A list or dict is its `hparam_text`; null values are left
    out."""
    error: str = ""
    """Why those of `source` cannot be decoded; then there are no `values`."""

    @property
    def problem(self) -> str:
        """The error as a line that names the run; "" if there is none."""
        return self.error and f"run {quoted(self.source)}: {self.error}"


class InheritedHParams(NamedTuple):
    """The hyperparameters of all runs at one commit."""

    listings_generation: int = 0
    """The generation in which tags last changed; hyperparameters change only with them."""
    own: Mapping[str, tuple[LoggedHParams, RunHParams]] = {}
    """The hyperparameters that a run itself logged, and what they were read from. Runs that logged
    none are left out."""
    by_run: Mapping[str, RunHParams] = {}
    """The hyperparameters of each run, its own or inherited. Runs without any are left out."""
    generations: Mapping[str, int] = {}
    """The generation in which a run's hyperparameters last changed or disappeared. Runs that never
    had any are left out."""
    problems: Sequence[str] = ()
    """A line for each run whose own hyperparameters cannot be decoded."""

    def updated(self, state: State) -> InheritedHParams:
        """The hyperparameters at a later commit. Those that are as before are not decoded again."""
        # 1. Read the hyperparameters that each run itself logged.
        # 2. For each path above these runs, find the only one below it; None if there are several.
        # 3. For each run, select its own, those of a run above, or those of the only run below.
        # 4. For each run, note whether they have changed.
        if state.listings.generation == self.listings_generation:
            return self
        own: dict[str, tuple[LoggedHParams, RunHParams]] = {}  # 1
        for name, view in state.runs.items():
            if not (logged := view.logged_hparams):
                continue
            before = self.own.get(name)
            found = before[1] if before and before[0] == logged else read_hparams(name, logged)
            if found.values or found.error:
                own[name] = logged, found
        only_below: dict[str, str | None] = {}  # 2
        for name in own:
            for path in paths_above(name):
                only_below[path] = None if path in only_below else name
        by_run: dict[str, RunHParams] = {}  # 3
        for name in state.runs:
            source: str | None = name
            if name not in own:
                above = (path for path in paths_above(name) if path in own)
                source = next(above, None) or only_below.get(name)
            if source is not None:
                by_run[name] = own[source][1]
        generations = {  # 4
            name: state.generation
            if by_run.get(name) != self.by_run.get(name)
            else self.generations.get(name, 0)
            for name in {**self.generations, **by_run}
            if name in state.runs
        }
        problems = [found.problem for _, found in own.values() if found.error]
        return InheritedHParams(state.listings.generation, own, by_run, generations, problems)


def read_hparams(run: str, logged: LoggedHParams) -> RunHParams:
    """The hyperparameters that a run logged, as `RunView.logged_hparams` has them."""
    if not isinstance(logged, bytes):
        return RunHParams(run, logged or {})
    try:
        hparams = session_start(SummaryMetadata.FromString(logged)).hparams
    except DataError as error:
        return RunHParams(run, {}, str(error))
    values = {  # Interned, since all runs of a sweep have the same names.
        sys.intern(name): hparam_text(value) if isinstance(value, list | dict) else value
        for name, value in hparams.items()
        if value is not None
    }
    return RunHParams(run, values)
