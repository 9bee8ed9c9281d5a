"""Reading on a Dask cluster of real processes, which are killed and stopped."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, until
from same_answers import check_same, loaded, properties_of, update

from tbcore.errors import OptionError, TbcoreError
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore_index import coordinator
from tbcore_index.coordinator import Coordinator
from tbcore_index.tables import Place
from tbcore_index.work import Batch, work
from tbcore_testing import write_run

pytestmark = pytest.mark.services


class Cluster:
    """A scheduler and workers, each a process of its own."""

    def __init__(self, folder: Path, num_workers: int = 2, **environment: str) -> None:
        """`environment` is that of the workers."""
        self.file = folder / "scheduler.json"
        self.folder = folder
        self.started: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.run_dask("scheduler", "--host", "127.0.0.1", "--port", "0")
        self.workers = [self.add_worker(**environment) for _ in range(num_workers)]
        until(self.file.exists)

    def add_worker(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        if "--nanny" not in options:
            options = "--no-nanny", *options
        fixed = "--nthreads", "1", "--death-timeout", "60"
        return self.run_dask("worker", *fixed, *options, **environment)

    def run_dask(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "dask", *command, "--no-dashboard",
                "--scheduler-file", self.file,
            ],
            stderr=(self.folder / f"{command[0]}{len(self.started)}.log").open("wb"),
            env={**os.environ, **environment},
        )  # fmt: skip
        self.started.append(process)
        return process

    def close(self) -> None:
        for process in self.started:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    (tmp_path / "cluster").mkdir()
    made = Cluster(tmp_path / "cluster")
    yield made
    made.close()


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for number in range(24):
        write_run(tmp_path / "logs", f"run{number:02}", scalars={"loss": [number, 1.0, 0.5]})
    return tmp_path / "logs"


@pytest.fixture
def small_batches(limits: Callable[..., None]) -> None:
    limits(coordinator, _BATCH_FILES=2)


class Connected:
    """A coordinator of a cluster, whose tasks are those of a function in place of `work`."""

    def __init__(self, logdir: Path, index: Path, cluster: Cluster, task: Callable[..., Any]):
        from tbcore_index.cluster import connected

        specs, place = [LogdirSpec(None, str(logdir))], Place(str(index))
        place.create(properties_of(logdir))
        self.context = connected(None, str(cluster.file), specs, place)
        executor, self.num_workers = self.context.__enter__()
        submit = executor.submit
        executor.submit = lambda _, *arguments: submit(task, *arguments)  # type: ignore[method-assign]
        self.coordinator = Coordinator(place.path, executor, num_workers=self.num_workers)

    def close(self) -> None:
        self.context.__exit__(None, None, None)


@pytest.fixture
def connect(
    logdir: Path, tmp_path: Path, cluster: Cluster, small_batches: None
) -> Iterator[Callable[[Callable[..., Any]], Coordinator]]:
    made: list[Connected] = []

    def connect(task: Callable[..., Any]) -> Coordinator:
        made.append(Connected(logdir, tmp_path / "index", cluster, task))
        return made[-1].coordinator

    yield connect
    for each in made:
        each.close()


def lose_while_idle(cluster: Cluster, executor: Executor, num_workers: Callable[[], int]) -> None:
    cluster.scheduler.kill()
    until(lambda: num_workers() < 0)


def lose_between_tasks(cluster: Cluster, executor: Executor, _: Callable[[], int]) -> None:
    cluster.scheduler.kill()
    until(lambda: not executor.submit(len, ""))


def lose_while_working(cluster: Cluster, executor: Executor, _: Callable[[], int]) -> None:
    task = executor.submit(time.sleep, 600)
    cluster.scheduler.kill()
    task.result(timeout=WAIT_SECONDS)


def lose_while_a_result_is_sent(
    cluster: Cluster, executor: Executor, num_workers: Callable[[], int]
) -> None:
    marker = cluster.folder / "sent"

    class SlowToSend:
        def __reduce__(self) -> Any:
            marker.touch()
            time.sleep(600)

    task = executor.submit(SlowToSend)
    until(marker.exists)
    cluster.scheduler.kill()
    until(lambda: num_workers() < 0)
    assert not task.done()


Lose = Callable[[Cluster, Executor, Callable[[], int]], None]


@pytest.mark.parametrize(
    "lose",
    [lose_while_idle, lose_between_tasks, lose_while_working, lose_while_a_result_is_sent],
)
def test_a_lost_scheduler_is_noticed(
    logdir: Path, tmp_path: Path, cluster: Cluster, limits: Callable[..., None], lose: Lose
) -> None:
    from tbcore_index import cluster as module

    def lose_it() -> None:
        specs, place = [LogdirSpec(None, str(logdir))], Place(str(tmp_path / "index"))
        place.create(properties_of(logdir))
        with module.connected(None, str(cluster.file), specs, place) as (executor, num_workers):
            assert num_workers() > 0
            lose(cluster, executor, num_workers)

    limits(module, _CONNECT_SECONDS=3)
    with pytest.raises(TbcoreError, match=r"^the cluster is gone; what was committed") as gone:
        lose_it()
    assert not isinstance(gone.value.__cause__, AssertionError | TimeoutError)  # of the test itself


def test_a_scheduler_lost_before_the_first_worker_comes_is_noticed(
    logdir: Path, tmp_path: Path, limits: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    from tbcore_index import cluster as module

    limits(module, _CONNECT_SECONDS=3)
    (tmp_path / "cluster").mkdir()
    with (
        ThreadPoolExecutor(1) as pool,
        contextlib.closing(Cluster(tmp_path / "cluster", num_workers=0)) as cluster,
    ):
        connecting = pool.submit(Connected, logdir, tmp_path / "index", cluster, work)
        until(lambda: "the cluster has no worker yet; waiting for one" in caplog.messages)
        cluster.scheduler.kill()
        with pytest.raises(TbcoreError, match=r"^the cluster is gone; what was committed"):
            connecting.result(WAIT_SECONDS)


def test_a_scheduler_lost_while_workers_are_asked_for_their_versions_is_noticed(
    logdir: Path, tmp_path: Path, cluster: Cluster, limits: Callable[..., None]
) -> None:
    from tbcore_index import cluster as module

    def check_later(*arguments: Any, check: Callable[..., None] = module._check_workers) -> None:
        cluster.scheduler.kill()
        check(*arguments)

    limits(module, _CONNECT_SECONDS=3, _check_workers=check_later)
    with pytest.raises(TbcoreError, match=r"^the cluster is gone; what was committed"):
        Connected(logdir, tmp_path / "index", cluster, work)


def slow_on(marker: Path) -> Callable[[Batch, str], Any]:
    """`work` that takes a while, and says in a file which process works."""
    folder = str(marker)

    def task(batch: Batch, index: str) -> Any:
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/{os.getpid()}", "a"):
            time.sleep(0.2)
        return work(batch, index)

    return task


def begun(marker: Path, process: subprocess.Popen[bytes]) -> bool:
    return (marker / str(process.pid)).exists()


@pytest.mark.parametrize("name", [signal.SIGKILL, signal.SIGSTOP])
def test_what_a_lost_worker_had_is_done_by_the_other_one(
    logdir: Path,
    tmp_path: Path,
    cluster: Cluster,
    connect: Callable[..., Coordinator],
    limits: Callable[..., None],
    name: signal.Signals,
) -> None:
    """A stopped one is not noticed by Dask for minutes. When it goes on, nothing is there twice."""
    limits(coordinator, _MIN_DEADLINE_SECONDS=3.0)
    made = connect(slow_on(tmp_path / "begun"))
    victim = cluster.workers[0]

    def harm() -> None:
        until(lambda: begun(tmp_path / "begun", victim))
        victim.send_signal(name)

    thread = threading.Thread(target=harm)
    thread.start()
    made.update()
    thread.join()

    assert made.problems == []
    check_same(loaded(logdir), loaded(None, tmp_path / "index"))
    victim.send_signal(signal.SIGCONT)
    made.update()
    check_same(loaded(logdir), loaded(None, tmp_path / "index"))


def test_when_all_workers_are_lost_the_next_one_that_comes_goes_on(
    logdir: Path,
    tmp_path: Path,
    cluster: Cluster,
    connect: Callable[..., Coordinator],
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = connect(slow_on(tmp_path / "begun"))

    def harm() -> None:
        until(lambda: all(begun(tmp_path / "begun", each) for each in cluster.workers))
        for each in cluster.workers:
            each.kill()
            each.wait()
        until(lambda: "no worker is left; waiting for one" in caplog.messages)
        cluster.add_worker()

    thread = threading.Thread(target=harm)
    thread.start()
    made.update()
    thread.join()

    assert made.problems == []
    check_same(loaded(logdir), loaded(None, tmp_path / "index"))


def test_a_run_that_kills_its_workers_is_left_out(
    logdir: Path, tmp_path: Path, cluster: Cluster, connect: Callable[..., Coordinator]
) -> None:
    """Dask tries each batch with other workers, then gives it up; the batch is halved."""

    def deadly(batch: Batch, index: str) -> Any:
        if any(name == "run07" for name, _ in batch.runs):
            os._exit(1)
        return work(batch, index)

    for _ in range(10):
        cluster.add_worker()
    made = connect(deadly)

    made.update()

    assert len(made.problems) == 1
    assert made.problems[0].startswith("run run07 is left out: KilledWorker: ")
    assert len(loaded(None, tmp_path / "index").runs()) == 23


@pytest.mark.release
def test_a_run_that_takes_all_memory_is_left_out(
    logdir: Path, tmp_path: Path, connect: Callable[..., Coordinator], cluster: Cluster
) -> None:
    """A nanny ends a worker at its memory limit, and starts another one."""

    def greedy(batch: Batch, index: str) -> Any:
        taken = []
        while any(name == "run07" for name, _ in batch.runs):
            taken.append(b"1" * (1 << 24))
            time.sleep(0.05)
        return work(batch, index)

    for each in cluster.workers:
        each.kill()
        each.wait()
    for _ in range(2):
        cluster.add_worker("--nanny", "--memory-limit", "500MB")
    made = connect(greedy)

    made.update()

    assert len(made.problems) == 1
    assert made.problems[0].startswith("run run07 is left out: KilledWorker: ")
    assert len(loaded(None, tmp_path / "index").runs()) == 23


COMMAND = """
import sys
from tbcore.cli import main
from tbcore_index import coordinator

