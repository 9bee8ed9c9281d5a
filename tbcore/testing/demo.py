"""A demo logdir: a few small training runs, the same ones each time.

    python -m tbcore.testing.demo DIRECTORY
    tbcore serve --logdir DIRECTORY

The runs are made up, and each has something that real ones have: sub-runs for training and
evaluation, a loss that diverges to infinity and NaN, a restart from a checkpoint that makes the
last steps void, noise that wants smoothing, both ways of writing a number, weights
that part as they learn, pictures, clips and sentences that get clearer as the loss falls, a class
that is told from others better and better, settings in words, and the graph of the model with the
time that its parts take. Beside them is a sweep: short runs that differ in their hyperparameters,
two of each with other seeds.
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

from tbcore.testing import graphs, summaries
from tbcore.testing.writer import EventFileWriter

START_TIME = 1_700_000_000.0
"""Wall time of the first event, in seconds since the epoch."""

NUM_STEPS = 1000
EVALUATE_EVERY = 50
LISTEN_EVERY = 200
LOOK_INSIDE_EVERY = 25
NUM_WEIGHTS = 2000
NUM_PREDICTIONS = 1000
PICTURE_SIZE = 48
CLIP_SECONDS = 0.5
SAMPLE_RATE = 8000
PROFILE_AT = (10, 500)
"""Steps of which the time of each operation is logged."""
SENTENCES = (
    ("The sea was calm, ", "and the boat came home before the storm."),
    ("Nobody knew ", "why the old clock had stopped at noon."),
    ("To bake bread, ", "mix flour, water and salt, and wait."),
)
"""What the model is asked to go on with, and how it should."""
CHARTS = {
    "Training": {
        "losses": ["Multiline", ["loss/total", "loss/regularization"]],
        "optimizer": ["Multiline", ["optimizer/"]],
    },
    "Evaluation": {"accuracy": ["Multiline", ["accuracy$"]]},
}
"""Charts of several tags that each run asks for."""
NUM_SETTINGS = 16
"""Of the sweep."""
NUM_SEEDS = 2


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
    num_layers: int = 2


RUNS = (
    DemoRun("small", 0.0, 1.1, 1e-3, 0.0045, 0.52),
    DemoRun("large", 2000.0, 2.4, 1e-3, 0.0062, 0.31, num_layers=6),
    DemoRun("large-resumed", 5000.0, 2.3, 7e-4, 0.0052, 0.37, stop_at=640, num_layers=6),
    DemoRun("rate-too-high", 9000.0, 1.2, 4e-3, 0.011, 0.6, diverge=430),
)


def main(arguments: list[str] | None = None) -> int:
    """Writes the demo into the directory that the command line names; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tbcore.testing.demo", description="Writes demo runs."
    )
    parser.add_argument("directory", type=Path, help="is created; must not exist yet, or be empty")
    directory: Path = parser.parse_args(arguments).directory
    try:
        write_demo(directory)
    except OSError as error:
        print(
            f"tbcore.testing.demo: {directory} cannot be written: {error.strerror or error}",
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
        _write_sweep(demo / "sweep")
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
            if first == 0:
                writer.add_graph(graphs.graph_def(_model(run)), wall_time=wall_time)
                _write_settings(writer, run, wall_time)
                writer.add_summary(0, summaries.chart_layout(CHARTS), wall_time=wall_time)
            for step in range(first, end):
                # How busy the machine is drifts, and so does the time that a step takes.
                load = 0.97 * load + noise.gauss(0.0, 0.01)
                seconds = run.seconds_per_step * math.exp(load)
                wall_time += seconds
                loss = _loss(run, step)
                _write_training(writer, run, step, loss, seconds, noise, wall_time)
                if step % LOOK_INSIDE_EVERY == 0:
                    _write_weights(writer, run, step, wall_time)
                if step in PROFILE_AT:
                    _write_profile(writer, run, step, wall_time)
                if step % EVALUATE_EVERY == 0:
                    _write_evaluation(eval_writer, step, loss, noise, wall_time)
                    _write_curve(eval_writer, run, step, loss, wall_time)
                    _write_pictures(eval_writer, run, step, loss, wall_time)
                    _write_sentences(eval_writer, run, step, loss, wall_time)
                if step % LISTEN_EVERY == 0:
                    _write_clips(eval_writer, run, step, loss, wall_time)
        # The machine stood still for a while before it was noticed.
        wall_time += 600.0


def _write_sweep(folder: Path) -> None:
    """Writes `00-a`, `00-b`, `01-a` and so on: a setting with two seeds, for each setting."""
    pick = random.Random(6)
    start = START_TIME + 12_000.0
    for setting in range(NUM_SETTINGS):
        learning_rate = float(f"{10 ** pick.uniform(-4.5, -1.5):.2g}")
        optimizer = pick.choice(["adam", "sgd"])
        width = pick.choice([64, 128, 256, 512])
        augment = pick.random() < 0.5
        hparams: dict[str, float | str | bool] = {
            "learning_rate": learning_rate,
            "optimizer": optimizer,
            "width": width,
            "augment": augment,
        }
        # There is a best rate; the other three help a little.
        distance = math.log10(learning_rate) + 3.0
        best = 0.93 - 0.13 * distance**2 + 0.01 * math.log2(width / 128)
        best += 0.01 * augment + 0.015 * (optimizer == "adam")
        for seed in "ab"[:NUM_SEEDS]:
            start += 300.0
            reached = max(best + pick.gauss(0.0, 0.008), 0.1)
            with _open(folder / f"{setting:02}-{seed}", start) as writer:
                group = f"setting {setting:02}"
                writer.add_summary(0, summaries.session_start(hparams, group=group, start=start))
                for step in range(0, NUM_STEPS + 1, EVALUATE_EVERY):
                    accuracy = reached * (1 - math.exp(-step / 180)) + pick.gauss(0.0, 0.004)
                    loss = 2.3 * (1 - accuracy) + 0.1
                    writer.add_summary(
                        step,
                        summaries.scalar("accuracy", max(accuracy, 0.0)),
                        summaries.scalar("loss/total", loss),
                        wall_time=start + 0.25 * step,
                    )
                writer.add_summary(NUM_STEPS, summaries.session_end(1, start + 0.25 * NUM_STEPS))


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


def _model(run: DemoRun) -> list[graphs.Node]:
    """The operations of a small transformer, in the order in which they run."""
    nodes: list[graphs.Node] = []
    width = 64 * run.num_layers
    tokens = (-1, 128, width)

    def add(name: str, op: str, *inputs: str, shape: tuple[int, ...] = tokens) -> str:
        nodes.append(graphs.Node(name, op, inputs, shape, "/device:CPU:0"))
        return name

    def dense(
        scope: str, x: str, size_in: int, size_out: int, rows: tuple[int, ...] = (-1, 128)
    ) -> str:
        shape = (*rows, size_out)
        kernel = add(f"{scope}/kernel", "VariableV2", shape=(size_in, size_out))
        bias = add(f"{scope}/bias", "VariableV2", shape=(size_out,))
        product = add(f"{scope}/MatMul", "BatchMatMulV2", x, kernel, shape=shape)
        return add(f"{scope}/BiasAdd", "BiasAdd", product, bias, shape=shape)

    def norm(scope: str, x: str) -> str:
        mean = add(f"{scope}/Mean", "Mean", x, shape=(-1, 128, 1))
        centred = add(f"{scope}/Sub", "Sub", x, mean)
        scale = add(f"{scope}/scale", "VariableV2", shape=(width,))
        return add(f"{scope}/Mul", "Mul", centred, scale)

    words = add("input/words", "Placeholder", shape=(-1, 128))
    labels = add("input/labels", "Placeholder", shape=(-1,))
    table = add("embedding/table", "VariableV2", shape=(8000, width))
    x = add("embedding/lookup", "GatherV2", table, words)
    for layer in range(1, run.num_layers + 1):
        block = f"encoder/layer_{layer}"
        query, key, value = (
            dense(f"{block}/attention/{part}", x, width, width)
            for part in ("query", "key", "value")
        )
        scores = add(f"{block}/attention/scores", "BatchMatMulV2", query, key, shape=(-1, 128, 128))
        weights = add(f"{block}/attention/Softmax", "Softmax", scores, shape=(-1, 128, 128))
        seen = add(f"{block}/attention/context", "BatchMatMulV2", weights, value)
        seen = dense(f"{block}/attention/output", seen, width, width)
        x = norm(f"{block}/norm_1", add(f"{block}/add_1", "AddV2", x, seen))
        inner = dense(f"{block}/feed_forward/up", x, width, 4 * width)
        inner = add(f"{block}/feed_forward/Gelu", "Gelu", inner, shape=(-1, 128, 4 * width))
        outer = dense(f"{block}/feed_forward/down", inner, 4 * width, width)
        x = norm(f"{block}/norm_2", add(f"{block}/add_2", "AddV2", x, outer))
    pooled = add("head/Mean", "Mean", x, shape=(-1, width))
    logits = dense("head/dense", pooled, width, 10, rows=(-1,))
    losses = add(
        "loss/CrossEntropy", "SparseSoftmaxCrossEntropyWithLogits", logits, labels, shape=(-1,)
    )
    loss = add("loss/Mean", "Mean", losses, shape=())
    variables = [node.name for node in nodes if node.op == "VariableV2"]
    add("train/ApplyAdam", "ApplyAdam", loss, *variables, shape=())
    return nodes


def _write_profile(writer: EventFileWriter, run: DemoRun, step: int, wall_time: float) -> None:
    """What each operation took: products of matrices take most of it."""
    pick = random.Random(f"{run.name} {step}")
    start = int(wall_time * 1e6)
    took = []
    for node in _model(run):
        size = math.prod(abs(dim) for dim in node.shape or ())
        weight = 30 if "MatMul" in node.op else 0.1 if node.op == "VariableV2" else 2
        duration = int(5 + weight * size / 1000 * pick.uniform(0.8, 1.2))
        took.append(graphs.NodeStats(node.name, start, duration, 4 * 32 * size))
        start += duration
    metadata = graphs.run_metadata(took)
    writer.add_run_metadata(f"step {step}", metadata, step=step, wall_time=wall_time)


def _write_evaluation(
    writer: EventFileWriter, step: int, loss: float, noise: random.Random, wall_time: float
) -> None:
    """One evaluation: tensors, as TensorFlow 2 writes them."""
    accuracy = 0.1
    if math.isfinite(loss):
        accuracy = max(0.1, 1 - 0.38 * loss + noise.gauss(0.0, 0.008))
    writer.add_scalar("loss/total", loss * 1.08, step, dtype="float32", wall_time=wall_time)
    writer.add_scalar("accuracy", accuracy, step, dtype="float32", wall_time=wall_time)


def _write_curve(
    writer: EventFileWriter, run: DemoRun, step: int, loss: float, wall_time: float
) -> None:
    """How well one class is told from all others: rare, and found better as the loss falls."""
    rng = np.random.default_rng([step, len(run.name), 3])
    labels = rng.random(NUM_PREDICTIONS) < 0.2
    margin = 3.5 * math.exp(-max(loss - run.floor, 0.0)) if math.isfinite(loss) else 0.0
    predictions = 1 / (1 + np.exp(1.5 - margin * labels - rng.normal(0, 1, NUM_PREDICTIONS)))
    curve = summaries.pr_curve("class/3", labels, predictions, num_thresholds=101)
    writer.add_summary(step, curve, wall_time=wall_time)


def _write_weights(writer: EventFileWriter, run: DemoRun, step: int, wall_time: float) -> None:
    """What a layer learns: two groups of weights part, few units stay at 0, gradients get small."""
    rng = np.random.default_rng([step, len(run.name), 2])
    learned = 1 - math.exp(-run.speed * step)
    weights = rng.normal(0, 0.25, NUM_WEIGHTS)
    weights[: NUM_WEIGHTS // 2] += 1.2 * learned
    weights[NUM_WEIGHTS // 2 :] -= 0.6 * learned
    active = np.maximum(0, rng.normal(0.8 * learned - 0.5, 0.5, NUM_WEIGHTS))
    # Long tails, as gradients have: single ones are far out.
    gradients = 0.01 * (1 - 0.9 * learned) * rng.standard_t(3, NUM_WEIGHTS)
    if run.diverge is not None and step > run.diverge:
        weights *= math.exp(min(6.0, 0.01 * (step - run.diverge)))
    for tag, samples in (("weights", weights), ("activations", active), ("gradients", gradients)):
        writer.add_histogram(f"dense/{tag}", samples, step, wall_time=wall_time)


def _write_settings(writer: EventFileWriter, run: DemoRun, wall_time: float) -> None:
    """How the run was started, as markdown."""
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
    """Beginnings, and how the model goes on: more letters are right as the loss falls."""
    guess = random.Random(f"{run.name} {step}")
    right = math.exp(-max(loss - run.floor, 0.0)) if math.isfinite(loss) else 0.0
    rows = [["prompt", "continuation"]]
    for prompt, wanted in SENTENCES:
        letters = (
            letter if letter == " " or guess.random() < right else guess.choice("etaoinshrdlu")
            for letter in wanted
        )
        rows.append([prompt.strip(), "".join(letters)])
    writer.add_summary(step, summaries.text("sentences", rows), wall_time=wall_time)


def _write_pictures(
    writer: EventFileWriter, run: DemoRun, step: int, loss: float, wall_time: float
) -> None:
    """What a model makes of two shapes, and what it attends to in one of them."""
    rng = np.random.default_rng([step, len(run.name)])
    y, x = np.mgrid[-1 : 1 : PICTURE_SIZE * 1j, -1 : 1 : PICTURE_SIZE * 1j]
    ring = np.exp(-(((np.hypot(x, y) - 0.6) / 0.12) ** 2))
    cross = np.exp(-((np.minimum(abs(x - y), abs(x + y)) / 0.15) ** 2))
    unclear = _unclearness(loss)
    pictures = []
    for shape, color in ((ring, (1.0, 0.75, 0.35)), (cross, (0.45, 0.8, 1.0))):
        gray = (1 - unclear) * shape + unclear * rng.random(shape.shape)
        pictures.append(_png(gray[..., None] * np.array(color)))
    writer.add_summary(
        step,
        summaries.image("pictures/reconstruction", pictures, as_tensor=True),
        wall_time=wall_time,
    )
    attention = np.exp(-((x - unclear) ** 2 + y**2) / (0.05 + unclear))
    writer.add_image("pictures/attention", _png(attention[..., None]), step, wall_time=wall_time)


def _write_clips(
    writer: EventFileWriter, run: DemoRun, step: int, loss: float, wall_time: float
) -> None:
    """Two tones, out of noise."""
    rng = np.random.default_rng([step, len(run.name), 1])
    seconds = np.arange(int(CLIP_SECONDS * SAMPLE_RATE)) / SAMPLE_RATE
    unclear = _unclearness(loss)
    clips = []
    for hertz in (220.0, 330.0):
        tone = np.sin(2 * math.pi * hertz * seconds) * np.exp(-3 * seconds)
        noise = rng.uniform(-1, 1, len(seconds))
        clips.append(summaries.wav(0.5 * ((1 - unclear) * tone + unclear * noise), SAMPLE_RATE))
    value = summaries.audio("sounds/tone", clips, labels=["low A", "E"], as_tensor=True)
    writer.add_summary(step, value, wall_time=wall_time)


def _unclearness(loss: float) -> float:
    """From 0, where everything is as it should be, to 1, where all is noise."""
    return min(1.0, max(0.0, loss / 2.3)) if math.isfinite(loss) else 1.0


def _png(pixels: NDArray[np.float64]) -> bytes:
    """A PNG file of an array (height, width, 1 or 3) from 0 to 1, in 32 shades: they pack well."""
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
