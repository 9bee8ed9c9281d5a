"""The loader: what it shows, in which order, and what does not stop it."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from every_test import PATIENCE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tbcore.errors import NotFoundError
from tbcore.eventfiles import decoder as decode
from tbcore.eventfiles import framing as records
from tbcore.eventfiles import logdir, tail
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.eventfiles.read_ahead import Pile
from tbcore.kinds import Claim
from tbcore.store import loader as loader_module
from tbcore.store import run_reader as run_reader_module
from tbcore.store import watch as watch_module
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.run import RunData
from tbcore.testing import EventFileWriter, summaries, write_run
from tbcore.tuning import Tuning

SCALARS = (Claim("simple_value"),)


class Logs:
    """A log directory, and what is shown of it."""

    def __init__(self, path: Path, **tuning: Any) -> None:
        self.path = path
        self.tuning = Tuning(**tuning)
        self.multiplexer = Multiplexer()
        self.loader = self.new_loader()

    def new_loader(self, **options: Any) -> Loader:
        specs = [LogdirSpec(None, str(self.path))]
        return Loader(self.multiplexer, specs, tuning=self.tuning, **options)

    def tune(self, **fields: Any) -> None:
        """Replaces the loader by one with these fields of its tuning changed."""
        self.tuning = dataclasses.replace(self.tuning, **fields)
        self.loader = self.new_loader()

    def write(self, file: str, *steps: int, wall_time: float = 100.0, value: float = 0.0) -> Path:
        """Appends steps of the tag "loss" to a file."""
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

    def watch(self, look: Callable[[], Any]) -> list[Any]:
        """What `look` returns at each commit and change of status from now on."""
        seen: list[Any] = []
        self.multiplexer.subscribe(lambda: seen.append(look()))
        return seen

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Waits for the loader's thread."""
        changed = threading.Event()
        unsubscribe = self.multiplexer.subscribe(changed.set)
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert changed.wait(deadline - time.monotonic()), "the loader does not get on"
            changed.clear()
        unsubscribe()

    def end(self) -> None:
        """Tells the loader's thread to end, and waits for it."""
        self.loader.stop()
        for thread in self.loader._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def descriptors() -> set[tuple[str, str]]:
    """Those of this process, and what they lead to: some of earlier tests may close meanwhile."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        # The one of the listing itself is gone.
        with contextlib.suppress(FileNotFoundError):
            found.add((name, os.readlink(f"/proc/self/fd/{name}")))
    return found


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    path = tmp_path / "logdir"
    path.mkdir()
    return Logs(path)


@pytest.fixture
def small_turns(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of 1 kB, one time slice and one publication for each; no file is preloaded."""
    monkeypatch.setattr(run_reader_module, "MAX_FILE_BYTES", 0)
    monkeypatch.setattr(decode, "BUFFER_BYTES", 1024)
    monkeypatch.setattr(tail, "BUFFER_BYTES", 1024)
    logs.tune(time_slice_bytes=1, publish_interval_seconds=0)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were opened."""
    names: list[str] = []

    def open_regular(path: str) -> int:
        names.append(os.path.basename(path))
        return real(path)

    real = records.open_regular
    monkeypatch.setattr("tbcore.eventfiles.tail.open_regular", open_regular)
    return names


@pytest.fixture
def settled(logs: Logs) -> None:
    """Makes all files seem written long ago: their change times cannot be set back."""
    logs.tune(clock_resolution_seconds=0)


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of files that may not be read; root, who runs tests in containers, may read all."""
    names: set[str] = set()

    def open_regular(path: str) -> int:
        if os.path.basename(path) in names:
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    real = records.open_regular
    monkeypatch.setattr("tbcore.eventfiles.tail.open_regular", open_regular)
    return names


# -- order -------------------------------------------------------------------------------------


def test_new_runs_are_in_the_order_of_their_first_events(logs: Logs) -> None:
    """Those without any come last, and names decide between equals."""
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


def test_a_run_that_was_shown_never_moves(logs: Logs) -> None:
    """Older runs that are found later come behind it, and an empty one stays where it was."""
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
    """The first file of it that has one gives the time."""
    (logs.path / "run").mkdir()
    (logs.path / "run" / "a.tfevents").touch()
    logs.write("run/b.tfevents", 1, wall_time=3.0)
    logs.write("run/c.tfevents", 1, wall_time=2.0)
    logs.load()
    assert logs.multiplexer.first_event_time("run") == 3.0


