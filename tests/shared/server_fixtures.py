"""Fixtures for tests of the core and of extensions: real logs, services, and a real server.

`browsers` is for fixtures that have a browser.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import port_of
from disk import clock, disk, mount
from forks import TBCORE, Fork
from machine import SERVICES, find_service

# pytest finds these fixtures if tbcore is installed; the import makes them available without that.
from tbcore_testing.chromium import find_chromium, launch
from tbcore_testing.pytest_plugin import tbcore_client, tbcore_logdir

__all__ = [
    "clock",
    "disk",
    "mount",
    "real_logs",
    "serve",
    "service",
    "tbcore_client",
    "tbcore_logdir",
]

REPOSITORY = Path(__file__).resolve().parents[2]
OTHER_SITES = "--host-resolver-rules=MAP *.example 127.0.0.1, MAP *.example.com 127.0.0.1"
"""Chromium option that resolves other sites' names to this machine, as hostile DNS servers do."""
ONE_RENDERER = "--renderer-process-limit=1"
"""Chromium option: pages of a site in a profile share a process, which starts once, not for each.
"""

_data = tempfile.TemporaryDirectory(prefix="tbcore-data-")
os.environ["XDG_DATA_HOME"] = _data.name  # `tbcore index` writes there.


@pytest.fixture(scope="session")
def real_logs() -> Path:
    """The directory with event files of other programs; skips the test if it does not exist."""
    variable = os.environ.get("TBCORE_REAL_LOGS")
    path = Path(variable) if variable else REPOSITORY.parent / "shared" / "data" / "real"
    if not path.is_dir():
        pytest.skip(f"no real logs at {path}; set TBCORE_REAL_LOGS to a directory of event files")
    return path


@pytest.fixture(scope="session")
def service() -> Callable[[str], str]:
    """`service("nginx")` returns the path of the program.

    Without the program the test is skipped, or fails if CI=true.
    """

    def find(name: str) -> str:
        path = find_service(name)
        if path is None:
            message = f"{name} is not installed; it is in Debian's package {SERVICES[name]}"
            if os.environ.get("CI") == "true":
                pytest.fail(message)
            pytest.skip(message)
        return path

    return find


_browsers: list[Any] = []
"""The browser of this process, while it has one."""


def browsers() -> Iterator[Any]:
    """Yields a browser, and closes it. Without one, tests are skipped, or fail if CI=true.

    A process can have one of them at a time: within an iteration, others yield the same one.
    """
    if _browsers:
        yield _browsers[0]
        return
    sync_api = pytest.importorskip("playwright.sync_api")
    path = find_chromium()
    if path is None:
        message = "no Chromium or Chrome found; install one or set TBCORE_CHROMIUM"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with sync_api.sync_playwright() as playwright:
        _browsers.append(launch(playwright, path, OTHER_SITES, ONE_RENDERER))
        yield _browsers[0]
        _browsers.pop().close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """A function that starts `tbcore serve --logdir LOGDIR OPTIONS...` and returns its address.

    With a LOGDIR of None the options say what to serve. The address has no slash at the end.
    Servers are stopped after the test.
    """
    if not entry_points(group="tbcore.plugins", name="scalars"):
        pytest.skip("tbcore-scalars is not installed, so a server of its own finds no plugin")
    processes: list[Fork] = []

    def start(logdir: Path | None, *options: str, prefix: str = "") -> str:
        arguments = ["serve", *(["--logdir", str(logdir)] if logdir else [])]
        arguments += ["--port", "0", "--reload_interval", "0.2", *options]
        log = tmp_path / f"server-{len(processes)}.log"
        process = Fork(TBCORE, arguments, log, os.environ)
        processes.append(process)
        return f"http://127.0.0.1:{port_of(process, log)}{prefix}"

    yield start
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
