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
from common_fixtures import descriptors
from tables import contents

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.logdir import Logdir, LogdirSpec, scan
from tbcore.store import work_queue
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
from tbcore.store.work_queue import WorkQueue
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
        self.multiplexer = Multiplexer()
        self.tuning = Tuning(**tuning)
        self.loader = self.new_loader(self.multiplexer)

    def tune(self, **fields: Any) -> None:
        """Replaces the loader by one with these fields of its tuning changed."""
        self.tuning = replace(self.tuning, **fields)
        self.loader = self.new_loader(self.multiplexer)

    def new_loader(self, multiplexer: Multiplexer) -> Loader:
        return Loader(multiplexer, [LogdirSpec(None, str(self.path))], tuning=self.tuning)

    def views(self, loader: Loader) -> dict[str, dict[str, Any]]:
        found = {name: contents(run.reader.data.commit()) for name, run in loader._runs.items()}
        assert found
        return found

    def load_with_helper(self) -> None:
        self.loader.start_helper()
        assert self.loader._queue.helper is not None
        self.loader.load_once()

    def expected(self) -> dict[str, dict[str, Any]]:
        """The views of a loader that has no helper process."""
        loader = self.new_loader(Multiplexer())
        loader.load_once()
        return self.views(loader)


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    write_logs(tmp_path / "logdir")
    return Logs(tmp_path / "logdir")


