"""Fixtures, hooks, settings and helpers for all tests of the repository.

The files `conftest.py` of the core's tests, of the plugins' and of each extension's import this
module. If it were a conftest at the root of the repository or in `extensions`, it would also apply
to the conformance suite when that is run from a checkout.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from calls import calls_of

try:
    from hypothesis import HealthCheck, settings
except ImportError as error:
    line = f"no module {error.name}: `python3 dev.py test --quick` installs what the tests need"
    raise ImportError(line) from None

from tbcore import tuning
from tbcore.tuning import Tuning

__all__ = [
    "calls_of",
    "generous_timeouts",
    "limits",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
]

# Settings of Hypothesis. With `ci`, each run uses the same examples, so that a failure is caused by
# the change that is tested. HYPOTHESIS_PROFILE=nightly searches for failures with new examples, and
# with more of them. No profile limits the time of an example.
_CI = settings(
    max_examples=50,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", _CI)
settings.register_profile("nightly", _CI, max_examples=150, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or "ci")

WAIT_SECONDS = 60.0
"""Seconds for which a test waits for something before it fails."""
AT_ONCE_SECONDS = 10.0
"""Wall time that nothing takes if it waits for nothing, also on a busy machine.

What it must not wait for has to last longer: only then does the test fail for that reason alone.
"""


def until(is_so: Callable[[], Any]) -> None:
    """Waits until the condition is true; fails after WAIT_SECONDS."""
    # Counts pauses rather than seconds: time also passes while the whole machine is suspended.
    for _ in range(int(WAIT_SECONDS / 0.01)):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError(f"the condition was not true within {WAIT_SECONDS:.0f} s")


def descriptors() -> set[tuple[str, str]]:
    """This process's file descriptors and their targets.

    Between two calls, descriptors that earlier tests opened may be closed.
    """
    found = set()
    for name in os.listdir("/proc/self/fd"):
        # The descriptor with which the directory was listed is closed by now.
        with contextlib.suppress(FileNotFoundError):
            found.add((name, os.readlink(f"/proc/self/fd/{name}")))
    return found


def port_of(process: subprocess.Popen[Any], log: Path) -> int:
    """Waits until a server that was started with `--port 0` has printed its port; returns the port.

    `log` is the file with the server's output. If a test chose a free port itself, another program
    could take it before the server does.
    """
    for _ in range(int(WAIT_SECONDS / 0.02)):
        text = log.read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^tbcore \S+ at http://\S*?:(\d+)/", text, re.MULTILINE)
        if found:
            return int(found[1])
        assert process.poll() is None, f"the server did not start:\n{text}"
        time.sleep(0.02)
    raise AssertionError(f"the server did not print its address:\n{text}")


def folder_of_run(
    factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], object]
) -> Path:
    """A folder that all processes of a test run share; the first that asks for it calls `fill`."""
    import fcntl  # does not exist on Windows

    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder /= name
    done = folder.with_suffix(".done")
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            fill(folder)
            done.touch()
    return folder


def patient_tuning(**fields: Any) -> Tuning:
    """Tuning with these fields; timeouts that a slow plugin would exceed are WAIT_SECONDS.

    A busy machine may delay a plugin by seconds, which must not fail tests of anything else.
    """
    patient = {
        "plugin_timeout_seconds": WAIT_SECONDS,
        "slow_call_seconds": WAIT_SECONDS,
        "slow_is_active_seconds": WAIT_SECONDS,
    }
    return Tuning(**{**patient, **fields})


@pytest.fixture(scope="session", autouse=True)
def generous_timeouts() -> Iterator[None]:
    """Makes `patient_tuning()` the default `Tuning` in all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "DEFAULT", patient_tuning())
        yield


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`limits(module, MAX_BYTES=10)`: a module's limits in a test, which little data reaches."""

    def limit(module: object, **values: float) -> None:
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)

    return limit


def pytest_configure(config: pytest.Config) -> None:
    """Lets the processes that tests start receive signals that this process ignores.

    `nohup` makes a program ignore SIGHUP, and shells make those in the background ignore SIGINT; a
    program passes this on to all that it starts. A handler is not passed on.
    """
    if config.getoption("dist", "no") != "no":
        return  # The processes that run the tests ignore these signals, too.
    for sig in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(sig) is signal.SIG_IGN:
            signal.signal(sig, lambda number, frame: None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects tests marked `release`, unless -m names the mark. Browser tests become the last.

    From the first browser test on, an event loop of Playwright runs in this thread, where other
    tests start their own.
    """
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    if "release" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("release")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Replaces text that cannot be encoded: pytest-xdist sends reports between processes."""
    report = yield
    report.sections = [
        (title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections
    ]
    return report


def process_state() -> dict[str, Any]:
    """The global state of the process that a test could change for later tests."""
    state: dict[str, Any] = {
        "the working directory": os.getcwd(),
        "sys.path": list(sys.path),
        "the garbage collector": (gc.isenabled(), gc.get_threshold()),
        "logging.disable": logging.root.manager.disable,
    }
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        state[sig.name] = signal.getsignal(sig)
    for name in ("root", "asyncio", "tbcore"):
        logger = logging.getLogger(name)
        state[f"logger {name}"] = logger.level, logger.propagate, logger.disabled, *logger.handlers
    # Pytest sets this variable to the name of the current test.
    state |= {f"${k}": v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    return state


STATE_BEFORE = pytest.StashKey[dict[str, Any]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Stores the state of the process before the test and its fixtures."""
    item.stash[STATE_BEFORE] = process_state()
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Fails a test that has not restored the state of the process."""
    yield
    before, after = item.stash[STATE_BEFORE], process_state()
    changed = [
        f"{name} was {before.get(name)}, is {after.get(name)}"
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]
    if changed:
        pytest.fail(f"left the process changed: {'; '.join(changed)}", pytrace=False)
