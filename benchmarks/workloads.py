"""Writes the logs for the benchmarks: what trainers log, in large sizes.

    python benchmarks/workloads.py OUTDIR [NAME ...] [--scale F]

S1    one run, one tag, 5,000,000 steps, as PyTorch and tensorboardX write scalars (simple_value)
S2    50 runs x 20 tags x 5,000 steps, written like S1
S2t   S2 as TensorFlow 2 writes it: tensors, with metadata on the first value of a tag
S2r   S2, irregular: each tag at its own interval, some steps left out
S2v   S2 with one event per step that has all 20 values, as TensorFlow 1 merges summaries
S3    2,000 runs x 10 tags x 50 steps
S3e   S3 with each run stopped after 5 to 100 steps
S3h   S3 with hyperparameters, of which the seed differs in each run
H     4 runs: 5 scalars x 30,000 steps, 12 histograms every 50 steps, a text every 100
Hs    1,000 runs x 50 steps: 4 scalars, a histogram every 10 steps, a text every 20
M     10 runs: 10 scalars x 1,000 steps, 200 histograms x 100, 200 images of 50 kB, 20 clips
G     one run with a graph of 30 MB and 100 steps of a scalar
P     100 runs x 20 tags x 1,000 steps, for a page full of charts

The same arguments produce the same bytes.
"""

from __future__ import annotations

import argparse
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
from google_crc32c import value as crc32c

from tbcore.eventfiles.crc32c import MASK_DELTA
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.proto.summary_pb2 import Summary, SummaryMetadata
from tbcore_testing import EventFileWriter, record_bytes, summaries
from tbcore_testing.graphs import Node, graph_def
from tbcore_testing.tensors import array_proto

NAMES = ["S1", "S2", "S2t", "S2r", "S2v", "S3", "S3e", "S3h", "H", "Hs", "M", "G", "P"]
START = 1_700_000_000.0
TAGS = [
    "loss",
    "lr",
    "train/loss",
    "train/accuracy",
    "train/grad_norm",
    "train/learning_rate",
    "eval/loss",
    "eval/accuracy_top1",
    "eval/accuracy_top5",
    "perf/samples_per_second",
    "perf/step_time_ms",
    "perf/memory_allocated_gb",
    "optimizer/beta1",
    "optimizer/weight_decay",
    "model/encoder/layer_0/attention/entropy",
    "model/encoder/layer_11/attention/entropy",
    "model/decoder/layer_0/mlp/activation_norm",
    "model/decoder/layer_11/mlp/activation_norm",
    "data/epoch",
    "data/tokens_seen_in_billions",
]
EVERY = np.array([1, 1, 1, 1, 1, 1, 50, 50, 50, 10, 10, 10, 5, 5, 2, 2, 2, 2, 1, 1])
"""Interval in steps of each tag of an irregular log."""
METADATA = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))

_WALL_TIME_PLACEHOLDER = 1234.5678
_VALUE_PLACEHOLDER = 8765.4321


def event(tag: str, step: int, *, tensor: bool, metadata: bool) -> bytes:
    """A serialized event with placeholders for the wall time and the value."""
    value = Summary.Value(tag=tag)
    if tensor:
        value.tensor.CopyFrom(array_proto(np.array(_VALUE_PLACEHOLDER, np.float32)))
    else:
        value.simple_value = _VALUE_PLACEHOLDER
    if metadata:
        value.metadata.CopyFrom(METADATA)
    return Event(
        wall_time=_WALL_TIME_PLACEHOLDER, step=step, summary=Summary(value=[value])
    ).SerializeToString()


