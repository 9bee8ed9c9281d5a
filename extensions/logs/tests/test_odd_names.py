"""Odd names of runs, tags and hyperparameters: each table reads back, cell by cell."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from commands import piped
from hypothesis import given, settings
from hypothesis import strategies as st

import tbcore
from tbcore_testing import write_run

pd, pl, duckdb, pq = map(pytest.importorskip, ["pandas", "polars", "duckdb", "pyarrow.parquet"])

OWN = ["run", "tag", "step", "value", "wall_time", "rate", "eta", "state", "last_event", "took"]
"""Names of fields that rows of tables have themselves."""
ODD = st.text(st.sampled_from(list(" ,\"'\n\r\t-=:a/.#%_é损")), min_size=1, max_size=4)
TAGS = st.one_of(st.sampled_from([*OWN, "step_", "run_"]), ODD)
RUNS = st.one_of(
    st.sampled_from(OWN), ODD.map(lambda name: name.replace("/", "-").strip(".") or "x")
)
VALUES = st.sampled_from([0.5, -1.0, math.nan, math.inf])
LOGS = st.dictionaries(
    RUNS,
    st.dictionaries(TAGS, st.dictionaries(st.integers(0, 3), VALUES, min_size=1), min_size=1),
    min_size=1, max_size=3,
)  # fmt: skip
Logs = dict[str, dict[str, dict[int, float]]]
Rows = list[dict[str, Any]]


def write(logdir: Path, logs: Logs) -> None:
    for run, tags in logs.items():
        points = {tag: list(values.items()) for tag, values in tags.items()}
        write_run(logdir, run, scalars=points, hparams={"step": 7, "a,\nb": "x\r\ny"})


def same(found: Any, expected: float | None) -> bool:
    """Whether a cell of any form has a value; an empty cell has None."""
    if expected is None or found in (None, ""):
        return expected is None and found in (None, "")
    return str(float(found)) == str(expected)


def frames(path: Path) -> list[Rows]:
    """The rows of a file as each program reads them."""
    if path.suffix == ".parquet":
        columns = pq.read_table(path)
        return [columns.to_pylist(), pl.read_parquet(path).to_dicts()]
    if path.suffix == ".jsonl":
        return [[json.loads(line) for line in path.read_text().split("\n")[:-1]]]
    with path.open(newline="") as file:
        rows: Rows = list(csv.DictReader(file))
    by_pandas = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    # By position: polars does not decode quotes in names, and DuckDB guesses what a comment is.
    by_polars = pl.read_csv(path, infer_schema=False).fill_null("").rows()
    types = {f"c{number}": "VARCHAR" for number in range(len(rows[0]))}
    how = {"header": True, "sep": ",", "quotechar": '"', "escapechar": '"', "null_padding": False}
    relation = duckdb.read_csv(str(path), columns=types, auto_detect=False, parallel=False, **how)
    others = [by_polars, [tuple(cell or "" for cell in row) for row in relation.fetchall()]]
    return [rows, by_pandas, *([dict(zip(rows[0], row, strict=True)) for row in o] for o in others)]


def column_names(own: list[str], tags: list[str]) -> dict[str, str]:
    """The name of each tag's column in a table with columns of its own."""
    names: dict[str, str] = {}
    for tag in tags:
        name = tag
        while name in [*own, *names.values()]:
            name += "_"
        names[tag] = name
    return names


@settings(max_examples=15, deadline=None)
@given(LOGS)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_exported_tables(tmp_path_factory: pytest.TempPathFactory, ending: str, logs: Logs) -> None:
    """Both forms, as csv, json, pandas, polars, pyarrow and DuckDB read them."""
    logdir = tmp_path_factory.mktemp("logs")
    write(logdir / "logs", logs)
    path = logdir / f"x.{ending}"
    expected = tbcore.open(logdir / "logs").scalars().columns

    assert piped("export", logdir / "logs", "-o", path).returncode == 0
    for rows in frames(path):
        found = [(row["run"], row["tag"], int(row["step"])) for row in rows]
        assert found == list(
            zip(*(expected[n].tolist() for n in ("run", "tag", "step")), strict=True)
        )
        for row, value in zip(rows, expected["value"].tolist(), strict=True):
            assert same(row["value"], value)

    assert piped("export", logdir / "logs", "-o", path, "--wide").returncode == 0
    tags = list(dict.fromkeys(expected["tag"].tolist()))
    names = column_names(["run", "step"], tags)
    for rows in frames(path):
        for row in rows:
            for tag, name in names.items():
                logged = logs[row["run"]].get(tag, {}).get(int(row["step"]))
                assert same(row.get(name), logged), (row, tag)


