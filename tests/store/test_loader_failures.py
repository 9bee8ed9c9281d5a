"""The loader and failures: what it reports, and what is shown nevertheless."""

from __future__ import annotations

import gzip
import logging
import os
import shutil
import time
from collections.abc import Callable
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS
from disk import Disk
from held import held_by
from loaded_logs import Logs, replace

from tbcore.eventfiles.logdir import Logdir
from tbcore.store import work_queue
from tbcore.store.publisher import Publisher
from tbcore.store.run import RunData
from tbcore.store.view import FileRef


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
    assert logs.board.status.problems == (line,)
    assert not logs.board.status.loading
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
    """Some of the files of a time slice are logged, and the number of the others."""
    logs.tune(time_slice_seconds=WAIT_SECONDS)
    (logs.path / "run").mkdir()
    for number in range(1000):
        path = logs.path / "run" / f"{number}.tfevents"
        path.touch()
        disk.refuse(path)
    logs.load()
    assert len(caplog.messages) == 21
    assert caplog.messages[-1] == "and 980 more like these"
    assert len(logs.board.status.problems) == 100


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
        paths = [file.path for file in held_by(data, FileRef)] + [
            a for a in arguments if type(a) is str
        ]
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
    assert "the rest of this file is left out" in logs.board.status.problems[0]
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
    assert logs.board.status.problems == ("preloading small files: KeyError: 'a bug'",)


def test_damage_is_among_the_problems(logs: Logs, caplog: pytest.LogCaptureFixture) -> None:
    """Each problem names file and offset. Only the first one of each file is logged."""
    path = logs.write("run/a.tfevents", *range(300))
    data = bytearray(path.read_bytes())
    for record in range(3):
        data[40 + 43 * record + 30] ^= 1
    path.write_bytes(data)
    logs.load()
    assert len(logs.board.status.problems) == 3
    assert logs.board.status.problems[0].startswith(f"{path}: ")
    assert "offset" in logs.board.status.problems[0]
    assert len(caplog.messages) == 1


def past(logs: Logs) -> list[str]:
    """The problems that are over."""
    return [problem.problem for problem in logs.board.status.past_problems]


def test_a_problem_has_a_beginning_and_an_end(
    logs: Logs, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    """It is one problem for as long as it holds, and a new one when it comes back."""
    caplog.set_level(logging.INFO)
    before = time.time()
    logs.write("run/1.tfevents", 1)
    disk.refuse(logs.path / "run" / "1.tfevents")
    logs.load()
    first = logs.board.status
    line = f"{logs.path}/run/1.tfevents cannot be read: Permission denied"
    assert first.problems == (line,)
    assert before <= first.problems_since[0] <= time.time()
    logs.load()
    assert logs.board.status.problems_since == first.problems_since

    disk.errors.clear()
    logs.load()
    status = logs.board.status
    assert (status.problems, status.problems_since) == ((), ())
    [over] = status.past_problems
    assert (over.problem, over.since) == (line, first.problems_since[0])
    assert over.since <= over.until <= time.time()
    assert caplog.messages == [line, f"over after {over.until - over.since:.0f} s: {line}"]

    disk.refuse(logs.path / "run" / "1.tfevents")
    logs.write("run/1.tfevents", 2)
    logs.load()
    assert logs.board.status.problems == (line,)
    assert logs.board.status.problems_since[0] >= over.until
    (logs.path / "run" / "1.tfevents").unlink()
    logs.load()
    assert (logs.board.status.problems, past(logs)) == ((), [line, line])


def test_a_missing_log_directory_is_a_past_problem_when_it_is_there(logs: Logs) -> None:
    shutil.rmtree(logs.path)
    logs.load()
    status = logs.board.status
    assert (status.missing, status.problems, past(logs)) == ((str(logs.path),), (), [])
    logs.path.mkdir()
    logs.load()
    assert logs.board.status.missing == ()
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
        [line] = logs.board.status.problems
    assert line.startswith(f"{path}: payload checksum wrong")
    if change == "replaced":
        replace(path, good)
    elif change == "written again":
        replace(path, bytes(bad) + bytes(good))  # its first record comes twice
        logs.load()
        assert logs.board.status.problems == (line,)
        replace(path, good)
    else:
        path.unlink()
    if change == "run deleted":
        other.unlink()
    logs.load()
    assert (logs.board.status.problems, past(logs)) == ((), [line])


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
    [line] = logs.board.status.problems
    assert "length checksum wrong" in line
    with path.open("r+b") as file:
        file.write(good)
    if grows:
        logs.write("run/a.tfevents", 300)
    os.utime(path, (2e9, 2e9))
    logs.load()
    assert logs.steps() == list(range(300 + grows))
    assert (logs.board.status.problems, past(logs)) == ((), [line])


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
        assert logs.board.status.problems == ()
        kinds = [(each.kind, each.num_files) for each in logs.board.status.other_files]
        assert kinds == [("gzip", 1), ("unknown", 1)]
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"{packed} is compressed by gzip, and is not read"
    ]
    text.unlink()
    packed.write_bytes(good.read_bytes())
    logs.load()
    assert (logs.steps(), logs.board.status.other_files) == ([0, 1, 0, 1], ())


def test_a_bug_that_does_not_come_back_is_a_past_problem(
    logs: Logs, broken: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that could not be published is published by the next pass."""
    logs.write("run/a.tfevents", 1)
    broken(RunData, "commit")
    for _ in range(2):
        logs.load()
        assert logs.board.status.problems == ("run run: KeyError: 'a bug'",)
    monkeypatch.undo()
    logs.load()
    assert (logs.steps(), logs.board.status.problems) == ([1], ())
    assert past(logs) == ["run run: KeyError: 'a bug'"]


def test_past_problems_are_bounded(logs: Logs) -> None:
    """The latest hundred are kept."""
    publisher = Publisher(logs.board, Logdir([]))
    for number in range(300):
        publisher.report_index([f"problem {number}"])
        publisher.publish_status([], loading=False)
    assert logs.board.status.problems == ("problem 299",)
    assert past(logs) == [f"problem {number}" for number in range(199, 299)]