def test_files_of_a_run_are_read_in_the_order_of_their_paths(logs: Logs) -> None:
    """As text, so that 10 comes before 9."""
    logs.write("run/e.tfevents.9", 9)
    logs.write("run/e.tfevents.10", 10)
    logs.write("run/e.tfevents.1", 1)
    logs.load()
    assert logs.steps() == [1, 10, 9]
    assert logs.multiplexer.file_paths("run") == [
        str(logs.path / "run" / f"e.tfevents.{n}") for n in (1, 10, 9)
    ]


def test_a_file_is_read_to_its_end_before_the_next(logs: Logs, small_turns: None) -> None:
    """Also in many turns."""
    logs.write("run/1.tfevents", *range(0, 300))
    logs.write("run/2.tfevents", *range(300, 600))
    seen = logs.watch(logs.steps)
    logs.load()
    assert len(seen) > 10
    for steps in seen:
        assert steps == list(range(len(steps)))
    assert logs.steps() == list(range(600))


def test_a_file_that_grows_late_is_appended_as_it_arrives(logs: Logs) -> None:
    """Its rows come behind those of files that were read before."""
    logs.write("run/1.tfevents", 1)
    logs.write("run/2.tfevents", 2)
    logs.load()
    logs.write("run/1.tfevents", 3)
    logs.write("run/0.tfevents", 4)
    logs.write("run/2.tfevents", 5)
    logs.load()
    assert logs.steps() == [1, 2, 4, 3, 5]


def test_turns_go_to_the_newest_run_first(logs: Logs, small_turns: None) -> None:
    """And round among all, so that none waits for another to be read to its end."""
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
    # Shown at once, all of them, in the order that has nothing to do with it.
    assert logs.multiplexer.runs() == runs


