"""Fifty questions about runs, each with one command and what pandas answers to it.

The logs have the shape of a search over 1,000 runs, a sweep with seeds, trainings with pictures and
texts, and runs that are being written. What is right is computed from what TensorBoard's own reader
reads. `benchmarks/commands.py` measures the same commands for 1,000 runs.
"""

from __future__ import annotations

import json
import math
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from commands import command, environment, piped

from tbcore_testing import summaries, write_run
from tbcore_testing.writer import EventFileWriter

pd = pytest.importorskip("pandas")

MAX_BYTES = 4096
NAN = math.nan


def write_thousand(path: Path, num_runs: int, rng: np.random.Generator) -> None:
    """Runs `g0/run0000` and so on, ten in a folder, with hyperparameters of their own."""
    for index in range(num_runs):
        lr, dropout = 10 ** rng.uniform(-5, -1), float(rng.choice([0, 0.1, 0.2, 0.5]))
        base = 0.3 + 0.2 * (math.log10(lr) + 3) ** 2 + rng.normal() * 0.05 + dropout * 0.1
        steps = np.arange(int(rng.integers(20, 31)))
        lines = {
            tag: base + 2 * np.exp(-steps / 8) + rng.normal(0, 0.03, len(steps))
            for tag in ("train/loss", "val/loss")
        }
        points = {
            tag: list(zip((100 * steps).tolist(), line.tolist(), strict=True))
            for tag, line in lines.items()
        }
        hparams = {"lr": lr, "dropout": dropout, "layers": int(rng.integers(2, 12))}
        run = f"g{index * 10 // num_runs}/run{index:04}"
        write_run(path, run, scalars=points, hparams=hparams, wall_time=1.7e9 + 100 * index)


def write_sweep(path: Path, rng: np.random.Generator) -> None:
    """12 settings, 5 seeds of each, of which some end in NaN."""
    settings = [(lr, batch) for lr in (1e-4, 1e-3, 3e-3, 1e-2) for batch in (64, 128, 256)]
    for setting, (lr, batch) in enumerate(settings):
        base = 0.4 + 0.15 * abs(math.log10(lr) + 2.6) + 0.05 * abs(math.log2(batch / 128))
        for seed in range(5):
            diverges = (lr == 1e-2 and (batch == 64 or seed in (1, 3))) or (setting, seed) == (6, 2)
            lines: dict[str, list[tuple[int, float]]] = {"train/loss": [], "val/loss": []}
            for step in range(int(rng.integers(80, 121))):
                value = base + 2 * math.exp(-step / 25) + rng.normal() * 0.02
                value = NAN if diverges and step > 50 + seed else value
                lines["train/loss"].append((10 * step, value - 0.1 + rng.normal() * 0.03))
                if step % 2 == 0:
                    lines["val/loss"].append((10 * step, value))
            hparams = {"lr": lr, "batch_size": batch, "seed": seed, "arch": "vit"}
            started = 1.71e9 + 1000 * setting + 100 * seed
            run = f"cfg{setting:02}/s{seed}"
            write_run(path, run, scalars=lines, hparams=hparams, wall_time=started)


def write_mine(path: Path, rng: np.random.Generator, now: float | None = None) -> None:
    """Trainings of four models with all that is logged; with `now`, their last events are new."""
    for number, model in enumerate(("resnet18", "resnet50", "vit_tiny", "convnext_s")):
        for seed in range(2):
            num_steps = int(rng.integers(20, 40)) if now is None else 30
            started = 1.72e9 + 1000 * number + 100 * seed
            if now is not None:
                started = now - 50 * num_steps * 0.1 - 2 * (8 - 2 * number - seed)
            hparams = {"model": model, "lr": 1e-3 * (number + 1), "seed": seed, "amp": seed == 1}
            run = f"{model}/seed{seed}"
            file = path / run / "events.out.tfevents.1.host"
            with EventFileWriter(file, wall_time=started) as writer:
                writer.add_summary(0, summaries.session_start(hparams), wall_time=started)
                for step in range(num_steps):
                    loss = 2 * math.exp(-step / 10) + 0.3 + 0.05 * number + rng.normal() * 0.03
                    is_bad = (number, seed) == (3, 1) and step > 12
                    norm = abs(rng.normal()) + (50 if (number, seed) == (3, 1) and step > 9 else 0)
                    values = {"train/loss": NAN if is_bad else loss, "train/grad_norm": norm,
                              "train/lr": 1e-3 * math.cos(step / 30)}  # fmt: skip
                    if step % 4 == 0:
                        values["val/loss"] = loss + 0.1 + (step / 40 if seed else 0)
                        values["val/acc"] = 1 / (1 + loss)
                    found = [summaries.scalar(tag, value) for tag, value in values.items()]
                    if step % 8 == 0 and now is None:
                        labels = rng.integers(0, 2, 50)
                        found += [
                            summaries.histogram("weights", rng.normal(step, 1, 100)),
                            summaries.image("samples", summaries.png(4, 3)),
                            summaries.text("generated", f"step {step}: the lazy dog"),
                            summaries.pr_curve("val/pr", labels > 0, np.clip(
                                labels * 0.3 + rng.random(50) * 0.7, 0, 1), num_thresholds=21),
                        ]  # fmt: skip
                    wall_time = started + 5 * (step + 1)
                    writer.add_summary(50 * step, *found, wall_time=wall_time)
            os.utime(file, (wall_time, wall_time))


