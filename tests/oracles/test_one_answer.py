"""One question has one answer: the page's routes, commands, Python and CSV agree with numpy.

Random logs with restarts, NaN, archived runs and unequal lengths are read by TensorBoard's loader,
and every number of groups is computed here once more, one row and one point at a time. 20 logs are
part of every run of the tests, and 500 with the mark `release`.
"""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import piped
from tensorboard_reader import Series, read_with_tensorboard

import tbcore
import tbcore_compare
import tbcore_scalars
from tbcore_testing import make_client, read_columns, write_run
from tbcore_testing.writer import EventFileWriter

BY, WHERE = "*/{seed}", "-is:archived"
NAMES = "mean", "deviation", "n", "nonfinite", "missing", "diverged", "ended"
Points = list[tuple[float, float]]


def write_logs(path: Path, rng: np.random.Generator) -> list[str]:
    """Writes random runs in groups, and returns those to archive: never the first."""
    archived = []
    for group in range(rng.integers(1, 4)):
        for seed in range(rng.integers(1, 6)):
            run, step, stride = f"cfg{group}/s{seed}", int(rng.integers(0, 9)), rng.integers(1, 4)
            for file in range(rng.integers(1, 4)):
                name = path / run / f"events.out.tfevents.{file}.host"
                with EventFileWriter(name, wall_time=1.7e9 + 1000 * file) as writer:
                    if file and rng.random() < 0.4:
                        writer.add_session_log("START", step)
                    for _ in range(rng.integers(1, 25)):
                        value = rng.choice([rng.normal(), math.nan, math.inf], p=[0.9, 0.07, 0.03])
                        writer.add_scalar("loss", float(value), step)
                        step += int(stride * (rng.random() < 0.97))
                step = max(0, step - int(rng.integers(0, 30)))  # As if from a checkpoint.
            if (group or seed) and rng.random() < 0.2:
                archived.append(run)
    write_run(path, "cfg0/other", scalars={"acc": [1.0]})
    return archived


