"""demo: writes a log directory with a few small training runs, with the same content each time.

    python -m tbcore_testing.demo DIRECTORY
    tbcore serve --logdir DIRECTORY

The data is synthetic, but has features of real runs:

- Each run has sub-runs for training and evaluation, with scalars in both forms, and noisy losses.
- One loss diverges to infinity and NaN. One job restarts from a checkpoint and repeats some steps.
- As the loss falls, pictures, clips and sentences become clearer, weights split into two groups,
  and a PR curve improves.
- Training runs have settings as text, the graph of the model, and the time of each operation.
- A sweep has short runs with different hyperparameters. Four models have runs with five seeds each,
  of different lengths; one of these diverges.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import struct
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tbcore_testing import graphs, summaries
from tbcore_testing.demo_model import model, node_stats
from tbcore_testing.demo_sweep import NUM_STEPS, open_writer, write_models, write_sweep
from tbcore_testing.writer import EventFileWriter

START_TIME = 1_700_000_000.0
"""Wall time of the first event, in seconds since the epoch."""

EVALUATION_INTERVAL = 50
"""Number of steps between two evaluations."""
CLIP_INTERVAL = 200
"""Number of steps between two logs of audio clips."""
HISTOGRAM_INTERVAL = 25
"""Number of steps between two logs of weights."""
NUM_WEIGHTS = 2000
NUM_PREDICTIONS = 1000
PICTURE_SIZE = 48
"""Width and height of a picture in pixels."""
CLIP_SECONDS = 0.5
SAMPLE_RATE = 8000
"""Sample rate of a clip in hertz."""
PROFILED_STEPS = (10, 500)
"""Steps for which the time of each operation is logged."""
SENTENCES = (
    ("The sea was calm, ", "and the boat came home before the storm."),
    ("Nobody knew ", "why the old clock had stopped at noon."),
    ("To bake bread, ", "mix flour, water and salt, and wait."),
)
"""Prompts for the model, with their correct continuations."""
CHARTS = {
    "Training": {
        "losses": ["Multiline", ["loss/total", "loss/regularization"]],
        "optimizer": ["Multiline", ["optimizer/"]],
    },
    "Evaluation": {"accuracy": ["Multiline", ["accuracy$"]]},
}
"""Layout of the custom charts of each run, see `summaries.chart_layout`."""


@dataclass(frozen=True)
class DemoRun:
    """The parameters of one run."""

    name: str
    start: float  # seconds after START_TIME
    seconds_per_step: float
    learning_rate: float  # the largest, after the warm-up
    speed: float  # rate of the exponential decay of the loss, per step
    floor: float  # limit of the loss
    stop_at: int | None = None  # step of a crash, after which it restarts from a checkpoint
    diverge: int | None = None  # step from which on the loss grows, until it is NaN
    num_layers: int = 2


RUNS = (
    DemoRun("small", 0.0, 1.1, 1e-3, 0.0045, 0.52),
    DemoRun("large", 2000.0, 2.4, 1e-3, 0.0062, 0.31, num_layers=6),
    DemoRun("large-resumed", 5000.0, 2.3, 7e-4, 0.0052, 0.37, stop_at=640, num_layers=6),
    DemoRun("rate-too-high", 9000.0, 1.2, 4e-3, 0.011, 0.6, diverge=430),
)


def main(arguments: list[str] | None = None) -> int:
    """Writes the demo runs into the directory in the arguments; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tbcore_testing.demo", description="Writes demo runs."
    )
    parser.add_argument("directory", type=Path, help="new or empty directory for the runs")
    directory: Path = parser.parse_args(arguments).directory
    try:
        write_demo(directory)
    except OSError as error:
        print(
            f"tbcore_testing.demo: cannot write {directory}: {error.strerror or error}",
            file=sys.stderr,
        )
        return 1
    return 0


