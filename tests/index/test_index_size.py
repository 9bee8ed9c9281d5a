"""How large an index is, on a disk and in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from same_answers import update

from tbcore.testing import EventFileWriter


def test_a_point_of_random_values_takes_5_bytes(tmp_path: Path) -> None:
    """A value alone has 4 bytes, of which no two points share much."""
    rng = np.random.default_rng(0)
    wall_time = 1.7e9
    with EventFileWriter(tmp_path / "logs" / "run" / "1.tfevents") as writer:
        for step in range(5_000):
            wall_time += rng.exponential(0.1)
            for tag in "abcdefgh":
                writer.add_scalar(tag, rng.normal(), step=step, wall_time=wall_time)
    assert update(tmp_path / "logs", tmp_path / "index") == 0
    num_bytes = sum(path.stat().st_size for path in tmp_path.glob("index/*/*.parquet"))
    assert num_bytes < 5.2 * 40_000
