"""Logs to measure with: what trainers write, in sizes that hurt.

    python benchmarks/workloads.py OUTDIR [NAME ...] [--scale F]

S1    one run, one tag, 5,000,000 steps, as PyTorch and tensorboardX write scalars (simple_value)
S2    50 runs x 20 tags x 5,000 steps, the same
S2t   as S2, as TensorFlow 2 writes them: tensors, metadata on the first value of a tag
S3    2,000 runs x 10 tags x 50 steps
P     100 runs x 20 tags x 1,000 steps: a page full of charts

The same arguments give the same bytes.
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
from tbcore.eventfiles.tensors import numpy_to_tensor
from tbcore.testing import record_bytes

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
METADATA = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))

_MARK_WALL = 1234.5678
_MARK_VALUE = 8765.4321


def event(tag: str, step: int, *, tensor: bool, metadata: bool) -> bytes:
    """An event with marks in place of the wall time and the value."""
    value = Summary.Value(tag=tag)
    if tensor:
        value.tensor.CopyFrom(numpy_to_tensor(np.array(_MARK_VALUE, np.float32)))
    else:
        value.simple_value = _MARK_VALUE
    if metadata:
        value.metadata.CopyFrom(METADATA)
    return Event(
        wall_time=_MARK_WALL, step=step, summary=Summary(value=[value])
    ).SerializeToString()


def rows(
    tags: list[str],
    steps: np.ndarray,
    rng: np.random.Generator,
    *,
    tensor: bool,
    metadata: bool = False,
) -> bytes:
    """One record for each step and tag, step by step; all steps have one varint's length."""
    payloads = [event(t, int(steps[-1]), tensor=tensor, metadata=metadata) for t in tags]
    template = np.frombuffer(b"".join(record_bytes(p) for p in payloads), np.uint8)
    block = np.tile(template, (len(steps), 1))
    values = (
        np.exp(-steps / len(steps))[:, None] + rng.random((len(steps), len(tags))) / 10
    ).astype("<f4")
    start = 12
    ends = []
    for i, payload in enumerate(payloads):
        wall = START + steps + i * 2.1e-5
        _put(block, start + payload.index(struct.pack("<d", _MARK_WALL)), wall.astype("<f8"))
        _put(block, start + payload.index(struct.pack("<f", _MARK_VALUE)), values[:, i])
        width = payload.index(b"\x2a", 9) - 10
        for k in range(max(width, 0)):
            byte = (steps >> (7 * k)) & 127 | (128 if k < width - 1 else 0)
            block[:, start + 10 + k] = byte
        ends.append((start, start + len(payload)))
        start += len(payload) + 16
    flat = block.reshape(-1)
    for first, end in ends:
        places = np.arange(len(steps)) * block.shape[1]
        crcs = np.array([crc32c(flat[p + first : p + end]) for p in places.tolist()], np.uint32)
        masked = ((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + np.uint32(MASK_DELTA)
        _put(block, end, masked)
    return block.tobytes()


def _put(block: np.ndarray, at: int, column: np.ndarray) -> None:
    block[:, at : at + column.itemsize] = (
        np.ascontiguousarray(column).view(np.uint8).reshape(len(column), -1)
    )


def write_run(path: Path, tags: list[str], num_steps: int, seed: int, *, tensor: bool) -> None:
    path.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    with (path / f"events.out.tfevents.{int(START)}.bench.{seed}.0").open("wb") as file:
        file.write(
            record_bytes(Event(wall_time=START, file_version="brain.Event:2").SerializeToString())
        )
        edges = sorted({0, 1, *(e for e in (128, 1 << 14, 1 << 21) if e < num_steps), num_steps})
        edges = sorted({*edges, *range(0, num_steps, 100_000)})
        for first, behind in pairwise(edges):
            steps = np.arange(first, behind)
            file.write(rows(tags, steps, rng, tensor=tensor, metadata=tensor and first == 0))


def generate(root: Path, name: str, scale: float) -> None:
    """Write a workload below `root/name`, unless it is there already."""
    folder = root / name
    if folder.exists():
        return
    if name == "S1":
        write_run(folder / "run", ["train/loss"], int(5_000_000 * scale), 0, tensor=False)
    elif name == "S3":
        for i in range(int(2000 * scale)):
            write_run(folder / f"sweep/trial_{i:05d}", TAGS[:10], 50, i, tensor=False)
    elif name == "P":
        for i in range(100):
            write_run(folder / f"run_{i:03d}", TAGS, int(1000 * scale), i, tensor=False)
    else:
        for i in range(50):
            steps = int(5000 * scale)
            write_run(folder / f"exp_{i:03d}", TAGS, steps, i, tensor=name == "S2t")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("outdir", type=Path)
    parser.add_argument("names", nargs="*", default=["S1", "S2", "S2t", "S3", "P"])
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    for name in arguments.names:
        generate(arguments.outdir, name, arguments.scale)


if __name__ == "__main__":
    main()
