"""Every scalar of real logs equals that of TensorBoard's reader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tensorboard_reader import read_with_tensorboard

from tbcore import Claim
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer

CLAIMS = (Claim("simple_value"), Claim(plugin_name="scalars", is_scalar=True))


def test_every_scalar_of_the_real_logs_equals_what_tensorboard_reads(real_logs: Path) -> None:
    """All runs, tags, counts, steps, wall times and values are equal."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    Loader(board, [LogdirSpec(None, str(real_logs))]).load_once()
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