def write_demo(logdir: str | os.PathLike[str]) -> None:
    """Writes the demo runs into a directory that does not exist yet, or is empty.

    The directory is written completely or not at all. Raises OSError if it is not empty, or cannot
    be created.
    """
    logdir = Path(logdir).absolute()
    logdir.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{logdir.name}-", dir=logdir.parent) as scratch:
        demo = Path(scratch) / "demo"
        for run in RUNS:
            _write_run(demo, run)
        write_sweep(demo / "sweep", START_TIME + 12_000.0)
        write_models(demo / "models", START_TIME + 18_000.0)
        if logdir.is_dir():
            logdir.rmdir()
        demo.rename(logdir)


def _write_run(logdir: Path, run: DemoRun) -> None:
    """Writes the runs `name/train` and `name/eval`."""
    noise = random.Random(run.name)
    train = logdir / run.name / "train"
    evaluation = logdir / run.name / "eval"
    step_ranges = [(0, NUM_STEPS)]
    if run.stop_at is not None:
        step_ranges = [(0, run.stop_at), (run.stop_at // 200 * 200, NUM_STEPS)]

    wall_time = START_TIME + run.start
    load = 0.0
    for first, end in step_ranges:
        with (
            open_writer(train, wall_time) as writer,
            open_writer(evaluation, wall_time) as eval_writer,
        ):
            # This event makes readers drop the steps from `first` on that were logged before it.
            writer.add_session_log("START", first, wall_time=wall_time)
            eval_writer.add_session_log("START", first, wall_time=wall_time)
            if first == 0:
                writer.add_graph(graphs.graph_def(model(run.num_layers)), wall_time=wall_time)
                _write_settings(writer, run, wall_time)
                writer.add_summary(0, summaries.chart_layout(CHARTS), wall_time=wall_time)
            for step in range(first, end):
                # The load of the machine drifts, and the time of a step with it.
                load = 0.97 * load + noise.gauss(0.0, 0.01)
                seconds = run.seconds_per_step * math.exp(load)
                wall_time += seconds
                loss = _loss(run, step)
                _write_training(writer, run, step, loss, seconds, noise, wall_time)
                if step % HISTOGRAM_INTERVAL == 0:
                    _write_weights(writer, run, step, wall_time)
                if step in PROFILED_STEPS:
                    _write_profile(writer, run, step, wall_time)
                if step % EVALUATION_INTERVAL == 0:
                    _write_evaluation(eval_writer, step, loss, noise, wall_time)
                    _write_curve(eval_writer, run, step, loss, wall_time)
                    _write_pictures(eval_writer, run, step, loss, wall_time)
                    _write_sentences(eval_writer, run, step, loss, wall_time)
                if step % CLIP_INTERVAL == 0:
                    _write_clips(eval_writer, run, step, loss, wall_time)
                    _write_mesh(eval_writer, run, step, loss, wall_time)
        # The job was not restarted at once.
        wall_time += 600.0


def _loss(run: DemoRun, step: int) -> float:
    """The loss without noise; in a run that diverges it grows, becomes infinite, and then NaN."""
    loss = run.floor + (2.3 - run.floor) * math.exp(-run.speed * step)
    steps_since_divergence = 0 if run.diverge is None else step - run.diverge
    if steps_since_divergence > 190:
        return math.nan
    if steps_since_divergence > 180:
        return math.inf
    return loss * math.exp(0.008 * steps_since_divergence) if steps_since_divergence > 0 else loss


def _write_training(
    writer: EventFileWriter,
    run: DemoRun,
    step: int,
    loss: float,
    seconds: float,
    noise: random.Random,
    wall_time: float,
) -> None:
    """Writes the scalars of one training step in the form of most libraries: `simple_value`."""
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


def _write_profile(writer: EventFileWriter, run: DemoRun, step: int, wall_time: float) -> None:
    """Writes the time and memory of each operation in one step."""
    rng = random.Random(f"{run.name} {step}")
    stats = node_stats(model(run.num_layers), start_us=int(wall_time * 1e6), rng=rng)
    metadata = graphs.run_metadata(stats)
    writer.add_run_metadata(f"step {step}", metadata, step=step, wall_time=wall_time)


def _write_evaluation(
    writer: EventFileWriter, step: int, loss: float, noise: random.Random, wall_time: float
) -> None:
    """Writes the scalars of one evaluation in the form of TensorFlow 2: tensors."""
    accuracy = 0.1
    if math.isfinite(loss):
        accuracy = max(0.1, 1 - 0.38 * loss + noise.gauss(0.0, 0.008))
    writer.add_scalar("loss/total", loss * 1.08, step, dtype="float32", wall_time=wall_time)
    writer.add_scalar("accuracy", accuracy, step, dtype="float32", wall_time=wall_time)


def _write_curve(
    writer: EventFileWriter, run: DemoRun, step: int, loss: float, wall_time: float
) -> None:
    """Writes the PR curve of a rare class, which improves as the loss falls."""
    rng = np.random.default_rng([step, len(run.name), 3])
    labels = rng.random(NUM_PREDICTIONS) < 0.2
    margin = 3.5 * math.exp(-max(loss - run.floor, 0.0)) if math.isfinite(loss) else 0.0
    predictions = 1 / (1 + np.exp(1.5 - margin * labels - rng.normal(0, 1, NUM_PREDICTIONS)))
    curve = summaries.pr_curve("class/3", labels, predictions, num_thresholds=101)
    writer.add_summary(step, curve, wall_time=wall_time)


def _write_weights(writer: EventFileWriter, run: DemoRun, step: int, wall_time: float) -> None:
    """Writes histograms of a layer, whose weights split into two groups and gradients shrink."""
    rng = np.random.default_rng([step, len(run.name), 2])
    learned = 1 - math.exp(-run.speed * step)
    weights = rng.normal(0, 0.25, NUM_WEIGHTS)
    weights[: NUM_WEIGHTS // 2] += 1.2 * learned
    weights[NUM_WEIGHTS // 2 :] -= 0.6 * learned
    active = np.maximum(0, rng.normal(0.8 * learned - 0.5, 0.5, NUM_WEIGHTS))
    # Gradients have a distribution with long tails.
    gradients = 0.01 * (1 - 0.9 * learned) * rng.standard_t(3, NUM_WEIGHTS)
    if run.diverge is not None and step > run.diverge:
        weights *= math.exp(min(6.0, 0.01 * (step - run.diverge)))
    for tag, samples in (("weights", weights), ("activations", active), ("gradients", gradients)):
        writer.add_histogram(f"dense/{tag}", samples, step, wall_time=wall_time)


def _write_settings(writer: EventFileWriter, run: DemoRun, wall_time: float) -> None:
    """Writes the settings of the run as Markdown."""
    lines = [
        f"## {run.name}",
        "",
        "| setting | value |",
        "| --- | ---: |",
        f"| `learning_rate` | {run.learning_rate} |",
        f"| `num_layers` | {run.num_layers} |",
        f"| `num_steps` | {NUM_STEPS} |",
    ]
    if run.diverge is not None:
        lines += ["", "**Too high on purpose**: how soon does it *diverge*?"]
    writer.add_summary(0, summaries.text("settings", "\n".join(lines)), wall_time=wall_time)


def _write_sentences(
    writer: EventFileWriter, run: DemoRun, step: int, loss: float, wall_time: float
) -> None:
    """Writes prompts with the model's continuations; more letters are right as the loss falls."""
    rng = random.Random(f"{run.name} {step}")
    share_right = math.exp(-max(loss - run.floor, 0.0)) if math.isfinite(loss) else 0.0
    rows = [["prompt", "continuation"]]
    for prompt, continuation in SENTENCES:
        letters = (
            letter if letter == " " or rng.random() < share_right else rng.choice("etaoinshrdlu")
            for letter in continuation
        )
        rows.append([prompt.strip(), "".join(letters)])
    writer.add_summary(step, summaries.text("sentences", rows), wall_time=wall_time)


def _write_pictures(
    writer: EventFileWriter, run: DemoRun, step: int, loss: float, wall_time: float
) -> None:
    """Writes reconstructions of two shapes, and an attention map."""
    rng = np.random.default_rng([step, len(run.name)])
    y, x = np.mgrid[-1 : 1 : PICTURE_SIZE * 1j, -1 : 1 : PICTURE_SIZE * 1j]
    ring = np.exp(-(((np.hypot(x, y) - 0.6) / 0.12) ** 2))
    cross = np.exp(-((np.minimum(abs(x - y), abs(x + y)) / 0.15) ** 2))
    noise_level = _noise_level(loss)
    pictures = []
    for shape, color in ((ring, (1.0, 0.75, 0.35)), (cross, (0.45, 0.8, 1.0))):
        gray = (1 - noise_level) * shape + noise_level * rng.random(shape.shape)
        pictures.append(_png(gray[..., None] * np.array(color)))
    writer.add_summary(
        step,
        summaries.image("pictures/reconstruction", pictures, as_tensor=True),
        wall_time=wall_time,
    )
    attention = np.exp(-((x - noise_level) ** 2 + y**2) / (0.05 + noise_level))
    writer.add_image("pictures/attention", _png(attention[..., None]), step, wall_time=wall_time)


def _write_mesh(
    writer: EventFileWriter, run: DemoRun, step: int, loss: float, wall_time: float
) -> None:
    """Writes a ring as a mesh with colours, which is smoother as the loss falls."""
    rng = np.random.default_rng([step, len(run.name), 4])
    around, across = 32, 16
    i, k = (index.ravel() for index in np.indices((around, across)))
    a, b = 2 * math.pi * i / around, 2 * math.pi * k / across
    radius = 0.35 + 0.3 * _noise_level(loss) * rng.normal(0, 1, len(a))
    distance = 1 + radius * np.cos(b)
    vertices = np.stack([distance * np.cos(a), radius * np.sin(b), distance * np.sin(a)], axis=1)
    next_i, next_k = (i + 1) % around, (k + 1) % across
    corners = [each * across + other for each in (i, next_i) for other in (k, next_k)]
    faces = np.concatenate(
        [np.stack([corners[n] for n in face], 1) for face in ((0, 1, 3), (0, 3, 2))]
    )
    colors = 128 + 90 * np.stack([np.cos(a), np.sin(b), -np.cos(a)], axis=1)
    values = summaries.mesh("shapes/ring", [vertices], [faces], [colors])
    writer.add_summary(step, *values, wall_time=wall_time)


def _write_clips(
    writer: EventFileWriter, run: DemoRun, step: int, loss: float, wall_time: float
) -> None:
    """Writes two tones, with less noise as the loss falls."""
    rng = np.random.default_rng([step, len(run.name), 1])
    seconds = np.arange(int(CLIP_SECONDS * SAMPLE_RATE)) / SAMPLE_RATE
    noise_level = _noise_level(loss)
    clips = []
    for hertz in (220.0, 330.0):
        tone = np.sin(2 * math.pi * hertz * seconds) * np.exp(-3 * seconds)
        noise = rng.uniform(-1, 1, len(seconds))
        clips.append(
            summaries.wav(0.5 * ((1 - noise_level) * tone + noise_level * noise), SAMPLE_RATE)
        )
    value = summaries.audio("sounds/tone", clips, labels=["low A", "E"], as_tensor=True)
    writer.add_summary(step, value, wall_time=wall_time)


def _noise_level(loss: float) -> float:
    """Share of noise in pictures and clips, from 0 to 1."""
    return min(1.0, max(0.0, loss / 2.3)) if math.isfinite(loss) else 1.0


def _png(pixels: NDArray[np.float64]) -> bytes:
    """The content of a PNG file for an array of shape (height, width, 1 or 3) from 0 to 1.

    Each channel is reduced to 32 levels, which compress better.
    """
    height, width, num_channels = pixels.shape
    shades = (np.clip(pixels, 0, 1) * 31).astype(np.uint8) * 8
    rows = b"".join(b"\0" + row.tobytes() for row in shades)
    color_type = 2 if num_channels == 3 else 0
    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


if __name__ == "__main__":
    sys.exit(main())
