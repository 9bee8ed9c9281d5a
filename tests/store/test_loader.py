"""The loader: what it publishes, in which order, and which failures it survives."""

from __future__ import annotations

import dataclasses
import gzip
import logging
import math
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from common_fixtures import WAIT_SECONDS, descriptors, until
from disk import Clock, Disk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tbcore.errors import NotFoundError
from tbcore.eventfiles import local_disk, logdir, tail
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.kinds import Claim
from tbcore.store import watch as watch_module
from tbcore.store import work_queue
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.publisher import Publisher
from tbcore.store.run import RunData
from tbcore.tuning import Tuning
from tbcore_testing import EventFileWriter, summaries, write_run

SCALARS = (Claim("simple_value"),)


class SlicedLoader(Loader):
    """A loader that calls functions of the test before and after each time slice."""

    before_slice: Callable[[], object]
    after_slice: Callable[[], object]

    def _read_slice(self, run: Any) -> None:
        self.before_slice()
        super()._read_slice(run)
        self.after_slice()


class Logs:
    """A log directory, a loader for it, and its multiplexer."""

    def __init__(self, path: Path, **tuning: Any) -> None:
        self.path = path
        self.tuning = Tuning(**tuning)
        self.multiplexer = Multiplexer()
        self.loader = self.new_loader()

    def new_loader(
        self,
        *,
        before_slice: Callable[[], object] = lambda: None,
        after_slice: Callable[[], object] = lambda: None,
        **options: Any,
    ) -> Loader:
        specs = [LogdirSpec(None, str(self.path))]
        made = SlicedLoader(self.multiplexer, specs, tuning=self.tuning, **options)
        made.before_slice, made.after_slice = before_slice, after_slice
        return made

    def tune(self, **fields: Any) -> None:
        """Replaces the loader by one with these fields of its tuning changed."""
        self.tuning = dataclasses.replace(self.tuning, **fields)
        self.loader = self.new_loader()

    def write(self, file: str, *steps: int, wall_time: float = 100.0, value: float = 0.0) -> Path:
        """Appends the steps of the tag "loss" to a file; returns its path."""
        path = self.path / file
        with EventFileWriter(path, wall_time=wall_time) as writer:
            for step in steps:
                writer.add_scalar("loss", value, step)
        return path

    def load(self) -> None:
        self.loader.load_once()

    def steps(self, run: str = "run", tag: str = "loss") -> list[int]:
        try:
            return list(self.multiplexer.scalars(run, tag).step.tolist())
        except NotFoundError:
            return []

    def values(self, run: str = "run") -> set[float]:
        return set(self.multiplexer.scalars(run, "loss").value.tolist())

    def watch(self, read: Callable[[], Any]) -> list[Any]:
        """A list that grows by the result of `read` at each commit and change of status."""
        seen: list[Any] = []
        self.multiplexer._subscribe(lambda: seen.append(read()))
        return seen

    def wait_until(self, is_done: Callable[[], bool]) -> None:
        """Waits until the loader's thread has made `is_done` return true."""
        changed = threading.Event()
        unsubscribe = self.multiplexer._subscribe(changed.set)
        deadline = time.monotonic() + WAIT_SECONDS
        while not is_done():
            assert changed.wait(deadline - time.monotonic()), "the loader makes no progress"
            changed.clear()
        unsubscribe()

    @property
    def threads(self) -> list[threading.Thread]:
        """The loader's threads: one that loads, and one that waits for changes of files."""
        return self.loader._threads

    def join(self) -> None:
        """Waits for the end of the loader's threads."""
        for thread in self.threads:
            thread.join(WAIT_SECONDS)
            assert not thread.is_alive()

    def end(self) -> None:
        """Ends the loader's threads."""
        self.loader.stop()
        self.join()


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    path = tmp_path / "logdir"
    path.mkdir()
    return Logs(path)


@pytest.fixture
def small_slices(logs: Logs) -> None:
    """Makes each time slice read 1 kB, and publish it; no file is preloaded."""
    logs.tune(piece_bytes=1024, small_file_bytes=0, time_slice_bytes=1, publish_interval_seconds=0)


@pytest.fixture
def long_ago(logs: Logs) -> None:
    """Makes all files seem written long ago: their change times cannot be set back."""
    logs.tune(clock_resolution_seconds=0)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`broken(RunData, "commit", when=is_bad)`: calls with arguments for which `is_bad` is true
    fail with a bug, before they do anything."""

    def break_(owner: Any, name: str, when: Callable[..., bool] = lambda *_: True) -> None:
        real = getattr(owner, name)

        def fail(*arguments: Any, **options: Any) -> Any:
            if when(*arguments):
                raise KeyError("a bug")
            return real(*arguments, **options)

        monkeypatch.setattr(owner, name, fail)

    return break_


@pytest.fixture
def after_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], object]], None]:
    """`after_read(f)`: calls f with the path of a file when a time slice has read from it."""

    def call(callback: Callable[[str], object]) -> None:
        real = tail.FileReader.read

        def read(self: tail.FileReader, *limits: Any) -> Iterator[Any]:
            yield from real(self, *limits)
            callback(self.path)

        monkeypatch.setattr(tail.FileReader, "read", read)

    return call


# -- order -------------------------------------------------------------------------------------


def test_new_runs_are_in_the_order_of_their_first_events(logs: Logs) -> None:
    """Runs without an event come last, and runs with equal times are in the order of names."""
    logs.write("train/a.tfevents", 1, wall_time=99.5)
    logs.write("eval/a.tfevents", 1, wall_time=50.0)
    logs.write("a.tfevents", 1, wall_time=70.0)
    logs.write("nan/a.tfevents", 1, wall_time=float("nan"))
    for run in ("b_empty", "a_empty"):
        (logs.path / run).mkdir()
        (logs.path / run / "a.tfevents").touch()
    logs.write("same/a.tfevents", 1, wall_time=70.0)
    logs.load()
    order = ["eval", ".", "same", "train", "a_empty", "b_empty", "nan"]
    assert logs.multiplexer.runs() == order
    assert list(logs.multiplexer.tags(SCALARS)) == order
    assert logs.multiplexer.first_event_time("eval") == 50.0
    assert logs.multiplexer.first_event_time("a_empty") is None


def test_a_published_run_never_changes_its_place(logs: Logs) -> None:
    """Older runs that are found later come after it, and an empty run keeps its place."""
    (logs.path / "empty").mkdir()
    (logs.path / "empty" / "a.tfevents").touch()
    logs.write("train/a.tfevents", 1, wall_time=100.0)
    logs.load()
    logs.write("old/a.tfevents", 1, wall_time=1.0)
    logs.write("empty/a.tfevents", 1, wall_time=2.0)
    logs.load()
    assert logs.multiplexer.runs() == ["train", "empty", "old"]
    assert logs.multiplexer.first_event_time("empty") == 2.0


def test_the_first_event_of_a_run_may_be_in_a_later_file(logs: Logs) -> None:
    """The run's time is that of the first file that has an event."""
    (logs.path / "run").mkdir()
    (logs.path / "run" / "a.tfevents").touch()
    logs.write("run/b.tfevents", 1, wall_time=3.0)
    logs.write("run/c.tfevents", 1, wall_time=2.0)
    logs.load()
    assert logs.multiplexer.first_event_time("run") == 3.0