coordinator._BATCH_FILES = 2
coordinator._COMMIT_SECONDS = 0.0
sys.exit(main(sys.argv[1:]))
"""


def python_with(folder: Path, code: str) -> str:
    """A folder of modules for a process that runs this code at first."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def test_a_lost_scheduler_ends_the_command_with_a_line_and_the_next_one_goes_on(
    logdir: Path, tmp_path: Path
) -> None:
    slow = """
import time
import tbcore_index.work as module
work, numbers = module.work, iter(range(100))
module.work = lambda *arguments: (time.sleep(600 if next(numbers) > 2 else 0), work(*arguments))[1]
"""
    (tmp_path / "cluster").mkdir()
    cluster = Cluster(tmp_path / "cluster", PYTHONPATH=python_with(tmp_path / "slow", slow))
    index = tmp_path / "index"
    arguments = "index", str(logdir), "--index", str(index)
    with contextlib.closing(cluster):
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments, "--cluster", str(cluster.file)],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        until(lambda: (index / "runs" / "_delta_log").exists())
        until(lambda: len(loaded(None, index).runs()) > 2)
        cluster.scheduler.kill()
        lines = process.communicate(timeout=WAIT_SECONDS)[1].splitlines()

    assert process.returncode == 1
    assert lines[-1] == "tbcore: the cluster is gone; what was committed stays"
    assert 0 < len(loaded(None, index).runs()) < 24
    assert update(logdir, index) == 0
    check_same(loaded(logdir), loaded(None, index))


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import tbcore; tbcore.__version__ = '9.9'", r"has tbcore 9\.9, expected \S+"),
        ("import sys; sys.modules['deltalake'] = None", r": .*ModuleNotFoundError.*deltalake.*"),
        (
            "import os, tbcore_index.cluster\ndef dask_setup(worker): os.setuid(65534)",
            r": PermissionError: .*Permission denied.*",
        ),
    ],
    ids=["another version", "a package is missing", "no access"],
)
def test_a_worker_that_cannot_work_is_named_before_work_begins(
    logdir: Path, tmp_path: Path, cluster: Cluster, code: str, line: str
) -> None:
    from tbcore_index.cluster import connected

    if "setuid" in code:
        if os.getuid() != 0:
            pytest.skip("only root can start a worker of another user")
        logdir.chmod(0o700)
        (tmp_path / "preload.py").write_text(code)
        cluster.add_worker("--preload", str(tmp_path / "preload.py"))
    else:
        cluster.add_worker(PYTHONPATH=python_with(tmp_path / "other", code))
    specs, place = [LogdirSpec(None, str(logdir))], Place(str(tmp_path / "index"))
    place.create(properties_of(logdir))

    def problem() -> str:
        try:
            with connected(None, str(cluster.file), specs, place):
                return ""
        except OptionError as error:
            return str(error)

    until(problem)
    assert re.fullmatch(rf"worker tcp://[0-9.]+:[0-9]+ ?{line}", problem())


