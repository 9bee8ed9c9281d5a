"""Other programs read the same rows from an index as tbcore does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from deltalake import DeltaTable
from same_answers import update

import tbcore
from tbcore.errors import TbcoreError
from tbcore_testing import write_run

Row = tuple[str, str, int, float, float]


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of several segments, one of which was replaced, with values of all kinds."""
    values = [0.1, float(np.float32(0.1)), np.nan, np.inf, -np.inf, -0.0, 1e300, 5e-324]
    path = tmp_path / "index"
    for round_ in range(2):
        for number in range(3):
            write_run(
                tmp_path / "logs", f"run{number}-{round_}",
                scalars={"loss": values, f"only{number}": [float(number)]},
                texts={"note": ["hello", "bye"]}, wall_time=1.7e9 + number / 3,
            )  # fmt: skip
        update(tmp_path / "logs", path)
    return path


def expected_rows(index: Path) -> list[Row]:
    rows = []
    for name, run in tbcore.open(index).runs.items():
        for tag in run.tags:
            if tag != "note":
                series = run[tag]
                rows += [
                    (name, tag, int(step), float(time), float(value))
                    for step, time, value in zip(
                        series.step, series.wall_time, series.value, strict=True
                    )
                ]
    return rows


def same(expected: list[Row], found: list[Row]) -> bool:
    return sorted(map(repr, expected)) == sorted(map(repr, found))


COLUMNS = ["run", "tag", "step", "wall_time", "value"]


def test_every_reader_has_the_same_points(index: Path) -> None:
    expected = expected_rows(index)
    assert len(expected) == 6 * 9
    delta = DeltaTable(str(index / "points"))
    dataset = delta.to_pyarrow_dataset()
    arrow = dataset.to_table(columns=COLUMNS)

    assert same(expected, list(zip(*(arrow[c].to_pylist() for c in COLUMNS), strict=True)))
    assert same(expected, [*delta.to_pandas()[COLUMNS].itertuples(index=False, name=None)])
    polars = pl.scan_delta(str(index / "points")).select(COLUMNS).collect()
    assert same(expected, polars.rows())
    assert len(dataset.files) > 0
    found = duckdb.sql(f"SELECT {', '.join(COLUMNS)} FROM dataset").fetchall()
    assert same(expected, found)


@pytest.mark.parametrize(("column", "value"), [("run", "run1-0"), ("tag", "only2"), ("step", 3)])
def test_a_filter_drops_no_row(index: Path, column: str, value: object) -> None:
    """Statistics of files, or of some columns alone, would make readers skip files with rows."""
    wanted = [row for row in expected_rows(index) if row[COLUMNS.index(column)] == value]
    assert wanted
    delta = DeltaTable(str(index / "points"))
    dataset = delta.to_pyarrow_dataset()  # noqa: F841 - DuckDB finds it by its name

    pandas = delta.to_pandas(filters=[(column, "=", value)])[COLUMNS]
    assert same(wanted, [*pandas.itertuples(index=False, name=None)])
    lazy = pl.scan_delta(str(index / "points")).filter(pl.col(column) == value)
    assert same(wanted, lazy.select(COLUMNS).collect().rows())
    where = f"{column} = {value!r}"
    found = duckdb.sql(f"SELECT {', '.join(COLUMNS)} FROM dataset WHERE {where}").fetchall()
    assert same(wanted, found)


def test_series_have_the_statistics_of_their_points(index: Path) -> None:
    rows = pl.scan_delta(str(index / "series")).filter(pl.col("tag") == "loss").collect()

    assert rows["min"].to_list() == [-0.0] * 6
    assert rows["max"].to_list() == [float(np.float32(0.1))] * 6
    assert rows["num_nonfinite"].to_list() == [4] * 6
    assert rows["num_rows"].to_list() == [8] * 6
    assert rows["last_value"].to_list() == [0.0] * 6
    assert rows["last_step"].to_list() == [7] * 6


def test_a_logs_object_of_an_index_is_that_of_its_logs(index: Path) -> None:
    logs, direct = tbcore.open(index), tbcore.open(index.parent / "logs")

    assert list(logs.runs) == list(direct.runs)
    assert logs.summary("loss").to_pandas().equals(direct.summary("loss").to_pandas())
    assert logs["run0-1"].tags.keys() == direct["run0-1"].tags.keys()
    write_run(index.parent / "logs", "later", scalars={"loss": [1.0]})
    assert not logs.refresh()
    update(index.parent / "logs", index)
    assert logs.refresh()
    assert logs["later"]["loss"].last.value == 1.0


