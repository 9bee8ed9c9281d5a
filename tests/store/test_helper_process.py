"""The second process that reads runs: what it gives is what the loader would have read."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbcore.eventfiles.decoder import Decoder
from tbcore.eventfiles.logdir import Logdir, LogdirSpec, scan
from tbcore.store import loader as loader_module
from tbcore.store.helper_process import HelperError, HelperProcess, RunFiles
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.series import Series
from tbcore.store.view import RunView
from tbcore.testing import EventFileWriter

pytestmark = pytest.mark.skipif(
    not hasattr(os, "memfd_create"), reason="this system has no memory to pass between processes"
)

NUM_RUNS = 12
STEPS = 1_000
"""Enough for arrays that are shared, beside those that are not."""


def write_logs(logdir: Path) -> None:
    """Runs with numbers, with what stays in the files, with a restart, with two files."""
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


def spoil(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


def contents(view: RunView) -> dict[str, Any]:
    """All that a view says, in a form that can be compared."""

    def series(one: Series) -> tuple[Any, ...]:
        columns = [one.column(n).tobytes() for n in range(len(one.layout.columns))]
        ordinals = one.ordinals_between(0, one.length).tolist()
        dtypes = [dtype for dtype, _, _ in one.layout.columns]
        return one.kind, dtypes, one.num_nonfinite, ordinals, columns

    tags = {
        tag: (tag_view.metadata, tag_view.num_rows, [series(s) for s in tag_view.series])
        for tag, tag_view in view.tags.items()
    }
    return {
        "order": list(view.tags),
        "tags": tags,
        "files": view.files,
        "times": (view.first_event_time, view.last_event_time),
        "nonfinite": view.nonfinite_tags,
    }


class Logs:
    """A log directory, read with an helper and without."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.multiplexer = Multiplexer()
        self.loader = self.new_loader(self.multiplexer)

    def new_loader(self, multiplexer: Multiplexer) -> Loader:
        return Loader(multiplexer, [LogdirSpec(None, str(self.path))])

    def views(self, loader: Loader) -> dict[str, dict[str, Any]]:
        found = {name: contents(run.reader.data.commit()) for name, run in loader._runs.items()}
        assert found
        return found

    def load_with_helper(self) -> None:
        self.loader.start_helper()
        assert self.loader._helper is not None
        self.loader.load_once()

    def expected(self) -> dict[str, dict[str, Any]]:
        """What a loader reads that never has an helper."""
        loader = self.new_loader(Multiplexer())
        loader.load_once()
        return self.views(loader)


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    write_logs(tmp_path / "logdir")
    return Logs(tmp_path / "logdir")


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> list[list[bool]]:
    """Has loaders have help with little; which of the runs the helper read, by batch."""
    monkeypatch.setattr(loader_module, "_WORTH_BYTES", 0)
    monkeypatch.setattr(HelperProcess, "is_supported", lambda: True)
    found: list[list[bool]] = []

    def receive_result(self: HelperProcess) -> list[Any]:
        readers = real(self)
        found.append([reader is not None for reader in readers])
        return readers

    def has_result(self: HelperProcess, timeout: float) -> bool:
        return waits(self, 20.0)  # The loader would be done before it.

    real, waits = HelperProcess.receive_result, HelperProcess.has_result
    monkeypatch.setattr(HelperProcess, "receive_result", receive_result)
    monkeypatch.setattr(HelperProcess, "has_result", has_result)
    return found


@pytest.fixture
def helper() -> Iterator[HelperProcess]:
    helper = HelperProcess(Decoder())
    yield helper
    helper.close()


def test_what_the_assistant_reads_is_what_the_loader_reads(
    logs: Logs, results: list[list[bool]]
) -> None:
    """Columns, kinds, order of tags, times, files: all of it."""
    logs.load_with_helper()
    assert sum(map(len, results)) > NUM_RUNS / 2
    assert all(map(all, results))
    assert logs.views(logs.loader) == logs.expected()


def test_runs_that_the_assistant_read_go_on_growing(logs: Logs, results: list[list[bool]]) -> None:
    """Rows go behind those in shared memory, and nothing is read twice."""
    logs.load_with_helper()
    for run in logs.path.iterdir():
        path = max(run.iterdir())  # A file before it would be read behind its START, once.
        with EventFileWriter(path) as writer:
            for step in range(STEPS, STEPS + 100):
                writer.add_scalar("loss", step, step)
    logs.loader.load_once()
    assert sum(map(len, results))
    assert logs.views(logs.loader) == logs.expected()


def test_a_damaged_run_is_left_to_the_loader(
    logs: Logs, results: list[list[bool]], caplog: pytest.LogCaptureFixture
) -> None:
    """So that what is wrong is told, once and by the one who knows how."""
    for path in logs.path.glob("*/events.tfevents.1"):
        spoil(path, 200)
    logs.load_with_helper()
    assert results
    assert not any(map(any, results))
    said = [r.getMessage() for r in caplog.records]
    assert sum("checksum wrong in the record at offset" in line for line in said) == NUM_RUNS
    assert logs.views(logs.loader) == logs.expected()


