"""Tables of scalars, of one value of each tag, and of hyperparameters."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbcore
from tbcore import BadRequestError
from tbcore_logs import Logs, LogTable
from tbcore_logs.selection import matching
from tbcore_testing import write_run

# polars changes the environment of the process when it is imported, which no test may do.
with contextlib.suppress(ModuleNotFoundError):
    import polars as _  # noqa: F401


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    """Three runs, of which the second has a restart and the last no scalars."""
    write_run(
        tmp_path,
        "a",
        scalars={"loss/x": [(0, 3.0, 10.0), (1, 1.0, 11.0)], "acc": [(1, 0.5, 12.0)]},
        hparams={"lr": 0.5, "name": "first", "fast": True},
        wall_time=1.0,
    )
    write_run(
        tmp_path,
        "b",
        scalars={"loss/x": [(0, 2.0, 20.0)], "loss/y": [(0, 0.1, 21.0)]},
        hparams={"lr": 0.25, "layers": [1, 2], "fast": False},
        dtype="float64",
        wall_time=2.0,
    )
    write_run(tmp_path, "c", texts={"notes": ["hello"]}, wall_time=3.0)
    return tbcore.open(tmp_path)


def rows(table: LogTable) -> list[tuple[Any, ...]]:
    return list(zip(*(column.tolist() for column in table.columns.values()), strict=True))


def test_a_table_has_all_points_of_the_runs(logs: Logs) -> None:
    """Rows are sorted by run and tag; values are float64 because one needs it."""
    table = logs.scalars()

    assert list(table.columns) == ["run", "tag", "step", "wall_time", "value"]
    assert rows(table) == [
        ("a", "loss/x", 0, 10.0, 3.0),
        ("a", "loss/x", 1, 11.0, 1.0),
        ("a", "acc", 1, 12.0, 0.5),
        ("b", "loss/x", 0, 20.0, 2.0),
        ("b", "loss/y", 0, 21.0, 0.1),
    ]
    assert [column.dtype for column in table.columns.values()] == [
        object,
        object,
        int,
        float,
        float,
    ]
    assert logs.scalars(runs="a").columns["value"].dtype == np.float32
    assert not any(column.flags.writeable for column in table.columns.values())
    assert len(table) == 5


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("acc", ["acc"]),
        ("loss/*", ["loss/x", "loss/y"]),
        ("loss/?", ["loss/x", "loss/y"]),
        (["acc", "*y"], ["acc", "loss/y"]),
        ("*.x", []),
        ("LOSS/*", []),
        ([], []),
    ],
)
def test_tags_are_names_or_patterns(logs: Logs, tags: Any, expected: list[str]) -> None:
    table = logs.scalars(tags)

    assert sorted(set(table.columns["tag"])) == expected
    assert len(table) == len(table.columns["value"])


def test_a_name_with_signs_of_a_pattern_is_found(tmp_path: Path) -> None:
    """Brackets mean nothing, and a name comes before a pattern."""
    write_run(tmp_path, scalars={"q[0]": [1], "what?": [2], "whatX": [3]})
    logs = tbcore.open(tmp_path)

    assert logs.scalars("q[0]").columns["value"].tolist() == [1]
    assert logs.scalars("q[*").columns["value"].tolist() == [1]
    assert logs.scalars("what?").columns["value"].tolist() == [2]


def test_runs_are_chosen_by_name_pattern_and_query(logs: Logs) -> None:
    assert set(logs.scalars(runs="b").columns["run"]) == {"b"}
    assert set(logs.scalars(runs=["a", "c"]).columns["run"]) == {"a"}
    assert set(logs.scalars(runs="?").columns["run"]) == {"a", "b"}
    assert set(logs.scalars(where="lr<0.3").columns["run"]) == {"b"}
    assert len(logs.scalars(runs="a", where="lr<0.3")) == 0


def test_a_query_finds_runs(logs: Logs) -> None:
    assert [run.name for run in logs.find("loss/x:min<1.5 | has:notes")] == ["a", "c"]
    assert [run.name for run in logs.find("")] == ["a", "b", "c"]
    with pytest.raises(BadRequestError, match=r"unclosed \("):
        logs.find("(a")


def test_what_no_run_has_is_a_warning(logs: Logs, tmp_path: Path) -> None:
    """Not a missing tag, and not silence; once for each call, at the caller's line."""
    with pytest.warns(UserWarning, match="lrr") as caught:
        assert logs.find("lrr>1 | -(lrr<1 | los/x:last>1) has:zzz -has:z*") == []
    assert [str(warning.message).splitlines() for warning in caught] == [
        [
            "no run has the hyperparameter 'lrr'; close: lr",
            "no run has the tag 'los/x'; close: loss/x, loss/y",
            "no run has the tag 'zzz'; there are: loss/x, acc, loss/y",
        ]
    ]
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"^no run has the hyperparameter 'q'") as caught:
        assert len(logs.scalars("acc", where="q>1")) == 0
    assert [warning.filename for warning in caught] == [__file__]
    for empty in (
        lambda: logs.summary("acc", where="lr>9"),
        lambda: logs.scalars(where="lr>9"),
        lambda: logs.hparams(where="lr>9"),
        lambda: logs.read(where="lr>9"),
    ):
        with pytest.warns(UserWarning, match=r"^no run is found by 'lr>9'$") as caught:
            assert len(empty()) == 0
        assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(UserWarning, match=r"^no run matches 'nope\*'$"):
        assert len(logs.scalars(runs="nope*")) == 0
    (tmp_path / "empty").mkdir()
    with pytest.warns(UserWarning, match=r"^there are no event files$"):
        assert len(tbcore.open(tmp_path / "empty").scalars()) == 0
    with pytest.raises(KeyError, match=r"^no tag 'acd'; close: 'acc'"):
        logs.scalars("acd", where="lr<9")


