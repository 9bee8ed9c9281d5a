"""The loader: what it publishes, in which order, and which failures it survives."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from common_fixtures import descriptors
from disk import Clock, Disk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loaded_logs import SCALARS, Logs, replace

from tbcore.eventfiles import tail
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.kinds import Claim
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore_testing import EventFileWriter, summaries

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
    files = logs.board.state.run("run").files
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
    seen = logs.watch(lambda: (len(logs.steps()), logs.board.status))
    logs.load()
    counts = [count for count, _ in seen]
    assert counts == sorted(counts)
    assert len(set(counts)) > 10
    statuses = [status for _, status in seen]
    assert any(status.loading and 0 < status.bytes_read < status.bytes_total for status in statuses)
    last = logs.board.status
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
    assert logs.board.status.passes == 3
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
    assert logs.board.status.bytes_read == logs.board.status.bytes_total
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

    logs.board.subscribe(replace_once)
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
    assert logs.board.status.num_runs == 2
    logs.write("a/a.tfevents", 7)
    logs.load()
    assert logs.multiplexer.runs() == ["b", "c", "a"]
    assert logs.steps("a") == [7]
    logs.write("b/b.tfevents", 8)
    logs.load()
    assert logs.multiplexer.runs() == ["b", "c", "a"]


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
    assert list(logs.board.status.missing) == [str(tmp_path / "later")]
    logs.write("run/a.tfevents", 1)
    logs.load()
    assert logs.steps() == [1]
    assert list(logs.board.status.missing) == []


def test_the_status_has_absolute_paths_of_logdirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients do not know in which directory the server was started."""
    monkeypatch.chdir(tmp_path)
    board = Board()
    Loader(board, [LogdirSpec(None, "later"), LogdirSpec("b", "/b")]).load_once()
    assert board.status.logdirs == (str(tmp_path / "later"), "/b")


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
            status, expected = logs.board.status, fresh.board.status
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