def test_files_of_a_run_are_read_in_the_order_of_their_paths(logs: Logs) -> None:
    """Paths are compared as text, so 10 comes before 9."""
    logs.write("run/e.tfevents.9", 9)
    logs.write("run/e.tfevents.10", 10)
    logs.write("run/e.tfevents.1", 1)
    logs.load()
    assert logs.steps() == [1, 10, 9]
    files = logs.multiplexer._state.run("run").files
    assert sorted(file.path for file in files) == [
        str(logs.path / "run" / f"e.tfevents.{n}") for n in (1, 10, 9)
    ]


def test_a_file_is_read_to_its_end_before_the_next(logs: Logs, small_slices: None) -> None:
    """Reading a file takes many time slices."""
    logs.write("run/1.tfevents", *range(0, 300))
    logs.write("run/2.tfevents", *range(300, 600))
    seen = logs.watch(logs.steps)
    logs.load()
    assert len(seen) > 10
    for steps in seen:
        assert steps == list(range(len(steps)))
    assert logs.steps() == list(range(600))


def test_rows_are_appended_in_the_order_in_which_files_grow(logs: Logs) -> None:
    """Later rows of an early file come after rows of other files that were read before."""
    logs.write("run/1.tfevents", 1)
    logs.write("run/2.tfevents", 2)
    logs.load()
    logs.write("run/1.tfevents", 3)
    logs.write("run/0.tfevents", 4)
    logs.write("run/2.tfevents", 5)
    logs.load()
    assert logs.steps() == [1, 2, 4, 3, 5]


def test_the_newest_run_gets_the_first_time_slice(logs: Logs, small_slices: None) -> None:
    """After it, all runs take turns, so that no run waits until another is read to its end."""
    for age, run in enumerate(("newest", "middle", "oldest")):
        path = logs.write(f"{run}/a.tfevents", *range(200), wall_time=age)
        os.utime(path, ns=(10**18, 10**18 - age * 10**9))
    runs = ["newest", "middle", "oldest"]
    seen = logs.watch(lambda: [len(logs.steps(run)) for run in runs])
    logs.load()
    first = [next(i for i, counts in enumerate(seen) if counts[n]) for n in range(3)]
    assert first == sorted(first)
    assert first[0] < first[1] < first[2]
    for counts in seen:
        assert counts[0] >= counts[1] >= counts[2]
        assert counts[0] < 200 or counts[2] > 100
    # All runs are published with the first commit, in an order that does not depend on slices.
    assert logs.multiplexer.runs() == runs


def test_a_time_slice_ends_in_time_however_few_bytes_it_read(logs: Logs) -> None:
    """Other runs get time slices even if records are slow to decode, and no row is read twice.

    Records with audio, and restarts, are decoded one by one.
    """
    logs.tune(small_file_bytes=0, time_slice_seconds=0, publish_interval_seconds=0)
    with EventFileWriter(logs.path / "slow" / "a.tfevents") as writer:
        for step in range(100):
            writer.add_scalar("loss", step, step)
            writer.add_audio("sound", summaries.wav(), step)
            if step % 10 == 9:
                writer.add_session_log("START", step)
    logs.write("good/a.tfevents", 1)
    os.utime(logs.path / "good" / "a.tfevents", (0, 0))
    seen = logs.watch(lambda: (len(logs.steps("good")), len(logs.steps("slow"))))
    logs.load()
    assert next(slow for good, slow in seen if good) <= 1
    assert len(set(seen)) > 50
    at_once = Logs(logs.path)
    at_once.load()
    sounds = [
        [(item.ordinal, item.step) for item in some.multiplexer.items("slow", "sound", (Claim(),))]
        for some in (logs, at_once)
    ]
    assert sounds[0] == sounds[1]
    assert logs.steps("slow") == at_once.steps("slow")


# -- what is published during a pass ------------------------------------------------------------


def test_data_is_served_while_it_is_loaded(logs: Logs, small_slices: None) -> None:
    """The status shows the progress."""
    logs.write("run/a.tfevents", *range(500))
    seen = logs.watch(lambda: (len(logs.steps()), logs.multiplexer._status))
    logs.load()
    counts = [count for count, _ in seen]
    assert counts == sorted(counts)
    assert len(set(counts)) > 10
    statuses = [status for _, status in seen]
    assert any(status.loading and 0 < status.bytes_read < status.bytes_total for status in statuses)
    last = logs.multiplexer._status
    assert not last.loading
    assert last.bytes_read == last.bytes_total == (logs.path / "run/a.tfevents").stat().st_size
    assert (last.passes, last.num_runs, last.num_files, last.num_directories) == (1, 1, 1, 2)


def test_a_pass_that_finds_nothing_new_changes_nothing(
    logs: Logs, disk: Disk, long_ago: None
) -> None:
    """The generation stays the same, and no file is opened."""
    for run in ("a", "b"):
        logs.write(f"{run}/1.tfevents", 1, 2)
    logs.load()
    generation = logs.multiplexer.generation
    disk.opened.clear()
    logs.load()
    logs.load()
    assert logs.multiplexer.generation == generation
    assert disk.opened == []
    assert logs.multiplexer._status.passes == 3
    logs.write("a/1.tfevents", 3)
    logs.load()
    assert set(disk.opened) == {str(logs.path / "a" / "1.tfevents")}
    assert logs.multiplexer.generation == generation + 1
    assert logs.multiplexer.run_generations()["b"] <= generation


def test_a_recently_written_file_is_opened_again(logs: Logs, disk: Disk, clock: Clock) -> None:
    """A change within one tick of the file system's clock leaves the file's times as they are."""
    path = logs.write("run/a.tfevents", 1, 2)
    clock.rules(tail)
    clock.ahead = 1.0
    logs.load()
    disk.opened.clear()
    logs.load()
    logs.load()
    assert disk.opened == [str(path)] * 2
    clock.ahead = 10.0
    logs.load()
    disk.opened.clear()
    logs.load()
    assert disk.opened == []


def test_an_unfinished_record_waits_and_counts_as_read(
    logs: Logs, disk: Disk, long_ago: None
) -> None:
    """The file is not opened again before it has grown."""
    path = logs.write("run/a.tfevents", 1, 2)
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    logs.load()
    assert logs.steps() == [1]
    assert logs.multiplexer._status.bytes_read == logs.multiplexer._status.bytes_total
    disk.opened.clear()
    logs.load()
    assert disk.opened == []
    path.write_bytes(data)
    logs.load()
    assert logs.steps() == [1, 2]


def test_a_record_completed_within_one_tick_of_the_clock_is_read(logs: Logs) -> None:
    """Size and time of the file are the same as before."""
    path = logs.write("run/a.tfevents", 1, 2)
    data, status = path.read_bytes(), path.stat()
    times = (status.st_atime_ns, status.st_mtime_ns)
    path.write_bytes(data[:-5] + bytes(5))
    os.utime(path, ns=times)
    logs.load()
    assert logs.steps() == [1]
    path.write_bytes(data)
    os.utime(path, ns=times)
    logs.load()
    assert logs.steps() == [1, 2]