def test_unknown_names_are_errors(logs: Logs) -> None:
    with pytest.raises(KeyError, match=r"^no tag 'loss/z'; close: 'loss/[xy]'"):
        logs.scalars("loss/z")
    with pytest.raises(KeyError, match=r"^no tag 'loss/y'"):
        logs.scalars("loss/y", runs="a")
    with pytest.raises(KeyError, match=r"^no run 'd'"):
        logs.scalars(runs=["a", "d"])


def test_a_wide_table_has_a_column_for_each_tag(logs: Logs) -> None:
    table = logs.scalars().wide()

    assert list(table.columns) == ["run", "step", "loss/x", "acc", "loss/y"]
    nan = pytest.approx(np.nan, nan_ok=True)
    assert rows(table) == [
        ("a", 0, 3.0, nan, nan),
        ("a", 1, 1.0, 0.5, nan),
        ("b", 0, 2.0, nan, 0.1),
    ]


def test_of_several_points_at_a_step_the_last_one_counts(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"a": [(1, 10), (0, 20), (1, 30), (1, 40)], "b": [(1, 5)] * 2})

    with pytest.warns(UserWarning, match=r"^3 points are left out: a later point .* same step$"):
        table = tbcore.open(tmp_path).scalars().wide()

    assert table.columns["step"].tolist() == [0, 1]
    assert table.columns["a"].tolist() == [20, 40]
    assert table.columns["b"].tolist()[1] == 5


def test_tags_that_are_named_like_other_columns_stay_apart(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"step": [(7, 1.0)], "run": [(7, 2.0)]}, hparams={"run": 3})
    logs = tbcore.open(tmp_path)

    wide = logs.scalars().wide()
    assert list(wide.columns) == ["run", "step", "step_", "run_"]
    assert rows(wide) == [(".", 7, 1.0, 2.0)]
    assert rows(logs.summary("run")) == [(".", 2.0)]
    assert rows(logs.hparams()) == [(".", 3.0)]


def test_an_empty_table_can_be_widened_and_converted(tmp_path: Path) -> None:
    table = tbcore.open(tmp_path).scalars()

    assert list(table.wide().columns) == ["run", "step"]
    for convert in ("to_pandas", "to_polars", "to_arrow"):
        pytest.importorskip(convert.removeprefix("to_").replace("arrow", "pyarrow"))
        assert len(getattr(table, convert)()) == 0


def test_a_summary_has_one_value_of_each_tag(logs: Logs) -> None:
    """Runs without any of the tags are left out."""
    nan = pytest.approx(np.nan, nan_ok=True)

    assert list(logs.summary().columns) == ["run", "loss/x", "acc", "loss/y"]
    assert rows(logs.summary()) == [("a", 1.0, 0.5, nan), ("b", 2.0, nan, 0.1)]
    assert rows(logs.summary("loss/x", "first")) == [("a", 3.0), ("b", 2.0)]
    assert rows(logs.summary("loss/x", "max")) == [("a", 3.0), ("b", 2.0)]
    assert rows(logs.summary(["loss/x"], at=0)) == [("a", 3.0), ("b", 2.0)]
    assert rows(logs.summary("acc", at=0)) == [("a", nan)]
    assert rows(logs.summary("loss/x", where="lr>0.3")) == [("a", 1.0)]


