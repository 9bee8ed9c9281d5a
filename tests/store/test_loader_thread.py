"""The loader's thread: its passes, and the pauses between them."""

from __future__ import annotations

import logging
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from common_fixtures import AT_ONCE_SECONDS, WAIT_SECONDS, descriptors, until
from disk import Clock, Disk
from loaded_logs import SCALARS, Logs, replace

from tbcore import Claim
from tbcore.eventfiles import local_disk, logdir
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store import loader as loader_module
from tbcore.store import watch as watch_module
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.publisher import Publisher
from tbcore_testing import write_run

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
    assert time.monotonic() - before < AT_ONCE_SECONDS
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


def test_files_that_plugins_claim_during_the_only_pass_are_found(logs: Logs) -> None:
    """With an interval of 0, files may be changed once the pass has ended: none is read again."""
    logs.write("run/a.tfevents", 1)
    logs.write("run/trace.bin", 1)
    passes: list[tuple[int, bool]] = []
    has_claimed = threading.Event()

    def before_slice() -> None:
        logs.board.claim_files([Claim(files="trace.bin")])
        passes.append((logs.board.status.passes, logs.board.status.loading))
        has_claimed.set()

    logs.loader = logs.new_loader(reload_interval=0, before_slice=before_slice)
    logs.loader.start(publish_early=False)
    assert has_claimed.wait(WAIT_SECONDS)
    logs.loader.publish(WAIT_SECONDS)
    logs.wait_until(lambda: logs.board.status.passes == 1)
    logs.write("run/a.tfevents", 2)
    logs.join()
    assert set(passes) == {(0, True)}
    assert logs.steps() == [1]
    assert logs.multiplexer.files("run", "trace.bin")
    assert (logs.board.status.passes, logs.board.status.loading) == (1, False)


@pytest.mark.parametrize("interval", [0, 0.01])
def test_files_of_a_plugin_that_takes_long_are_found_when_it_has_started(
    logs: Logs, caplog: pytest.LogCaptureFixture, interval: float
) -> None:
    """Nothing says before that they are not shown. With an interval of 0, nothing is read again."""
    caplog.set_level(logging.INFO)
    logs.write("run/a.tfevents", 1)
    logs.write("run/projector_config.pbtxt", 1)
    logs.loader = logs.new_loader(reload_interval=interval)
    logs.board.claim_files([Claim(files="quick.bin")])
    logs.board.awaits_plugins = True
    logs.loader.start()
    logs.wait_until(lambda: logs.board.status.passes > (2 if interval else 0))
    if not interval:
        assert not logs.board.status.loading
        logs.write("run/a.tfevents", 2)
    logs.board.claim_files([Claim(files="projector_config.pbtxt")])
    logs.board.awaits_plugins = False
    logs.wait_until(lambda: bool(logs.multiplexer.files("run", "projector_config.pbtxt")))
    if interval:
        passes = logs.board.status.passes
        logs.wait_until(lambda: logs.board.status.passes > passes + 1)
        logs.end()
    logs.join()
    assert interval or (logs.board.status.passes, logs.steps()) == (1, [1])
    assert [line for line in caplog.messages if line.startswith("not shown:")] == []


@pytest.mark.parametrize("interval", [0, 0.01])
@pytest.mark.parametrize("claims", [[], [Claim(files="projector_config.pbtxt")]], ids=len)
def test_files_that_are_not_shown_are_logged_when_plugins_have_claimed_theirs(
    logs: Logs, caplog: pytest.LogCaptureFixture, interval: float, claims: list[Claim]
) -> None:
    """The first scan begins before plugins are imported, and its pass may have ended by then."""
    caplog.set_level(logging.INFO)
    logs.write("run/a.tfevents", 1)
    logs.write("run/projector_config.pbtxt", 1)
    logs.loader = logs.new_loader(reload_interval=interval)
    logs.loader.start(publish_early=False)
    logs.loader.wait_until_started(WAIT_SECONDS)
    logs.wait_until(lambda: logs.board.status.passes > 1 or not interval)
    logs.board.claim_files(claims)
    logs.loader.publish(WAIT_SECONDS)
    passes = logs.board.status.passes
    logs.wait_until(lambda: logs.board.status.passes > (passes + 2 if interval else 0))
    logs.end()
    found = [line for line in caplog.messages if line.startswith("not shown:")]
    assert len(found) == (0 if claims else 1), found


def test_an_interval_of_0_loads_once(logs: Logs) -> None:
    """The thread makes one pass, and ends."""
    logs.loader = logs.new_loader(reload_interval=0)
    logs.write("run/a.tfevents", 1)
    logs.loader.start()
    logs.wait_until(lambda: logs.board.status.passes == 1)
    logs.join()
    assert logs.steps() == [1]


def test_waking_ends_a_pause(logs: Logs) -> None:
    """The pause would take an hour. Stopping ends it, too."""
    logs.tune(min_pause_seconds=0.01)
    logs.loader = logs.new_loader(reload_interval=3600)
    logs.loader.start()
    logs.wait_until(lambda: logs.board.status.passes == 1)
    logs.write("run/a.tfevents", 1)
    logs.loader.pauses.wake.set()
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
    logs.wait_until(lambda: logs.board.status.passes >= 3)
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
    while passes != logs.board.status.passes:
        assert time.monotonic() < deadline, "the loader wakes itself"
        passes = logs.board.status.passes
        time.sleep(0.7)
    logs.loader.stop()