def counted(series: Series) -> Points:
    """The rows that count by step: each replaces that of its step, and a restart all from there."""
    steps, values = series.step.tolist(), series.value.tolist()
    backs = [row for row in range(1, len(steps)) if steps[row] < steps[row - 1]]
    kept: dict[float, float] = {}
    for row, (step, value) in enumerate(zip(steps, values, strict=True)):
        if row in backs and len(backs) <= min(64, len(steps) // 4):
            kept = {other: own for other, own in kept.items() if other < step}
        kept[step] = value
    return sorted(kept.items())


def value_at(x: float, rows: Points) -> float | None:
    """None beyond the ends, and before a value that is not finite; NaN after one."""
    if not rows[0][0] <= x <= rows[-1][0]:
        return None
    left, right = [row for row in rows if row[0] <= x][-1], next(r for r in rows if r[0] >= x)
    if left == right or left[0] == right[0]:
        return left[1]
    if math.isfinite(left[1]) and not math.isfinite(right[1]):
        return None
    return left[1] + (right[1] - left[1]) * (x - left[0]) / (right[0] - left[0])


def statistics(values: list[float]) -> list[float]:
    """Mean, deviation (0 of a single value), number of finite values and of others."""
    finite = [value for value in values if math.isfinite(value)]
    mean = float(np.mean(finite)) if finite else math.nan
    deviation = 0.0 if len(finite) == 1 else float(np.std(finite, ddof=1)) if finite else math.nan
    return [mean, deviation, len(finite), len(values) - len(finite)]


def curve(runs: list[Series]) -> list[list[float]]:
    """Rows of step, mean, deviation, n and nonfinite."""
    rows = [counted(series) for series in runs]
    steps = sorted({step for each in rows for step, _ in each})
    values = [[v for each in rows if (v := value_at(step, each)) is not None] for step in steps]
    return [[step, *statistics(own)] for step, own in zip(steps, values, strict=True)]


def chosen(series: Series, stat: str | int) -> float | None:
    if isinstance(stat, int):
        found = series.value[series.step <= stat].tolist()
        return found[-1] if found else None
    finite = series.value[np.isfinite(series.value)].tolist()
    return series.value.tolist()[-1] if stat == "last" else getattr(np, stat)(finite or [math.nan])


def group_row(runs: list[Series | None], stat: str | int) -> dict[str, float]:
    """The statistics of one value of each run, None for a run without the tag."""
    known = [(s, v) for s in runs if s is not None and (v := chosen(s, stat)) is not None]
    if stat in ("min", "max"):
        known = [(series, value) for series, value in known if np.isfinite(value)]
    in_it = [(s, v) for s, v in known if not isinstance(stat, int) or s.step[-1] >= stat]
    numbers = statistics([value for _, value in in_it])
    numbers[1] = numbers[1] if numbers[2] > 1 else math.nan
    row = dict(zip(NAMES, [*numbers, len(runs) - len(known)], strict=False))
    if isinstance(stat, int):
        return row | {"ended": len(known) - len(in_it)}
    if stat == "last":
        return row
    return row | {"diverged": sum(not np.isfinite(series.value[-1]) for series, _ in in_it)}


def assert_equal(found: Any, expected: Any, what: str) -> None:
    found, expected = np.array(found, float), np.array(expected, float)
    np.testing.assert_allclose(found, expected, rtol=2e-7, atol=1e-9, err_msg=what)


@pytest.mark.parametrize(
    "seeds",
    [range(20), pytest.param(range(20, 520), marks=[pytest.mark.release, pytest.mark.slow])],
    ids=["20", "500"],
)
def test_one_question_has_one_answer(seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        path = tmp_path / str(seed)
        check(path, write_logs(path, np.random.default_rng(seed)), f"seed {seed}")


def check(path: Path, archived: list[str], what: str) -> None:
    logs = tbcore.open(path)
    if archived:
        logs.notes.change(archived, {"archived": True})
    runs = {run: read_with_tensorboard(path / run) for run in logs if run not in archived}
    loss = {run: tags["loss"] for run, tags in runs.items() if "loss" in tags}
    groups: dict[str, list[str]] = {}
    for run in runs:
        groups.setdefault(run.split("/")[0] + "/{seed}", []).append(run)
    with_loss = {group: [r for r in own if r in loss] for group, own in groups.items()}
    expected = {group: curve([loss[run] for run in own]) for group, own in with_loss.items()}
    at = int(np.median([series.step[-1] for series in loss.values()]))

    client = make_client(path, plugins=[tbcore_scalars, tbcore_compare])
    body = {"tag": "loss", "groups": with_loss, "spread": "deviation"}
    header, bands = read_columns(client.post("data/plugin/scalars/bands", json=body).content)
    body = {"tag": "loss", "groups": [*with_loss.values()], "average": "mean"}
    _, others = read_columns(client.post("data/plugin/compare/bands", json=body).content)
    table = logs.mean("loss", by=BY, where=WHERE).columns
    for group, rows in expected.items():
        final = statistics([float(loss[run].value[-1]) for run in with_loss[group]])
        band, other, entry = bands.pop(0), others.pop(0), header["groups"].pop(0)
        if not rows:
            continue
        names = "average", "count", "nonfinite"
        assert_equal([entry["final"][name] for name in names], [final[0], *final[2:]], what)
        columns = np.transpose(rows)
        mine = table["group"] == group
        assert_equal([table[n][mine] for n in ("step", "mean", "n")], columns[[0, 1, 3]], what)
        is_shown = table["n"][mine] > 1
        assert_equal(table["deviation"][mine][is_shown], columns[2][is_shown], what)
        found = [other[n] for n in ("step", "mean", "count", "nonfinite")]
        assert_equal(found, columns[[0, 1, 3, 4]], what)
        if entry["drawn"] == "mean":
            half = (band["high"] - band["low"]) / 2
            found = [band["x"], band["average"], half, band["count"], band["nonfinite"]]
            assert_equal(found, columns, what)

    stats: dict[str, str | int] = {"last": "last", "min": "min", "max": "max", f"at({at})": at}
    texts = [f"loss:{stat}" for stat in stats]
    answer = client.post("data/run_attributes", json={"columns": texts}).json()
    for column, stat in zip(answer["columns"], stats.values(), strict=True):
        values = dict(zip(answer["runs"], column["values"], strict=True))
        each = {run: chosen(series, stat) for run, series in loss.items()}
        each = {r: None if stat in ("min", "max") and v != v else v for r, v in each.items()}
        assert_equal([values[run] for run in each], [*each.values()], what)
    arguments = [path, "--by", BY, "--where", WHERE, "--columns", ",".join(texts)]
    lines = list(csv.DictReader(io.StringIO(piped("ls", *arguments, "--format=csv").stdout)))
    report = piped("report", *arguments).stdout.splitlines()
    for group, own in groups.items():
        (line,) = [line for line in lines if line["group"] == group]
        (cells,) = [re.split(r" *\| *", each) for each in report if f"| {group} " in each] or [[]]
        assert line["runs"] == str(len(own))
        for number, (text, stat) in enumerate(stats.items()):
            row = group_row([loss.get(run) for run in own], stat)
            given = {n: float(line[f"loss:{text} {n}"] or "nan") for n in row}
            assert_equal([*given.values()], [*row.values()], f"{what}: {group} {text}")
            summary = logs.summary("loss", at=stat, by=BY, where=WHERE).columns
            found = summary["group"].tolist()
            if group in found:
                python = {n: summary[f"loss {n}"][found.index(group)] for n in row}
                python["missing"] += len(own) - len(with_loss[group])
                assert_equal([*python.values()], [*row.values()], f"{what}: {group} {text}")
            if cells and row["n"]:
                shown = re.match(r"(-?[\d.]+(?:e[+-]\d+)?)", cells[3 + number + (number > 0)])
                assert shown
                assert float(shown[1]) == pytest.approx(row["mean"], rel=0.06, abs=0.06)
    body = {"tags": ["loss"], "runs": [*loss], "format": "csv"}
    download = client.post("data/plugin/scalars/download", json=body).text
    points = [(line["run"], line["step"]) for line in csv.DictReader(io.StringIO(download))]
    assert points == [(run, str(step)) for run, s in loss.items() for step in s.step.tolist()]