def test_a_summary_may_have_the_steps_of_its_values(logs: Logs) -> None:
    table = logs.summary(["loss/x", "acc"], "min", steps=True)

    assert list(table.columns) == ["run", "loss/x", "loss/x:step", "acc", "acc:step"]
    assert table.columns["loss/x:step"].tolist() == [1, 0]
    assert table.columns["loss/x:step"].dtype == np.int64
    assert table.columns["acc:step"].tolist() == [1.0, pytest.approx(np.nan, nan_ok=True)]


def test_a_summary_of_what_is_no_statistic_is_an_error(logs: Logs) -> None:
    with pytest.raises(
        ValueError, match="at must be first, last, min, max, nan or a step, got 'mean'"
    ):
        logs.summary("loss/x", "mean")  # type: ignore[arg-type]


def test_hyperparameters_have_a_row_for_each_run(logs: Logs) -> None:
    table = logs.hparams()

    assert set(table.columns) == {"run", "lr", "name", "fast", "layers"}
    assert table.columns["run"].tolist() == ["a", "b"]
    assert table.columns["lr"].tolist() == [0.5, 0.25]
    assert table.columns["lr"].dtype == np.float64
    assert table.columns["name"].tolist() == ["first", None]
    assert table.columns["fast"].tolist() == [True, False]
    assert table.columns["fast"].dtype == np.bool_
    assert table.columns["layers"].tolist() == [None, "[1,2]"]
    assert logs.hparams(runs="b").columns["run"].tolist() == ["b"]


def test_hyperparameters_of_several_types_become_strings_in_frames(tmp_path: Path) -> None:
    """numpy's column has the objects."""
    for name, lr in {"a": 0.5, "b": "auto", "c": True}.items():
        write_run(tmp_path, name, hparams={"lr": lr})
    table = tbcore.open(tmp_path).hparams()

    assert table.columns["lr"].tolist() == [0.5, "auto", True]
    polars = pytest.importorskip("polars")
    assert table.to_polars()["lr"].to_list() == ["0.5", "auto", "true"]
    assert table.to_polars()["lr"].dtype == polars.String
    pytest.importorskip("pyarrow")
    assert table.to_arrow()["lr"].to_pylist() == ["0.5", "auto", "true"]


# -- frames ------------------------------------------------------------------------------------


def test_a_frame_of_pandas(logs: Logs) -> None:
    """Runs and tags are categories; the frame can be changed, the table not."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    table = logs.scalars()
    frame = table.to_pandas()

    assert list(frame.columns) == list(table.columns)
    assert [str(dtype) for dtype in frame.dtypes[:3]] == ["category", "category", "int64"]
    assert [tuple(row) for row in frame.itertuples(index=False)] == rows(table)
    means = frame.groupby("tag", observed=True)["value"].mean()
    assert means["loss/x"] == 2.0
    frame.loc[0, "value"] = 7
    frame["step"] += 1
    assert table.columns["value"][0] == 3.0
    assert table.columns["step"][0] == 0


def test_a_frame_of_polars(logs: Logs) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table = logs.scalars()
    frame = table.to_polars()

    assert frame.columns == list(table.columns)
    assert frame.dtypes[:3] == [polars.String, polars.String, polars.Int64]
    assert frame.rows() == rows(table)
    mine = polars.DataFrame({"run": ["b"], "owner": ["me"]})
    for joined in (table, table.wide(), logs.summary(), logs.hparams()):
        assert joined.to_polars().join(mine, on="run")["owner"][0] == "me"
    assert len(frame.filter(polars.col("run").str.starts_with("a"))) == 3


def test_a_table_of_arrow(logs: Logs) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = logs.scalars()
    frame = table.to_arrow()

    assert frame.column_names == list(table.columns)
    assert arrow.types.is_dictionary(frame.schema.field("run").type)
    assert [tuple(row.values()) for row in frame.to_pylist()] == rows(table)


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_a_missing_package_is_named_in_one_line(tmp_path: Path, package: str) -> None:
    """Without the package, everything else works."""
    write_run(tmp_path, scalars={"loss": [1]})
    method = f"to_{package.removeprefix('py')}"
    code = (
        f"import sys, tbcore; sys.modules[{package!r}] = None\n"
        f"try: tbcore.open({str(tmp_path)!r}).scalars().{method}()\n"
        f"except ImportError as error: print(error)"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )

    assert output.stdout == f"{package} is not installed: pip install {package}\n"


def test_thousands_of_names_are_found_at_once() -> None:
    """Comparing each with each would take seconds, and minutes for tens of thousands."""
    names = [f"sweep/run{number:05}/train" for number in range(20_000)]
    began_at = time.process_time()
    assert matching(names[::-1], names, "run") == names
    assert time.process_time() - began_at < 0.5
