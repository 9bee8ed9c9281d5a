"""Runs of a sweep: equal tags, and hyperparameters of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from loaded_logs import Logs

from tbcore.kinds import SESSION_START_TAG, Claim, Kind
from tbcore.values import SESSION_END_TAG, session_end, session_start
from tbcore_testing import summaries, write_run


def write(logdir: Path, number: int) -> Path:
    return write_run(
        logdir,
        f"run{number}",
        hparams={"lr": number / 10, "seed": number},
        scalars={"loss": [1.0, 0.5]},
        values=[summaries.session_end(end=1000.0 + number)],
    )


@pytest.mark.parametrize("small_file_bytes", [1 << 20, 0])
def test_runs_of_a_sweep_share_their_schema(logs: Logs, small_file_bytes: int) -> None:
    """What is a run's own is kept with the run, and read as it was logged."""
    logs.tune(small_file_bytes=small_file_bytes)
    for number in range(300):  # More than any cache of schemas has.
        write(logs.path, number)
    logs.load()

    views = logs.board.state.runs
    assert len({id(view.schema) for view in views.values()}) == 1
    assert len({id(table.columns) for view in views.values() for table in view.tables}) == 1
    assert logs.board.state.listings.kinds == {Kind("", "hparams"), Kind("simple_value", "", True)}
    assert logs.multiplexer.tags([Claim(plugin_name="hparams")])["run7"] == [
        SESSION_START_TAG, SESSION_END_TAG,
    ]  # fmt: skip
    hparams = logs.multiplexer.hyperparameters()
    for number in range(300):
        run, own = f"run{number}", {"lr": number / 10, "seed": number}
        assert hparams[run].values == own
        metadata = logs.multiplexer.metadata
        assert session_start(metadata(run, SESSION_START_TAG)).hparams == own
        assert session_end(metadata(run, SESSION_END_TAG)).end == 1000.0 + number


def test_the_first_hyperparameters_of_a_run_count(logs: Logs) -> None:
    """Others that are logged later, in its file or in another one, change nothing."""
    write(logs.path, 1)
    write_run(logs.path, "run1", hparams={"lr": 9.0}, scalars={"loss": [0.25]})
    logs.load()
    write_run(logs.path, "run1", hparams={"lr": 8.0})
    logs.load()
    assert logs.multiplexer.hyperparameters()["run1"].values == {"lr": 0.1, "seed": 1}


def test_a_file_that_is_replaced_has_other_hyperparameters(logs: Logs) -> None:
    """Also if its tags are the same as before."""
    path = write(logs.path, 1)
    logs.load()
    assert logs.multiplexer.hyperparameters()["run1"].values == {"lr": 0.1, "seed": 1}
    before = logs.multiplexer.runs_generation
    schema = logs.board.state.runs["run1"].schema

    other = write(logs.path, 2)
    other.rename(path.with_name(f"new.{other.name}"))
    other.parent.rmdir()
    path.unlink()
    logs.load()

    assert logs.multiplexer.hyperparameters()["run1"].values == {"lr": 0.2, "seed": 2}
    assert logs.board.state.runs["run1"].schema is schema
    assert logs.multiplexer.runs_generation > before