def test_no_descriptor_stays_open(logs: Logs) -> None:
    """There may be more files than a process may open."""
    for number in range(50):
        logs.write(f"run{number}/a.tfevents", 1)
    before = descriptors()
    logs.load()
    assert descriptors() <= before


def test_max_points_limits_the_rows_in_memory(logs: Logs) -> None:
    """The rows are those that a sample of the whole series has."""
    logs.write("run/a.tfevents", *range(500))
    logs.load()
    sample = logs.multiplexer.scalars("run", "loss", samples=20).step.tolist()
    limited = Logs(logs.path)
    limited.loader = limited.new_loader(max_points=20)
    limited.load()
    assert limited.steps() == sample


# -- files that were replaced or changed ---------------------------------------------------------


def replace(path: Path, data: bytes) -> None:
    """Puts another file in its place, as editors and synchronization tools do."""
    other = path.with_name(".new")
    other.write_bytes(data)
    os.replace(other, path)


def test_the_run_of_a_replaced_file_is_read_again(logs: Logs) -> None:
    """The run's other files are read again, too, and the run keeps its place."""
    logs.write("run/1.tfevents", 1, 2, 3)
    logs.write("run/2.tfevents", 4)
    logs.write("later/1.tfevents", 1, wall_time=200.0)
    logs.load()
    other = logs.write("elsewhere", 10, 20, value=1.0)
    replace(logs.path / "run" / "1.tfevents", other.read_bytes())
    logs.load()
    assert logs.steps() == [10, 20, 4]
    assert logs.multiplexer.runs() == ["run", "later"]
    assert logs.multiplexer.scalars("run", "loss").ordinal.tolist() == [0, 1, 2]


def test_old_data_is_served_until_the_new_data_is_complete(logs: Logs, small_slices: None) -> None:
    """No request gets only a part of the new data. Other runs are loaded in the same pass."""
    path = logs.write("run/1.tfevents", *range(300))
    logs.write("run/2.tfevents", *range(300, 400))
    logs.write("other/1.tfevents", 1)
    logs.load()
    new = logs.write("elsewhere", *range(250), value=1.0)
    replace(path, new.read_bytes())
    logs.write("other/1.tfevents", *range(2, 100))
    seen = logs.watch(lambda: (logs.steps(), logs.multiplexer.generation))
    logs.load()
    old, expected = list(range(400)), [*range(250), *range(300, 400)]
    shown = [steps for steps, _ in seen]
    assert shown.count(old) > 5
    assert all(steps in (old, expected) for steps in shown)
    assert logs.steps() == expected
    assert len({generation for _, generation in seen}) > 3


def test_a_file_replaced_twice_is_read_twice(logs: Logs, small_slices: None) -> None:
    """The second replacement happens while the first one is read."""
    path = logs.write("run/1.tfevents", *range(300))
    logs.load()
    versions = [
        logs.write(f"elsewhere{i}", *range(200), value=i, wall_time=i).read_bytes() for i in (1, 2)
    ]
    replace(path, versions[0])
    notifications = iter(range(100))

    def replace_once() -> None:
        if next(notifications) == 4:
            replace(path, versions[1])

    logs.multiplexer._subscribe(replace_once)
    seen = logs.watch(lambda: logs.values())
    logs.load()
    logs.load()
    assert logs.values() == {2.0}
    assert {1.0} not in seen


def test_a_longer_copy_of_a_file_is_read_from_where_the_old_one_ended(
    logs: Logs, disk: Disk
) -> None:
    """A synchronization tool replaces the file by a longer copy each time: each byte is decoded
    once, and the items of the old copy can still be read."""
    path = logs.path / "run" / "a.tfevents"
    original = logs.path / "original"
    for number in range(10):
        with EventFileWriter(original) as writer:
            for step in range(number * 100, number * 100 + 100):
                writer.add_scalar("loss", step, step)
            writer.add_image("image", summaries.png(), number)
        path.parent.mkdir(exist_ok=True)
        replace(path, original.read_bytes())
        for item in logs.multiplexer.items("run", "image", (Claim(),)) if number else ():
            item.read()
        logs.load()
        assert logs.steps() == list(range(number * 100 + 100))
    assert 0 < disk.num_bytes <= original.stat().st_size


@pytest.mark.parametrize("published", [[1, 2], []])
def test_a_file_replaced_during_a_time_slice_publishes_nothing_of_that_slice(
    logs: Logs, after_read: Callable[..., None], published: list[int]
) -> None:
    """Rows of that slice may be from either file. The same is true for a new run."""
    logs.tune(publish_interval_seconds=0)
    path = logs.write("run/a.tfevents", *published)
    if published:
        logs.load()

    def replace_it(_: str) -> None:
        if path.read_bytes() != new:
            path.write_bytes(new)
            raise tail.FileReplacedError(path)

    new = logs.write("elsewhere", *range(10, 20), wall_time=200.0).read_bytes()
    logs.write("run/a.tfevents", 3)
    after_read(replace_it)
    seen = logs.watch(logs.steps)
    logs.load()
    assert seen[-1] == list(range(10, 20))
    assert all(steps in (published, seen[-1]) for steps in seen)
    assert logs.multiplexer.first_event_time("run") == 200.0


def test_another_file_of_equal_size_and_time_is_found(logs: Logs, long_ago: None) -> None:
    """The two files differ in their change time (ctime), which cannot be set back."""
    path = logs.write("run/a.tfevents", 1, 2)
    status = path.stat()
    new = logs.write("elsewhere", 1, 2, wall_time=200.0, value=7.0).read_bytes()
    logs.load()
    while path.stat().st_ctime_ns == status.st_ctime_ns:
        with path.open("r+b") as file:
            file.write(new)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (len(new), status.st_mtime_ns)
    logs.load()
    assert logs.values() == {7.0}


@pytest.mark.parametrize("same_time", [True, False])
def test_a_file_overwritten_in_place_is_read_again(logs: Logs, same_time: bool) -> None:
    """The file is longer than before and has the same inode, but its first record differs."""
    path = logs.write("run/a.tfevents", 1, 2)
    logs.load()
    new = logs.write("elsewhere", *range(5), wall_time=200.0).read_bytes()
    status = path.stat()
    with path.open("r+b") as file:
        file.write(new)
    if same_time:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    logs.load()
    assert logs.steps() == [0, 1, 2, 3, 4]