class Logged(NamedTuple):
    """What TensorBoard's reader reads of a log directory."""

    path: Path
    points: Any
    """Scalars: a frame with the columns run, tag, step, time and value."""
    others: Any
    """All other values: run, tag, step, time, plugin and value, which is an array."""
    runs: Any
    """Started and ended by run, in the order of the first events, with all hyperparameters."""

    def values(self, tag: str) -> Any:
        """The values of a tag by step, grouped by run."""
        own = self.points[self.points.tag == tag]
        return own.set_index("step").groupby("run", sort=False).value

    def at(self, tag: str, stat: Callable[[Any], Any] | str) -> Any:
        """A value of each run, such as its `min`, or its last one."""
        found = self.values(tag).agg(LAST if stat == "last" else stat)
        return found.reindex(self.runs.index)

    @property
    def hparams(self) -> list[str]:
        return sorted(self.runs.columns.drop(["started", "ended"]))

    @property
    def steps(self) -> Any:
        """The highest step of each run."""
        return self.points.groupby("run").step.max().reindex(self.runs.index)

    def rows(
        self, columns: Mapping[str, Any], by: str | None = None, n: int | None = None,
        where: Any = None, *, falls: bool = False,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Rows as those of `tbcore ls`: of runs `where` it is true, sorted by a column."""
        frame = pd.DataFrame(dict(columns), index=self.runs.index)
        frame = frame if where is None else frame[where]
        if by is not None:
            frame = frame.sort_values(by, ascending=not falls, kind="stable")
        frame = frame.head(len(frame) if n is None else n).astype(object)
        named = zip(frame.index, frame.to_dict("records"), strict=True)
        return [{"run": run, **row} for run, row in named]

    def groups(
        self, by: Mapping[str, Any] | Any, name: str, values: Any, *,
        order: str | None = None, falls: bool = False, n: int | None = None,
    ) -> list[dict[str, Any]]:  # fmt: skip
        """Rows of groups of runs with the mean of one value of each run."""
        keys = pd.DataFrame(by, index=self.runs.index) if isinstance(by, Mapping) else None
        names = by if keys is None else keys.apply(
            lambda row: ", ".join(f"{key}={text(each)}" for key, each in row.items()), axis=1
        )  # fmt: skip
        rows = []
        for group, own in values.groupby(names, sort=False):
            finite = own[np.isfinite(own)].astype(float)
            counts = {"n": len(finite), "nonfinite": len(own) - len(finite), "missing": 0}
            deviation = finite.std() if len(finite) > 1 else None
            cell = {"mean": finite.mean() if len(finite) else None, "deviation": deviation}
            rows.append({"group": group, "runs": len(own), name: cell | counts})
        if order:
            rows.sort(key=lambda row: (row[name]["mean"] is None, row[name]["mean"]), reverse=falls)
        return rows[:n]

    def items(self, run: str, tag: str, described: Callable[[Any], str]) -> list[dict[str, Any]]:
        own = self.others[(self.others.run == run) & (self.others.tag == tag)]
        return [
            {"step": row.step, "wall_time": row.time, "value": described(row.value)}
            for row in own.itertuples()
        ]

    def line(self, run: str, tag: str) -> Any:
        return self.points[(self.points.run == run) & (self.points.tag == tag)]


def read_with_tensorboard(path: Path) -> Logged:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
    from tensorboard.util.tensor_util import make_ndarray

    points, others, runs = [], [], {}
    for file in sorted(path.rglob("*tfevents*")):
        run, plugins = file.parent.relative_to(path).as_posix(), {}
        hparams, times = {}, []
        for event in loader.EventFileLoader(str(file)).Load():
            times.append(event.wall_time)
            for value in event.summary.value:
                metadata = value.metadata.plugin_data
                plugin = plugins.setdefault(value.tag, metadata.plugin_name)
                about = (run, value.tag, event.step, event.wall_time)
                if plugin == "hparams":
                    start = HParamsPluginData.FromString(metadata.content).session_start_info
                    hparams = {name: getattr(each, each.WhichOneof("kind"))
                               for name, each in start.hparams.items()}  # fmt: skip
                elif plugin == "scalars":
                    points.append((*about, make_ndarray(value.tensor).item()))
                else:
                    others.append((*about, plugin, make_ndarray(value.tensor)))
        runs[run] = {"started": min(times), "ended": max(times), **hparams}
    columns = ["run", "tag", "step", "time"]
    table = pd.DataFrame.from_dict(runs, orient="index").sort_values("started", kind="stable")
    return Logged(
        path, pd.DataFrame(points, columns=[*columns, "value"]),
        pd.DataFrame(others, columns=[*columns, "plugin", "value"]), table,
    )  # fmt: skip


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Logged]:
    path, rng = tmp_path_factory.mktemp("fifty"), np.random.default_rng(58)
    write_thousand(path / "thousand", 60, rng)
    write_sweep(path / "sweep", rng)
    write_mine(path / "mine", rng)
    write_mine(path / "live", rng, time.time())
    return {name: read_with_tensorboard(path / name) for name in os.listdir(path)}


# -- what pandas answers ---------------------------------------------------------------------------


def LAST(values: Any) -> float:
    """The last value, which may be NaN: `last` of pandas leaves it out."""
    return float(values.iloc[-1])


def text(value: Any) -> str:
    """A hyperparameter in the name of a group."""
    if isinstance(value, str | bool):
        return str(value).lower() if isinstance(value, bool) else value
    return f"{value:.15g}"


def step_of_min(values: Any) -> int:
    return int(values.idxmin())


def until(step: int) -> Callable[[Any], float]:
    return lambda values: float(values[values.index <= step].iloc[-1])


def change(steps: int) -> Callable[[Any], float]:
    return lambda values: LAST(values) - until(values.index[-1] - steps)(values)


def late_mean(steps: int) -> Callable[[Any], float]:
    return lambda values: float(np.mean(values[values.index > values.index[-1] - steps].to_numpy()))


def area(values: Any) -> float:
    sides = values.to_numpy()
    return float(np.sum(np.diff(values.index) * (sides[1:] + sides[:-1]) / 2))


def first_nan(values: Any) -> float:
    bad = values[~np.isfinite(values)]
    return float(bad.index[0]) if len(bad) else NAN


def is_nan(log: Logged) -> Any:
    return log.points.groupby("run").value.agg(lambda own: own.isna().any()).reindex(log.runs.index)


def moments(times: Any) -> list[str]:
    return [datetime.fromtimestamp(each, UTC).isoformat() for each in times]


def sizes(log: Logged) -> list[int]:
    return [sum(f.stat().st_size for f in (log.path / run).iterdir()) for run in log.runs.index]


def took(log: Logged) -> Any:
    return log.runs.ended - log.runs.started


def smoothed(values: Sequence[float], weight: float) -> list[float]:
    """The debiased average of the page."""
    last, found = 0.0, []
    for count, value in enumerate(values, 1):
        last = weight * last + (1 - weight) * value
        found.append(last / (1 - weight**count))
    return found


def points_of(frame: Any, columns: str, values: Sequence[float] | None = None) -> list[Any]:
    named = frame.rename(columns={"time": "wall_time"})
    named = named if values is None else named.assign(value=values)
    return [*named[columns.split()].to_dict("records")]


def kinds(log: Logged) -> list[dict[str, Any]]:
    """The answer of `tags`."""
    rows = []
    for name in log.hparams:
        values = sorted(log.runs[name].unique().tolist())
        places = np.linspace(0, len(values) - 1, min(len(values), 10)).round().astype(int)
        rows.append((name, "hyperparameter", len(log.runs), len(values), None,
                     [values[place] for place in places]))  # fmt: skip
    rows.append(("_hparams_/session_start_info", "hparams", *[len(log.runs)] * 2, 0, None))
    for tag, own in log.points.groupby("tag", sort=False):
        rows.append((tag, "scalar", own.run.nunique(), len(own), own.step.max(), None))
    names = ("name", "kind", "num_runs", "count", "last_step", "values")
    return [dict(zip(names, row, strict=True)) for row in rows]


def differences(log: Logged, a: str, b: str) -> dict[str, Any]:
    """The answer of `diff` for runs with the same tags and no texts."""
    x, y = log.runs.loc[a], log.runs.loc[b]
    hparams = [
        {"name": name, "a": x[name], "b": y[name]}
        for name in log.hparams if x[name] != y[name]
    ]  # fmt: skip
    last = {tag: log.at(tag, "last") for tag in dict.fromkeys(log.points.tag)}
    steps = log.points.groupby(["tag", "run"]).step.max()
    values = [
        {"tag": tag, "a": own[a], "b": own[b], "difference": own[b] - own[a]}
        | {"a_step": steps[tag, a], "b_step": steps[tag, b]}
        for tag, own in last.items()
    ]
    return {"runs": [a, b], "hparams": hparams, "tags": [], "values": values, "texts": []}


def precision(rows: Any) -> str:
    drops = -np.diff(rows[5], append=0.0)
    return f"{rows.shape[1]} thresholds, average precision {np.sum(rows[4] * drops):.4g}"


def last_line(log: Logged, run: str) -> dict[str, Any]:
    """The last line of `tail`: what was logged at the last step."""
    own = log.points[log.points.run == run]
    own = own[own.step == own.step.max()]
    return {"run": run, "step": own.step.max(), "wall_time": own.time.max(),
            **dict(zip(own.tag, own.value, strict=True))}  # fmt: skip


def with_rate(log: Logged, run: str, total: int) -> dict[str, Any]:
    """The last line with the rate of all lines, and the time until `total`."""
    own, line = log.points[log.points.run == run], last_line(log, run)
    rate = (own.step.max() - own.step.min()) / (own.time.max() - own.time.min())
    return line | {"rate": rate, "eta": (total - line["step"]) / rate}


def newest(log: Logged) -> str:
    return str(log.runs.ended.idxmax())


VAL, TRAIN, RUN = "val/loss", "train/loss", "resnet18/seed0"


class Question(NamedTuple):
    text: str
    command: str
    """After `tbcore`, without --json."""
    answer: Callable[[Mapping[str, Logged]], Any]
    """Of rows, one that says that it is cut may have some of these."""
    status: int = 0


def q(text: str, command: str, answer: Callable[[Any], Any], status: int = 0) -> Question:
    """A question about one log directory, which the answer is computed from."""
    name = next(word for word in shlex.split(command) if word in LOGDIRS)
    return Question(text, command, lambda logs: answer(logs[name]), status)


LOGDIRS = ("thousand", "sweep", "mine", "live")

QUESTIONS = [
    q("Which run has the lowest validation loss, and at which step?",
      "ls thousand --columns val/loss:min,val/loss:argmin --sort val/loss:min -n 1",
      lambda t: t.rows({"val/loss:min": t.at(VAL, "min"),
                        "val/loss:argmin": t.at(VAL, step_of_min)}, "val/loss:min", 1)),
    q("Which are the ten best, and with which hyperparameters?",
      "ls thousand --columns val/loss:min,lr,dropout,layers --sort val/loss:min -n 10",
      lambda t: t.rows({"val/loss:min": t.at(VAL, "min"), **t.runs[["lr", "dropout", "layers"]]},
                       "val/loss:min", 10)),
    q("How many runs are there?", "ls thousand --columns layers --max_bytes 500",
      lambda t: t.rows({"layers": t.runs.layers})),
    q("What varies, and what was logged?", "tags thousand", kinds),
    q("How much does dropout matter?", "ls thousand --by dropout --columns val/loss",
      lambda t: t.groups({"dropout": t.runs.dropout}, VAL, t.at(VAL, "last"))),
    q("Which five combinations of dropout and layers are best?",
      "ls thousand --by dropout,layers --columns val/loss:min --sort val/loss:min -n 5",
      lambda t: t.groups(t.runs[["dropout", "layers"]].to_dict("series"), "val/loss:min",
                         t.at(VAL, "min"), order="mean", n=5)),
    q("Which five are best in the mean of their last 500 steps?",
      "ls thousand --columns 'val/loss:mean(500)' --sort 'val/loss:mean(500)' -n 5",
      lambda t: t.rows({"val/loss:mean(500)": t.at(VAL, late_mean(500))}, "val/loss:mean(500)", 5)),
    q("Which five have the smallest area below the training loss?",
      "ls thousand --columns train/loss:auc --sort train/loss:auc -n 5",
      lambda t: t.rows({"train/loss:auc": t.at(TRAIN, area)}, "train/loss:auc", 5)),
    q("Which got below 0.6?",
      "ls thousand --where 'val/loss:min<0.6' --columns val/loss:min --max_bytes 4000",
      lambda t: t.rows({"val/loss:min": t.at(VAL, "min")},
                       where=t.at(VAL, "min").astype("f4") < np.float32(0.6))),
    q("Which three take most space?", "ls thousand --columns size --sort size -r -n 3",
      lambda t: t.rows({"size": sizes(t)}, "size", 3, falls=True)),
    q("Which three have the latest events?", "ls thousand --where newest:3 --columns last_event",
      lambda t: t.rows({"last_event": moments(t.runs.ended)},
                       where=t.runs.ended >= t.runs.ended.nlargest(3).min())),
    q("Which four took longest?", "ls thousand --columns took --sort took -r -n 4",
      lambda t: t.rows({"took": took(t)}, "took", 4, falls=True)),
    q("Which five were ahead at step 1,000?",
      "ls thousand --columns 'val/loss:at(1000)' --sort 'val/loss:at(1000)' -n 5",
      lambda t: t.rows({"val/loss:at(1000)": t.at(VAL, until(1000))}, "val/loss:at(1000)", 5)),
    q("Which five still improved most in their last 1,000 steps?",
      "ls thousand --columns 'val/loss:change(1000)' --sort 'val/loss:change(1000)' -n 5",
      lambda t: t.rows({"val/loss:change(1000)": t.at(VAL, change(1000))},
                       "val/loss:change(1000)", 5)),
    q("Which run ended worst?", "ls thousand --columns val/loss:last --sort val/loss:last -r -n 1",
      lambda t: t.rows({"val/loss:last": t.at(VAL, "last")}, "val/loss:last", 1, falls=True)),
    q("Which have a middle learning rate and few layers?",
      "ls thousand --where 'lr>1e-4 lr<1e-2 layers<=5' --columns lr,layers --sort lr "
      "--max_bytes 4000",
      lambda t: t.rows(t.runs[["lr", "layers"]], "lr",
                       where=(t.runs.lr > 1e-4) & (t.runs.lr < 1e-2) & (t.runs.layers <= 5))),
    q("How are the runs of one folder?",
      "ls thousand --runs 'g3/*' --columns val/loss,train/loss --max_bytes 4000",
      lambda t: t.rows({VAL: t.at(VAL, "last"), TRAIN: t.at(TRAIN, "last")},
                       where=t.runs.index.str.startswith("g3/"))),
    q("How are the folders?", "ls thousand --by 're:^(g[0-9])/' --columns val/loss:max",
      lambda t: t.groups(t.runs.index.str[:2], "val/loss:max", t.at(VAL, "max"))),
    q("How did the loss of a run go, smoothed?",
      "show thousand g0/run0001 val/loss --smooth 0.9",
      lambda t: points_of(t.line("g0/run0001", VAL), "step wall_time value",
                          smoothed(t.line("g0/run0001", VAL).value, 0.9))),
    q("What if the name is wrong?", "ls thousand --columns val/los:min",
      lambda _: "no tag 'val/los'; close: 'val/loss'", 2),

    q("Which setting is best over seeds, with the deviation?",
      "ls sweep --by lr,batch_size --columns val/loss:last --sort val/loss:last",
      lambda s: s.groups(s.runs[["lr", "batch_size"]].to_dict("series"), "val/loss:last",
                         s.at(VAL, "last"), order="mean")),
    q("Which runs diverged?", "ls sweep --where has:nan --columns lr,batch_size",
      lambda s: s.rows(s.runs[["lr", "batch_size"]], where=is_nan(s))),
    q("When did they?",
      "ls sweep --where has:nan --columns train/loss:nan --sort train/loss:nan",
      lambda s: s.rows({"train/loss:nan": s.at(TRAIN, first_nan)}, "train/loss:nan",
                       where=is_nan(s))),
    q("How many diverged with each learning rate?", "ls sweep --by lr --columns train/loss",
      lambda s: s.groups({"lr": s.runs.lr}, TRAIN, s.at(TRAIN, "last"))),
    q("Which three of the others are best?",
      "ls sweep --where -has:nan --columns val/loss --sort val/loss -n 3",
      lambda s: s.rows({VAL: s.at(VAL, "last")}, VAL, 3, where=~is_nan(s))),
    q("What differs between two runs?", "diff sweep cfg00/s0 cfg04/s1",
      lambda s: differences(s, "cfg00/s0", "cfg04/s1"), 1),
    q("What do the seeds of one setting give?",
      "ls sweep --runs 'cfg03/*' --columns seed,val/loss --sort seed",
      lambda s: s.rows({"seed": s.runs.seed, VAL: s.at(VAL, "last")}, "seed",
                       where=s.runs.index.str.startswith("cfg03/"))),
    q("Which three settings have the lowest minima?",
      "ls sweep --by seeds --columns val/loss:min --sort val/loss:min -n 3",
      lambda s: s.groups(s.runs.index.str[:5] + "/*", "val/loss:min", s.at(VAL, "min"),
                         order="mean", n=3)),
    q("Which ended before step 900?", "ls sweep --where 'step<900' --columns step",
      lambda s: s.rows({"step": s.steps}, where=s.steps < 900)),
    q("How did the seeds of one setting go?",
      "show sweep 'cfg00/*' val/loss --max_bytes 4000",
      lambda s: points_of(s.points[s.points.run.str.startswith("cfg00/") & (s.points.tag == VAL)],
                          "run step wall_time value")),
    q("Is anything damaged?", "check sweep",
      lambda s: {"runs": len(s.runs), "damaged": 0, "findings": []}),
    q("Which had a learning rate above 9?", "ls sweep --where 'lr>9'", lambda _: [], 1),
    q("What are the points of a run, for a plot?",
      "export sweep -o - --tags val/loss --runs cfg00/s0 --max_bytes 4000",
      lambda s: points_of(s.line("cfg00/s0", VAL), "run tag step wall_time value")),

    q("When did this run diverge?", "ls mine --runs convnext_s/seed1 --columns train/loss:nan",
      lambda m: m.rows({"train/loss:nan": m.at(TRAIN, first_nan)},
                       where=m.runs.index == "convnext_s/seed1")),
    q("What was the schedule of the learning rate?",
      f"show mine {RUN} train/lr --max_bytes 4000",
      lambda m: points_of(m.line(RUN, "train/lr"), "step wall_time value")),
    q("What did the model write?", f"show mine {RUN} generated",
      lambda m: m.items(RUN, "generated", lambda value: value.item().decode())),
    q("What pictures are there, and from which steps?", f"show mine {RUN} samples",
      lambda m: m.items(RUN, "samples", lambda value: "{} x {}, 1 image".format(
          *(size.decode() for size in value[:2])))),
    q("How do the weights grow?", f"show mine {RUN} weights",
      lambda m: m.items(RUN, "weights", lambda rows: (
          f"{rows[:, 2].sum():g} values from {rows[0, 0]:.4g} to {rows[-1, 1]:.4g}"))),
    q("How good is the classifier?", f"show mine {RUN} val/pr",
      lambda m: m.items(RUN, "val/pr", precision)),
    q("Which runs lack an accuracy?", "ls mine --where '-has:val/acc'", lambda _: [], 1),
    q("Which model is the most accurate?",
      "ls mine --by model --columns val/acc:max --sort val/acc:max -r",
      lambda m: m.groups({"model": m.runs.model}, "val/acc:max", m.at("val/acc", "max"),
                         order="mean", falls=True)),
    q("Whose gradients explode, and when are they largest?",
      "ls mine --where 'train/grad_norm:max>20' "
      "--columns train/grad_norm:max,train/grad_norm:argmax",
      lambda m: m.rows({"train/grad_norm:max": m.at("train/grad_norm", "max"),
                        "train/grad_norm:argmax": m.at("train/grad_norm", lambda v: v.idxmax())},
                       where=m.at("train/grad_norm", "max") > 20)),
    q("Does mixed precision cost anything?", "ls mine --by amp --columns val/loss:min",
      lambda m: m.groups({"amp": m.runs.amp}, "val/loss:min", m.at(VAL, "min"))),
    q("What is there about one run?", f"show mine {RUN} --max_bytes 4000",
      lambda m: {"run": RUN, "state": "quiet", "texts": {"generated": [
                     *m.items(RUN, "generated", lambda v: v.item().decode())][-1]["value"]},
                 "hparams": m.runs.loc[RUN, ["model", "lr", "seed", "amp"]].to_dict()}),
    q("Whose validation loss grows, and since when?",
      "ls mine --where 'val/loss:change(400)>0' --columns val/loss:argmin,step",
      lambda m: m.rows({"val/loss:argmin": m.at(VAL, step_of_min), "step": m.steps},
                       where=m.at(VAL, change(400)) > 0)),
    Question("Which is the best of two folders?",
             "ls old=mine new=sweep --columns val/loss:min --sort val/loss:min -n 3",
             lambda logs: sorted(
                 ({"run": f"{name}/{run}", "val/loss:min": value}
                  for name, log in (("old", logs["mine"]), ("new", logs["sweep"]))
                  for run, value in log.at(VAL, "min").items()),
                 key=lambda row: row["val/loss:min"])[:3]),

    q("Which runs go on?", "ls live --where live --columns state,step",
      lambda w: w.rows({"state": ["live"] * len(w.runs), "step": w.steps})),
    q("How fast is the newest, and when will it end?", "tail live -n 1 --total 5000",
      lambda w: [with_rate(w, newest(w), 5000)]),
    q("What did it log last?", "tail live -n 1 --tags 'train/*'",
      lambda w: [{name: value for name, value in last_line(w, newest(w)).items()
                  if not name.startswith("val/")}]),
    q("When is it past step 1,000?", "tail live --until 'step>=1000' -n 1",
      lambda w: [points_of(w.line(newest(w), TRAIN), "run step")[20]]),
]  # fmt: skip


# -- the comparison --------------------------------------------------------------------------------


def is_answer(found: Any, expected: Any) -> bool:
    """Whether an answer has these values; an object may have more fields than are expected."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            name in found and is_answer(found[name], value) for name, value in expected.items()
        )
    if isinstance(expected, list):
        pairs = zip(found, expected, strict=False)
        return len(found) == len(expected) and all(is_answer(*pair) for pair in pairs)
    if isinstance(expected, bool | np.bool_ | str) or expected is None:
        return bool(found == expected)
    if isinstance(expected, float) and math.isnan(expected):
        return bool(found == "NaN")
    return isinstance(found, int | float) and found == pytest.approx(expected, rel=2e-7, abs=2e-7)


