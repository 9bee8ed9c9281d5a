"""The questions of `tbcore help agents`, asked about a sweep, with answers computed by pandas."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from commands import piped

import tbcore_logs.commands
from tbcore_testing import summaries, write_run

pd = pytest.importorskip("pandas")

PAGE = Path(tbcore_logs.commands.__file__).with_name("agents.md").read_text(encoding="utf-8")
MAX_BYTES = 4000
NUM_STEPS, INTERVAL = 1000, 50
NUM_LIVE = 3


class Sweep(NamedTuple):
    """What was written: all points, and a row for each run."""

    logdir: Path
    points: Any
    """The columns are run, tag, step and value."""
    runs: Any
    """The index is the name; the columns are hyperparameters, started, ended and step."""

    def values(self, tag: str, at: str) -> Any:
        """A value or a step of each run with the tag: `last`, `min` or `idxmin`."""
        of_tag = self.points[self.points.tag == tag].set_index("step").groupby("run").value
        return getattr(of_tag, at)()


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Runs of 10 learning rates, 2 optimizers, 5 widths and 10 seeds.

    Some diverge, some stop early, some are overfitted, and the newest are being written.
    """
    logdir = tmp_path_factory.mktemp("agents") / "runs"
    rng, now = np.random.default_rng(42), time.time()
    points, runs = [], []
    for index in range(1000):
        lr = round(10 ** -(index % 10 / 2), 6)
        hparams = {
            "lr": lr, "optimizer": ["adam", "sgd"][index // 10 % 2],
            "width": 32 << index // 20 % 5, "seed": index // 100,
        }  # fmt: skip
        is_live = index >= 1000 - NUM_LIVE
        num_steps = 500 if is_live or index % 97 == 5 else NUM_STEPS
        seconds_per_step = 0.1 + index % 7 / 100
        started = now - 9e4 + 60 * index
        if is_live:
            started = now - num_steps * seconds_per_step - index % 3
        floor = 0.2 + 0.1 * abs(math.log10(lr) + 2) + 0.05 * rng.random()
        diverges = (lr >= 1 and index % 100 > 40) or index in (402, 503)
        run, own = f"sweep/{index:04}", {}
        for tag, every in (("train/loss", INTERVAL), ("val/loss", 3 * INTERVAL)):
            own[tag] = []
            for step in range(0, num_steps, every):
                value = floor + 2 * math.exp(-step / 100) + 0.02 * rng.random()
                if tag == "val/loss":
                    value += 0.05 + (max(step - 350, 0) / 2000 if index % 50 == 4 else 0)
                if diverges and step > 700:
                    value = math.nan
                wall_time = started + (step + 1) * seconds_per_step
                own[tag].append((step, value, wall_time))
                points.append((run, tag, step, np.float32(value)))
        ended = max(point[2] for tag in own.values() for point in tag)
        runs.append((run, *hparams.values(), started, ended, own["train/loss"][-1][0]))
        pictures = [(step, summaries.png(), started) for step in (0, 100)]
        path = write_run(
            logdir, run, scalars=own, hparams=hparams, wall_time=started,
            texts={"config": [(0, f"batch_size: {32 + index % 3}\n", started)]},
            images={"samples": pictures} if index < 5 else None,
        )  # fmt: skip
        os.utime(path, (ended, ended))
    return Sweep(
        logdir,
        pd.DataFrame(points, columns=["run", "tag", "step", "value"]),
        pd.DataFrame(
            runs, columns=["run", "lr", "optimizer", "width", "seed", "started", "ended", "step"]
        ).set_index("run"),
    )


COMMANDS: dict[int, tuple[str, str]] = {
    int(number): (question, line)
    for number, question, line in re.findall(r"^# (\d+)\. (.*)\n(tbcore .*)$", PAGE, re.MULTILINE)
}
"""The questions of the page and their commands, by number."""


def single(values: Any) -> Any:
    """Values as they are logged, as float32."""
    return [np.float32(value) for value in values]


def names(rows: Any) -> list[str]:
    return [row["run"] for row in rows]


def answer_1(sweep: Sweep, rows: Any) -> None:
    lowest = sweep.values("val/loss", "min")
    best = lowest.idxmin()
    assert names(rows) == [best]
    assert np.float32(rows[0]["val/loss:min"]) == lowest[best]
    assert rows[0]["val/loss:argmin"] == sweep.values("val/loss", "idxmin")[best]


def answer_2(sweep: Sweep, rows: Any) -> None:
    best = sweep.values("val/loss", "min").nsmallest(10)
    assert names(rows) == best.index.tolist()
    assert single(row["val/loss:min"] for row in rows) == best.tolist()
    columns = ["lr", "optimizer", "width"]
    found = [tuple(row[column] for column in columns) for row in rows]
    assert found == [*sweep.runs.loc[best.index, columns].itertuples(index=False, name=None)]


def answer_3(sweep: Sweep, rows: Any) -> None:
    nonfinite = sweep.points[sweep.points.value.isna()].run.nunique()
    assert rows[-1] == {"cut": {"rows": f"{len(rows) - 1} of {nonfinite}"}}


def answer_4(sweep: Sweep, rows: Any) -> None:
    diverged = sweep.runs.loc[sweep.points[sweep.points.value.isna()].run.unique()]
    assert sorted(names(rows)) == sorted(diverged[diverged.lr < 0.1].index)
    assert rows


def answer_5(sweep: Sweep, rows: Any) -> None:
    lowest = sweep.values("val/loss", "min")
    found = sweep.runs[(sweep.runs.optimizer == "adam") & (sweep.runs.width == 256)]
    expected = [run for run in found.index if lowest[run] < np.float32(0.3)]
    assert sorted(names(rows)) == sorted(expected)
    assert expected
    assert single(row["val/loss:min"] for row in rows) == lowest[names(rows)].tolist()


def answer_6(sweep: Sweep, rows: Any) -> None:
    runs = sweep.runs
    found = runs[(runs.lr == 0.01) & (runs.optimizer == "adam") & (runs.width == 64)]
    found = found.sort_values("seed")
    assert [row["seed"] for row in rows] == found.seed.tolist()
    assert len(found) == 10
    last = single(row["val/loss:last"] for row in rows)
    assert last == sweep.values("val/loss", "last")[found.index].tolist()


def answer_7(sweep: Sweep, rows: Any) -> None:
    assert sorted(names(rows)) == sweep.runs.index[-NUM_LIVE:].tolist()
    assert {row["state"] for row in rows} == {"live"}


def answer_8(sweep: Sweep, rows: Any) -> None:
    nonfinite = sweep.points[sweep.points.value.isna()].run.unique()
    quiet = sweep.runs.iloc[:-NUM_LIVE]
    expected = quiet[(quiet.step < 950) & ~quiet.index.isin(nonfinite)]
    assert {row["run"]: row["step"] for row in rows} == expected.step.to_dict()


def answer_9(sweep: Sweep, rows: Any) -> None:
    assert names(rows) == sweep.runs.started.nlargest(5).index.tolist()


def answer_10(sweep: Sweep, rows: Any) -> None:
    took = (sweep.runs.ended - sweep.runs.started).nlargest(3)
    assert [row["took"] for row in rows] == pytest.approx(took.tolist(), abs=1e-3)


def answer_11(sweep: Sweep, found: Any) -> None:
    a, b = (sweep.runs.loc[name] for name in ("sweep/0001", "sweep/0500"))
    assert found["runs"] == [a.name, b.name]
    assert {row["name"]: (row["a"], row["b"]) for row in found["hparams"]} == {
        name: (a[name], b[name])
        for name in ("lr", "optimizer", "width", "seed")
        if a[name] != b[name]
    }
    assert [text["tag"] for text in found["texts"]] == ["config"]
    for row in found["values"]:
        last = sweep.values(row["tag"], "last")
        assert single([row["a"], row["b"]]) == [last[a.name], last[b.name]]
    assert {row["tag"] for row in found["values"]} == {"train/loss", "val/loss"}


def answer_12(sweep: Sweep, found: Any) -> None:
    expected = sweep.runs.loc["sweep/0001"]
    assert found["hparams"] == {n: expected[n] for n in ("lr", "optimizer", "width", "seed")}
    assert found["texts"] == {"config": "batch_size: 33\n"}
    assert {"train/loss", "val/loss", "config", "samples"} <= {row["tag"] for row in found["tags"]}


def answer_13(sweep: Sweep, rows: Any) -> None:
    own = sweep.points[sweep.points.run == "sweep/0001"]
    last = own[own.step == own.step.max()].set_index("tag").value
    assert rows[0]["step"] == own.step.max()
    assert {tag: np.float32(rows[0][tag]) for tag in last.index} == last.to_dict()


def answer_14(sweep: Sweep, rows: Any) -> None:
    early = sweep.points[(sweep.points.tag == "val/loss") & (sweep.points.step <= 500)]
    values = early.groupby("run").value.last()
    assert len(rows) == 10
    assert single(row["val/loss:at(500)"] for row in rows) == values[names(rows)].tolist()


def answer_15(sweep: Sweep, rows: Any) -> None:
    own = sweep.points[(sweep.points.run == "sweep/0001") & (sweep.points.tag == "train/loss")]
    series = own.set_index("step").value
    assert rows.pop() == {"cut": {"rows": f"{len(rows)} of {len(series)}"}}
    assert (rows[0]["step"], rows[-1]["step"]) == (0, series.index[-1])
    found = [row["step"] for row in rows]
    assert single(row["value"] for row in rows) == series[found].tolist()


def answer_16(sweep: Sweep, rows: Any) -> None:
    names = ["lr", "optimizer", "width", "seed"]
    assert {row["name"]: row["values"] for row in rows[: len(names)]} == {
        name: sorted(sweep.runs[name].unique().tolist()) for name in names
    }
    found = {row["name"]: (row["kind"], row["num_runs"], row["count"]) for row in rows}
    assert found["lr"] == ("hyperparameter", 1000, 10)
    counts = sweep.points.groupby("tag").agg(runs=("run", "nunique"), count=("run", "size"))
    for tag in counts.index:
        assert found[tag] == ("scalar", *counts.loc[tag])
    assert found["config"] == ("text", 1000, 1000)
    assert found["samples"] == ("image", 5, 10)


def answer_17(sweep: Sweep, rows: Any) -> None:
    assert [row["step"] for row in rows] == [0, 100]
    assert all(row["value"].startswith("1 x 1") for row in rows)


def answer_18(sweep: Sweep, rows: Any) -> None:
    of_tag = sweep.points[sweep.points.tag == "val/loss"]
    at_350 = of_tag[of_tag.step <= 350].groupby("run").value.last()
    last = sweep.values("val/loss", "last")
    expected = last.index[(at_350 < np.float32(0.4)) & (last > np.float32(0.5))]
    assert sorted(names(rows)) == expected.tolist()
    assert len(expected)
    argmin = [row["val/loss:argmin"] for row in rows]
    assert argmin == sweep.values("val/loss", "idxmin")[names(rows)].tolist()


def answer_19(sweep: Sweep, rows: Any) -> None:
    run = rows[0]["run"]
    newest = sweep.runs.loc[run]
    assert newest.ended == sweep.runs.ended.max()
    seconds = 0.1 + int(run[-4:]) % 7 / 100
    assert rows[0]["rate"] == pytest.approx(1 / seconds, rel=1e-3)
    assert rows[0]["eta"] == pytest.approx((1000 - newest.step) * seconds, rel=1e-3)


def answer_20(sweep: Sweep, found: Any) -> None:
    assert (found["runs"], found["damaged"], found["findings"]) == (1000, 0, [])


def test_there_are_twenty_questions_in_the_help() -> None:
    result = piped("help", "agents")
    assert (result.returncode, result.stdout) == (0, PAGE)
    assert "`tbcore help agents`" in piped("--help").stdout
    assert [*COMMANDS] == list(range(1, 21))
    assert len(PAGE.splitlines()) <= 150


@pytest.mark.parametrize("number", COMMANDS, ids=lambda number: f"{number}")
def test_a_question_has_the_answer_of_pandas(sweep: Sweep, number: int) -> None:
    """In at most 4,000 bytes, without a word on stderr unless the answer was cut."""
    program, *arguments = shlex.split(COMMANDS[number][1])
    result = piped(*arguments, cwd=sweep.logdir.parent)

    assert program == "tbcore"
    assert result.returncode == (1 if arguments[0] == "diff" else 0), result.stderr
    assert len(result.stdout.encode()) <= MAX_BYTES
    assert (result.stderr == "") == ('"cut"' not in result.stdout)
    is_lines = arguments[0] == "tail"
    answer = (
        [json.loads(line) for line in result.stdout.splitlines()]
        if is_lines
        else json.loads(result.stdout)
    )
    globals()[f"answer_{number}"](sweep, answer)