def test_without_its_assistant_the_loader_reads_the_rest(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be killed at any time, by a system that is short of memory, say."""
    started: list[HelperProcess] = []

    def assign(self: HelperProcess, runs: Sequence[RunFiles]) -> None:
        real(self, runs)
        started.append(self)
        os.kill(self._pid, signal.SIGKILL)

    real = HelperProcess.assign
    monkeypatch.setattr(HelperProcess, "assign", assign)
    logs.load_with_helper()
    assert len({id(helper) for helper in started}) == 1, "and does not try again"
    assert has_ended(started[0])
    assert logs.views(logs.loader) == logs.expected()


def test_an_assistant_that_takes_no_order_costs_no_run(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be gone before the first look is over, when no run is known to anybody yet."""

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


def test_the_order_of_runs_is_that_in_which_they_began(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the helper has begun to read before that is known."""
    monkeypatch.setattr(loader_module, "COMMIT_SECONDS", 0)
    said: list[str] = []

    def assign(self: HelperProcess, runs: Sequence[RunFiles]) -> None:
        said.append("to read")
        real_assign(self, runs)

    def read_first_event_time(path: str) -> float | None:
        said.append("when it began")
        return real_read(path)

    real_assign, real_read = HelperProcess.assign, loader_module.read_first_event_time
    monkeypatch.setattr(HelperProcess, "assign", assign)
    monkeypatch.setattr(loader_module, "read_first_event_time", read_first_event_time)
    for number in range(NUM_RUNS):
        path = logs.path / f"run{number:02}" / "events.tfevents.1"
        path.unlink()
        with EventFileWriter(path, wall_time=100 - number) as writer:
            writer.add_scalar("loss", number, 1, wall_time=200)
    logs.load_with_helper()
    assert sum(map(len, results))
    assert logs.multiplexer.runs() == sorted(os.listdir(logs.path), reverse=True)
    assert said[0] == "to read"
    assert "when it began" in said


def test_a_beginning_that_was_shown_stays(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the helper had read the file before there was an event in it."""
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


def test_what_is_lent_is_still_to_be_loaded(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the loader has nothing left to read itself."""
    monkeypatch.setattr(loader_module, "COMMIT_SECONDS", 0)
    loading: list[bool] = []

    def has_result(self: HelperProcess, timeout: float) -> bool:
        if logs.loader._queue:
            return False
        loading.append(logs.multiplexer.status.loading)
        return waits(self, timeout)

    waits = HelperProcess.has_result
    monkeypatch.setattr(HelperProcess, "has_result", has_result)
    logs.load_with_helper()
    assert loading
    assert all(loading)
    assert not logs.multiplexer.status.loading


def test_a_pass_that_fails_leaves_no_assistant_behind(
    logs: Logs, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what it was asked for; the next pass reads everything."""

    def collect_results(self: Loader) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as broken:
        broken.setattr(Loader, "_collect_results", collect_results)
        logs.loader.start_helper()
        helper = logs.loader._helper
        assert helper is not None
        with pytest.raises(RuntimeError):
            logs.loader.load_once()
    assert has_ended(helper)
    logs.loader.load_once()
    assert not results
    assert logs.views(logs.loader) == logs.expected()


@pytest.mark.parametrize("change", ["gone", "replaced", "extended"])
def test_files_may_change_while_they_are_lent(
    logs: Logs,
    tmp_path: Path,
    results: list[list[bool]],
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    """The next look finds out, as it does when the loader had read them."""

    def replace(run: Path) -> None:
        # At once: were it gone for a moment, the helper might read the file behind it first.
        new = tmp_path / f"{run.name}.tfevents"
        with EventFileWriter(new, wall_time=int(run.name[3:])) as writer:
            writer.add_scalar("loss", 99, 0)
        new.replace(run / "events.tfevents.1")

    changes: dict[str, Callable[[Path], object]] = {
        "gone": lambda run: shutil.rmtree(run),
        "replaced": replace,
        "extended": lambda run: EventFileWriter(max(run.iterdir())).add_scalar("loss", 1, 9999),
    }

    def assign(self: HelperProcess, runs: Sequence[RunFiles]) -> None:
        real(self, runs)
        monkeypatch.setattr(HelperProcess, "assign", real)
        for files in runs:
            changes[change](Path(files[0].path).parent)

    def collect_results(self: Loader) -> None:
        monkeypatch.setattr(Loader, "_collect_results", real_collect_results)
        self._scan_logdir()
        assigned = {
            assignment.run
            for batch in self._assigned
            for assignment in batch
            if self._is_current(assignment)
        }
        assert not assigned.intersection(self._queue), "nothing is read twice"
        real_collect_results(self)

    real, real_collect_results = HelperProcess.assign, Loader._collect_results
    monkeypatch.setattr(HelperProcess, "assign", assign)
    monkeypatch.setattr(Loader, "_collect_results", collect_results)
    logs.load_with_helper()
    assert set(logs.multiplexer.runs()) == set(os.listdir(logs.path))
    logs.loader.load_once()
    assert results
    assert logs.views(logs.loader) == logs.expected()


def test_what_it_read_holds_no_descriptor_and_goes_when_its_last_array_goes(
    tmp_path: Path, helper: HelperProcess
) -> None:
    """There may be thousands of batches, and the runs of one may be deleted."""
    if not Path("/proc/self/maps").exists():
        pytest.skip("this system has no /proc")

    def in_use() -> tuple[int, int]:
        maps = Path("/proc/self/maps").read_text()
        return len(os.listdir("/proc/self/fd")), maps.count("tbcore-helper")

    with EventFileWriter(tmp_path / "a.tfevents") as writer:
        for step in range(5_000):
            writer.add_scalar("loss", step, step)
    found = scan([LogdirSpec(None, str(tmp_path))])
    runs = list(found.runs.values())
    gc.collect()
    num_descriptors, num_maps = in_use()
    kept = []
    for _ in range(5):
        helper.assign(runs)
        kept.append(helper.receive_result()[0])
    assert in_use() == (num_descriptors, num_maps + 5)

    one = kept[0]
    assert one is not None
    column = one.data.commit().tags["loss"].series[0].column(1)
    before = column.tolist()
    del kept, one
    gc.collect()
    assert in_use() == (num_descriptors, num_maps + 1)
    assert column.tolist() == before
    del column
    gc.collect()
    assert in_use() == (num_descriptors, num_maps)


def test_the_assistant_keeps_nothing_of_what_it_gave_back(
    tmp_path: Path, helper: HelperProcess
) -> None:
    """It would hold as much as the server, which is more than many machines have."""
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


def test_closing_ends_the_process_whatever_it_does(logs: Logs, helper: HelperProcess) -> None:
    """Orders that it has not carried out are forgotten."""
    files = list(scan([LogdirSpec(None, str(logs.path))]).runs.values())
    for _ in range(3):
        helper.assign(files)
    helper.close()
    assert has_ended(helper)


def test_the_process_ends_with_the_one_that_started_it(helper: HelperProcess) -> None:
    """Also when that one had no time for a good-bye."""
    helper._connection.close()
    assert os.waitpid(helper._pid, 0) == (helper._pid, 0)


def test_an_assistant_that_is_gone_says_so(helper: HelperProcess) -> None:
    """And is not waited for."""
    os.kill(helper._pid, signal.SIGKILL)
    assert helper.has_result(60)
    with pytest.raises(HelperError):
        helper.receive_result()


def test_it_is_heard_by_a_process_with_many_open_files(helper: HelperProcess) -> None:
    """Whoever starts a server may leave it thousands of them."""
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


def test_the_process_holds_nothing_open_of_the_one_that_started_it(tmp_path: Path) -> None:
    """A port would stay select_rows, and whoever reads our output would wait for its end."""
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system has no /proc")
    with socket.create_server(("127.0.0.1", 0)), (tmp_path / "file").open("w"):
        helper = HelperProcess(Decoder())
        try:
            helper.assign([])
            assert helper.receive_result() == []
            folder = Path(f"/proc/{helper._pid}/fd")
            found = [os.readlink(path) for path in folder.iterdir()]
        finally:
            helper.close()
    assert sum(name.startswith("socket:") for name in found) == 1, "to the other process"
    ours = (os.devnull, "/memfd:")  # The latter while an answer is on its way.
    assert not [name for name in found if name.startswith("/") and not name.startswith(ours)]


def test_little_is_read_without_an_assistant(logs: Logs) -> None:
    """A process takes longer to start than a few files to read."""
    logs.loader.start_helper()
    assert logs.loader._helper is None
    with (logs.path / "run00" / "big.tfevents").open("wb") as file:
        file.truncate(1 << 25)
    logs.loader.start_helper()
    assert logs.loader._helper is not None
    logs.loader._stop_helper()


def test_storage_that_does_not_answer_does_not_keep_the_server_waiting(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the loader's to wait for, while the server says so."""
    answer = threading.Event()

    def glance(*arguments: Any) -> bool:
        answer.wait(60)
        return True

    monkeypatch.setattr(Logdir, "glance", glance)
    monkeypatch.setattr(loader_module, "_PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(HelperProcess, "is_supported", lambda: True)
    slow = logs.loader._logdir
    logs.loader.start_helper()
    answer.set()
    assert logs.loader._helper is None
    assert logs.loader._logdir is not slow, "with which the other thread goes on"


def test_an_assistant_with_nothing_to_do_is_not_kept(
    tmp_path: Path, results: list[list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single run is read by the loader, so that it is shown while it is read."""
    write_logs(tmp_path)
    logs = Logs(tmp_path / "run00")
    turns: list[HelperProcess | None] = []

    def read_slice(self: Loader, run: Any) -> None:
        turns.append(self._helper)
        real(self, run)

    real = Loader._read_slice
    monkeypatch.setattr(Loader, "_read_slice", read_slice)
    logs.load_with_helper()
    assert turns
    assert not any(turns)
    assert not results


def has_ended(helper: HelperProcess) -> bool:
    """And was waited for."""
    try:
        os.kill(helper._pid, 0)
    except ProcessLookupError:
        return True
    return False
