"""The helper process returns what the loader would have read itself."""

from __future__ import annotations

import contextlib
import gc
import os
import shutil
import signal
import socket
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from calls import Watch
from common_fixtures import descriptors
from disk import Disk
from tables import contents

from tbcore.eventfiles import tail
from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.logdir import Logdir, LogdirSpec
from tbcore.store.board import Board
from tbcore.store.helper_process import (
    HelperError,
    HelperProcess,
    RunFiles,
    _receive,
    _send,
)
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.run_reader import RunReader
from tbcore.tuning import Tuning
from tbcore_testing import EventFileWriter

pytestmark = pytest.mark.skipif(
    not hasattr(os, "memfd_create"), reason="this system cannot share memory by a descriptor"
)

NUM_RUNS = 12
STEPS = 1_000
"""Number of steps of long series, which take several kilobytes. Other series are short."""


def write_logs(logdir: Path) -> None:
    """Writes runs with scalars, histograms, a restart and a second file."""
    for number in range(NUM_RUNS):
        name = f"run{number:02}"
        with EventFileWriter(logdir / name / "events.tfevents.1", wall_time=number) as writer:
            for step in range(STEPS if number % 3 == 0 else 5):
                writer.add_scalar("loss", 1 / (step + 1), step, wall_time=number + step)
            writer.add_scalar("odd", float("nan") if number % 2 else 1e300, 1)
            for step in range(5):
                writer.add_histogram("weights", np.arange(9.0) * step, step)
        if number % 4 == 0:
            with EventFileWriter(logdir / name / "events.tfevents.2") as writer:
                writer.add_session_log("START", 3)
                writer.add_scalar("loss", 7, 3)


