"""Summaries of NaN and infinite values in the list of runs."""

from __future__ import annotations

from pathlib import Path

from calls import Watch

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.server.nonfinite import NonfiniteSummaries
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.view import RunView
from tbcore_testing import write_run

INF = float("inf")


def test_a_summary_is_cached_until_its_run_changes(tmp_path: Path, calls_of: Watch) -> None:
    """Only runs that have changed are read again: the page requests summaries very often."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    loader = Loader(board, [LogdirSpec(None, str(tmp_path))])
    write_run(tmp_path, "late", scalars={"x": [0.5] * 70_000 + [INF]})
    write_run(tmp_path, "early", scalars={"x": [(3, -INF), (4, INF), (5, 0.5)], "y": [0.5]})
    write_run(tmp_path, "fine", scalars={"x": [0.5]})
    loader.load_once()
    read = calls_of(RunView.point)
    nonfinite = NonfiniteSummaries(multiplexer)

    for _ in range(2):
        assert nonfinite.summaries(board.state.details.values()) == {
            "late": {
                "num_tags": 1,
                "tags": ("x",),
                "first_steps": (70_000,),
                "first_values": (INF,),
            },
            "early": {"num_tags": 1, "tags": ("x",), "first_steps": (3,), "first_values": (-INF,)},
        }
    assert [(call.arguments["tag"], call.arguments["stat"]) for call in read] == [("x", "nan")] * 2

    write_run(tmp_path, "early", restart_at=1, scalars={"x": [(1, 0.5), (2, INF)]})
    write_run(tmp_path, "late", restart_at=1)
    loader.load_once()
    assert nonfinite.summaries(board.state.details.values()) == {
        "early": {"num_tags": 1, "tags": ("x",), "first_steps": (2,), "first_values": (INF,)}
    }