def rows(
    tags: list[str],
    steps: np.ndarray,
    rng: np.random.Generator,
    *,
    tensor: bool,
    metadata: bool = False,
    every: np.ndarray | None = None,
) -> bytes:
    """The records of all steps and tags, step by step.

    All steps must have varints of the same length. With `every`, of shape (num_tags,), each tag is
    logged only at multiples of its interval, and one in thirty is left out, except at the last
    step.
    """
    # 1. Build the records of one step with placeholders, and repeat them for all steps.
    # 2. Write wall times, values and steps over the placeholders, one column per tag.
    # 3. Compute the checksums of all payloads.
    # 4. Leave out records of irregular logs.
    # 1.
    payloads = [event(t, int(steps[-1]), tensor=tensor, metadata=metadata) for t in tags]
    template = np.frombuffer(b"".join(record_bytes(p) for p in payloads), np.uint8)
    block = np.tile(template, (len(steps), 1))
    values = (
        np.exp(-steps / len(steps))[:, None] + rng.random((len(steps), len(tags))) / 10
    ).astype("<f4")
    # 2.
    start = 12
    ends = []
    for i, payload in enumerate(payloads):
        wall = START + steps + i * 2.1e-5
        _put(
            block,
            start + payload.index(struct.pack("<d", _WALL_TIME_PLACEHOLDER)),
            wall.astype("<f8"),
        )
        _put(block, start + payload.index(struct.pack("<f", _VALUE_PLACEHOLDER)), values[:, i])
        width = -(-int(steps[-1]).bit_length() // 7)  # of a varint; step 0 is not written
        for k in range(width):
            byte = (steps >> (7 * k)) & 127 | (128 if k < width - 1 else 0)
            block[:, start + 10 + k] = byte
        ends.append((start, start + len(payload)))
        start += len(payload) + 16
    # 3.
    flat = block.reshape(-1)
    for first, end in ends:
        offsets = np.arange(len(steps)) * block.shape[1]
        crcs = np.array([crc32c(flat[p + first : p + end]) for p in offsets.tolist()], np.uint32)
        masked = ((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + np.uint32(MASK_DELTA)
        _put(block, end, masked)
    if every is None:
        return block.tobytes()
    # 4.
    is_kept = (steps[:, None] % every == 0) & (rng.random((len(steps), len(tags))) > 1 / 30)
    is_kept[-1] = True
    lengths = [len(payload) + 16 for payload in payloads]
    return block[np.repeat(is_kept, lengths, axis=1)].tobytes()


def _put(block: np.ndarray, at: int, column: np.ndarray) -> None:
    block[:, at : at + column.itemsize] = (
        np.ascontiguousarray(column).view(np.uint8).reshape(len(column), -1)
    )


def write_hparams(run: Path, number: int) -> None:
    """Appends the hyperparameters of a run of a sweep to its file."""
    (path,) = run.iterdir()
    hparams = {
        "lr": [0.1, 0.01, 0.001][number % 3],
        "model": f"vit{number // 3 % 2}",
        "seed": number,
    }
    value = summaries.session_start(hparams, start=START)
    event = Event(wall_time=START, summary=Summary(value=[value]))
    with path.open("ab") as file:
        file.write(record_bytes(event.SerializeToString()))


def write_run(
    path: Path,
    tags: list[str],
    num_steps: int,
    seed: int,
    *,
    tensor: bool,
    every: np.ndarray | None = None,
) -> None:
    path.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    with (path / f"events.out.tfevents.{int(START)}.bench.{seed}.0").open("wb") as file:
        file.write(
            record_bytes(Event(wall_time=START, file_version="brain.Event:2").SerializeToString())
        )
        edges = sorted({0, 1, *(e for e in (128, 1 << 14, 1 << 21) if e < num_steps), num_steps})
        edges = sorted({*edges, *range(0, num_steps, 100_000)})
        for first, end in pairwise(edges):
            steps = np.arange(first, end)
            with_metadata = tensor and first == 0
            block = rows(tags, steps, rng, tensor=tensor, metadata=with_metadata, every=every)
            file.write(block)


def write_merged(path: Path, num_steps: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.random((num_steps, len(TAGS)), np.float32).tolist()
    with EventFileWriter(path / "events.out.tfevents.1", wall_time=START) as writer:
        for step, row in enumerate(values):
            pairs = zip(TAGS, row, strict=True)
            writer.add_summary(step, *(summaries.scalar(tag, value) for tag, value in pairs))


def write_mixed(path: Path, num_histograms: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    picture = summaries.png(128, 128) + rng.bytes(50_000)  # Readers parse only its header.
    clip = summaries.audio("sound", summaries.wav(rng.random(16_000)))
    with EventFileWriter(path / "events.out.tfevents.1", wall_time=START) as writer:
        for step in range(1000):
            for tag in TAGS[:10]:
                writer.add_scalar(tag, float(rng.random()), step)
            if step % 10 == 0:
                for i in range(num_histograms):
                    writer.add_histogram(f"weights/layer_{i}", rng.normal(size=1000), step)
            if step % 50 == 0:
                for i in range(10):
                    writer.add_summary(step, summaries.image(f"sample/{i}", picture))
                writer.add_summary(step, clip)


def write_interrupted(
    path: Path, num_tags: int, num_steps: int, num_histograms: int, every: int, seed: int
) -> None:
    """Writes scalars, interrupted by histograms and texts every few steps."""
    rng = np.random.default_rng(seed)
    with EventFileWriter(path / "events.out.tfevents.1", wall_time=START) as writer:
        writer.add_text("config", f"seed = {seed}\n" * 10, 0)
        for step in range(num_steps):
            for tag in TAGS[:num_tags]:
                writer.add_scalar(tag, float(rng.random()), step)
            if step % every == 0:
                for i in range(num_histograms):
                    writer.add_histogram(f"weights/layer_{i}", rng.normal(size=50), step)
            if step % (2 * every) == 0:
                writer.add_text("sample", "some words " * int(rng.integers(1, 20)), step)


def write_graph(path: Path, num_nodes: int) -> None:
    nodes = [
        Node(f"block_{i // 1000}/layer_{i // 20 % 50}/op_{i}", "MatMul", [f"input_{i % 7}"])
        for i in range(num_nodes)
    ]
    nodes += [Node(f"input_{i}", "Placeholder") for i in range(7)]
    with EventFileWriter(path / "events.out.tfevents.1", wall_time=START) as writer:
        writer.add_graph(graph_def(nodes))
        for step in range(100):
            writer.add_scalar("loss", 1 / (step + 1), step)


def generate(root: Path, name: str, scale: float) -> None:
    """Writes a workload to `root/name`, unless that exists."""
    folder = root / name
    if folder.exists():
        return
    if name == "S1":
        write_run(folder / "run", ["train/loss"], int(5_000_000 * scale), 0, tensor=False)
    elif name in ("S3", "S3e", "S3h"):
        count = int(2000 * scale)
        steps = np.random.default_rng(0).integers(5, 100, count, endpoint=True)
        for i in range(count):
            num_steps = int(steps[i]) if name == "S3e" else 50
            run = folder / f"sweep/trial_{i:05d}"
            write_run(run, TAGS[:10], num_steps, i, tensor=False)
            if name == "S3h":
                write_hparams(run, i)
    elif name == "H":
        for i in range(4):
            write_interrupted(folder / f"run_{i}", 5, int(30_000 * scale), 12, 50, i)
    elif name == "Hs":
        for i in range(int(1000 * scale)):
            write_interrupted(folder / f"sweep/trial_{i:05d}", 4, 50, 1, 10, i)
    elif name == "M":
        for i in range(10):
            write_mixed(folder / f"mixed_{i:02d}", int(200 * scale), i)
    elif name == "G":
        write_graph(folder / "run", int(650_000 * scale))
    elif name == "S2v":
        for i in range(50):
            write_merged(folder / f"exp_{i:03d}", int(5000 * scale), i)
    elif name == "P":
        for i in range(100):
            write_run(folder / f"run_{i:03d}", TAGS, int(1000 * scale), i, tensor=False)
    else:
        for i in range(50):
            steps = int(5000 * scale)
            path, every = folder / f"exp_{i:03d}", EVERY if name == "S2r" else None
            write_run(path, TAGS, steps, i, tensor=name == "S2t", every=every)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("outdir", type=Path)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    for name in arguments.names:
        generate(arguments.outdir, name, arguments.scale)


if __name__ == "__main__":
    main()