def test_a_truncated_file_loses_the_rows_that_were_cut_off(logs: Logs) -> None:
    """The rows that are still in the file are shown."""
    path = logs.write("run/a.tfevents", 1, 2, 3)
    size = path.stat().st_size
    logs.load()
    os.truncate(path, size * 2 // 3)
    logs.load()
    assert logs.steps() == [1]
    os.truncate(path, 0)
    logs.load()
    assert logs.steps() == []
    assert logs.multiplexer.runs() == ["run"]


def test_a_deleted_file_takes_its_rows_with_it(logs: Logs) -> None:
    """The other files of its run stay."""
    path = logs.write("run/1.tfevents", 1)
    logs.write("run/2.tfevents", 2)
    logs.load()
    path.unlink()
    logs.load()
    assert logs.steps() == [2]


def test_an_empty_file_can_be_deleted_or_filled(logs: Logs, disk: Disk, long_ago: None) -> None:
    """No row of the run is from this file, so the other files are not read again."""
    path = logs.write("run/1.tfevents", 1)
    (logs.path / "run" / "0.tfevents").touch()
    logs.load()
    disk.opened.clear()
    (logs.path / "run" / "0.tfevents").unlink()
    logs.load()
    assert logs.steps() == [1]
    assert disk.opened == []
    replace(logs.path / "run" / "0.tfevents", b"")
    logs.load()
    replace(logs.path / "run" / "0.tfevents", path.read_bytes())
    logs.load()
    assert logs.steps() == [1, 1]
    assert not [path for path in disk.opened if path.endswith("/1.tfevents")]


def test_a_deleted_run_that_comes_back_is_a_new_one(logs: Logs) -> None:
    """The run is listed after the other runs."""
    for run in ("a", "b", "c"):
        logs.write(f"{run}/a.tfevents", 1)
    logs.load()
    shutil.rmtree(logs.path / "a")
    logs.load()
    assert logs.multiplexer.runs() == ["b", "c"]
    assert logs.multiplexer._status.num_runs == 2
    logs.write("a/a.tfevents", 7)
    logs.load()
    assert logs.multiplexer.runs() == ["b", "c", "a"]
    assert logs.steps("a") == [7]


def test_a_renamed_directory_is_another_run(logs: Logs) -> None:
    """A run is identified by its name."""
    logs.write("a/a.tfevents", 1)
    logs.write("b/a.tfevents", 2)
    logs.load()
    (logs.path / "a").rename(logs.path / "z")
    logs.load()
    assert logs.multiplexer.runs() == ["b", "z"]
    assert logs.steps("z") == [1]


def test_a_logdir_may_be_created_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A missing logdir is logged once, and loaded when it exists."""
    logs = Logs(tmp_path / "later")
    logs.load()
    logs.load()
    assert caplog.messages == [f"log directory does not exist: {tmp_path}/later; waiting for it"]
    assert list(logs.multiplexer._status.missing) == [str(tmp_path / "later")]
    logs.write("run/a.tfevents", 1)
    logs.load()
    assert logs.steps() == [1]
    assert list(logs.multiplexer._status.missing) == []


def test_the_status_has_absolute_paths_of_logdirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients do not know in which directory the server was started."""
    monkeypatch.chdir(tmp_path)
    multiplexer = Multiplexer()
    Loader(multiplexer, [LogdirSpec(None, "later"), LogdirSpec("b", "/b")]).load_once()
    assert multiplexer._status.logdirs == (str(tmp_path / "later"), "/b")


RUNS = st.sampled_from(["a", "b", "a/c"])
FILES = st.sampled_from(["1.tfevents", "2.tfevents"])
CHANGES = st.one_of(
    st.tuples(st.just("append"), RUNS, FILES, st.integers(1, 60)),
    st.tuples(st.just("cut"), RUNS, FILES, st.integers(1, 200)),
    st.tuples(st.sampled_from(["replace", "rewrite"]), RUNS, FILES, st.integers(1, 30)),
    st.tuples(st.sampled_from(["delete", "touch", "create"]), RUNS, FILES, st.just(0)),
    st.tuples(st.just("delete run"), RUNS, FILES, st.just(0)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(CHANGES, max_size=5), max_size=6))
def test_after_any_changes_of_files_the_disk_is_the_truth(
    passes: list[list[tuple[str, str, str, int]]],
) -> None:
    """After each pass, the loader has the same data as a new loader."""
    with tempfile.TemporaryDirectory() as directory:
        logdir = Path(directory, "logdir")
        logdir.mkdir()
        logs = Logs(logdir)
        # Each change has a new time: changes within one tick of the clock cannot be seen.
        clock = 1_700_000_000
        for number, changes in enumerate(passes):
            for what, run, file, size in changes:
                clock += 1
                change(logs, what, run, file, size, clock)
                if what == "cut":
                    # A file that is truncated and grows again between two passes seems to have
                    # only grown.
                    logs.load()
            logs.load()
            fresh = Logs(logdir)
            fresh.load()
            assert content(logs) == content(fresh), f"pass {number}"
            status, expected = logs.multiplexer._status, fresh.multiplexer._status
            assert status.bytes_read == expected.bytes_read == expected.bytes_total
            assert status.num_files == expected.num_files


def change(logs: Logs, what: str, run: str, file: str, size: int, clock: int) -> None:
    path = logs.path / run / file
    if what == "create":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    elif what == "delete run":
        shutil.rmtree(path.parent, ignore_errors=True)
    elif what == "append":
        logs.write(f"{run}/{file}", *range(size), wall_time=clock, value=clock)
    elif what == "delete":
        path.unlink(missing_ok=True)
    elif path.exists():
        if what == "cut":
            os.truncate(path, max(path.stat().st_size - size, 0))
        elif what in ("replace", "rewrite"):
            new = logs.write("../other", *range(size), wall_time=clock, value=clock)
            if what == "replace":
                replace(path, new.read_bytes())
            else:
                path.write_bytes(new.read_bytes())
            new.unlink()
        os.utime(path, (clock, clock))


def content(logs: Logs) -> dict[str, list[tuple[int, float, float]]]:
    """Points of each run, sorted, since their order depends on when the files grew."""
    found = {}
    for run, tags in logs.multiplexer.tags(SCALARS).items():
        rows: list[tuple[int, float, float]] = []
        for tag in tags:
            series = logs.multiplexer.scalars(run, tag)
            rows += zip(
                series.step.tolist(), series.wall_time.tolist(), series.value.tolist(), strict=True
            )
        found[run] = sorted(rows)
    return found


# -- failures --------------------------------------------------------------------------------------


def test_an_unreadable_file_is_logged_once_and_tried_in_each_pass(
    logs: Logs, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """The rest of its run and other runs are loaded. The file is read once that is possible."""
    logs.write("run/1.tfevents", 1)
    logs.write("run/2.tfevents", 2)
    logs.write("other/3.tfevents", 3)
    disk.refuse(logs.path / "run" / "1.tfevents")
    for _ in range(3):
        logs.load()
    assert logs.steps() == [2]
    assert logs.steps("other") == [3]
    line = f"{logs.path}/run/1.tfevents cannot be read: Permission denied"
    assert caplog.messages == [line]
    assert logs.multiplexer._status.problems == (line,)
    assert not logs.multiplexer._status.loading
    disk.errors.clear()
    logs.load()
    assert logs.steps() == [2, 1]
    disk.refuse(logs.path / "run" / "1.tfevents")
    logs.write("run/1.tfevents", 4)
    logs.load()
    assert caplog.messages == [line, line]
    disk.errors.clear()
    logs.load()
    assert logs.steps() == [2, 1, 4]


def test_a_thousand_unreadable_files_do_not_fill_the_log(
    logs: Logs, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """Some of the files are logged, and the number of the others."""
    (logs.path / "run").mkdir()
    for number in range(1000):
        path = logs.path / "run" / f"{number}.tfevents"
        path.touch()
        disk.refuse(path)
    logs.load()
    assert len(caplog.messages) == 21
    assert caplog.messages[-1] == "and 980 more like these"
    assert len(logs.multiplexer._status.problems) == 100


def test_a_directory_that_cannot_be_listed_keeps_its_runs(
    logs: Logs, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """A temporary error of a network file system does not mean that the runs were deleted."""
    logs.write("a/deep/1.tfevents", 1)
    logs.write("b/1.tfevents", 1)
    logs.load()
    disk.errors[str(logs.path / "a")] = OSError(116, "Stale file handle")
    shutil.rmtree(logs.path / "b")
    logs.load()
    logs.load()
    assert logs.multiplexer.runs() == ["a/deep"]
    assert caplog.messages == [f"cannot list {logs.path}/a: Stale file handle"]
    disk.errors.clear()
    logs.write("a/deep/1.tfevents", 2)
    logs.load()
    assert logs.steps("a/deep") == [1, 2]


@pytest.mark.parametrize("fails", ["add_item", "commit", "end_loading", "add_file"])
def test_a_bug_affects_one_run_only(
    logs: Logs, broken: Callable[..., None], caplog: pytest.LogCaptureFixture, fails: str
) -> None:
    """The bug is logged once, however often it occurs, and the other runs are loaded."""
    logs.write("bad/bad.tfevents", 1, 2)
    logs.write("good/good.tfevents", 1)

    def is_bad(data: RunData, *arguments: Any) -> bool:
        paths = [file.path for file in data._files] + [a for a in arguments if type(a) is str]
        return any(path.endswith("bad.tfevents") for path in paths)

    broken(RunData, fails, is_bad)
    for _ in range(3):
        logs.load()
        logs.write("good/good.tfevents", 2)
    assert logs.steps("good") == [1, 2, 2]
    lines = [line for line in caplog.messages if "a bug" in line]
    assert len(lines) == 1
    assert "KeyError" in lines[0]
    assert "bad" in lines[0]


def test_a_bug_while_runs_are_published_affects_one_run_only(
    logs: Logs, broken: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """The run is published without the time of its first event."""
    logs.write("bad/bad.tfevents", 1)
    logs.write("good/good.tfevents", 1, wall_time=200.0)
    logs.write("read/read.tfevents", 1, wall_time=300.0)
    os.utime(logs.path / "read" / "read.tfevents", (2e9, 2e9))
    # Publish right after the first time slice, before the other two runs have had one.
    logs.tune(publish_interval_seconds=0)
    broken(work_queue, "read_first_event_time", lambda file: file.path.endswith("bad.tfevents"))
    logs.load()
    assert logs.multiplexer.runs() == ["good", "read", "bad"]
    assert logs.steps("good") == logs.steps("bad") == [1]
    assert caplog.messages == ["run bad: KeyError: 'a bug'"]


def test_a_bug_while_a_file_is_read_affects_that_file_only(
    logs: Logs, after_read: Callable[..., None]
) -> None:
    """The other files of its run are read, and none of its rows is added twice."""
    logs.write("run/1.tfevents", 1)
    logs.write("run/2.tfevents", 2)
    logs.write("run/3.tfevents", 3)
    has_bug = True

    def fail(path: str) -> None:
        if has_bug and path.endswith("2.tfevents"):
            raise RuntimeError("a bug")

    after_read(fail)
    logs.load()
    logs.write("run/2.tfevents", 4)
    logs.load()
    assert logs.steps() == [1, 2, 3]
    assert "the rest of this file is left out" in logs.multiplexer._status.problems[0]
    replace(logs.path / "run" / "2.tfevents", (logs.path / "run" / "3.tfevents").read_bytes())
    has_bug = False
    logs.load()
    assert logs.steps() == [1, 3, 3]


def test_a_bug_while_files_are_preloaded_affects_no_run(
    logs: Logs, broken: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """Their files are read in time slices of the same pass, which may be the only one."""
    small_files = pytest.importorskip("tbcore.eventfiles.fast.small_files")
    broken(small_files.SmallFileDecoder, "decode")
    for run in range(3):
        logs.write(f"{run}/a.tfevents", 1, 2)
    logs.load()
    assert [logs.steps(str(run)) for run in range(3)] == [[1, 2]] * 3
    assert logs.multiplexer._status.problems == ("preloading small files: KeyError: 'a bug'",)


def test_damage_is_among_the_problems(logs: Logs, caplog: pytest.LogCaptureFixture) -> None:
    """Each problem names file and offset. Only the first one of each file is logged."""
    path = logs.write("run/a.tfevents", *range(300))
    data = bytearray(path.read_bytes())
    for record in range(3):
        data[40 + 43 * record + 30] ^= 1
    path.write_bytes(data)
    logs.load()
    assert len(logs.multiplexer._status.problems) == 3
    assert logs.multiplexer._status.problems[0].startswith(f"{path}: ")
    assert "offset" in logs.multiplexer._status.problems[0]
    assert len(caplog.messages) == 1


def past(logs: Logs) -> list[str]:
    """The problems that are over."""
    return [problem.problem for problem in logs.multiplexer._status.past_problems]


def test_a_problem_has_a_beginning_and_an_end(
    logs: Logs, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """It is one problem for as long as it holds, and a new one when it comes back."""
    caplog.set_level(logging.INFO)
    before = time.time()
    logs.write("run/1.tfevents", 1)
    disk.refuse(logs.path / "run" / "1.tfevents")
    logs.load()
    first = logs.multiplexer._status
    line = f"{logs.path}/run/1.tfevents cannot be read: Permission denied"
    assert first.problems == (line,)
    assert before <= first.problems_since[0] <= time.time()
    logs.load()
    assert logs.multiplexer._status.problems_since == first.problems_since

    disk.errors.clear()
    logs.load()
    status = logs.multiplexer._status
    assert (status.problems, status.problems_since) == ((), ())
    [over] = status.past_problems
    assert (over.problem, over.since) == (line, first.problems_since[0])
    assert over.since <= over.until <= time.time()
    assert caplog.messages == [line, f"over after {over.until - over.since:.0f} s: {line}"]

    disk.refuse(logs.path / "run" / "1.tfevents")
    logs.write("run/1.tfevents", 2)
    logs.load()
    assert logs.multiplexer._status.problems == (line,)
    assert logs.multiplexer._status.problems_since[0] >= over.until
    (logs.path / "run" / "1.tfevents").unlink()
    logs.load()
    assert (logs.multiplexer._status.problems, past(logs)) == ((), [line, line])


def test_a_missing_log_directory_is_a_past_problem_when_it_is_there(logs: Logs) -> None:
    shutil.rmtree(logs.path)
    logs.load()
    status = logs.multiplexer._status
    assert (status.missing, status.problems, past(logs)) == ((str(logs.path),), (), [])
    logs.path.mkdir()
    logs.load()
    assert logs.multiplexer._status.missing == ()
    assert past(logs) == [f"log directory does not exist: {logs.path}"]


@pytest.mark.parametrize("change", ["replaced", "deleted", "run deleted", "written again"])
def test_damage_ends_with_the_damaged_file(logs: Logs, change: str) -> None:
    """While the run is read again, and in all passes before, it holds."""
    logs.tune(clock_resolution_seconds=0)
    path = logs.write("run/a.tfevents", *range(300))
    other = logs.write("run/b.tfevents", 300)
    good = path.read_bytes()
    bad = bytearray(good)
    bad[40 + 43 * 9 + 30] ^= 1
    path.write_bytes(bad)
    for _ in range(3):
        logs.load()
        [line] = logs.multiplexer._status.problems
    assert line.startswith(f"{path}: payload checksum wrong")
    if change == "replaced":
        replace(path, good)
    elif change == "written again":
        replace(path, bytes(bad) + bytes(good))  # its first record comes twice
        logs.load()
        assert logs.multiplexer._status.problems == (line,)
        replace(path, good)
    else:
        path.unlink()
    if change == "run deleted":
        other.unlink()
    logs.load()
    assert (logs.multiplexer._status.problems, past(logs)) == ((), [line])


@pytest.mark.parametrize("grows", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_a_bad_length_that_is_written_again_is_a_past_problem(
    logs: Logs, first: bool, grows: bool
) -> None:
    """Network file systems may write the pages of a file out of order."""
    logs.tune(clock_resolution_seconds=0)
    path = logs.write("run/a.tfevents", *range(300))
    good = path.read_bytes()
    bad = bytearray(good)
    bad[8 if first else 416 + 8] ^= 1  # the checksum of a length
    path.write_bytes(bad)
    logs.load()
    [line] = logs.multiplexer._status.problems
    assert "length checksum wrong" in line
    with path.open("r+b") as file:
        file.write(good)
    if grows:
        logs.write("run/a.tfevents", 300)
    os.utime(path, (2e9, 2e9))
    logs.load()
    assert logs.steps() == list(range(300 + grows))
    assert (logs.multiplexer._status.problems, past(logs)) == ((), [line])


@pytest.mark.parametrize("small_file_bytes", [0, 1 << 16])
def test_files_that_never_were_event_files_are_no_problems(
    logs: Logs, caplog: pytest.LogCaptureFixture, small_file_bytes: int
) -> None:
    """They are counted, until they become event files. One that is compressed costs a warning."""
    logs.tune(clock_resolution_seconds=0, small_file_bytes=small_file_bytes)
    good = logs.write("run/a.tfevents", 0, 1)
    text, packed = (good.with_name(f"a.tfevents.{ending}") for ending in ("meta", "gz"))
    text.write_text("fileFormatVersion: 2\nguid: 8c2b6f1d7e3a4c55\n")
    packed.write_bytes(gzip.compress(good.read_bytes(), mtime=0))

    for _ in range(2):
        logs.load()
        assert logs.steps() == [0, 1]
        assert logs.multiplexer._status.problems == ()
        kinds = [(each.kind, each.num_files) for each in logs.multiplexer._status.other_files]
        assert kinds == [("gzip", 1), ("unknown", 1)]
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"{packed} is compressed by gzip, and is not read"
    ]
    text.unlink()
    packed.write_bytes(good.read_bytes())
    logs.load()
    assert (logs.steps(), logs.multiplexer._status.other_files) == ([0, 1, 0, 1], ())


def test_a_bug_that_does_not_come_back_is_a_past_problem(
    logs: Logs, broken: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that could not be published is published by the next pass."""
    logs.write("run/a.tfevents", 1)
    broken(RunData, "commit")
    for _ in range(2):
        logs.load()
        assert logs.multiplexer._status.problems == ("run run: KeyError: 'a bug'",)
    monkeypatch.undo()
    logs.load()
    assert (logs.steps(), logs.multiplexer._status.problems) == ([1], ())
    assert past(logs) == ["run run: KeyError: 'a bug'"]


def test_past_problems_are_bounded(logs: Logs) -> None:
    """The latest hundred are kept."""
    publisher = Publisher(logs.multiplexer, [])
    for number in range(300):
        publisher.report_index([f"problem {number}"])
        publisher.publish_status([], loading=False)
    assert logs.multiplexer._status.problems == ("problem 299",)
    assert past(logs) == [f"problem {number}" for number in range(199, 299)]


# -- the thread ------------------------------------------------------------------------------------


def test_the_thread_publishes_new_data(logs: Logs) -> None:
    """New points and new runs are published. The thread ends soon after `stop`."""
    logs.loader = logs.new_loader(reload_interval=0.05)
    logs.write("run/a.tfevents", 1)
    logs.loader.start()
    logs.wait_until(lambda: logs.steps() == [1])
    logs.write("run/a.tfevents", 2)
    logs.write("other/a.tfevents", 3)
    logs.wait_until(lambda: logs.steps() == [1, 2] and logs.steps("other") == [3])
    before = time.monotonic()
    logs.loader.stop()
    assert time.monotonic() - before < 1
    logs.end()


def test_nothing_is_published_early_before_publish_is_called(logs: Logs) -> None:
    """After `publish` was called, all runs are published, in the order of their first events."""
    names = ["a", "b", "c", "d"]
    for number, name in enumerate(names):
        logs.write(f"{name}/a.tfevents", 1, wall_time=100.0 + number)
    logs.tune(publish_interval_seconds=0)
    published: list[list[str]] = []

    def before_slice() -> None:
        published.append(logs.multiplexer.runs())
        if len(published) == 3:
            logs.loader.publish()

    logs.loader = logs.new_loader(reload_interval=0, before_slice=before_slice)
    logs.loader.start(publish_early=False)
    logs.join()
    assert published == [[], [], [], names]


def test_publish_can_wait_for_the_first_publication(logs: Logs) -> None:
    """`publish` does not wait until everything is read."""
    logs.write("a/a.tfevents", 1, wall_time=1.0)
    logs.write("b/a.tfevents", 1, wall_time=2.0)
    logs.tune(publish_interval_seconds=0)
    first_may_run, second_may_run = threading.Event(), threading.Event()
    gates = iter([first_may_run, second_may_run])

    def before_slice() -> None:
        assert next(gates).wait(60)

    logs.loader = logs.new_loader(reload_interval=0, before_slice=before_slice)
    logs.loader.start(publish_early=False)
    logs.loader.publish(0.01)
    assert logs.multiplexer.runs() == []
    first_may_run.set()
    logs.loader.publish(60)
    assert logs.multiplexer.runs() == ["a", "b"]
    second_may_run.set()
    logs.join()
    assert [logs.steps(name) for name in "ab"] == [[1], [1]]


def test_a_run_that_is_read_again_gets_the_first_event_time_of_its_new_files(
    logs: Logs, small_slices: None
) -> None:
    """The known time, which is that of the old files, stays published until they are read."""
    path = logs.write("run/a.tfevents", *range(300), wall_time=50.0)
    logs.load()
    replace(path, logs.write("elsewhere", *range(200), wall_time=80.0).read_bytes())
    seen = logs.watch(lambda: (len(logs.steps()), logs.multiplexer.first_event_time("run")))
    logs.load()
    assert len(seen) > 5
    assert set(seen) == {(300, 50.0), (200, 80.0)}


def test_an_interval_of_0_loads_once(logs: Logs) -> None:
    """The thread makes one pass, and ends."""
    logs.loader = logs.new_loader(reload_interval=0)
    logs.write("run/a.tfevents", 1)
    logs.loader.start()
    logs.wait_until(lambda: logs.multiplexer._status.passes == 1)
    logs.join()
    assert logs.steps() == [1]


def test_waking_ends_a_pause(logs: Logs) -> None:
    """The pause would take an hour. Stopping ends it, too."""
    logs.tune(min_pause_seconds=0.01)
    wake = threading.Event()
    logs.loader = logs.new_loader(reload_interval=3600, wake=wake)
    logs.loader.start()
    logs.wait_until(lambda: logs.multiplexer._status.passes == 1)
    logs.write("run/a.tfevents", 1)
    wake.set()
    logs.wait_until(lambda: logs.steps() == [1])
    logs.end()


def test_a_changed_file_ends_a_pause(logs: Logs) -> None:
    """A changed file starts the next pass at once; reading files starts none."""
    logs.tune(min_pause_seconds=0.01)
    logs.loader = logs.new_loader(reload_interval=3600)
    logs.write("run/a.tfevents", 0)
    logs.loader.watch()  # This may be called before `start`.
    logs.loader.start()
    # The first pass does not watch, the second does, the third finds what changed in between.
    logs.wait_until(lambda: logs.multiplexer._status.passes >= 3)
    assert logs.steps() == [0]
    # The watching thread may not be ready yet when the first change is made.
    deadline = time.monotonic() + WAIT_SECONDS
    step = 0
    while len(logs.steps()) < 2:
        assert time.monotonic() < deadline
        step += 1
        logs.write("run/a.tfevents", step)
        time.sleep(0.3)
    passes = -1
    while passes != logs.multiplexer._status.passes:
        assert time.monotonic() < deadline, "the loader wakes itself"
        passes = logs.multiplexer._status.passes
        time.sleep(0.7)
    logs.loader.stop()


def test_a_logdir_that_is_created_later_is_watched(tmp_path: Path) -> None:
    """Servers are often started before the first training job."""
    logs = Logs(tmp_path / "later", min_pause_seconds=0.01)
    logs.loader = logs.new_loader(reload_interval=0.02)
    logs.loader.start()
    logs.loader.watch()
    logs.wait_until(lambda: logs.multiplexer._status.passes > 3)
    assert len(logs.threads) == 1
    logs.write("run/a.tfevents", 1)
    logs.wait_until(lambda: len(logs.threads) == 2)
    logs.wait_until(lambda: logs.steps() == [1])
    logs.loader.stop()


def test_watching_that_fails_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The package may not work on this system. The loader still scans at intervals."""
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    caplog.set_level("INFO", "tbcore")

    watching = watch_module.watch([str(tmp_path)], threading.Event(), threading.Event())

    assert watching is not None
    watching.join(WAIT_SECONDS)
    [line] = caplog.messages
    assert line.startswith("files are not watched for changes: ")


def test_a_missing_logdir_is_not_watched(tmp_path: Path) -> None:
    """The scans at intervals find the logdir when it is created."""
    assert watch_module.watch([str(tmp_path / "no")], threading.Event(), threading.Event()) is None


def test_a_bug_in_a_pass_does_not_end_the_thread(
    logs: Logs, broken: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """The bug is logged once, and the next pass tries again."""
    failures = iter(range(3))
    broken(logdir.Logdir, "scan", lambda _: next(failures, None) is not None)
    logs.write("run/a.tfevents", 1)
    logs.loader = logs.new_loader(reload_interval=0.01)
    with caplog.at_level(logging.WARNING):
        logs.loader.start()
        logs.wait_until(lambda: logs.steps() == [1])
    logs.loader.stop()
    assert caplog.messages == ["loading failed and will be retried: KeyError: 'a bug'"]


def test_stopping_ends_a_long_pass(logs: Logs, small_slices: None) -> None:
    """The pass ends after the current time slice, before everything is read."""
    logs.write("run/a.tfevents", *range(2000))
    logs.multiplexer._subscribe(lambda: logs.loader.stop() if logs.steps() else None)
    logs.load()
    assert 0 < len(logs.steps()) < 2000
    assert logs.multiplexer._status.passes == 0


def test_runs_created_during_a_long_pass_are_published_in_it(
    logs: Logs, small_slices: None
) -> None:
    """The logdir is scanned every `reload_interval` seconds, however much is unread."""
    logs.loader = logs.new_loader(reload_interval=1e-9)
    logs.write("old/a.tfevents", *range(2000))
    seen = []

    def create_run() -> None:
        if len(logs.steps("old")) > 100 and not (logs.path / "new").exists():
            logs.write("new/a.tfevents", 1)
        seen.append((logs.steps("new"), len(logs.steps("old"))))

    logs.multiplexer._subscribe(create_run)
    logs.load()
    assert next(count for steps, count in seen if steps == [1]) < 1000
    assert len(logs.steps("old")) == 2000


@pytest.mark.parametrize(
    ("owner", "name", "factor"), [(logdir.Logdir, "scan", 10), (Publisher, "publish", 2)]
)
def test_scans_and_publications_take_little_of_a_long_pass(
    logs: Logs, small_slices: None, monkeypatch: pytest.MonkeyPatch,
    owner: type, name: str, factor: int,
) -> None:  # fmt: skip
    """With many runs they take seconds. Publications are at most ten intervals apart."""
    logs.tune(publish_interval_seconds=0.002)
    logs.loader = logs.new_loader(reload_interval=1e-9)
    logs.write("run/a.tfevents", *range(2000))
    real, seconds, calls = getattr(owner, name), 0.01, []

    def slow(*args: Any, **options: Any) -> Any:
        calls.append(time.monotonic())
        time.sleep(seconds)
        return real(*args, **options)

    monkeypatch.setattr(owner, name, slow)
    logs.load()
    assert len(logs.steps("run")) == 2000
    # The last publication ends the pass, and so may follow at once.
    pauses = np.diff(calls[:-1] if owner is Publisher else calls)
    assert min(pauses, default=1) >= seconds * (1 + factor)


def test_a_run_deleted_during_a_long_pass_is_not_published_again(
    logs: Logs, small_slices: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run may have been read since the last commit."""
    logs.write("deleted/a.tfevents", *range(200))
    logs.write("kept/a.tfevents", *range(200))
    delete = partial(shutil.rmtree, logs.path / "deleted", ignore_errors=True)
    logs.loader = logs.new_loader(reload_interval=1e-9, after_slice=delete)
    # Each time slice is followed by a scan, however long the first scan took.
    monkeypatch.setattr("tbcore.store.loader._WORK_FACTOR", 0)
    # The newest run gets the first time slice.
    os.utime(logs.path / "kept" / "a.tfevents", (1, 1))
    logs.load()
    assert logs.multiplexer.runs() == ["kept"]
    assert len(logs.steps("kept")) == 200


def test_many_passes_leak_nothing(logs: Logs) -> None:
    """While the run grows, the numbers of threads and descriptors stay the same."""
    logs.write("run/a.tfevents", 0)
    logs.load()
    before, threads = descriptors(), set(threading.enumerate())
    for step in range(1, 101):
        logs.write("run/a.tfevents", step)
        logs.load()
    assert logs.steps() == list(range(101))
    assert descriptors() <= before
    assert set(threading.enumerate()) <= threads


def test_a_restarted_server_shows_the_same(logs: Logs) -> None:
    """Runs, tags, ordinals and samples depend on the files alone."""
    for run in ("b", "a"):
        write_run(logs.path, run, scalars={"x": [float(i) for i in range(300)], "y": [1.0, 2.0]})
        write_run(
            logs.path, run, scalars={"x": [(i, 0.5) for i in range(100, 300)]}, restart_at=100
        )
    logs.load()
    again = Logs(logs.path)
    again.load()
    for found in (logs.multiplexer, again.multiplexer):
        assert found.tags(SCALARS) == {"a": ["x", "y"], "b": ["x", "y"]}
        series = found.scalars("a", "x", samples=30)
        assert (
            series.ordinal.tolist()
            == logs.multiplexer.scalars("b", "x", samples=30).ordinal.tolist()
        )
        assert found.scalars("a", "x").ordinal.tolist() == [*range(100), *range(300, 500)]


# -- idle ------------------------------------------------------------------------------------------


def pauses(loader: Loader, num: int = 9) -> list[float]:
    """The pauses of a loader that finds nothing new."""
    return [loader._next_pause(is_quiet=True) for _ in range(num)]


def test_pauses_double_while_nothing_is_new_and_nothing_is_requested(logs: Logs) -> None:
    """Up to five minutes, unless the system reports all changes. New data resets them."""
    loader, multiplexer = logs.loader, logs.multiplexer
    assert pauses(loader) == [10, 20, 40, 80, 160, 300, 300, 300, 300]
    assert multiplexer._is_idle
    assert loader._next_pause(is_quiet=False) == 5
    assert not multiplexer._is_idle
    assert pauses(loader, 2) == [10, 20]
    multiplexer._num_viewers = 1
    assert pauses(loader, 2) == [5, 5]
    multiplexer._num_viewers = 0
    assert pauses(loader, 2) == [10, 20]
    multiplexer._note_request()
    assert pauses(loader, 2) == [5, 5]


@pytest.mark.parametrize("interval", [2.0, 1000.0])
def test_a_given_interval_is_the_shortest_pause(logs: Logs, interval: float) -> None:
    """It is used while data is requested, and grows to the same limit when idle."""
    loader = logs.new_loader(reload_interval=interval)
    assert pauses(loader, 10)[-1] == max(interval, 300)
    logs.multiplexer._note_request()
    assert loader._next_pause(is_quiet=True) == interval


@pytest.mark.parametrize("kind", ["ext4", "nfs4", "fuse.s3fs"])
def test_pauses_are_longer_where_all_changes_are_reported(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    """On file systems of this machine; others may write to the rest."""
    link = tmp_path / "link"
    link.symlink_to(logs.path)
    name = str(tmp_path).replace("/", "\\057")
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/a / nfs rw 0 0\nx {name} {kind} rw 0 0\ny /a\\040b tmpfs rw 0 0\n")
    monkeypatch.setattr(watch_module, "_MOUNTS", str(mounts))
    loader = logs.loader = Loader(
        logs.multiplexer, [LogdirSpec(None, str(link))], reload_interval=0.01, tuning=logs.tuning
    )
    loader.start()
    loader.watch()
    logs.wait_until(lambda: not loader._watch_requested)
    assert loader._max_pause() == (600 if kind == "ext4" else 300)
    (logs.path / "elsewhere").symlink_to(mounts)
    logs.wait_until(lambda: loader._max_pause() == 300)  # No change behind a link is reported.
    assert not watch_module.reports_all_changes(str(tmp_path / "missing"))
    mounts.write_text(f"a / ext4 rw 0 0\nb {logs.path}/shared nfs rw 0 0\n")
    assert not watch_module.reports_all_changes(str(link)), "another machine may write below it"
    mounts.write_text(f"a / ext4 rw 0 0\nb {logs.path}2 nfs rw 0 0\n")
    assert watch_module.reports_all_changes(str(link))
    logs.end()
    assert loader._max_pause() == 300, "nothing is watched any more"


@pytest.mark.parametrize(("path", "longest"), [("/indexes/a", 300), ("s3://bucket/a", 600)])
def test_an_index_is_refreshed_after_the_same_pauses(path: str, longest: float) -> None:
    """Up to ten minutes, as for remote logs, if it is in an object store."""
    if "://" in path:
        pytest.importorskip("tbcore_remote")
    index = SimpleNamespace(path=path, runs={}, problems=(), refresh=lambda: None)
    loader = Loader(Multiplexer(), [], index=index)  # type: ignore[arg-type]
    assert pauses(loader)[-1] == longest


def test_a_request_wakes_an_idle_loader_at_once(logs: Logs) -> None:
    """The first request does not wait for the pause. A loader that is not idle is not woken."""
    logs.tune(max_pause_seconds=1e6)
    logs.loader = logs.new_loader(reload_interval=1000)
    logs.write("run/a.tfevents", 1)
    logs.loader.start()
    logs.wait_until(lambda: logs.steps() == [1])
    logs.multiplexer._note_request()
    logs.loader.scan_soon()
    logs.wait_until(lambda: logs.multiplexer._status.passes == 2)
    logs.multiplexer._last_request_at = -math.inf
    logs.loader.scan_soon()
    logs.wait_until(lambda: logs.multiplexer._status.passes == 3)
    until(lambda: logs.multiplexer._is_idle)
    logs.write("run/a.tfevents", 2)
    logs.multiplexer._note_request()
    logs.wait_until(lambda: logs.steps() == [1, 2])
    assert not logs.multiplexer._is_idle
    logs.end()


def test_a_scan_of_an_idle_loader_lists_no_directory_again(
    logs: Logs, disk: Disk, clock: Clock
) -> None:
    """Unless its time has changed. The first scan after that lists the directories again."""
    clock.rules(local_disk)
    logs.write("run/a.tfevents", 1)
    for _ in range(3):
        clock.advance(60)
        logs.load()
    for is_idle, num in ((False, 2), (True, 0), (False, 2)):
        clock.advance(60)
        disk.listed.clear()
        logs.multiplexer._is_idle = is_idle
        logs.load()
        assert len(disk.listed) == num
    logs.multiplexer._is_idle = True
    logs.write("new/a.tfevents", 2)
    logs.load()
    assert logs.steps("new") == [2]
