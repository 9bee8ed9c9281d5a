"""Compares the runs of two multiplexers, down to the last bit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.kinds import Claim
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.state import State
from tbcore.store.status import LoadStatus
from tbcore_index.command import index_command
from tbcore_index.reader import IndexReader
from tbcore_index.tables import FORMAT

ALL = [Claim()]
_REFERENCES = "file", "offset", "length", "index", "crc"


def update(logdir: Path | str, index: Path | str, *options: str) -> int:
    """Runs `tbcore index`; returns the exit status."""
    arguments = [str(logdir), "--index", str(index), *options]
    status: int = index_command.main(arguments, standalone_mode=False)
    return status


def properties_of(logdir: Path) -> dict[str, str]:
    """The properties of an index that `tbcore index` makes of a log directory."""
    return {
        "tbcore.format": FORMAT,
        "tbcore.logdirs": json.dumps([[None, str(logdir)]]),
        "tbcore.purge_orphaned_data": "true",
    }


def loaded(logdir: Path | str | None, index: Path | str | None = None) -> Multiplexer:
    """All runs of a log directory, of an index, or of both."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    specs = [LogdirSpec(None, str(logdir))] if logdir else []
    opened = IndexReader(str(index)) if index else None
    Loader(board, specs, index=opened).load_once()
    return multiplexer


def state_of(multiplexer: Multiplexer) -> State:
    """What a multiplexer has at this moment."""
    return multiplexer._state


def status_of(multiplexer: Multiplexer) -> LoadStatus:
    """What its loader says about the log directories."""
    return multiplexer._board.status


def check_same(expected: Multiplexer, found: Multiplexer, *, order: bool = True) -> None:
    """Fails unless both have the same runs with the same data."""
    names = expected.runs()
    if order:
        assert found.runs() == names
    assert sorted(found.runs()) == sorted(names)
    kinds, wanted = (state_of(each).listings.summaries for each in (found, expected))
    assert {kind[:3] for kind in kinds} == {kind[:3] for kind in wanted}
    details = {each.name: each for each in state_of(found).details.values()}
    for each in state_of(expected).details.values():
        assert repr(details[each.name]) == repr(each)
    assert repr(found.hyperparameters()) == repr(expected.hyperparameters())
    for run in names:
        check_same_run(expected, found, run)


def check_same_run(expected: Multiplexer, found: Multiplexer, run: str) -> None:
    """Fails unless a run has the same data in both."""
    view, other = state_of(expected).run(run), state_of(found).run(run)
    assert dict(other.schema.tags) == dict(view.schema.tags)
    assert list(other.schema.tags) == list(view.schema.tags)
    assert other.own_metadata == view.own_metadata
    assert other.highest_step() == view.highest_step()
    assert sorted(f.path for f in other.files) == sorted(f.path for f in view.files)
    assert repr(found.first_event_time(run)) == repr(expected.first_event_time(run))
    _same(expected.last_points(run, ALL), found.last_points(run, ALL))
    for tag in view.schema.tags:
        assert repr(other.last_point(tag)) == repr(view.last_point(tag))
        for stat in ("min", "max", "nan"):
            assert repr(other.point(tag, stat)) == repr(view.point(tag, stat))
        for series, same in zip(view.series(tag), other.series(tag), strict=True):
            values = ("value",) if series.kind.is_scalar else _REFERENCES
            assert same.kind == series.kind
            names = ("ordinal", "step", "wall_time", *values)
            _same([series.column(n) for n in names], [same.column(n) for n in names])
        if expected.items(run, tag, ALL):
            assert found.items(run, tag, ALL) == expected.items(run, tag, ALL)
            assert found.items_etag(run, tag, ALL) == expected.items_etag(run, tag, ALL)


def _same(expected: Sequence[object], found: Sequence[object]) -> None:
    for one, other in zip(expected, found, strict=True):
        if isinstance(one, np.ndarray):
            assert isinstance(other, np.ndarray)
            assert (other.dtype, other.tobytes()) == (one.dtype, one.tobytes())
        else:
            assert other == one