@settings(max_examples=15, deadline=None)
@given(LOGS)
def test_printed_tables(tmp_path_factory: pytest.TempPathFactory, logs: Logs) -> None:
    """`ls` and `tail` as JSON: a logged name is never that of a field of a row."""
    logdir = tmp_path_factory.mktemp("logs")
    write(logdir, logs)
    rows = json.loads(piped("ls", logdir, "--json", "--columns", 'step,"step"').stdout)
    assert {row["run"] for row in rows} == set(logs)
    for row in rows:
        assert row["step"] == max(step for steps in logs[row["run"]].values() for step in steps)
        assert row["step_"] == 7
    text = piped("ls", logdir, "--format=csv", "--columns", 'step,"step"').stdout
    assert [row["step_"] for row in csv.DictReader(io.StringIO(text))] == ["7.0"] * len(logs)

    text = piped("tail", logdir, "--runs", "*", "--json", "--total", "9", "-n", "99").stdout
    found: set[tuple[str, int]] = set()
    for line in text.splitlines():
        row = json.loads(line)
        assert row["run"] in logs
        assert row["wall_time"] > 1e6
        found.add((row["run"], row["step"]))
        for value in list(row.values())[5:]:
            assert value in (0.5, -1.0, "NaN", "Infinity")
    assert found == {(r, s) for r, tags in logs.items() for steps in tags.values() for s in steps}


@given(st.lists(TAGS, min_size=1, max_size=5, unique=True))
@settings(max_examples=15, deadline=None)
def test_each_tag_of_a_report_has_its_drawing(
    tmp_path_factory: pytest.TempPathFactory, tags: list[str]
) -> None:
    logdir = tmp_path_factory.mktemp("logs")
    points = {tag: [(0, 0.0), (10 + number, 1.0)] for number, tag in enumerate(tags)}
    write_run(logdir / "logs", "a", scalars=points)
    path = logdir / "report.md"
    assert piped("report", logdir / "logs", "--tags", "*", "-o", path).returncode == 0
    drawings = [unquote(name) for name in re.findall(r' src="([^"]*)"', path.read_text())]
    assert len(set(drawings)) == len(tags) == len(list((logdir / "report_files").iterdir())) // 2


def test_tags_in_other_scripts_have_drawings_of_their_own(tmp_path: Path) -> None:
    tags = {"val/loss": 1.0, "val_loss": 9.0, "损失": 2.0, "精度": 3.0}
    write_run(tmp_path / "logs", "a", scalars={tag: [(0, v), (1, v)] for tag, v in tags.items()})
    piped("report", tmp_path / "logs", "--tags", "*", "-o", tmp_path / "r.md")
    names = re.findall(r' src="([^"]*)"', (tmp_path / "r.md").read_text())
    for name, value in zip(names, tags.values(), strict=True):
        assert f">{value:g}</text>" in (tmp_path / unquote(name)).read_text()


def test_a_logged_nan_is_not_a_missing_value(tmp_path: Path) -> None:
    """In numpy by `missing`, in Arrow and polars by null."""
    write_run(tmp_path, "a", scalars={"x": [(0, math.nan), (1, 2.0)], "y": [(1, 1.0), (2, 3.0)]})
    table = tbcore.open(tmp_path).scalars().wide()
    assert {name: mask.tolist() for name, mask in table.missing.items()} == {
        "x": [False, False, True],
        "y": [True, False, False],
    }
    for values in (
        table.to_arrow()["x"].to_pylist(),
        table.to_polars()["x"].to_list(),
    ):
        assert math.isnan(values[0])
        assert values[1:] == [2.0, None]
    assert table.to_pandas()["x"].isna().tolist() == [True, False, True]