def test_a_turn_ends_in_time_however_few_bytes_it_read(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some bytes take long: sounds and restarts are select_rows one by one. Others get their turn
    meanwhile, and nothing comes twice."""
    monkeypatch.setattr(run_reader_module, "MAX_FILE_BYTES", 0)
    logs.tune(time_slice_seconds=0, publish_interval_seconds=0)
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
    monkeypatch.undo()
    at_once.load()
    sounds = [
        [(item.ordinal, item.step) for item in some.multiplexer.items("slow", "sound", (Claim(),))]
        for some in (logs, at_once)
    ]
    assert sounds[0] == sounds[1]
    assert logs.steps("slow") == at_once.steps("slow")


# -- what is shown while ------------------------------------------------------------------------


def test_data_is_served_while_it_is_loaded(logs: Logs, small_turns: None) -> None:
    """With a status that says how far it is."""
    logs.write("run/a.tfevents", *range(500))
    seen = logs.watch(lambda: (len(logs.steps()), logs.multiplexer.status))
    logs.load()
    counts = [count for count, _ in seen]
    assert counts == sorted(counts)
    assert len(set(counts)) > 10
    statuses = [status for _, status in seen]
    assert any(status.loading and 0 < status.bytes_read < status.bytes_total for status in statuses)
    last = logs.multiplexer.status
    assert not last.loading
    assert last.bytes_read == last.bytes_total == (logs.path / "run/a.tfevents").stat().st_size
    assert (last.passes, last.num_runs, last.num_files, last.num_directories) == (1, 1, 1, 2)


def test_a_pass_that_finds_nothing_new_changes_nothing(
    logs: Logs, opened: list[str], settled: None
) -> None:
    """No generation, and no file is opened."""
    for run in ("a", "b"):
        logs.write(f"{run}/1.tfevents", 1, 2)
    logs.load()
    generation = logs.multiplexer.generation
    opened.clear()
    logs.load()
    logs.load()
    assert logs.multiplexer.generation == generation
    assert opened == []
    assert logs.multiplexer.status.passes == 3
    logs.write("a/1.tfevents", 3)
    logs.load()
    assert set(opened) == {"1.tfevents"}
    assert logs.multiplexer.generation == generation + 1
    assert logs.multiplexer.run_generations()["b"] <= generation


def test_a_file_is_looked_at_again_until_its_clock_has_ticked(
    logs: Logs, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have changed twice at the same time; later on it would show another one."""
    path = logs.write("run/a.tfevents", 1, 2)
    written = path.stat().st_ctime_ns
    monkeypatch.setattr(time, "time_ns", lambda: written + 10**9)
    logs.load()
    opened.clear()
    logs.load()
    logs.load()
    assert opened == ["a.tfevents"] * 2
    monkeypatch.setattr(time, "time_ns", lambda: written + 10**10)
    logs.load()
    opened.clear()
    logs.load()
    assert opened == []


def test_half_a_record_waits_and_counts_as_read(
    logs: Logs, opened: list[str], settled: None
) -> None:
    """Nothing is read as long as nothing comes."""
    path = logs.write("run/a.tfevents", 1, 2)
    data = path.read_bytes()
    path.write_bytes(data[:-5])
    logs.load()
    assert logs.steps() == [1]
    assert logs.multiplexer.status.bytes_read == logs.multiplexer.status.bytes_total
    opened.clear()
    logs.load()
    assert opened == []
    path.write_bytes(data)
    logs.load()
    assert logs.steps() == [1, 2]


def test_bytes_that_arrive_within_one_tick_of_the_clock(logs: Logs) -> None:
    """Size and time are as before; the record is whole now."""
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


def test_no_descriptor_is_kept(logs: Logs) -> None:
    """However many files there are."""
    for number in range(50):
        logs.write(f"run{number}/a.tfevents", 1)
    before = descriptors()
    logs.load()
    assert descriptors() <= before


def test_max_points_bounds_what_is_kept(logs: Logs) -> None:
    """To the rows that a sample of everything would show."""
    logs.write("run/a.tfevents", *range(500))
    logs.load()
    sample = logs.multiplexer.scalars("run", "loss", samples=20).step.tolist()
    downsampled = Logs(logs.path)
    downsampled.loader = downsampled.new_loader(max_points=20)
    downsampled.load()
    assert downsampled.steps() == sample


# -- files that are not what they were -----------------------------------------------------------


def replace(path: Path, data: bytes) -> None:
    """Puts another file in its place, as editors and synchronisers do."""
    other = path.with_name(".new")
    other.write_bytes(data)
    os.replace(other, path)


def test_a_replaced_file_is_read_anew(logs: Logs) -> None:
    """With the files beside it; the run keeps its place."""
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


def test_the_old_data_is_served_until_the_new_is_all_there(logs: Logs, small_turns: None) -> None:
    """Nobody sees half of it, and others are loaded meanwhile."""
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


def test_a_file_that_is_replaced_while_it_is_read_anew(logs: Logs, small_turns: None) -> None:
    """Is read anew again."""
    path = logs.write("run/1.tfevents", *range(300))
    logs.load()
    versions = [
        logs.write(f"elsewhere{i}", *range(200), value=i, wall_time=i).read_bytes() for i in (1, 2)
    ]
    replace(path, versions[0])
    turns = iter(range(100))

    def replace_once() -> None:
        if next(turns) == 4:
            replace(path, versions[1])

    logs.multiplexer.subscribe(replace_once)
    seen = logs.watch(lambda: logs.values())
    logs.load()
    logs.load()
    assert logs.values() == {2.0}
    assert {1.0} not in seen


def test_a_copy_that_grows_is_read_on(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A synchroniser puts a longer copy in its place each time: each byte is decoded once, and
    the items of the old copy are served all the while."""
    done = 0
    real = tail.FileTail._fill

    def fill(self: tail.FileTail, descriptor: int, size: int) -> int:
        nonlocal done
        count = real(self, descriptor, size)
        done += count
        return count

    monkeypatch.setattr(tail.FileTail, "_fill", fill)
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
    assert done <= original.stat().st_size


@pytest.mark.parametrize("shown", [[1, 2], []])
def test_a_file_that_is_replaced_in_a_turn_shows_nothing_of_that(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, shown: list[int]
) -> None:
    """What the turn read may be of either file, and it may be the first one of the run."""
    logs.tune(publish_interval_seconds=0)
    path = logs.write("run/a.tfevents", *shown)
    if shown:
        logs.load()
    real = tail.FileTail.read

    def read(self: tail.FileTail, *limits: Any) -> Iterator[Any]:
        yield from real(self, *limits)
        if path.read_bytes() != new:
            path.write_bytes(new)
            raise tail.FileReplacedError(path)

    new = logs.write("elsewhere", *range(10, 20), wall_time=200.0).read_bytes()
    logs.write("run/a.tfevents", 3)
    monkeypatch.setattr(tail.FileTail, "read", read)
    seen = logs.watch(logs.steps)
    logs.load()
    assert seen[-1] == list(range(10, 20))
    assert all(steps in (shown, seen[-1]) for steps in seen)
    assert logs.multiplexer.first_event_time("run") == 200.0


def test_equal_size_and_time_do_not_hide_another_file(logs: Logs, settled: None) -> None:
    """The time of the status tells, which nobody sets back."""
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
def test_a_file_that_is_written_anew_in_place(logs: Logs, same_time: bool) -> None:
    """Longer than before, under the same inode: its first record tells."""
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


def test_a_file_that_shrank(logs: Logs) -> None:
    """Shows what it still holds."""
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


def test_a_file_that_vanished_from_a_run(logs: Logs) -> None:
    """Takes its rows with it."""
    path = logs.write("run/1.tfevents", 1)
    logs.write("run/2.tfevents", 2)
    logs.load()
    path.unlink()
    logs.load()
    assert logs.steps() == [2]


def test_a_file_that_was_empty_may_go_without_notice(
    logs: Logs, opened: list[str], settled: None
) -> None:
    """Nothing came from it, so nothing is read anew."""
    path = logs.write("run/1.tfevents", 1)
    (logs.path / "run" / "0.tfevents").touch()
    logs.load()
    opened.clear()
    (logs.path / "run" / "0.tfevents").unlink()
    logs.load()
    assert logs.steps() == [1]
    assert opened == []
    replace(logs.path / "run" / "0.tfevents", b"")
    logs.load()
    replace(logs.path / "run" / "0.tfevents", path.read_bytes())
    logs.load()
    assert logs.steps() == [1, 1]
    assert opened.count("1.tfevents") == 0


def test_a_deleted_run_leaves_and_comes_back_as_a_new_one(logs: Logs) -> None:
    """Behind the others."""
    for run in ("a", "b", "c"):
        logs.write(f"{run}/a.tfevents", 1)
    logs.load()
    shutil.rmtree(logs.path / "a")
    logs.load()
    assert logs.multiplexer.runs() == ["b", "c"]
    assert logs.multiplexer.status.num_runs == 2
    logs.write("a/a.tfevents", 7)
    logs.load()
    assert logs.multiplexer.runs() == ["b", "c", "a"]
    assert logs.steps("a") == [7]


def test_a_run_that_moved_is_another_run(logs: Logs) -> None:
    """Its name is what it was known by."""
    logs.write("a/a.tfevents", 1)
    logs.write("b/a.tfevents", 2)
    logs.load()
    (logs.path / "a").rename(logs.path / "z")
    logs.load()
    assert logs.multiplexer.runs() == ["b", "z"]
    assert logs.steps("z") == [1]


def test_a_logdir_that_is_made_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One warning, and everything once it is there."""
    logs = Logs(tmp_path / "later")
    logs.load()
    logs.load()
    assert caplog.messages == [f"logdir {tmp_path}/later does not exist; waiting for it"]
    assert list(logs.multiplexer.status.missing) == [str(tmp_path / "later")]
    logs.write("run/a.tfevents", 1)
    logs.load()
    assert logs.steps() == [1]
    assert list(logs.multiplexer.status.missing) == []


def test_a_relative_logdir_is_told_as_an_absolute_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads the status does not know where the server was started."""
    monkeypatch.chdir(tmp_path)
    multiplexer = Multiplexer()
    Loader(multiplexer, [LogdirSpec(None, "later"), LogdirSpec("b", "/b")]).load_once()
    assert multiplexer.status.logdirs == (str(tmp_path / "later"), "/b")


RUNS = st.sampled_from(["a", "b", "a/c"])
FILES = st.sampled_from(["1.tfevents", "2.tfevents"])
CHANGES = st.one_of(
    st.tuples(st.just("append"), RUNS, FILES, st.integers(1, 60)),
    st.tuples(st.just("cut"), RUNS, FILES, st.integers(1, 200)),
    st.tuples(st.sampled_from(["replace", "rewrite"]), RUNS, FILES, st.integers(1, 30)),
    st.tuples(st.sampled_from(["delete", "touch", "begin"]), RUNS, FILES, st.just(0)),
    st.tuples(st.just("delete run"), RUNS, FILES, st.just(0)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(CHANGES, max_size=5), max_size=6))
def test_whatever_happens_to_files_the_disk_is_the_truth(
    passes: list[list[tuple[str, str, str, int]]],
) -> None:
    """After each pass the same is shown that a server shows which has just been started."""
    with tempfile.TemporaryDirectory() as directory:
        logdir = Path(directory, "logdir")
        logdir.mkdir()
        logs = Logs(logdir)
        # Changes in place move the clock on: within one tick nobody can tell.
        clock = 1_700_000_000
        for number, changes in enumerate(passes):
            for what, run, file, size in changes:
                clock += 1
                change(logs, what, run, file, size, clock)
                if what == "cut":
                    # What is cut and grows again between two passes looks as if it had only extended.
                    logs.load()
            logs.load()
            fresh = Logs(logdir)
            fresh.load()
            assert content(logs) == content(fresh), f"pass {number}"
            status, expected = logs.multiplexer.status, fresh.multiplexer.status
            assert status.bytes_read == expected.bytes_read == expected.bytes_total
            assert status.num_files == expected.num_files


def change(logs: Logs, what: str, run: str, file: str, size: int, clock: int) -> None:
    path = logs.path / run / file
    if what == "begin":
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
    """Points of each run; in any order, since files may have extended in another one."""
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


# -- what goes wrong -------------------------------------------------------------------------------


def test_an_unreadable_file_is_told_once_and_tried_each_time(
    logs: Logs, unreadable: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Its run and the others go on; it is read when it can be."""
    logs.write("run/1.tfevents", 1)
    logs.write("run/2.tfevents", 2)
    logs.write("other/3.tfevents", 3)
    unreadable.add("1.tfevents")
    for _ in range(3):
        logs.load()
    assert logs.steps() == [2]
    assert logs.steps("other") == [3]
    line = f"{logs.path}/run/1.tfevents cannot be read: Permission denied"
    assert caplog.messages == [line]
    assert logs.multiplexer.status.problems == (line,)
    assert not logs.multiplexer.status.loading
    unreadable.clear()
    logs.load()
    assert logs.steps() == [2, 1]
    unreadable.add("1.tfevents")
    logs.write("run/1.tfevents", 4)
    logs.load()
    assert caplog.messages == [line, line]
    unreadable.clear()
    logs.load()
    assert logs.steps() == [2, 1, 4]


def test_a_thousand_unreadable_files_do_not_fill_the_log(
    logs: Logs, unreadable: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Some of them are named, and how many there are."""
    (logs.path / "run").mkdir()
    for number in range(1000):
        (logs.path / "run" / f"{number}.tfevents").touch()
        unreadable.add(f"{number}.tfevents")
    logs.load()
    assert len(caplog.messages) == 21
    assert caplog.messages[-1] == "and 980 more like these"
    assert len(logs.multiplexer.status.problems) == 100


def test_a_directory_that_cannot_be_listed_now_keeps_its_runs(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A hiccup of a network file system is no deletion."""
    logs.write("a/deep/1.tfevents", 1)
    logs.write("b/1.tfevents", 1)
    logs.load()

    def scandir(path: str) -> Any:
        if path == str(logs.path / "a"):
            raise OSError(116, "Stale file handle", path)
        return real(path)

    real = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    shutil.rmtree(logs.path / "b")
    logs.load()
    logs.load()
    assert logs.multiplexer.runs() == ["a/deep"]
    assert caplog.messages == [f"cannot list {logs.path}/a: Stale file handle"]
    monkeypatch.undo()
    logs.write("a/deep/1.tfevents", 2)
    logs.load()
    assert logs.steps("a/deep") == [1, 2]


@pytest.mark.parametrize("fails", ["add_batch", "commit", "trim_spare_capacity", "add_file"])
def test_a_fault_of_our_own_costs_one_run(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fails: str
) -> None:
    """One line in the log, however often it happens, and the others are served."""
    logs.write("bad/bad.tfevents", 1, 2)
    logs.write("good/good.tfevents", 1)
    real = getattr(RunData, fails)

    def fail(self: RunData, *arguments: Any) -> Any:
        paths = [file.path for file in self._files] + [a for a in arguments if type(a) is str]
        if any(path.endswith("bad.tfevents") for path in paths):
            raise KeyError("a bug")
        return real(self, *arguments)

    monkeypatch.setattr(RunData, fails, fail)
    for _ in range(3):
        logs.load()
        logs.write("good/good.tfevents", 2)
    assert logs.steps("good") == [1, 2, 2]
    lines = [line for line in caplog.messages if "a bug" in line]
    assert len(lines) == 1
    assert "KeyError" in lines[0]
    assert "bad" in lines[0]


def test_a_fault_of_our_own_when_a_run_is_shown_costs_no_other(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """When it began is not known, then; all else of it is."""
    logs.write("bad/bad.tfevents", 1)
    logs.write("good/good.tfevents", 1, wall_time=200.0)
    logs.write("read/read.tfevents", 1, wall_time=300.0)
    os.utime(logs.path / "read" / "read.tfevents", (2e9, 2e9))
    # Right after the first turn, so that two of them are shown before it is theirs.
    logs.tune(publish_interval_seconds=0)

    def read_first_event_time(path: str) -> float | None:
        if path.endswith("bad.tfevents"):
            raise KeyError("a bug")
        return real(path)

    real = tail.read_first_event_time
    monkeypatch.setattr(loader_module, "read_first_event_time", read_first_event_time)
    logs.load()
    assert logs.multiplexer.runs() == ["good", "read", "bad"]
    assert logs.steps("good") == logs.steps("bad") == [1]
    assert caplog.messages == ["run bad: KeyError: 'a bug'"]


def test_a_file_that_our_fault_concerns_costs_itself(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other files of its run are read; none of its rows comes twice."""
    logs.write("run/1.tfevents", 1)
    logs.write("run/2.tfevents", 2)
    logs.write("run/3.tfevents", 3)
    real = tail.FileTail.read

    def read(self: tail.FileTail, *limits: Any) -> Iterator[Any]:
        yield from real(self, *limits)
        if self.path.endswith("2.tfevents"):
            raise RuntimeError("a bug")

    monkeypatch.setattr(tail.FileTail, "read", read)
    logs.load()
    logs.write("run/2.tfevents", 4)
    logs.load()
    assert logs.steps() == [1, 2, 3]
    assert "the rest of this file is left out" in logs.multiplexer.status.problems[0]
    replace(logs.path / "run" / "2.tfevents", (logs.path / "run" / "3.tfevents").read_bytes())
    monkeypatch.undo()
    logs.load()
    assert logs.steps() == [1, 3, 3]


def test_a_fault_of_reading_ahead_costs_no_run(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The runs are read in their turns, in the same pass: there may be only one."""

    def decode_pile(*_: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr(Pile, "_decode", decode_pile)
    for run in range(3):
        logs.write(f"{run}/a.tfevents", 1, 2)
    logs.load()
    assert [logs.steps(str(run)) for run in range(3)] == [[1, 2]] * 3
    assert logs.multiplexer.status.problems == (
        "preloading small files: ZeroDivisionError: of ours",
    )


def test_damage_is_among_the_problems(logs: Logs, caplog: pytest.LogCaptureFixture) -> None:
    """With file and offset; only the first of a file is in the log."""
    path = logs.write("run/a.tfevents", *range(300))
    data = bytearray(path.read_bytes())
    records = [40 + i * 43 for i in range(3)]
    for at in records:
        data[at + 30] ^= 1
    path.write_bytes(data)
    logs.load()
    assert len(logs.multiplexer.status.problems) == 3
    assert logs.multiplexer.status.problems[0].startswith(f"{path}: ")
    assert "offset" in logs.multiplexer.status.problems[0]
    assert len(caplog.messages) == 1


# -- the thread ------------------------------------------------------------------------------------


def test_the_thread_shows_what_is_new(logs: Logs) -> None:
    """New points, new runs; and it ends soon when it is told to."""
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


def test_nothing_is_shown_on_the_way_before_it_is_to_be(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And all that was found from then on, in the order in which it began."""
    names = ["a", "b", "c", "d"]
    for number, name in enumerate(names):
        logs.write(f"{name}/a.tfevents", 1, wall_time=100.0 + number)
    logs.tune(publish_interval_seconds=0)
    shown: list[list[str]] = []

    def read_slice(self: Loader, run: Any) -> None:
        shown.append(logs.multiplexer.runs())
        if len(shown) == 3:
            self.publish()
        real(self, run)

    real = Loader._read_slice
    monkeypatch.setattr(Loader, "_read_slice", read_slice)
    logs.loader = logs.new_loader(reload_interval=0)
    logs.loader.start(publish_early=False)
    logs.loader._threads[0].join(30)
    assert shown == [[], [], [], names]


def test_who_has_it_show_data_may_wait_for_that(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for all of it to be read."""
    logs.write("a/a.tfevents", 1, wall_time=1.0)
    logs.write("b/a.tfevents", 1, wall_time=2.0)
    logs.tune(publish_interval_seconds=0)
    turns: list[Any] = []
    go_on, leave = threading.Event(), threading.Event()

    def read_slice(self: Loader, run: Any) -> None:
        turns.append(run)
        assert (go_on, leave)[len(turns) - 1].wait(60)
        real(self, run)

    real = Loader._read_slice
    monkeypatch.setattr(Loader, "_read_slice", read_slice)
    logs.loader = logs.new_loader(reload_interval=0)
    logs.loader.start(publish_early=False)
    logs.loader.publish(0.01)
    assert logs.multiplexer.runs() == []
    go_on.set()
    logs.loader.publish(60)
    assert logs.multiplexer.runs() == ["a", "b"]
    leave.set()
    logs.loader._threads[0].join(60)
    assert [logs.steps(name) for name in "ab"] == [[1], [1]]


def test_a_run_that_is_read_anew_begins_when_its_new_files_do(logs: Logs) -> None:
    """Not when the old ones did, whoever reads it."""
    logs.write("run/a.tfevents", 1, wall_time=50.0)
    logs.load()
    [run] = logs.loader._runs.values()
    logs.loader._reread_from_start(run)
    run.copy_first_event_time()
    assert run.active_reader.data.commit().first_event_time is None
    assert logs.multiplexer.first_event_time("run") == 50.0


def test_an_interval_of_0_loads_once(logs: Logs) -> None:
    """And the thread ends."""
    logs.loader = logs.new_loader(reload_interval=0)
    logs.write("run/a.tfevents", 1)
    logs.loader.start()
    logs.wait_until(lambda: logs.multiplexer.status.passes == 1)
    for thread in logs.loader._threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert logs.steps() == [1]


def test_waking_ends_a_pause(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an hour, in this case. So does the end."""
    logs.tune(min_pause_seconds=0.01)
    wake = threading.Event()
    logs.loader = logs.new_loader(reload_interval=3600, wake=wake)
    logs.loader.start()
    logs.wait_until(lambda: logs.multiplexer.status.passes == 1)
    logs.write("run/a.tfevents", 1)
    wake.set()
    logs.wait_until(lambda: logs.steps() == [1])
    logs.end()


def test_changes_of_files_wake_where_they_are_watched(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed file starts the next pass at once; reading files starts none."""
    logs.tune(min_pause_seconds=0.01)
    logs.loader = logs.new_loader(reload_interval=3600)
    logs.write("run/a.tfevents", 0)
    logs.loader.watch()  # However early that is said.
    logs.loader.start()
    # The first without watching, the second with it, and one for what it came too late for.
    logs.wait_until(lambda: logs.multiplexer.status.passes >= 3)
    assert logs.steps() == [0]
    # The watching thread may not have begun when the first change is made.
    deadline = time.monotonic() + PATIENCE
    step = 0
    while len(logs.steps()) < 2:
        assert time.monotonic() < deadline
        step += 1
        logs.write("run/a.tfevents", step)
        time.sleep(0.3)
    passes = -1
    while passes != logs.multiplexer.status.passes:
        assert time.monotonic() < deadline, "it wakes itself"
        passes = logs.multiplexer.status.passes
        time.sleep(0.7)
    logs.loader.stop()


def test_a_logdir_that_appears_later_is_watched_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers are often started before the first job is."""
    logs = Logs(tmp_path / "later", min_pause_seconds=0.01)
    logs.loader = logs.new_loader(reload_interval=0.02)
    logs.loader.start()
    logs.loader.watch()
    logs.wait_until(lambda: logs.multiplexer.status.passes > 3)
    assert len(logs.loader._threads) == 1
    logs.write("run/a.tfevents", 1)
    logs.wait_until(lambda: len(logs.loader._threads) == 2)
    logs.wait_until(lambda: logs.steps() == [1])
    logs.loader.stop()


def test_watching_that_fails_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as by a package that does not work here: the loader still scans at its intervals."""
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    caplog.set_level("INFO", "tbcore")

    watching = watch_module.watch([str(tmp_path)], threading.Event(), threading.Event())

    assert watching is not None
    watching.join(PATIENCE)
    [line] = caplog.messages
    assert line.startswith("files are not watched for changes: ")


def test_nothing_to_watch(tmp_path: Path) -> None:
    """A directory that does not exist is looked for at intervals."""
    assert watch_module.watch([str(tmp_path / "no")], threading.Event(), threading.Event()) is None


def test_a_fault_of_a_whole_pass_does_not_end_the_thread(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told once, and tried again."""
    failures = iter(range(3))
    real = logdir.Logdir.scan

    def scan(self: logdir.Logdir) -> logdir.Scan:
        if next(failures, None) is not None:
            raise RuntimeError("a bug")
        return real(self)

    monkeypatch.setattr(logdir.Logdir, "scan", scan)
    logs.write("run/a.tfevents", 1)
    logs.loader = logs.new_loader(reload_interval=0.01)
    with caplog.at_level(logging.WARNING):
        logs.loader.start()
        logs.wait_until(lambda: logs.steps() == [1])
    logs.loader.stop()
    assert caplog.messages == ["loading failed and is tried again: RuntimeError: a bug"]


def test_stopping_ends_a_long_pass(logs: Logs, small_turns: None) -> None:
    """When the turn is over, not when everything is read."""
    logs.write("run/a.tfevents", *range(2000))
    logs.multiplexer.subscribe(lambda: logs.loader.stop() if logs.steps() else None)
    logs.load()
    assert 0 < len(logs.steps()) < 2000
    assert logs.multiplexer.status.passes == 0


def test_runs_that_begin_during_a_long_pass_are_shown_in_it(logs: Logs, small_turns: None) -> None:
    """A look is select_rows every reload_interval seconds, whatever is still to be read."""
    logs.loader = logs.new_loader(reload_interval=1e-9)
    logs.write("old/a.tfevents", *range(2000))
    seen = []

    def begin() -> None:
        if len(logs.steps("old")) > 100 and not (logs.path / "new").exists():
            logs.write("new/a.tfevents", 1)
        seen.append((logs.steps("new"), len(logs.steps("old"))))

    logs.multiplexer.subscribe(begin)
    logs.load()
    assert next(count for steps, count in seen if steps == [1]) < 1000
    assert len(logs.steps("old")) == 2000


def test_a_run_that_goes_during_a_long_pass_is_not_shown_after(
    logs: Logs, small_turns: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it was read from since the last commit."""
    logs.loader = logs.new_loader(reload_interval=1e-9)
    logs.write("goes/a.tfevents", *range(200))
    logs.write("stays/a.tfevents", *range(200))

    def read_slice(self: Loader, run: Any) -> None:
        real(self, run)
        shutil.rmtree(logs.path / "goes", ignore_errors=True)

    real = Loader._read_slice
    monkeypatch.setattr(Loader, "_read_slice", read_slice)
    # Turns go to the newest first.
    os.utime(logs.path / "stays" / "a.tfevents", (1, 1))
    logs.load()
    assert logs.multiplexer.runs() == ["stays"]
    assert len(logs.steps("stays")) == 200


def test_many_passes_leave_nothing_behind(logs: Logs) -> None:
    """Threads and descriptors are as before; the run is live all the while."""
    logs.write("run/a.tfevents", 0)
    logs.load()
    before, threads = descriptors(), set(threading.enumerate())
    for step in range(1, 101):
        logs.write("run/a.tfevents", step)
        logs.load()
    assert logs.steps() == list(range(101))
    assert descriptors() <= before
    assert set(threading.enumerate()) <= threads


def test_a_server_that_is_started_again_shows_the_same(logs: Logs) -> None:
    """Runs, tags, ordinals and samples follow from the files alone."""
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
