"""Whatever happens to a directory, logs that follow it have what a new server would read."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tbcore
from tbcore import Claim, Multiplexer
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore_logs import Logs
from tbcore_testing import EventFileWriter, summaries, write_run

RUNS = ["a", "a/b", "c"]
EVENTS = st.one_of(
    st.tuples(
        st.sampled_from(["new file", "append", "half", "replace", "delete"]), st.sampled_from(RUNS)
    ),
    st.tuples(st.sampled_from(["read", "list", "read all"]), st.sampled_from(RUNS)),
    st.tuples(st.just("refresh"), st.just("")),
)


def happen(event: str, run: str, number: int, logdir: Path, logs: Logs) -> None:
    """Changes the files of a run, or asks the logs for something."""
    files = sorted((logdir / run).glob("*tfevents*")) if run else []
    match event:
        case "new file":
            write_run(logdir, run, scalars={"loss": [(number, number)]}, wall_time=1.0 + number)
        case "append" | "half" if files:
            before = files[-1].stat().st_size
            with EventFileWriter(files[-1]) as writer:
                writer.add_summary(number, summaries.scalar("loss", number))
            if event == "half":
                data = files[-1].read_bytes()
                files[-1].write_bytes(data[: (before + len(data)) // 2])
        case "replace" if files:
            files[-1].unlink()
            tags: dict[str, Any] = {"other": [number] * number}
            write_run(logdir, run, scalars=tags, filename=files[-1].name, wall_time=500.0 + number)
        case "delete" if files:
            shutil.rmtree(logdir / run)
        case "read" if run in logs:
            assert all(tag.count > 0 for tag in logs[run].tags.values())
        case "read all":
            series = (run[tag] for run in logs.runs.values() for tag in run.scalar_tags)
            assert len(logs.scalars()) == sum(map(len, series))
        case "list":
            assert len(logs.runs) == len(logs)
        case "refresh":
            known = dict(logs.runs)
            changed = logs.refresh()
            assert changed >= known.keys() ^ logs.runs.keys()
            assert all(logs.runs[name] is run for name, run in known.items() if name not in changed)


@given(st.lists(EVENTS, max_size=25))
def test_logs_that_are_refreshed_are_like_new(events: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logdir = Path(folder)
        write_run(logdir, "a", scalars={"loss": [0.0]}, wall_time=1.0)
        logs = tbcore.open(logdir)
        for number, (event, run) in enumerate(events, start=1):
            happen(event, run, number, logdir, logs)
        logs.refresh()

        board = Board()
        expected = Multiplexer(board=board)
        Loader(board, [LogdirSpec(None, folder)]).load_once()
        tags = expected.tags([Claim(is_scalar=True)])
        assert {name: run.scalar_tags for name, run in logs.runs.items()} == tags
        for run in tags:
            for tag in tags[run]:
                ours, theirs = logs[run][tag], expected.scalars(run, tag)
                for name in ("ordinal", "step", "wall_time", "value"):
                    np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
