"""What commands need of logs: runs are read in batches, forgotten, and known by their files."""

from __future__ import annotations

from pathlib import Path

import pytest

import tbcore
from tbcore_testing import write_run


def test_runs_that_are_read_together_are_those_that_match(tmp_path: Path) -> None:
    for number in range(3):
        write_run(tmp_path, f"exp/{number}", scalars={"loss": [float(number)]})
    logs = tbcore.open(tmp_path)

    assert [run.name for run in logs.read(runs=["exp/1", "exp/2"])] == ["exp/1", "exp/2"]
    assert [run.name for run in logs.read(runs="exp/*", where="loss:last<2")] == ["exp/0", "exp/1"]
    assert logs.runs["exp/1"].is_read
    with pytest.raises(KeyError, match="exp/1"):
        logs.read(runs="exp/11")


def test_a_run_that_was_forgotten_is_read_again(tmp_path: Path) -> None:
    """What the caller has stays as it is."""
    path = write_run(tmp_path, "a", scalars={"loss": [1.0]}, filename="tfevents")
    logs = tbcore.open(tmp_path)
    [run] = logs.read()
    write_run(tmp_path, "a", scalars={"loss": [(1, 2.0)]}, filename="tfevents")

    logs.forget(["a", "never was"])

    assert run["loss"].value.tolist() == [1]
    assert not logs["a"].is_read
    assert logs.refresh() == {"a"}
    assert logs["a"]["loss"].value.tolist() == [1, 2]
    assert logs.sizes == {"a": path.stat().st_size}


def test_attributes_are_columns_of_all_runs(tmp_path: Path) -> None:
    for number in range(2):
        write_run(tmp_path, f"{number}", scalars={"loss": [1.0, 0.5]}, hparams={"lr": number})

    columns = tbcore.open(tmp_path).attributes()

    assert columns.hparams("lr") == [0, 1]
    assert columns.points("loss", "last", None) == [(1, 0.5), (1, 0.5)]
