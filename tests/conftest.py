"""Shared by all tests of the core: the fixtures of the package, real logs, and a real server."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The fixtures come with the installed package; naming them here makes a bare checkout do too.
from tbcore._pytest_plugin import tbcore_client, tbcore_logdir

__all__ = ["real_logs", "serve", "tbcore_client", "tbcore_logdir"]

# What a check of a change finds must come from that change; new examples are sought elsewhere:
# HYPOTHESIS_PROFILE=long pytest -k properties
settings.register_profile("default", deadline=None)
settings.register_profile("check", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=20_000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("check" if os.environ.get("CI") else "default")
)

REPOSITORY = Path(__file__).resolve().parent.parent
START_LIMIT = 60.0
"""Seconds that a server may take until it answers: generous, for a busy machine."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is run before a release only, unless -m names it."""
    if "release" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("release")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Replaces what cannot be sent between test processes: some tests are about bad text."""
    report = yield
    report.sections = [
        (title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections
    ]
    return report


def process_state() -> dict[str, Any]:
    """What code may change for all that runs later in the same process."""
    state: dict[str, Any] = {
        "the working directory": os.getcwd(),
        "sys.path": list(sys.path),
        "the garbage collector": (gc.isenabled(), gc.get_threshold()),
        "logging.disable": logging.root.manager.disable,
    }
    for sig in (signal.SIGINT, signal.SIGTERM):
        state[sig.name] = signal.getsignal(sig)
    for name in ("root", "asyncio", "tbcore"):
        logger = logging.getLogger(name)
        state[f"logger {name}"] = logger.level, logger.propagate, logger.disabled, *logger.handlers
    # Pytest has one that says which test runs.
    state |= {f"${k}": v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    return state


STATE_BEFORE = pytest.StashKey[dict[str, Any]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Remembers how the process was before the test and its fixtures."""
    item.stash[STATE_BEFORE] = process_state()
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Fails a test that leaves the process changed: others would fail, or pass, because of it."""
    yield
    before, after = item.stash[STATE_BEFORE], process_state()
    changed = [
        f"{name} was {before.get(name)}, is {after.get(name)}"
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]
    if changed:
        pytest.fail(f"left the process changed: {'; '.join(changed)}", pytrace=False)


@pytest.fixture(scope="session")
def real_logs() -> Path:
    """The directory with event files that other people's programs wrote; skips without it."""
    given = os.environ.get("TBCORE_REAL_LOGS")
    path = Path(given) if given else REPOSITORY.parent / "shared" / "data" / "real"
    if not path.is_dir():
        pytest.skip(f"no real logs at {path}; set TBCORE_REAL_LOGS to a directory of event files")
    return path


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts `tbcore serve --logdir LOGDIR OPTIONS...` and returns its address, without a final /.

    Servers are ended with the test.
    """
    if not entry_points(group="tbcore.plugins", name="scalars"):
        pytest.skip("tbcore-scalars is not installed, so a server of its own finds no plugin")
    processes: list[subprocess.Popen[bytes]] = []

    def start(logdir: Path, *options: str, prefix: str = "") -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logdir)]
        command += ["--port", str(port), "--reload_interval", "0.2", *options]
        log = tmp_path / f"server-{port}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        processes.append(process)
        address = f"http://127.0.0.1:{port}{prefix}"
        deadline = time.monotonic() + START_LIMIT
        while True:
            try:
                with urllib.request.urlopen(f"{address}/data/logdir", timeout=5):
                    return address
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"the server did not start:\n{log.read_text()}")
                time.sleep(0.05)

    yield start
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