def test_the_command_waits_for_a_scheduler_and_for_workers(logdir: Path, tmp_path: Path) -> None:
    """A job starts all of them at once, in any order."""
    arguments = str(logdir), "--index", str(tmp_path / "index")
    (tmp_path / "cluster").mkdir()
    file = tmp_path / "cluster" / "scheduler.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "tbcore", "index", *arguments, "--cluster", str(file)],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    waits = f"tbcore: warning: no scheduler has written {file} yet; waiting for it\n"
    assert process.stderr.readline() == waits
    with contextlib.closing(Cluster(tmp_path / "cluster", num_workers=0)) as cluster:
        waits = "tbcore: warning: the cluster has no worker yet; waiting for one\n"
        assert process.stderr.readline() == waits
        cluster.add_worker()
        last = process.communicate(timeout=WAIT_SECONDS)[1]

    assert process.returncode == 0
    assert re.search(r"tbcore: 24 runs written in \d+\.\d s\n$", last)


def test_a_scheduler_file_is_waited_for_and_half_of_one_is_not(
    tmp_path: Path, limits: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """The timeout begins when there is a file."""
    from tbcore_index import cluster as module

    def problem() -> str:
        with pytest.raises(OptionError) as caught:
            module.connected(None, str(file), [], Place(str(tmp_path))).__enter__()
        return str(caught.value)

    limits(module, _CONNECT_SECONDS=0)
    file, part = tmp_path / "scheduler.json", tmp_path / "part"
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(problem)
        until(lambda: f"no scheduler has written {file} yet; waiting for it" in caplog.messages)
        part.write_text('{"address": "tcp://127.0.0.1:1"}')
        part.rename(file)
        assert "tcp://127.0.0.1:1" in found.result(WAIT_SECONDS)
    file.write_text('{"addr')

    assert re.search(r": no address in '.*scheduler\.json': ", problem())


def test_workers_of_this_machine(logdir: Path, tmp_path: Path) -> None:
    """In a process of its own, as workers import the main module."""
    arguments = str(logdir), "--index", str(tmp_path / "index"), "--workers", "2"
    done = subprocess.run(
        [sys.executable, "-m", "tbcore", "index", *arguments],
        check=False, text=True, capture_output=True,
    )  # fmt: skip

    assert done.returncode == 0
    assert re.search(r"tbcore: 24 runs written in \d+\.\d s\n$", done.stderr)
    check_same(loaded(logdir), loaded(None, tmp_path / "index"))


def test_no_cluster_there(logdir: Path, tmp_path: Path, limits: Callable[..., None]) -> None:
    from tbcore_index import cluster as module

    limits(module, _CONNECT_SECONDS=5)
    with pytest.raises(OptionError, match=r"^cannot connect to the cluster tcp://127.0.0.1:9: "):
        update(logdir, tmp_path / "index", "--cluster", "tcp://127.0.0.1:9")
