"""Inherited hyperparameters: a run that logged none has those of a run above or below it.

exp             logged lr: 0.1     has lr: 0.1
exp/train       logged none        has those of exp, the nearest run above it
pytorch         logged none        has those of pytorch/1700000000, the only run below it with any
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from tbcore.errors import DataError
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.queries.evaluation import HParam
from tbcore.store.state import State
from tbcore.store.view import Schema
from tbcore.values import SESSION_START_TAG, session_start

HParams = Mapping[str, HParam]
ROOT = "."
"""The name of the run in the log directory itself, which is above all others."""


class InheritedHParams(NamedTuple):
    """The hyperparameters of all runs at one commit."""

    listings_generation: int = 0
    """The generation in which tags last changed; hyperparameters change only with them."""
    own: Mapping[str, tuple[Schema, HParams]] = {}
    """The hyperparameters that a run itself logged, and the schema they were read from. Runs that
    logged none are left out."""
    by_run: Mapping[str, HParams] = {}
    """The hyperparameters of each run, its own or inherited. Runs without any are left out."""
    generations: Mapping[str, int] = {}
    """The generation in which a run's hyperparameters last changed or disappeared. Runs that never
    had any are left out."""

    def updated(self, state: State) -> InheritedHParams:
        """The hyperparameters at a later commit; those of unchanged schemas are not read again."""
        # 1. Read the hyperparameters that each run itself logged.
        # 2. For each path above these runs, find the only one below it; None if there are several.
        # 3. For each run, select its own, those of a run above, or those of the only run below.
        # 4. For each run, note whether they have changed.
        if state.listings.generation == self.listings_generation:
            return self
        own: dict[str, tuple[Schema, HParams]] = {}  # 1
        for name, view in state.runs.items():
            metadata = view.schema.tags.get(SESSION_START_TAG, (None, None))[1]
            if metadata is None:
                continue
            before = self.own.get(name)
            is_known = before is not None and before[0] is view.schema
            hparams = before[1] if is_known and before else _read(metadata)
            if hparams:
                own[name] = view.schema, hparams
        only_below: dict[str, str | None] = {}  # 2
        for name in own:
            for path in _paths_above(name):
                only_below[path] = None if path in only_below else name
        by_run: dict[str, HParams] = {}  # 3
        for name in state.runs:
            source = _source(name, own, only_below)
            if source is not None:
                by_run[name] = own[source][1]
        generations = {  # 4
            name: state.generation
            if by_run.get(name) != self.by_run.get(name)
            else self.generations.get(name, 0)
            for name in {**self.generations, **by_run}
            if name in state.runs
        }
        return InheritedHParams(state.listings.generation, own, by_run, generations)


def _source(name: str, own: Collection[str], only_below: Mapping[str, str | None]) -> str | None:
    """The run that a run's hyperparameters are from, possibly itself; None if it has none."""
    if name in own:
        return name
    above = next((path for path in _paths_above(name) if path in own), None)
    return above or only_below.get(name)


def _paths_above(name: str) -> Iterator[str]:
    """The paths of the directories that contain a run, the innermost first, and ROOT last."""
    if name == ROOT:
        return
    path = name
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
    yield ROOT


def _read(metadata: bytes) -> HParams:
    """The hyperparameters in a run's metadata, by name; empty if they cannot be decoded."""
    try:
        hparams = session_start(SummaryMetadata.FromString(metadata)).hparams
    except DataError:
        return {}
    return {  # Interned, since all runs of a sweep have the same names.
        sys.intern(name): _as_json(value) if isinstance(value, list | dict) else value
        for name, value in sorted(hparams.items())  # A protobuf map has no order.
        if value is not None
    }


def _as_json(value: Any) -> str:
    """A list or dict as JSON without blanks, in which whole numbers have no decimal point."""
    return orjson.dumps(_with_integers(value)).decode()


def _with_integers(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_integers(element) for element in value]
    if isinstance(value, dict):
        return {name: _with_integers(element) for name, element in value.items()}
    is_integer = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if is_integer else value