def test_a_logdir_that_is_created_later_is_watched(tmp_path: Path) -> None:
    """Servers are often started before the first training job."""
    logs = Logs(tmp_path / "later", min_pause_seconds=0.01)
    logs.loader = logs.new_loader(reload_interval=0.02)
    logs.loader.start()
    logs.loader.watch()
    logs.wait_until(lambda: logs.board.status.passes > 3)
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


def test_a_name_that_is_no_text_ends_no_watching(tmp_path: Path) -> None:
    """Changes of such a file are seen, and those of others after it."""
    wake, stopping = threading.Event(), threading.Event()
    watching = watch_module.watch([str(tmp_path)], wake, stopping)
    for name in (b"\xff", b"a", b"\xfe", b"b"):

        def is_seen(path: bytes = os.path.join(os.fsencode(tmp_path), name)) -> bool:
            with open(path, "ab") as file:
                file.write(b"x")
            return wake.wait(0.05)

        until(is_seen)
        wake.clear()
    stopping.set()
    assert watching is not None
    watching.join(WAIT_SECONDS)
    assert not watching.is_alive()


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
    logs.board.subscribe(lambda: logs.loader.stop() if logs.steps() else None)
    logs.load()
    assert 0 < len(logs.steps()) < 2000
    assert logs.board.status.passes == 0


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

    logs.board.subscribe(create_run)
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
    logs: Logs, small_slices: None, clock: Clock
) -> None:
    """The run may have been read since the last commit."""
    logs.write("deleted/a.tfevents", *range(200))
    logs.write("kept/a.tfevents", *range(200))

    def delete() -> None:
        shutil.rmtree(logs.path / "deleted", ignore_errors=True)
        clock.advance(1)  # Each time slice is followed by a scan.

    logs.loader = logs.new_loader(reload_interval=1e-9, after_slice=delete)
    clock.rules(loader_module)
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
    return [loader.pauses.next(is_quiet=True) for _ in range(num)]


def test_pauses_double_while_nothing_is_new_and_nothing_is_requested(logs: Logs) -> None:
    """Up to five minutes, unless the system reports all changes. New data resets them."""
    loader, board = logs.loader, logs.board
    assert pauses(loader) == [10, 20, 40, 80, 160, 300, 300, 300, 300]
    assert board.is_idle
    assert loader.pauses.next(is_quiet=False) == 5
    assert not board.is_idle
    assert pauses(loader, 2) == [10, 20]
    board.num_viewers = 1
    assert pauses(loader, 2) == [5, 5]
    board.num_viewers = 0
    assert pauses(loader, 2) == [10, 20]
    board.note_request()
    assert pauses(loader, 2) == [5, 5]


@pytest.mark.parametrize("interval", [2.0, 1000.0])
def test_a_given_interval_is_the_shortest_pause(logs: Logs, interval: float) -> None:
    """It is used while data is requested, and grows to the same limit when idle."""
    loader = logs.new_loader(reload_interval=interval)
    assert pauses(loader, 10)[-1] == max(interval, 300)
    logs.board.note_request()
    assert loader.pauses.next(is_quiet=True) == interval


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
        logs.board, [LogdirSpec(None, str(link))], reload_interval=0.01, tuning=logs.tuning
    )
    loader.start()
    loader.watch()
    logs.wait_until(lambda: loader.pauses.watcher is not None)
    assert loader.pauses.longest() == (600 if kind == "ext4" else 300)
    (logs.path / "elsewhere").symlink_to(mounts)
    logs.wait_until(lambda: loader.pauses.longest() == 300)  # No change behind a link is reported.
    assert not watch_module.reports_all_changes(str(tmp_path / "missing"))
    mounts.write_text(f"a / ext4 rw 0 0\nb {logs.path}/shared nfs rw 0 0\n")
    assert not watch_module.reports_all_changes(str(link)), "another machine may write below it"
    mounts.write_text(f"a / ext4 rw 0 0\nb {logs.path}2 nfs rw 0 0\n")
    assert watch_module.reports_all_changes(str(link))
    logs.end()
    assert loader.pauses.longest() == 300, "nothing is watched any more"


@pytest.mark.parametrize(("path", "longest"), [("/indexes/a", 300), ("s3://bucket/a", 600)])
def test_an_index_is_refreshed_after_the_same_pauses(path: str, longest: float) -> None:
    """Up to ten minutes, as for remote logs, if it is in an object store."""
    if "://" in path:
        pytest.importorskip("tbcore_remote")
    index = SimpleNamespace(path=path, stored_runs=lambda board, is_paced: None)
    loader = Loader(Board(), [], index=index)  # type: ignore[arg-type]
    assert pauses(loader)[-1] == longest


def test_a_request_wakes_an_idle_loader_at_once(logs: Logs) -> None:
    """The first request does not wait for the pause. A loader that is not idle is not woken."""
    logs.tune(max_pause_seconds=1e6)
    logs.loader = logs.new_loader(reload_interval=1000)
    logs.write("run/a.tfevents", 1)
    logs.loader.start()
    logs.wait_until(lambda: logs.steps() == [1])
    logs.board.note_request()
    logs.loader.scan_soon()
    logs.wait_until(lambda: logs.board.status.passes == 2)
    logs.board.last_request_at = -math.inf
    logs.loader.scan_soon()
    logs.wait_until(lambda: logs.board.status.passes == 3)
    until(lambda: logs.board.is_idle)
    logs.write("run/a.tfevents", 2)
    logs.board.note_request()
    logs.wait_until(lambda: logs.steps() == [1, 2])
    assert not logs.board.is_idle
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
        logs.board.is_idle = is_idle
        logs.load()
        assert len(disk.listed) == num
    logs.board.is_idle = True
    logs.write("new/a.tfevents", 2)
    logs.load()
    assert logs.steps("new") == [2]
