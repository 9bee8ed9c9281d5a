"""The checks of `dev.py test`: lint, types, front-end tests in Node, and pytest.

dev.py has made the environment before; this module runs the steps and prints their results.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from xml.etree import ElementTree

import machine

SHARED = Path(__file__).resolve().parent
ROOT = SHARED.parents[1]
NODE_STAMP = ROOT / "node_modules" / "tbcore-dev.txt"
"""File with a hash of the lock file that node_modules was installed from."""
RESULTS = ROOT / "test-results"
"""Folder in which failed browser tests leave screenshots and logs."""
NUM_SLOWEST = 10
"""Number of slow tests to list."""


class PytestCall(NamedTuple):
    """One call of pytest."""

    name: str
    marks: str
    """The expression of marks that selects its tests."""
    folders: tuple[str, ...]
    """The folders with all its tests; none for all folders."""
    in_parallel: bool


MAIN = PytestCall("pytest", "not browser and not services", (), True)
QUICK = MAIN._replace(marks=f"{MAIN.marks} and not promise and not slow")
LOWEST = QUICK._replace(
    name="pytest: lowest versions",
    folders=("tests/server", "tests/store", "tests/eventfiles", "plugins", "extensions"),
)
# Playwright keeps an event loop running in a process with browser tests, where others start theirs.
_SERVICES = "tests/promises", "extensions"
BROWSER = PytestCall(
    "pytest: browser", "browser and not (services and alone)", ("tests/page", *_SERVICES), True
)
SERVICES = PytestCall("pytest: services", "services and not browser and not alone", _SERVICES, True)
BOTH = PytestCall(
    "pytest: services and browser", "services and browser and not alone", _SERVICES, True
)
ALONE = PytestCall("pytest: alone", "services and alone", _SERVICES, False)

CALLS = {
    "": [MAIN, BROWSER, SERVICES, ALONE],
    "--quick": [QUICK],
    "--services": [SERVICES, BOTH, ALONE],
}
"""Maps a part, which is an option of `dev.py test`, to its calls of pytest in order."""

NO_TESTS = 5
"""The exit status of pytest if it found no test."""


class Steps:
    """The steps of a run, their results, and the environment variables of their commands."""

    def __init__(self, *, are_beside: bool = False) -> None:
        self.environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self._are_beside = are_beside
        """Whether others run at the same time: then the output of each is printed when it ends."""
        # Tests start hundreds of servers. Without bytecode, each of them compiles tbcore.
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self._results: list[tuple[str, bool, float]] = []
        """Name, whether the step passed, and seconds."""
        self._started = time.monotonic()

    def extend_path(self, folder: Path) -> None:
        """Makes commands find the programs in a folder first."""
        path = self.environment.get("PATH", os.defpath)
        self.environment["PATH"] = os.pathsep.join([str(folder), path])

    def run(self, name: str, command: Sequence[str], *, passing: Sequence[int] = (0,)) -> int:
        """Runs a command as a step, which passes with a status in `passing`; returns the status."""
        if not self._are_beside:
            print(f"\n--- {name}", flush=True)
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, check=False,
            stdout=subprocess.PIPE if self._are_beside else None,
            stderr=subprocess.STDOUT if self._are_beside else None,
        )  # fmt: skip
        if self._are_beside:
            print(f"\n--- {name}\n{done.stdout.decode(errors='replace')}", end="", flush=True)
        self.add(name, done.returncode in passing)
        return done.returncode

    def beside(self, work: Callable[[Steps], None]) -> Callable[[], None]:
        """Calls `work` in a thread, with steps of its own, while other steps run.

        Returns a function that waits for it, and adds its results.
        """
        steps, ended = Steps(are_beside=True), Future[None]()
        steps.environment = self.environment.copy()

        def run() -> None:
            try:
                ended.set_result(work(steps))
            except BaseException as error:
                ended.set_exception(error)

        def wait() -> None:
            ended.result()
            self._results += steps._results
            self._started = time.monotonic()

        # A daemon, so that it ends with the program when that is interrupted.
        Thread(target=run, daemon=True).start()
        return wait

    def add(self, name: str, passed: bool) -> None:
        """Adds the result of a step that began when the previous one ended."""
        now = time.monotonic()
        self._results.append((name, passed, now - self._started))
        self._started = now

    def summary(self) -> int:
        """Prints all results; returns 1 if a step failed."""
        print()
        for name, passed, seconds in self._results:
            print(f"{'passed' if passed else 'FAILED'}  {seconds:6.1f} s  {name}")
        failed = [name for name, passed, _ in self._results if not passed]
        num_steps = len(self._results)
        print(f"{len(failed)} of {num_steps} steps failed" if failed else "everything passed")
        return 1 if failed else 0


def run_all(steps: Steps, python: Path, part: str, pytest_arguments: Sequence[str]) -> int:
    """Runs the checks of a part; prints the slowest tests and what failed; returns 1 if any did.

    JupyterLab is installed while tests run that do not need it.
    """
    shutil.rmtree(RESULTS, ignore_errors=True)
    steps.extend_path(python.parent)
    find_programs(steps, python, CALLS[part])
    wait_for_lab = None
    if part == "--services":
        make_lab(steps)
    elif part != "--quick":
        wait_for_lab = steps.beside(make_lab)
    wait_for_linters = start_linters(steps, python) if part != "--services" else None
    tests = run_pytest(steps, python, CALLS[part], pytest_arguments, wait_for_lab)
    if wait_for_linters:
        wait_for_linters()
    if not part and not pytest_arguments:
        run_with_newest_python(steps)

    print()
    for test in sorted(tests, key=lambda test: -test.seconds)[:NUM_SLOWEST]:
        print(f"{test.seconds:14.1f} s  {test.name}")
    for test in tests:
        if test.failure:
            print(f"FAILED {test.name}: {test.failure}")
    for folder in sorted(RESULTS.glob("*")):
        print(f"pages and logs of a failed test: {folder}")
    return steps.summary()


def make_lab(steps: Steps) -> None:
    """Makes the environment of JupyterLab."""
    program = "import sys; sys.path += sys.argv[1:]; import dev; dev.make_lab()"
    command = [sys.executable, "-c", program, str(ROOT), str(SHARED)]
    steps.run("environment of JupyterLab", command)


def find_programs(steps: Steps, python: Path, calls: Sequence[PytestCall]) -> None:
    """Finds or installs the browser and the services that these calls need.

    Tests are skipped without them. If CI=true, this is a failure.
    """
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    if {BROWSER, BOTH} & set(calls):
        chromium = machine.find_chromium(python)
        if chromium is not None:
            steps.environment["TBCORE_CHROMIUM"] = chromium
        else:
            machine.log("NO BROWSER: failed to find or fetch a Chromium; NO BROWSER TEST RUNS")
        steps.add("chromium", chromium is not None or not in_ci)
    if SERVICES in calls:
        missing = machine.install_services()
        for name in missing:
            machine.log(f"NO {name}: failed to find or install it; NO TEST WITH {name} RUNS")
        steps.add("services", not missing or not in_ci)


def start_linters(steps: Steps, python: Path) -> Callable[[], None]:
    """Starts the linters, the type checkers, and the front-end tests that need no browser.

    They run beside the tests. Returns a function that waits for them, and adds their results.
    """
    node = machine.node_command(python)
    steps.extend_path(Path(node).parent)
    npm_ci = [*machine.npm_command(node), "ci", "--ignore-scripts"]
    has_packages = has_node_modules() or steps.run("npm ci", npm_ci) == 0

    def work(steps: Steps) -> None:
        steps.run("ruff check", [str(python), "-m", "ruff", "check", "."])
        steps.run("ruff format", [str(python), "-m", "ruff", "format", "--check", "."])
        steps.run("mypy", [str(python), "-m", "mypy"])
        if not has_packages:
            return
        NODE_STAMP.write_text(node_fingerprint(), encoding="utf-8")
        steps.run("tsc", [node, "node_modules/typescript/bin/tsc", "--project", "tsconfig.json"])
        # Without arguments, node would search for tests in all folders.
        tests = front_end_tests()
        if tests:
            steps.run("node --test", [node, "--test", *tests])

    return steps.beside(work)


def front_end_tests() -> list[str]:
    """The test modules that run in Node, without a browser."""
    folders = [ROOT / "tests" / "page" / "unit", *ROOT.glob("*/*/tests/web")]
    tests = [path for folder in folders for path in folder.glob("*.test.mjs")]
    return [str(path.relative_to(ROOT)) for path in sorted(tests)]


def has_node_modules() -> bool:
    """Whether node_modules was installed from the present lock file."""
    try:
        return NODE_STAMP.read_text(encoding="utf-8") == node_fingerprint()
    except OSError:
        return False


def node_fingerprint() -> str:
    """A hash of the lock file."""
    return hashlib.sha256((ROOT / "package-lock.json").read_bytes()).hexdigest()


def run_pytest(
    steps: Steps,
    python: Path,
    calls: Sequence[PytestCall],
    arguments: Sequence[str],
    wait_for_lab: Callable[[], None] | None = None,
) -> list[TestResult]:
    """Runs pytest, one call after the other; returns the results of all tests.

    With arguments, a call may have no tests; if none has any, a step fails. `wait_for_lab` is
    called before the first call whose tests may need JupyterLab.
    """
    # A worker that has run all its tests takes some of another's, so all are busy to the end. There
    # is one more than processors, since tests also wait.
    workers = min(8, 1 + (os.cpu_count() or 1))
    parallel = ["-n", str(workers), "--dist", "worksteal"]
    passing = (0, NO_TESTS) if arguments else (0,)
    statuses = set()
    results: list[TestResult] = []
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        for call in calls:
            if wait_for_lab and call != MAIN:
                wait_for_lab()
                wait_for_lab = None
            command = [str(python), "-m", "pytest", "-m", call.marks]
            command += parallel if call.in_parallel else []
            command += ["-o", "junit_family=xunit1", f"--junitxml={report}"]
            command += arguments or list(call.folders)
            statuses.add(steps.run(call.name, command, passing=passing))
            if report.exists():
                results += read_results(report)
                report.unlink()
    if statuses == {NO_TESTS}:
        machine.log("pytest found no test for its arguments")
        steps.add("some tests", False)
    return results


def run_with_newest_python(steps: Steps) -> None:
    """Runs `dev.py test --quick` with the newest Python, in an environment of its own."""
    name = f"Python {machine.NEWEST_PYTHON}"
    path = machine.find_newest_python()
    if path is None:
        machine.log(f"NO {name}: found none; NO TEST RUNS WITH IT")
        return
    steps.environment["TBCORE_VENV"] = f".venv-{machine.NEWEST_PYTHON}"
    steps.run(name, [path, "dev.py", "test", "--quick"])


class TestResult(NamedTuple):
    """What a report of pytest says of a test."""

    name: str
    seconds: float
    """With its fixtures."""
    failure: str
    """The messages of its failures, on one line; empty if it passed."""


def read_results(report: Path) -> list[TestResult]:
    """The tests in a report of pytest."""
    results = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('file')}::{case.get('name')}"
        messages = [bad.get("message", "") for bad in case if bad.tag in ("failure", "error")]
        failure = " ".join(" ".join(messages).split())[:1000]
        results.append(TestResult(name, float(case.get("time", 0)), failure))
    return results
