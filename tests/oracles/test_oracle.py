"""Every scalar of real logs equals that of TensorBoard's reader."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from tbcore import Claim
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer

CLAIMS = (Claim("simple_value"), Claim(plugin_name="scalars", is_scalar=True))


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


def test_every_scalar_of_the_real_logs_equals_what_tensorboard_reads(real_logs: Path) -> None:
    """All runs, tags, counts, steps, wall times and values are equal."""
    multiplexer = Multiplexer()
    Loader(multiplexer, [LogdirSpec(None, str(real_logs))]).load_once()
    found = multiplexer.tags(CLAIMS)
    directories = sorted({path.parent for path in real_logs.rglob("*tfevents*") if path.is_file()})
    assert sorted(found) == sorted(str(path.relative_to(real_logs)) for path in directories)

    differences = []
    num_series = num_points = 0
    for directory in directories:
        run = str(directory.relative_to(real_logs))
        expected = read_with_tensorboard(directory)
        if sorted(expected) != sorted(found[run]):
            differences.append(f"{run}: tags {sorted(found[run])}, expected {sorted(expected)}")
            continue
        for tag, series in expected.items():
            ours = multiplexer.scalars(run, tag, claims=CLAIMS)
            num_series += 1
            num_points += len(series.step)
            if not (
                np.array_equal(ours.step, series.step)
                and np.array_equal(ours.wall_time, series.wall_time)
                and np.array_equal(ours.value, series.value, equal_nan=True)
            ):
                differences.append(f"{run}, {tag}: {len(ours)} points of {len(series.step)}")
    print(f"{num_points} points of {num_series} series in {len(directories)} runs compared")
    assert not differences, "\n".join(differences)
    assert num_points > 0