def corrupt(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


class Logs:
    """A log directory, read with and without a helper process."""

    def __init__(self, path: Path, **tuning: Any) -> None:
        self.path = path
        self.board = Board()
        self.multiplexer = Multiplexer(board=self.board)
        self.tuning = Tuning(**tuning)
        self.loader = self.new_loader(self.board)

    def tune(self, **fields: Any) -> None:
        """Replaces the loader by one with these fields of its tuning changed."""
        self.tuning = replace(self.tuning, **fields)
        self.loader = self.new_loader(self.board)

    def new_loader(self, board: Board) -> Loader:
        return Loader(board, [LogdirSpec(None, str(self.path))], tuning=self.tuning)

    def views(self, loader: Loader) -> dict[str, dict[str, Any]]:
        found = {name: contents(run.reader.data.commit()) for name, run in loader.runs.items()}
        assert found
        return found

    def load_with_helper(self) -> None:
        self.loader.start_helper()
        self.loader.load_once()

    def expected(self) -> dict[str, dict[str, Any]]:
        """The views of a loader that has no helper process."""
        loader = self.new_loader(Board())
        loader.load_once()
        return self.views(loader)


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    write_logs(tmp_path / "logdir")
    return Logs(tmp_path / "logdir")


class Helper(HelperProcess):
    """A helper whose process and connection a test may end or replace."""

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def connection(self) -> socket.socket:
        return self._connection

    @connection.setter
    def connection(self, connection: socket.socket) -> None:
        self._connection = connection

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended and was waited for."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        return False


class Helpers:
    """The helpers that loaders start, for any amount of data; loaders wait for their results."""

    def __init__(self) -> None:
        self.started: list[Helper] = []
        self.results: list[list[bool]] = []
        """For each batch that the loader received: for each run, whether the helper returned it."""
        self.before_assign: Callable[[Helper], object] = lambda helper: None
        self.after_assign: Callable[[Helper, Sequence[RunFiles]], object] = lambda *_: None
        self.is_ready: Callable[[], bool] = lambda: True
        """Whether the loader may ask for a result."""


@pytest.fixture
def helpers(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> Helpers:
    found = Helpers()

    class Watched(Helper):
        is_supported = staticmethod(lambda: True)

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            found.started.append(self)

        def assign(self, runs: Sequence[RunFiles]) -> None:
            found.before_assign(self)
            super().assign(runs)
            found.after_assign(self, runs)

        def receive_result(self) -> list[Any]:
            readers = super().receive_result()
            found.results.append([reader is not None for reader in readers])
            return readers

        def has_result(self, timeout: float) -> bool:
            # Otherwise the loader would have read all runs before the helper starts.
            return found.is_ready() and super().has_result(20.0)

    monkeypatch.setattr("tbcore.store.loader.HelperProcess", Watched)
    logs.tune(min_bytes_for_helper=0)
    return found


def new_helper() -> Helper:
    decoder = Decoder()
    return Helper(decoder, partial(RunReader, decoder))


@pytest.fixture
def helper() -> Iterator[Helper]:
    helper = new_helper()
    yield helper
    helper.close()


def test_the_helper_reads_what_the_loader_reads(logs: Logs, helpers: Helpers) -> None:
    """Columns, kinds, order of tags, times and files are equal."""
    logs.load_with_helper()
    assert sum(map(len, helpers.results)) > NUM_RUNS / 2
    assert all(map(all, helpers.results))
    assert logs.views(logs.loader) == logs.expected()
    for run in logs.loader.runs.values():
        for table in run.reader.data.commit().tables:
            assert table.wall_time.flags.aligned


def test_runs_that_the_helper_read_can_grow(logs: Logs, helpers: Helpers) -> None:
    """Rows are appended to those in shared memory, and no row is read twice."""
    logs.load_with_helper()
    for run in logs.path.iterdir():
        path = max(run.iterdir())  # In an earlier file, the rows would come after its START.
        with EventFileWriter(path) as writer:
            for step in range(STEPS, STEPS + 100):
                writer.add_scalar("loss", step, step)
    logs.loader.load_once()
    assert sum(map(len, helpers.results))
    assert logs.views(logs.loader) == logs.expected()


def test_a_damaged_run_is_left_to_the_loader(
    logs: Logs, helpers: Helpers, caplog: pytest.LogCaptureFixture
) -> None:
    """The loader reads it again, and logs what is wrong once."""
    for path in logs.path.glob("*/events.tfevents.1"):
        corrupt(path, 200)
    logs.load_with_helper()
    assert helpers.results
    assert not any(map(any, helpers.results))
    lines = [r.getMessage() for r in caplog.records]
    assert sum("checksum wrong in the record at offset" in line for line in lines) == NUM_RUNS
    assert logs.views(logs.loader) == logs.expected()


def test_when_the_helper_dies_the_loader_reads_the_remaining_runs(
    logs: Logs, helpers: Helpers
) -> None:
    """A system that is short of memory may kill the helper at any time."""
    helpers.after_assign = lambda helper, runs: helper.kill()
    logs.load_with_helper()
    assert len(helpers.started) == 1, "a second helper was started"
    assert helpers.started[0].has_ended
    assert logs.views(logs.loader) == logs.expected()


def test_a_helper_that_dies_before_the_first_batch_loses_no_run(
    logs: Logs, helpers: Helpers
) -> None:
    """The helper may die during the first scan, before the loader has sent any run."""

    def end(helper: Helper) -> None:
        helper.kill()
        os.waitpid(helper.pid, 0)
        helper.connection.close()

    helpers.before_assign = end
    logs.load_with_helper()
    assert helpers.started
    assert not helpers.results
    assert logs.views(logs.loader) == logs.expected()


def test_runs_are_in_the_order_of_their_first_events(
    logs: Logs, helpers: Helpers, calls_of: Watch
) -> None:
    """The helper starts to read before that order is known."""
    logs.tune(publish_interval_seconds=0)
    calls = calls_of(HelperProcess.assign, tail.read_first_event_time)
    for number in range(NUM_RUNS):
        path = logs.path / f"run{number:02}" / "events.tfevents.1"
        path.unlink()
        with EventFileWriter(path, wall_time=100 - number) as writer:
            writer.add_scalar("loss", number, 1, wall_time=200)
    logs.load_with_helper()
    assert sum(map(len, helpers.results))
    assert logs.multiplexer.runs() == sorted(os.listdir(logs.path), reverse=True)
    names = [call.name for call in calls]
    assert names[0] == "assign"
    assert "read_first_event_time" in names


def test_a_published_first_event_time_stays(logs: Logs, helpers: Helpers) -> None:
    """The helper may have read the file before it had an event."""
    assigned: list[Path] = []

    def write(helper: Helper, runs: Sequence[RunFiles]) -> None:
        helpers.after_assign = lambda *_: None
        assert helper.has_result(60)
        assigned.extend(Path(files[0].path) for files in runs)
        for path in assigned:
            EventFileWriter(path, wall_time=7).close()

    for run in logs.path.iterdir():
        shutil.rmtree(run)
        run.mkdir()
        (run / "1.tfevents").touch()
    helpers.after_assign = write
    logs.load_with_helper()
    assert assigned
    assert {logs.multiplexer.first_event_time(path.parent.name) for path in assigned} == {7.0}


def test_the_status_is_loading_until_the_helper_is_done(logs: Logs, helpers: Helpers) -> None:
    """The loader itself may have nothing left to read while the helper still reads."""
    logs.tune(publish_interval_seconds=0)
    loading: list[bool] = []

    def is_ready() -> bool:
        if logs.loader.queue.waiting:
            return False
        loading.append(logs.board.status.loading)
        return True

    helpers.is_ready = is_ready
    logs.load_with_helper()
    assert loading
    assert all(loading)
    assert not logs.board.status.loading


def test_a_pass_that_fails_ends_the_helper(logs: Logs, helpers: Helpers) -> None:
    """The next pass reads everything, including the runs that the helper had."""

    def fail() -> bool:
        raise RuntimeError("a bug")

    helpers.is_ready = fail
    with pytest.raises(RuntimeError):
        logs.load_with_helper()
    assert helpers.started[0].has_ended
    logs.loader.load_once()
    assert not helpers.results
    assert logs.views(logs.loader) == logs.expected()


@pytest.mark.parametrize("change", ["gone", "replaced", "grown"])
def test_files_may_change_while_the_helper_reads_them(
    logs: Logs,
    tmp_path: Path,
    helpers: Helpers,
    change: str,
) -> None:
    """The next scan finds the change, as it does for runs that the loader read."""

    def replace_first_file(run: Path) -> None:
        # Replaced in one step, so that the helper never finds the first file missing.
        new = tmp_path / f"{run.name}.tfevents"
        with EventFileWriter(new, wall_time=int(run.name[3:])) as writer:
            writer.add_scalar("loss", 99, 0)
        new.replace(run / "events.tfevents.1")

    changes: dict[str, Callable[[Path], object]] = {
        "gone": lambda run: shutil.rmtree(run),
        "replaced": replace_first_file,
        "grown": lambda run: EventFileWriter(max(run.iterdir())).add_scalar("loss", 1, 9999),
    }

    def change_files(helper: Helper, runs: Sequence[RunFiles]) -> None:
        helpers.after_assign = lambda *_: None
        for files in runs:
            changes[change](Path(files[0].path).parent)

    def scan_first() -> bool:
        helpers.is_ready = lambda: True
        logs.loader._scan_logdir()
        queue = logs.loader.queue
        assert not set(queue._assigned_runs()).intersection(queue.waiting), "it would be read twice"
        return True

    helpers.after_assign = change_files
    helpers.is_ready = scan_first
    logs.load_with_helper()
    assert set(logs.multiplexer.runs()) == set(os.listdir(logs.path))
    if change != "grown":
        # The scan during the pass has found it. What the helper has read before does not count.
        assert logs.views(logs.loader) == logs.expected()
        assert logs.board.status.problems == ()
    logs.loader.load_once()
    assert helpers.results
    assert logs.views(logs.loader) == logs.expected()


def test_results_keep_no_descriptor_and_each_array_is_freed_by_itself(
    tmp_path: Path, helper: Helper
) -> None:
    """There may be thousands of batches, and the runs of a batch may be deleted."""

    with EventFileWriter(tmp_path / "a.tfevents") as writer:
        for step in range(5_000):
            writer.add_scalar("loss", step, step)
    runs = list(Logdir([LogdirSpec(None, str(tmp_path))]).scan().runs.values())
    before = descriptors()
    tracemalloc.start()
    kept = []
    for _ in range(5):
        helper.assign(runs)
        kept.append(helper.receive_result()[0])
    one = kept[0]
    assert one is not None
    column = one.data.commit().series("loss")[0].column("value")
    column_bytes = 5_000 * 4  # The other columns of a run take twice as much.
    used = [tracemalloc.get_traced_memory()[0]]
    del kept, one
    gc.collect()
    used.append(tracemalloc.get_traced_memory()[0])
    assert column.tolist() == [*range(5_000)]
    del column
    gc.collect()
    used.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert descriptors() <= before
    assert used[0] > 5 * 3 * column_bytes
    assert 2 * column_bytes > used[1] > column_bytes
    assert column_bytes > used[2]


def test_the_helper_keeps_nothing_of_what_it_returned(tmp_path: Path, helper: Helper) -> None:
    """A helper that kept its results would need as much memory as the server."""
    if not Path("/proc/self/status").exists():
        pytest.skip("this system has no /proc")
    with EventFileWriter(tmp_path / "a.tfevents") as writer:
        for step in range(20_000):
            writer.add_scalar("loss", step, step)
    found = Logdir([LogdirSpec(None, str(tmp_path))]).scan()
    runs = list(found.runs.values())

    def megabytes() -> float:
        status = Path(f"/proc/{helper.pid}/status").read_text()
        [size] = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")]
        return int(size) / 1000

    used = []
    for _ in range(40):
        helper.assign(runs)
        assert helper.receive_result()[0] is not None
        used.append(megabytes())
    assert used[-1] - used[9] < 5, used  # A run has 0.4 MB.


def test_closing_ends_the_process_at_once(logs: Logs, helper: Helper) -> None:
    """Batches that it has not read are dropped."""
    runs = list(Logdir([LogdirSpec(None, str(logs.path))]).scan().runs.values())
    for _ in range(3):
        helper.assign(runs)
    helper.close()
    assert helper.has_ended


def test_the_process_ends_with_its_parent(helper: Helper) -> None:
    """A parent that is killed sends no message: only its end of the connection is closed."""
    helper.connection.close()
    assert os.waitpid(helper.pid, 0) == (helper.pid, 0)


def test_a_dead_helper_raises_an_error(helper: Helper) -> None:
    """The loader does not wait for a result that never comes."""
    helper.kill()
    assert helper.has_result(60)
    with pytest.raises(HelperError):
        helper.receive_result()


@pytest.mark.parametrize("fault", ["module", "name"])
def test_a_message_that_cannot_be_unpickled_raises_an_error(
    helper: Helper, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The loader then reads the runs itself."""
    module = ModuleType("some_module")
    module.__dict__["Gone"] = type("Gone", (), {"__module__": "some_module"})
    monkeypatch.setitem(sys.modules, "some_module", module)
    helper.connection.close()
    helper.connection, sender = socket.socketpair()
    with sender:
        _send(sender, module.Gone())
        if fault == "module":
            monkeypatch.delitem(sys.modules, "some_module")
        else:
            del module.Gone
        with pytest.raises(HelperError):
            helper.receive_result()


def test_messages_have_arrays_of_any_size_and_no_decoder() -> None:
    """Small and large arrays are transferred in different ways."""
    sent = [np.arange(size, dtype=np.uint8) for size in (*range(7), 1 << 16, 1 << 23)]
    decoder, other = Decoder(), Decoder()
    here, there = socket.socketpair()
    with here, there:
        _send(here, [sent, decoder])
        received, received_decoder = _receive(there, other)
        assert received_decoder is other, "each process uses its own"
        here.close()
        assert _receive(there, other) is None
    assert all(map(np.array_equal, received, sent))


def test_results_arrive_in_a_process_with_many_open_files(helper: Helper) -> None:
    """The connection may have a descriptor above 1024."""
    import fcntl
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, limits[1]))
    try:
        high = fcntl.fcntl(helper.connection, fcntl.F_DUPFD_CLOEXEC, 1500)
        helper.connection.close()
        helper.connection = socket.socket(fileno=high)
        helper.assign([])
        assert helper.has_result(60)
        assert helper.receive_result() == []
    finally:
        helper.connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_the_helper_keeps_no_file_of_its_parent_open(tmp_path: Path) -> None:
    """A port would stay in use after the parent ended, and its output would not be closed."""
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system has no /proc")
    with socket.create_server(("127.0.0.1", 0)), (tmp_path / "file").open("w"):
        helper = new_helper()
        try:
            helper.assign([])
            assert helper.receive_result() == []
            found = open_files(helper)
        finally:
            helper.close()
    assert sum(name.startswith("socket:") for name in found) == 1, "the one to the parent"
    expected = (os.devnull, "/memfd:")  # A memory file is open while a message is sent.
    assert not [name for name in found if name.startswith("/") and not name.startswith(expected)]


def open_files(helper: Helper) -> list[str]:
    """The targets of the helper's file descriptors; one may be closed while they are listed."""
    found = []
    for path in Path(f"/proc/{helper.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(path))
    return found


@pytest.mark.parametrize("is_large", [False, True])
def test_little_data_is_read_without_the_helper(
    logs: Logs, helpers: Helpers, is_large: bool
) -> None:
    """Sending runs to a process takes longer than reading a few files."""
    num_bytes = sum(path.stat().st_size for path in logs.path.glob("*/*"))
    logs.tune(min_bytes_for_helper=num_bytes // 2 if is_large else 1 << 24)
    logs.load_with_helper()
    assert bool(helpers.results) == is_large
    assert helpers.started[0].has_ended
    assert logs.views(logs.loader) == logs.expected()


def test_storage_that_does_not_respond_does_not_delay_the_server(
    logs: Logs, helpers: Helpers, calls_of: Watch
) -> None:
    """The helper is started without a scan; the loader's thread waits for the storage."""
    scans = calls_of(Logdir.scan)
    logs.loader.start_helper()
    assert not scans, "the server waits for a scan"
    [helper] = helpers.started
    assert not helper.has_ended
    helper.close()


def test_a_helper_without_work_is_ended(tmp_path: Path, helpers: Helpers, disk: Disk) -> None:
    """The loader reads a single run itself, so that it can publish it while it reads."""
    write_logs(tmp_path)
    logs = Logs(tmp_path / "run00", min_bytes_for_helper=0)
    is_there: list[bool] = []
    disk.before_open = lambda path: is_there.append(not helpers.started[0].has_ended)
    logs.load_with_helper()
    assert is_there
    assert not any(is_there)
    assert not helpers.results
