"""What holds for every test of the repository, the core's and the plugins'.

Their conftests name it: what is in one at the root would also hold for the conformance suite, when
a checkout runs it.
"""

from __future__ import annotations

import gc
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tbcore import tuning
from tbcore.tuning import Tuning

__all__ = [
    "patience",
    "pytest_collection_modifyitems",
    "pytest_runtest_makereport",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
]

# What a check of a change finds must come from that change; new examples are sought elsewhere:
# HYPOTHESIS_PROFILE=long pytest -k properties
# Nor does it matter how long they take to be made.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("check", settings.get_profile("default"), derandomize=True)
settings.register_profile("long", settings.get_profile("default"), max_examples=20_000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("check" if os.environ.get("CI") else "default")
)

PATIENCE = 60.0
"""Seconds until what should have happened counts as missing: costs nothing when it happens."""


def until(is_so: Callable[[], Any]) -> None:
    """Waits until something is the case; fails when it never is."""
    # Counted: while the whole machine stands still, nothing can happen.
    for _ in range(int(PATIENCE / 0.01)):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it does not happen")


def port_of(process: subprocess.Popen[Any], log: Path) -> int:
    """The port of a server that was started with `--port 0`, once its log tells it.

    A port that is looked for before may be somebody else's by the time the server has it.
    """
    for _ in range(int(PATIENCE / 0.02)):
        text = log.read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^tbcore \S+ at http://\S*?:(\d+)/", text, re.MULTILINE)
        if found:
            return int(found[1])
        assert process.poll() is None, f"the server did not start:\n{text}"
        time.sleep(0.02)
    raise AssertionError(f"the server does not start:\n{text}")


def patient_tuning(**fields: Any) -> Tuning:
    """Tuning whose timeouts for plugins never pass in a test, but for the fields that are given.

    A machine may stand still for seconds at any time, which is not the fault of a plugin.
    """
    patient = {
        "plugin_timeout_seconds": PATIENCE,
        "slow_call_seconds": PATIENCE,
        "slow_is_active_seconds": PATIENCE,
        "blocked_loop_seconds": PATIENCE,
    }
    return Tuning(**{**patient, **fields})


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """Servers of all tests are patient with plugins, unless a test sets a tuning."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "DEFAULT", patient_tuning())
        yield


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