@pytest.mark.parametrize("with_logs", [False, True])
def test_check_reads_all_of_an_index(index: Path, with_logs: bool) -> None:
    logdir = [str(index.parent / "logs")] if with_logs else []
    command = [sys.executable, "-m", "tbcore", "check", "--index", str(index), *logdir]

    for file in (index.parent / "logs").glob("*/*"):
        os.utime(file, (1e9, 1e9))  # It may have changed since the index was made.
    whole = subprocess.run(command, capture_output=True, text=True, check=False)
    assert whole.returncode == 0
    assert whole.stdout.splitlines()[-1].startswith("6 runs, ")
    assert ("may not have all of 6 of 6 runs yet" in whole.stdout) == with_logs
    assert whole.stdout.endswith(": all can be read\n")

    path = Path(DeltaTable(str(index / "points")).file_uris()[0])
    path.write_bytes(path.read_bytes()[:-100])
    damaged = subprocess.run(command, capture_output=True, text=True, check=False)
    assert damaged.returncode == 1
    assert damaged.stdout.startswith(f"{path}\n    a segment of the index is damaged: {path}: ")
    assert damaged.stdout.endswith(": 1 damaged\n")


def test_the_command_says_what_it_did(tmp_path: Path) -> None:
    def lines() -> list[str]:
        command = [sys.executable, "-m", "tbcore", "index", str(tmp_path / "logs")]
        done = subprocess.run(
            [*command, "--index", str(tmp_path / "index")], capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        return [re.sub(r"\d+\.\d s", "TIME", line) for line in done.stderr.splitlines()]

    for run in ("a", "b"):
        write_run(tmp_path / "logs", run, scalars={"loss": [1.0, 2.0, 3.0]})
        (path,) = (tmp_path / "logs" / run).iterdir()
        if run == "b":
            damaged = bytearray(path.read_bytes())
            damaged[-60] ^= 1
            path.write_bytes(damaged)
        os.utime(path, (1e9, 1e9))
        if run == "a":
            assert lines() == ["tbcore: 1 run written in TIME"]
            assert lines() == ["tbcore: nothing new"]
    damage = lines()
    assert len(damage) == 2
    assert damage[0].startswith(
        f"tbcore: warning: {path}: payload checksum wrong in the record at "
    )
    assert damage[1] == "tbcore: 1 run written in TIME"


def test_several_log_directories_have_names(index: Path, tmp_path: Path) -> None:
    """As for all other commands; without changes, the index is the same."""
    logs, new = str(tmp_path / "logs"), str(tmp_path / "new")
    command = [sys.executable, "-m", "tbcore", "index", f"a={logs}", f"b={logs}", "--index", new]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert set(tbcore.open(new)) == {f"{name}/{run}" for name in "ab" for run in tbcore.open(index)}


def test_wrong_input_is_one_line(index: Path, tmp_path: Path) -> None:
    def error(*arguments: str) -> str:
        command = [sys.executable, "-m", "tbcore", *arguments]
        failed = subprocess.run(command, capture_output=True, text=True, check=False)
        assert failed.returncode == 2, failed.stderr
        return failed.stderr

    logs = str(tmp_path / "logs")
    nowhere = f"tbcore: no index at {tmp_path}; make one with `tbcore index`\n"
    assert error("serve", "--index", str(tmp_path)) == nowhere
    assert error("check", "--index", str(tmp_path)) == nowhere
    assert "must not be below the log directory" in error("index", logs, "--index", f"{logs}/index")
    (tmp_path / "other").mkdir()
    other = error("index", str(tmp_path / "other"), "--index", str(index))
    assert f"the index {index} was made with logdirs {logs}, not {tmp_path / 'other'}; " in other
    absent = error("index", str(tmp_path / "absent"), "--index", str(tmp_path / "new"))
    assert absent == f"tbcore: {tmp_path / 'absent'}: no such directory\n"
    assert not (tmp_path / "new").exists()
    assert "missing argument 'LOGDIR" in error("index", "--index", str(index))
    assert error("index", logs).startswith("tbcore: missing option '--index'; see ")
    with pytest.raises(TbcoreError, match="cannot make the index /dev/null/x: "):
        update(logs, "/dev/null/x")
