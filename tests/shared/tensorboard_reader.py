"""Reads the scalars of a run with TensorBoard's loader."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray


class Series(NamedTuple):
    step: NDArray[np.int64]
    wall_time: NDArray[np.float64]
    value: NDArray[np.float64]


def read_with_tensorboard(directory: Path) -> dict[str, Series]:
    """Tag to all its scalars: `Scalars`, and `Tensors` of the plugin scalars."""
    accumulator_module = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="tensorboard is not installed, and it is what the values are compared with",
    )
    from tensorboard.util.tensor_util import make_ndarray

    accumulator = accumulator_module.EventAccumulator(
        str(directory),
        size_guidance={"scalars": 0, "tensors": 0, "histograms": 1, "images": 1, "audio": 1},
    )
    accumulator.Reload()
    tags = accumulator.Tags()
    series = {}
    for tag in tags["scalars"]:
        events = accumulator.Scalars(tag)
        series[tag] = _series([(e.step, e.wall_time, e.value) for e in events])
    for tag in tags["tensors"]:
        if accumulator.SummaryMetadata(tag).plugin_data.plugin_name == "scalars":
            assert tag not in series, f"{tag!r} has both forms: the test would lose one"
            events = accumulator.Tensors(tag)
            series[tag] = _series(
                [(e.step, e.wall_time, make_ndarray(e.tensor_proto).item()) for e in events]
            )
    return series


def _series(rows: list[tuple[int, float, float]]) -> Series:
    steps, wall_times, values = zip(*rows, strict=True) if rows else ((), (), ())
    return Series(
        np.array(steps, np.int64), np.array(wall_times, np.float64), np.array(values, np.float64)
    )