@pytest.fixture
def results(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> list[list[bool]]:
    """Makes loaders start a helper for any amount of data, and wait for it.

    The fixture's value has one list for each batch that the loader received: for each run, whether
    the helper returned it.
    """
    logs.tune(min_bytes_for_helper=0)
    monkeypatch.setattr(HelperProcess, "is_supported", lambda: True)
    found: list[list[bool]] = []

    def receive_result(self: HelperProcess) -> list[Any]:
        readers = real_receive_result(self)
        found.append([reader is not None for reader in readers])
        return readers

    def has_result(self: HelperProcess, timeout: float) -> bool:
        # Otherwise the loader would have read all runs before the helper starts.
        return real_has_result(self, 20.0)

    real_receive_result = HelperProcess.receive_result
    real_has_result = HelperProcess.has_result
    monkeypatch.setattr(HelperProcess, "receive_result", receive_result)
    monkeypatch.setattr(HelperProcess, "has_result", has_result)
    return found


def new_helper() -> HelperProcess:
    decoder = Decoder()
    return HelperProcess(decoder, partial(RunReader, decoder))


@pytest.fixture
def helper() -> Iterator[HelperProcess]:
    helper = new_helper()
    yield helper
    helper.close()


def test_the_helper_reads_what_the_loader_reads(logs: Logs, results: list[list[bool]]) -> None:
    """Columns, kinds, order of tags, times and files are equal."""
    logs.load_with_helper()
    assert sum(map(len, results)) > NUM_RUNS / 2
    assert all(map(all, results))
    assert logs.views(logs.loader) == logs.expected()
    for run in logs.loader._runs.values():
        for table in run.reader.data.commit().tables:
            assert table.wall_time.flags.aligned


def test_runs_that_the_helper_read_can_grow(logs: Logs, results: list[list[bool]]) -> None:
    """Rows are appended to those in shared memory, and no row is read twice."""
    logs.load_with_helper()
    for run in logs.path.iterdir():
        path = max(run.iterdir())  # In an earlier file, the rows would come after its START.
        with EventFileWriter(path) as writer:
            for step in range(STEPS, STEPS + 100):
                writer.add_scalar("loss", step, step)
    logs.loader.load_once()
    assert sum(map(len, results))
    assert logs.views(logs.loader) == logs.expected()


def test_a_damaged_run_is_left_to_the_loader(
    logs: Logs, results: list[list[bool]], caplog: pytest.LogCaptureFixture
) -> None:
    """The loader reads it again, and logs what is wrong once."""
    for path in logs.path.glob("*/events.tfevents.1"):
        corrupt(path, 200)
    logs.load_with_helper()
    assert results
    assert not any(map(any, results))
    lines = [r.getMessage() for r in caplog.records]
    assert sum("checksum wrong in the record at offset" in line for line in lines) == NUM_RUNS
    assert logs.views(logs.loader) == logs.expected()


def test_when_the_helper_dies_the_loader_reads_the_remaining_runs(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that is short of memory may kill the helper at any time."""
    started: list[HelperProcess] = []

    def assign(self: HelperProcess, runs: Sequence[RunFiles]) -> None:
        real(self, runs)
        started.append(self)
        os.kill(self._pid, signal.SIGKILL)

    real = HelperProcess.assign
    monkeypatch.setattr(HelperProcess, "assign", assign)
    logs.load_with_helper()
    assert len({id(helper) for helper in started}) == 1, "a second helper was started"
    assert has_ended(started[0])
    assert logs.views(logs.loader) == logs.expected()


def test_a_helper_that_dies_before_the_first_batch_loses_no_run(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The helper may die during the first scan, before the loader has sent any run."""

    def assign(self: HelperProcess, runs: Sequence[RunFiles]) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        self._connection.close()
        real(self, runs)

    real = HelperProcess.assign
    monkeypatch.setattr(HelperProcess, "assign", assign)
    logs.load_with_helper()
    assert not results
    assert logs.views(logs.loader) == logs.expected()


def test_runs_are_in_the_order_of_their_first_events(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The helper starts to read before that order is known."""
    logs.tune(publish_interval_seconds=0)
    calls: list[str] = []

    def assign(self: HelperProcess, runs: Sequence[RunFiles]) -> None:
        calls.append("assign")
        real_assign(self, runs)

    def read_first_event_time(path: str, **options: Any) -> float | None:
        calls.append("read first event")
        return real_read(path, **options)

    real_assign, real_read = HelperProcess.assign, work_queue.read_first_event_time
    monkeypatch.setattr(HelperProcess, "assign", assign)
    monkeypatch.setattr(work_queue, "read_first_event_time", read_first_event_time)
    for number in range(NUM_RUNS):
        path = logs.path / f"run{number:02}" / "events.tfevents.1"
        path.unlink()
        with EventFileWriter(path, wall_time=100 - number) as writer:
            writer.add_scalar("loss", number, 1, wall_time=200)
    logs.load_with_helper()
    assert sum(map(len, results))
    assert logs.multiplexer.runs() == sorted(os.listdir(logs.path), reverse=True)
    assert calls[0] == "assign"
    assert "read first event" in calls


def test_a_published_first_event_time_stays(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The helper may have read the file before it had an event."""
    assigned: list[Path] = []

    def assign(self: HelperProcess, runs: Sequence[RunFiles]) -> None:
        monkeypatch.setattr(HelperProcess, "assign", real)
        real(self, runs)
        assert self.has_result(60)
        assigned.extend(Path(files[0].path) for files in runs)
        for path in assigned:
            EventFileWriter(path, wall_time=7).close()

    for run in logs.path.iterdir():
        shutil.rmtree(run)
        run.mkdir()
        (run / "1.tfevents").touch()
    real = HelperProcess.assign
    monkeypatch.setattr(HelperProcess, "assign", assign)
    logs.load_with_helper()
    assert assigned
    assert {logs.multiplexer.first_event_time(path.parent.name) for path in assigned} == {7.0}


def test_the_status_is_loading_until_the_helper_is_done(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader itself may have nothing left to read while the helper still reads."""
    logs.tune(publish_interval_seconds=0)
    loading: list[bool] = []

    def has_result(self: HelperProcess, timeout: float) -> bool:
        if logs.loader._queue.waiting:
            return False
        loading.append(logs.multiplexer._status.loading)
        return waits(self, timeout)

    waits = HelperProcess.has_result
    monkeypatch.setattr(HelperProcess, "has_result", has_result)
    logs.load_with_helper()
    assert loading
    assert all(loading)
    assert not logs.multiplexer._status.loading


def test_a_pass_that_fails_ends_the_helper(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next pass reads everything, including the runs that the helper had."""

    def collect_results(self: WorkQueue, *_: object) -> None:
        if self._assigned_runs():
            raise RuntimeError("a bug")

    with monkeypatch.context() as broken:
        broken.setattr(WorkQueue, "_collect_results", collect_results)
        logs.loader.start_helper()
        helper = logs.loader._queue.helper
        assert helper is not None
        with pytest.raises(RuntimeError):
            logs.loader.load_once()
    assert has_ended(helper)
    logs.loader.load_once()
    assert not results
    assert logs.views(logs.loader) == logs.expected()


@pytest.mark.parametrize("change", ["gone", "replaced", "grown"])
def test_files_may_change_while_the_helper_reads_them(
    logs: Logs,
    tmp_path: Path,
    results: list[list[bool]],
    monkeypatch: pytest.MonkeyPatch,
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

    def assign(self: HelperProcess, runs: Sequence[RunFiles]) -> None:
        real(self, runs)
        monkeypatch.setattr(HelperProcess, "assign", real)
        for files in runs:
            changes[change](Path(files[0].path).parent)

    def collect_results(self: WorkQueue, *arguments: Any) -> None:
        if self._assigned_runs():
            monkeypatch.setattr(WorkQueue, "_collect_results", real_collect_results)
            logs.loader._scan_logdir()
            assigned = set(self._assigned_runs())
            assert not assigned.intersection(self.waiting), "a run would be read twice"
        real_collect_results(self, *arguments)

    real, real_collect_results = HelperProcess.assign, WorkQueue._collect_results
    monkeypatch.setattr(HelperProcess, "assign", assign)
    monkeypatch.setattr(WorkQueue, "_collect_results", collect_results)
    logs.load_with_helper()
    assert set(logs.multiplexer.runs()) == set(os.listdir(logs.path))
    logs.loader.load_once()
    assert results
    assert logs.views(logs.loader) == logs.expected()


def test_results_keep_no_descriptor_and_each_array_is_freed_by_itself(
    tmp_path: Path, helper: HelperProcess
) -> None:
    """There may be thousands of batches, and the runs of a batch may be deleted."""

    with EventFileWriter(tmp_path / "a.tfevents") as writer:
        for step in range(5_000):
            writer.add_scalar("loss", step, step)
    runs = list(scan([LogdirSpec(None, str(tmp_path))]).runs.values())
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


def test_the_helper_keeps_nothing_of_what_it_returned(
    tmp_path: Path, helper: HelperProcess
) -> None:
    """A helper that kept its results would need as much memory as the server."""
    if not Path("/proc/self/status").exists():
        pytest.skip("this system has no /proc")
    with EventFileWriter(tmp_path / "a.tfevents") as writer:
        for step in range(20_000):
            writer.add_scalar("loss", step, step)
    found = scan([LogdirSpec(None, str(tmp_path))])
    runs = list(found.runs.values())

    def megabytes() -> float:
        status = Path(f"/proc/{helper._pid}/status").read_text()
        [size] = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")]
        return int(size) / 1000

    used = []
    for _ in range(40):
        helper.assign(runs)
        assert helper.receive_result()[0] is not None
        used.append(megabytes())
    assert used[-1] - used[9] < 5, used  # A run has 0.4 MB.


def test_closing_ends_the_process_at_once(logs: Logs, helper: HelperProcess) -> None:
    """Batches that it has not read are dropped."""
    runs = list(scan([LogdirSpec(None, str(logs.path))]).runs.values())
    for _ in range(3):
        helper.assign(runs)
    helper.close()
    assert has_ended(helper)


def test_the_process_ends_with_its_parent(helper: HelperProcess) -> None:
    """A parent that is killed sends no message: only its end of the connection is closed."""
    helper._connection.close()
    assert os.waitpid(helper._pid, 0) == (helper._pid, 0)


def test_a_dead_helper_raises_an_error(helper: HelperProcess) -> None:
    """The loader does not wait for a result that never comes."""
    os.kill(helper._pid, signal.SIGKILL)
    assert helper.has_result(60)
    with pytest.raises(HelperError):
        helper.receive_result()


@pytest.mark.parametrize("fault", ["module", "name"])
def test_a_message_that_cannot_be_unpickled_raises_an_error(
    helper: HelperProcess, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """The loader then reads the runs itself."""
    module = ModuleType("some_module")
    module.__dict__["Gone"] = type("Gone", (), {"__module__": "some_module"})
    monkeypatch.setitem(sys.modules, "some_module", module)
    helper._connection.close()
    helper._connection, sender = socket.socketpair()
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


def test_results_arrive_in_a_process_with_many_open_files(helper: HelperProcess) -> None:
    """The connection may have a descriptor above 1024."""
    import fcntl
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, limits[1]))
    try:
        high = fcntl.fcntl(helper._connection, fcntl.F_DUPFD_CLOEXEC, 1500)
        helper._connection.close()
        helper._connection = socket.socket(fileno=high)
        helper.assign([])
        assert helper.has_result(60)
        assert helper.receive_result() == []
    finally:
        helper._connection.close()
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


def open_files(helper: HelperProcess) -> list[str]:
    """The targets of the helper's file descriptors; one may be closed while they are listed."""
    found = []
    for path in Path(f"/proc/{helper._pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(path))
    return found


@pytest.mark.parametrize("is_large", [False, True])
def test_little_data_is_read_without_the_helper(
    logs: Logs, results: list[list[bool]], is_large: bool
) -> None:
    """Sending runs to a process takes longer than reading a few files."""
    num_bytes = sum(path.stat().st_size for path in logs.path.glob("*/*"))
    logs.tune(min_bytes_for_helper=num_bytes // 2 if is_large else 1 << 24)
    logs.load_with_helper()
    assert bool(results) == is_large
    assert logs.loader._queue.helper is None
    assert logs.views(logs.loader) == logs.expected()


def test_storage_that_does_not_respond_does_not_delay_the_server(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The helper is started without a scan; the loader's thread waits for the storage."""
    monkeypatch.setattr(HelperProcess, "is_supported", lambda: True)
    monkeypatch.setattr(Logdir, "scan", lambda _: pytest.fail("the server waits for a scan"))
    logs.loader.start_helper()
    helper = logs.loader._queue.helper
    assert helper is not None
    logs.loader._queue.stop_helper()
    assert has_ended(helper)


def test_a_helper_without_work_is_ended(
    tmp_path: Path, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader reads a single run itself, so that it can publish it while it reads."""
    write_logs(tmp_path)
    logs = Logs(tmp_path / "run00", min_bytes_for_helper=0)
    helpers: list[HelperProcess | None] = []

    def read_slice(self: Loader, run: Any) -> None:
        helpers.append(self._queue.helper)
        real(self, run)

    real = Loader._read_slice
    monkeypatch.setattr(Loader, "_read_slice", read_slice)
    logs.load_with_helper()
    assert helpers
    assert not any(helpers)
    assert not results


def has_ended(helper: HelperProcess) -> bool:
    """Whether the process has ended and was waited for."""
    try:
        os.kill(helper._pid, 0)
    except ProcessLookupError:
        return True
    return False