def test_there_are_fifty_questions() -> None:
    assert len({question.text for question in QUESTIONS}) == len(QUESTIONS) == 50


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
def test_one_command_has_the_answer_of_pandas(
    logs: Mapping[str, Logged], question: Question
) -> None:
    """In at most four kilobytes, with the right status, and with the number of what was cut."""
    words = shlex.split(question.command)
    folder = logs["mine"].path.parent
    if "--until" in words:  # It looks whether somebody reads its output, which must be a pipe.
        given = command(*words, "--json")
        result = subprocess.run(
            given, cwd=folder, env=environment(), capture_output=True, text=True
        )
    else:
        result = piped(*words, "--json", cwd=folder)

    assert result.returncode == question.status, result.stderr
    assert len(result.stdout.encode()) <= MAX_BYTES
    expected = question.answer(logs)
    if isinstance(expected, str):
        assert (result.stdout, expected in result.stderr) == ("", True), result.stderr
        return
    is_lines = words[0] in ("tail", "export")
    content = f"[{','.join(result.stdout.splitlines())}]" if is_lines else result.stdout
    found = json.loads(content)
    if isinstance(found, list) and found and "cut" in found[-1]:
        left = found.pop()["cut"]["rows"]
        assert left == f"{len(found):,} of {len(expected):,}"
        assert f"{left} rows" in result.stderr
        rest = iter(expected)
        assert all(any(is_answer(row, other) for other in rest) for row in found), found
        assert is_answer(found[0], expected[0])
        return
    assert (result.stderr == "") == (found != [])
    assert is_answer(found, expected), (found, expected)
    if isinstance(found, list) and words[0] == "ls":
        assert [list(row) for row in found] == [list(row) for row in expected]
