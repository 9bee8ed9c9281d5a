"""A demo logdir: a few small training runs, the same ones each time.

    python -m tbcore.demo DIRECTORY
    tbcore serve --logdir DIRECTORY

The runs are made up, and each has something that real ones have: sub-runs for training and
evaluation, a loss that diverges to infinity and NaN, a restart from a checkpoint that makes the
last steps void, noise that wants smoothing, and both ways of writing a number.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tbcore.testing import EventFileWriter

START_TIME = 1_700_000_000.0
"""Wall time of the first event, in seconds since the epoch."""

NUM_STEPS = 1000
EVALUATE_EVERY = 50


@dataclass(frozen=True)
class DemoRun:
    """What makes one run differ from the others."""

    name: str
    start: float  # seconds after START_TIME
    seconds_per_step: float
    learning_rate: float  # at its peak
    speed: float  # how fast the loss falls, per step
    floor: float  # what the loss falls towards
    stop_at: int | None = None  # the job died here, and went on from an earlier checkpoint
    diverge: int | None = None  # from here on the loss grows, until it is no number


RUNS = (
    DemoRun("small", 0.0, 1.1, 1e-3, 0.0045, 0.52),
    DemoRun("large", 2000.0, 2.4, 1e-3, 0.0062, 0.31),
    DemoRun("large-resumed", 5000.0, 2.3, 7e-4, 0.0052, 0.37, stop_at=640),
    DemoRun("rate-too-high", 9000.0, 1.2, 4e-3, 0.011, 0.6, diverge=430),
)


def main(arguments: list[str] | None = None) -> int:
    """Writes the demo into the directory that the command line names; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tbcore.demo", description="Writes demo runs.")
    parser.add_argument("directory", type=Path, help="is created; must not exist yet, or be empty")
    directory: Path = parser.parse_args(arguments).directory
    try:
        write_demo(directory)
    except OSError as error:
        print(
            f"tbcore.demo: {directory} cannot be written: {error.strerror or error}",
            file=sys.stderr,
        )
        return 1
    return 0


def write_demo(logdir: str | os.PathLike[str]) -> None:
    """Writes the demo runs into a directory that does not exist yet, or is empty.

    The directory appears complete or not at all. Raises OSError when it cannot be made, or when
    there is something in it.
    """
    logdir = Path(logdir).absolute()
    logdir.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{logdir.name}-", dir=logdir.parent) as scratch:
        demo = Path(scratch) / "demo"
        for run in RUNS:
            _write_run(demo, run)
        if logdir.is_dir():
            logdir.rmdir()
        demo.rename(logdir)


def _write_run(logdir: Path, run: DemoRun) -> None:
    """Writes `name/train` and `name/eval`."""
    noise = random.Random(run.name)
    train = logdir / run.name / "train"
    evaluation = logdir / run.name / "eval"
    sessions = [(0, NUM_STEPS)]
    if run.stop_at is not None:
        sessions = [(0, run.stop_at), (run.stop_at // 200 * 200, NUM_STEPS)]

    wall_time = START_TIME + run.start
    load = 0.0
    for first, end in sessions:
        with _open(train, wall_time) as writer, _open(evaluation, wall_time) as eval_writer:
            # Without this a reader could not tell that later steps of the session before are void.
            writer.add_session_log("START", first, wall_time=wall_time)
            eval_writer.add_session_log("START", first, wall_time=wall_time)
            for step in range(first, end):
                # How busy the machine is drifts, and so does the time that a step takes.
                load = 0.97 * load + noise.gauss(0.0, 0.01)
                seconds = run.seconds_per_step * math.exp(load)
                wall_time += seconds
                loss = _loss(run, step)
                _write_training(writer, run, step, loss, seconds, noise, wall_time)
                if step % EVALUATE_EVERY == 0:
                    _write_evaluation(eval_writer, step, loss, noise, wall_time)
        # The machine stood still for a while before it was noticed.
        wall_time += 600.0


def _open(directory: Path, wall_time: float) -> EventFileWriter:
    """A writer of a new event file; names sort by time, as those of real writers do."""
    path = directory / f"events.out.tfevents.{int(wall_time)}.demo"
    return EventFileWriter(path, wall_time=wall_time)


def _loss(run: DemoRun, step: int) -> float:
    """The loss without noise; of a run that diverges it grows, is infinite, and then no number."""
    loss = run.floor + (2.3 - run.floor) * math.exp(-run.speed * step)
    num_diverged = 0 if run.diverge is None else step - run.diverge
    if num_diverged > 190:
        return math.nan
    if num_diverged > 180:
        return math.inf
    return loss * math.exp(0.008 * num_diverged) if num_diverged > 0 else loss


def _write_training(
    writer: EventFileWriter,
    run: DemoRun,
    step: int,
    loss: float,
    seconds: float,
    noise: random.Random,
    wall_time: float,
) -> None:
    """One step of training: plain numbers, as most libraries write them."""
    warm_up = min(1.0, (step + 1) / 100)
    decay = 0.5 * (1 + math.cos(math.pi * step / NUM_STEPS))
    scalars = {
        "loss/total": loss * noise.lognormvariate(0.0, 0.06),
        "loss/regularization": 0.02 + 40 * run.learning_rate * (1 - math.exp(-step / 250)),
        "optimizer/learning_rate": run.learning_rate * warm_up * decay,
        "optimizer/gradient_norm": 1.4 * run.floor * (0.2 + math.exp(-step / 300)),
        "throughput/examples_per_second": 256 / seconds,
    }
    scalars["optimizer/gradient_norm"] *= noise.lognormvariate(0.0, 0.15)
    for tag, value in scalars.items():
        writer.add_scalar(tag, value, step, wall_time=wall_time)


def _write_evaluation(
    writer: EventFileWriter, step: int, loss: float, noise: random.Random, wall_time: float
) -> None:
    """One evaluation: tensors, as TensorFlow 2 writes them."""
    accuracy = 0.1
    if math.isfinite(loss):
        accuracy = max(0.1, 1 - 0.38 * loss + noise.gauss(0.0, 0.008))
    writer.add_scalar("loss/total", loss * 1.08, step, dtype="float32", wall_time=wall_time)
    writer.add_scalar("accuracy", accuracy, step, dtype="float32", wall_time=wall_time)


if __name__ == "__main__":
    sys.exit(main())
