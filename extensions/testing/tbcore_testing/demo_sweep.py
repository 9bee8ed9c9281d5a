"""The short runs of the demo: a sweep of hyperparameters, and four models with five seeds each."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tbcore_testing import summaries
from tbcore_testing.writer import EventFileWriter

NUM_STEPS = 1000
NUM_SETTINGS = 12
"""Number of settings (combinations of hyperparameters) in the sweep, with one run each."""
SWEEP_INTERVAL = 50
"""Number of steps between two points in the sweep."""
NUM_SEEDS = 5
"""Number of runs of each model."""
SEED_INTERVAL = 10
"""Number of steps between two points of a model's run."""
SECONDS_PER_STEP = 0.25


@dataclass(frozen=True)
class Model:
    """A model that was trained with several seeds."""

    name: str
    learning_rate: float
    optimizer: str
    width: int
    speed: float  # rate of the exponential decay of the loss, per step
    floor: float  # limit of the loss


MODELS = (
    Model("cnn_small", 3e-3, "sgd", 64, 0.0062, 0.42),
    Model("mlp", 1e-2, "sgd", 256, 0.0105, 0.71),
    Model("resnet18", 1e-3, "adam", 128, 0.0074, 0.21),
    Model("vit_tiny", 5e-4, "adam", 192, 0.0048, 0.3),
)
DIVERGING = ("vit_tiny", 3)
"""Model and seed of the run whose loss grows to large numbers and then is NaN."""
DIVERGES_AT = 420
"""Step from which on its loss grows."""
MAX_LOSS = 3000.0
"""The largest loss before NaN."""


def open_writer(directory: Path, wall_time: float) -> EventFileWriter:
    """A writer of a new event file, which has the time in its name, like real event files."""
    path = directory / f"events.out.tfevents.{int(wall_time)}.demo"
    return EventFileWriter(path, wall_time=wall_time)


def write_sweep(folder: Path, start: float) -> None:
    """Writes the runs `00`, `01` and so on, one for each setting; the first starts at `start`."""
    rng = random.Random(6)
    for setting in range(NUM_SETTINGS):
        learning_rate = float(f"{10 ** rng.uniform(-4.5, -1.5):.2g}")
        optimizer = rng.choice(["adam", "sgd"])
        width = rng.choice([64, 128, 256, 512])
        augment = rng.random() < 0.5
        hparams: dict[str, float | str | bool] = {
            "model": "mlp",
            "learning_rate": learning_rate,
            "optimizer": optimizer,
            "width": width,
            "augment": augment,
        }
        # The learning rate matters most, with the best one at 1e-3.
        distance = math.log10(learning_rate) + 3.0
        best = 0.93 - 0.13 * distance**2 + 0.01 * math.log2(width / 128)
        best += 0.01 * augment + 0.015 * (optimizer == "adam")
        start += 300.0
        final = max(best + rng.gauss(0.0, 0.008), 0.1)
        with open_writer(folder / f"{setting:02}", start) as writer:
            writer.add_summary(0, summaries.session_start(hparams, start=start))
            for step in range(0, NUM_STEPS + 1, SWEEP_INTERVAL):
                accuracy = final * (1 - math.exp(-step / 180)) + rng.gauss(0.0, 0.004)
                loss = 2.3 * (1 - accuracy) + 0.1
                scalars = {"accuracy": max(accuracy, 0.0), "loss/total": loss}
                _write_scalars(writer, step, scalars, start)
            _write_end(writer, NUM_STEPS, start)


def write_models(folder: Path, start: float) -> None:
    """Writes the runs `cnn_small/seed0`, `cnn_small/seed1` and so on, which end at different steps.

    All seeds of a model have the same hyperparameters. The first run starts at `start`.
    """
    for model in MODELS:
        hparams = {
            "model": model.name,
            "learning_rate": model.learning_rate,
            "optimizer": model.optimizer,
            "width": model.width,
            "augment": True,
        }
        for seed in range(NUM_SEEDS):
            rng = random.Random(f"{model.name} {seed}")
            start += 300.0
            diverges = (model.name, seed) == DIVERGING
            num_steps = NUM_STEPS if diverges else rng.randrange(60, 101) * SEED_INTERVAL
            speed = model.speed * rng.uniform(0.85, 1.15)
            floor = model.floor * rng.uniform(0.9, 1.1)
            with open_writer(folder / model.name / f"seed{seed}", start) as writer:
                value = summaries.session_start(hparams, group=model.name, start=start)
                writer.add_summary(0, value)
                for step in range(0, num_steps, SEED_INTERVAL):
                    loss = floor + (2.3 - floor) * math.exp(-speed * step)
                    loss *= rng.lognormvariate(0.0, 0.02)
                    if diverges and step > DIVERGES_AT:
                        loss *= math.exp(0.03 * (step - DIVERGES_AT))
                    if loss > MAX_LOSS:
                        loss = math.nan
                    accuracy = 0.1 if math.isnan(loss) else max(0.1, 1 - 0.38 * loss)
                    _write_scalars(writer, step, {"accuracy": accuracy, "val/loss": loss}, start)
                _write_end(writer, num_steps, start, status=2 if diverges else 1)


def _write_scalars(
    writer: EventFileWriter, step: int, scalars: Mapping[str, float], start: float
) -> None:
    """Writes the scalars of one step by tag."""
    values = [summaries.scalar(tag, value) for tag, value in scalars.items()]
    writer.add_summary(step, *values, wall_time=start + SECONDS_PER_STEP * step)


def _write_end(writer: EventFileWriter, num_steps: int, start: float, status: int = 1) -> None:
    """Writes how and when a run ended."""
    writer.add_summary(
        num_steps, summaries.session_end(status, start + SECONDS_PER_STEP * num_steps)
    )
