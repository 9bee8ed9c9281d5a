"""Columns of `ls` are data: they show tags of any name, and what was asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from commands import piped

import tbcore
from tbcore.queries import STATS
from tbcore_logs.logs import At
from tbcore_testing import write_run

ODD = ("", "a:min", "a", "x,y", 'say "hi"', "d:at(3)", ":last", "two words", "re:x", "-dash")
"""Tags; of each, the last value is the number of characters plus 0.5."""


def row(logdir: Path, *arguments: Any) -> dict[str, Any]:
    [found] = json.loads(piped("ls", logdir, *arguments, "--json").stdout)
    return dict(found)


@pytest.mark.parametrize("tag", ODD)
def test_runs_are_listed_whatever_the_most_common_tag_is_called(tmp_path: Path, tag: str) -> None:
    write_run(tmp_path, scalars={tag: [0.5, 7.5]})
    assert row(tmp_path)[f"{tag}:last"] == 7.5
    assert row(tmp_path, "--by", "seeds")[f"{tag}:last"]["mean"] == 7.5


@pytest.mark.parametrize("tag", ODD)
def test_what_stands_in_quotes_is_literal_in_columns_orders_and_queries(
    tmp_path: Path, tag: str
) -> None:
    write_run(tmp_path, scalars={other: [1.5, len(other) + 0.5] for other in ODD})
    quoted = '"' + tag.replace('"', '""') + '"'
    value = len(tag) + 0.5
    for text, expected in ((quoted, value), (f"{quoted}:min", min(value, 1.5))):
        found = row(tmp_path, "--columns", text, "--sort", text)
        assert list(found.values())[1:] == [expected], text
    assert row(tmp_path, "--columns", f"a:min,{quoted}:argmax")["a:min"] == 1.5
    assert row(tmp_path, "--where", f"{quoted}:last={value}")["run"] == "."


def test_a_name_needs_no_quotes_if_nothing_else_is_meant(tmp_path: Path) -> None:
    """An order is found among the columns by what it means."""
    write_run(tmp_path, "b", scalars={"d:at(3)": [7.5], "two words": [1.5]}, hparams={"run": 2})
    write_run(tmp_path, "c", scalars={"d:at(3)": [5.5], "two words": [2.5]}, hparams={"run": 1})
    chosen = ["--columns", "d:at(3),two words:max"]
    rows = json.loads(
        piped("ls", tmp_path, *chosen, "--sort", '"two words":MAX', "-r", "--json").stdout
    )
    assert [list(each.values())[1:] for each in rows] == [[5.5, 2.5], [7.5, 1.5]]
    rows = json.loads(piped("ls", tmp_path, "--sort", '"run"', "--json").stdout)
    assert [each["run"] for each in rows] == ["c", "b"]
    refused = piped("ls", tmp_path, "--columns", "two words:mean")
    assert (refused.returncode, "unknown statistic 'mean'" in refused.stderr) == (2, True)
    assert "; columns may also have argmin, argmax, auc or mean(STEPS);" in refused.stderr
    refused = piped("ls", tmp_path, "--columns", "two words:mean(0)")
    assert "expected a number of steps in mean( )" in refused.stderr


def test_the_mean_of_the_last_steps_and_the_area_below_a_line(tmp_path: Path) -> None:
    """As columns, in orders and groups; a value that is not finite is not left out."""
    nan, steps = float("nan"), np.array([0, 10, 40, 30, 50])
    lines = {"a": [4.0, 2.0, 1.0, 2.0, 1.5], "b": [4.0, 2.0, 1.0, 2.0, nan], "c": [nan, *[2.0] * 4]}
    for run, values in lines.items():
        write_run(tmp_path, run, scalars={"loss": list(zip(steps.tolist(), values, strict=True))})
    write_run(tmp_path, "d", texts={"loss": ["a text"]})
    write_run(tmp_path, "e", scalars={"other": [1.0]})
    chosen = "loss:auc,loss:mean(20),loss:Mean( 1000 ),loss:argmin"
    order = ["--sort", "loss:mean(20)", "-r", "--json"]
    rows = json.loads(piped("ls", tmp_path, "--columns", chosen, *order).stdout)
    by_step = np.argsort(steps)
    for each, run in zip(rows, ["c", "a", "b"], strict=False):
        values = np.array(lines[run])
        sides = values[by_step]
        area = (np.diff(steps[by_step]) * (sides[1:] + sides[:-1]) / 2).sum()
        expected = [area, values[steps > 30].mean(), values.mean(), steps[np.nanargmin(values)]]
        found = [float(value) for name, value in each.items() if name != "run"]
        assert (each["run"], found) == (run, pytest.approx(expected, nan_ok=True, rel=1e-8))
    assert [list(each.values()) for each in rows[3:]] == [[run, *[None] * 4] for run in ("d", "e")]
    groups = json.loads(piped("ls", tmp_path, "--by", "loss:argmin", "--json").stdout)
    assert [each["group"] for each in groups[:2]] == ["loss:argmin=40", "loss:argmin=10"]
    group = row(tmp_path, "--runs", "a,b,c,e", "--by", "{run}", "--columns", "loss:mean(20)")
    assert group["loss:mean(20)"]["mean"] == 1.625


def test_the_step_of_the_first_value_that_is_not_finite(tmp_path: Path) -> None:
    """As a column of runs and groups, and in an order; large steps are exact."""
    nan = float("nan")
    large = 2**24 + 1
    write_run(tmp_path, "s1", scalars={"loss": [(600, 1.0), (605, nan), (610, 2.0), (615, nan)]})
    write_run(tmp_path, "s2", scalars={"loss": [(600, 1.0), (large, float("inf"))]})
    write_run(tmp_path, "s3", scalars={"loss": [(600, 1.0)]})
    given = ["--columns", "loss:nan", "--sort", "loss:nan", "-r", "--json"]
    rows = json.loads(piped("ls", tmp_path, *given).stdout)
    assert [(each["run"], each["loss:nan"]) for each in rows] == [
        ("s2", large), ("s1", 605), ("s3", None)
    ]  # fmt: skip
    assert row(tmp_path, "--where", f"loss:nan>{large - 1}")["run"] == "s2"
    assert row(tmp_path, "--by", "seeds", "--columns", "loss:nan")["loss:nan"]["missing"] == 1


def test_a_list_of_names_says_how_many_more_there_are(tmp_path: Path) -> None:
    write_run(tmp_path, hparams=dict.fromkeys(("amp", "aug", "lr", "model", "seed", "wd"), 1))
    write_run(tmp_path, "t", scalars={"loss": [1.0], "val/top5": [1.0], "train/top5": [1.0]})
    found = piped("ls", tmp_path, "--where", "zzzzzz>1")
    assert found.stderr.splitlines()[0] == (
        "tbcore: warning: no run has the hyperparameter 'zzzzzz'; "
        "there are: amp, aug, lr and 3 more"
    )
    found = piped("ls", tmp_path, "--where", "Loss>1")
    assert found.stderr.splitlines()[0] == (
        "tbcore: warning: no run has the hyperparameter 'Loss'; "
        "values of the tag: loss:last, loss:min"
    )
    found = piped("ls", tmp_path, "--where", "top5>1")
    assert found.stderr.splitlines()[0] == (
        "tbcore: warning: no run has the hyperparameter 'top5'; "
        "values of similar tags: val/top5:last, train/top5:last"
    )


def test_the_empty_tag_can_be_named(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"": [1.0], "loss": [2.0]})
    for name in ("", '""', '"",zzz*'):
        lines = piped("export", tmp_path, "--tags", name, "-o", "-").stdout.splitlines()
        assert [line.split(",")[1] for line in lines] == ["tag", ""], name


def test_thinned_points_keep_the_ends_of_stretches_that_are_not_finite(tmp_path: Path) -> None:
    """In JSON of any size; and Python has the first of these steps as a table and a point."""
    nan = float("nan")
    bad = {605: nan, 610: nan, 700: float("inf"), 801: nan, 802: 1.0}
    points = [(step, bad.get(step, 0.5)) for step in (*range(0, 3000, 5), 801, 802)]
    write_run(tmp_path, "a", scalars={"loss": sorted(points), "one": [nan, 1.0, nan]})
    for limit in (1000, 2000, 8000):
        shown = piped("show", tmp_path, "a", "loss", "--json", "--max_bytes", str(limit)).stdout
        rows = json.loads(shown)
        steps = [each["step"] for each in rows if isinstance(each.get("value"), str)]
        assert steps == [605, 610, 700, 801], limit
        assert rows[-1]["cut"]["rows"] == f"{len(rows) - 1} of 602"
        assert rows[-2]["step"] == 2995
    run = tbcore.open(tmp_path)["a"]
    assert run["loss"].nan is not None
    assert run["loss"].nan.step == 605
    assert tbcore.open(tmp_path).summary("loss", at="nan").columns["loss"].tolist() == [605.0]


def test_a_file_that_was_cut_off_is_a_problem_of_each_answer(tmp_path: Path) -> None:
    """Unless it may still be written: status 3, and a line on stderr."""
    path = write_run(tmp_path / "logs", "a", scalars={"loss": [1.0, 2.0]})
    write_run(tmp_path / "logs", "b", scalars={"loss": [1.0, 2.0]})
    path.write_bytes(path.read_bytes()[:-7])
    output = tmp_path / "o.csv"
    commands: list[list[Any]] = [
        ["export", tmp_path / "logs", "-o", output], ["ls", tmp_path / "logs"],
        ["tail", tmp_path / "logs", "--runs", "a"], ["report", tmp_path / "logs"],
        ["show", tmp_path / "logs", "a"], ["diff", tmp_path / "logs", "a", "b"],
    ]  # fmt: skip
    for command in commands:
        assert piped(*command).returncode in (0, 1), command
    os.utime(path, (1e9, 1e9))
    for command in commands:
        found = piped(*command)
        assert found.returncode == 3, command
        assert "; the file was cut off" in found.stderr
        assert found.stderr.count(str(path)) == 1


def test_python_has_the_statistics_of_queries() -> None:
    assert get_args(get_args(At)[0]) == ("first", *STATS)
