"""A plugin of pytest for tests that run apart from the checkout, where little is installed.

A test that needs another distribution or a file of the repository is skipped, with that as reason.
If not the test but tbcore itself asks for what is missing, the test fails, as it must; but if
tbcore says what to install for a command or an address of the test, the test needs that.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
"""The folder that the tests were copied to."""


_HINT = re.compile(r"needs another package: pip install '?(tbcore-\w+)")


def missing(error: BaseException | None) -> str | None:
    """Why a test cannot run here, if this is why it raised an error; else None."""
    if isinstance(error, pytest.Collector.CollectError):  # raised if a module cannot be imported
        error = error.__cause__
    if error is None:
        return None
    for frame in traceback.extract_tb(error.__traceback__):
        if re.search(r"site-packages/tbcore\w*/", frame.filename):
            return None
    if isinstance(error, ModuleNotFoundError) and re.match(r"tbcore_\w+", error.name or ""):
        return f"needs {error.name}"
    if isinstance(error, FileNotFoundError) and isinstance(error.filename, str | Path):
        path = Path(error.filename)
        # Files that are missing in folders of tests are an error.
        if path.is_relative_to(ROOT) and "tests" not in path.relative_to(ROOT).parts:
            return f"needs {path.relative_to(ROOT)} of the repository"
    return None


def skip(report: Any, node: pytest.Item | pytest.Collector, reason: str) -> None:
    """Turns the report of an error into that of a skipped test."""
    report.outcome = "skipped"
    report.longrepr = (str(node.path), 0, f"Skipped: {reason}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skips a test that asks for what is missing, or whose fixture does."""
    report = yield
    reason = missing(call.excinfo.value if call.excinfo else None)
    if report.failed and (hint := _HINT.search(report.longreprtext)):
        reason = f"needs {hint[1]}"
    if reason is not None and call.when != "teardown":
        skip(report, item, reason)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skips a module that asks for what is missing when it is imported."""
    report = yield
    call: pytest.CallInfo[Any] | None = report.__dict__.get("call")
    reason = missing(call.excinfo.value if call and call.excinfo else None)
    if reason is not None:
        skip(report, collector, reason)
    return report
