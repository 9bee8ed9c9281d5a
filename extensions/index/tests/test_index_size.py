"""How large an index is, on a disk and in memory."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
from same_answers import loaded, state_of, update

from tbcore_index.reader import IndexReader
from tbcore_index.segments import ReadRun, SegmentWriter
from tbcore_index.tables import Place, Tables
from tbcore_testing import EventFileWriter, summaries, write_run

_OPEN = """
import sys
from tbcore_index.reader import IndexReader

def memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))

IndexReader(sys.argv[1])  # what does not depend on the number of runs
before = memory()
index = IndexReader(sys.argv[2])
assert len(index.runs) == int(sys.argv[3])
print(memory() - before)
"""


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


def test_a_server_does_not_keep_memory_for_each_thread(tmp_path: Path) -> None:
    write_run(tmp_path / "logs", "run", scalars={"loss": [1.0]})
    assert update(tmp_path / "logs", tmp_path / "index") == 0
    script = """
import sys
import tbcore_index
tbcore_index.open(sys.argv[1], is_server=True)
import pyarrow
print(pyarrow.default_memory_pool().backend_name)
"""
    command = [sys.executable, "-c", script, str(tmp_path / "index")]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.strip() == "system"


def test_an_open_index_takes_a_kilobyte_a_run(tmp_path: Path) -> None:
    """What a run shows is kept in columns, and runs of a sweep share their tags."""
    indexes, num_runs = [tmp_path / "one", tmp_path / "many"], 30_000
    scalars = {f"tag {number}": [1.0] for number in range(20)}
    write_run(tmp_path / "logs", "run", scalars=scalars, hparams={"seed": 0})
    for index in indexes:
        assert update(tmp_path / "logs", index) == 0
    run = IndexReader(str(indexes[1])).runs["run"]
    view = state_of(loaded(tmp_path / "logs")).run("run")
    place = Place(str(indexes[1]))
    segments = []
    for first in range(1, num_runs, 2000):
        writer = SegmentWriter()
        for number in range(first, min(first + 2000, num_runs)):
            files = [
                f._replace(path=f"{f.path}.{number}", mtime_ns=number) for f in run.known_files
            ]
            value = summaries.session_start({"seed": number})
            own = {value.tag: value.metadata.SerializeToString()}
            of_run = dataclasses.replace(view, own_metadata=own)
            writer.add(ReadRun(f"sweep/trial_{number}", of_run, files, f"[{number}]", ()))
        segments.append(writer.write(place))
    Tables(place).commit(segments, [])

    output = subprocess.run(
        [sys.executable, "-c", _OPEN, *map(str, indexes), str(num_runs)],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip

    assert int(output) < 1100 * num_runs
