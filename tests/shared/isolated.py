"""`dev.py test --isolated`: the tests of each distribution where only that one is installed.

They are copied out of the checkout, so that nothing of it can be imported except the helpers in
`tests/shared`. The tests of a plugin cannot import those either: they must need no more than an
author of plugins has.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import checks
from distributions import (
    ROOT,
    Environment,
    Project,
    build,
    clean_environ,
    copy_checkout,
    ignored,
    in_parallel,
    make_environment,
    make_wheelhouse,
    pip,
    projects,
)
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CORE = "tbcore-server"
"""What is installed for the tests of the core: the modules that plugins import need RE2."""

PLUGIN_TOOLS = ("hypothesis", "httpx", "pytest")
"""What the tests of plugins need besides tbcore-testing."""


class Result(NamedTuple):
    """How the tests of a distribution ended."""

    name: str
    counts: Counter[str]
    """The numbers of tests that passed, were skipped, or failed."""
    reasons: Counter[str]
    """The number of tests by the reason for which they were skipped."""
    seconds: float
    failure: str
    """The output of pytest if a test failed, else ""."""


def main(names: Sequence[str]) -> int:
    """Tests the distributions of these names, or all; returns 1 if a test failed."""
    found = projects()
    unknown = set(names) - {project.name for project in found}
    if unknown:
        print(f"dev.py: no such distribution: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tbcore-isolated-") as folder:
        scratch = Path(folder)
        dist = scratch / "dist"
        copy_checkout(scratch / "source")
        build(scratch / "source", dist)
        offline = make_wheelhouse(dist, scratch / "wheelhouse")

        def test_alone(project: Project) -> Result:
            place = scratch / project.name
            name = project.name if project.shelf else CORE
            environment = make_environment(place / "environment", *offline, name)
            make_tools(project, dist, place / "tools")
            result = run_tests(project, environment, place)
            shutil.rmtree(place)
            print(f"{result.name}: {line(result)}", flush=True)
            return result

        # The core's take the longest, and start first.
        chosen = [project for project in found if not names or project.name in names]
        results = in_parallel(test_alone, chosen)
    print_results(results)
    return 1 if any(result.failure for result in results) else 0


def make_tools(project: Project, dist: Path, folder: Path) -> None:
    """Fills a folder with what the tests of a project import besides what it requires.

    That is tbcore-testing with what it requires from `dist`, and test tools of this environment.
    """
    kit = [str(w) for name in ("testing", "formats") for w in dist.glob(f"tbcore_{name}-*.whl")]
    pip("install", "--no-compile", "--no-index", "--no-deps", "--target", str(folder), *kit)
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = PLUGIN_TOOLS if project.shelf == "plugins" else tables["dependency-groups"]["dev"]
    link_tools(folder, wanted)


def link_tools(folder: Path, requirements: Iterable[str]) -> None:
    """Links modules of this environment into a folder: what is required, and what that requires."""
    waiting = [Requirement(requirement) for requirement in requirements]
    seen = set()
    while waiting:
        requirement = waiting.pop()
        for extra in ("", *requirement.extras):
            key = canonicalize_name(requirement.name), extra
            if key in seen:
                continue
            seen.add(key)
            distribution = importlib.metadata.distribution(requirement.name)
            for file in distribution.files or ():
                link = folder / file.parts[0]
                if file.parts[0] != ".." and not link.exists():
                    link.symlink_to(str(distribution.locate_file(file.parts[0])))
            for text in distribution.requires or ():
                needed = Requirement(text)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    waiting.append(needed)


def run_tests(project: Project, environment: Environment, place: Path) -> Result:
    """Runs the tests of a project, but for those that take long, with the tools in `place/tools`.

    `place` is a folder of this project alone; the tests are copied to `place/copy`.
    """
    copy, report = place / "copy", place / "report.xml"
    tests = copy_tests(project, copy)
    paths = [str(place / "tools")]
    command = [environment.python, "-P", "-m", "pytest", "-q", f"--junitxml={report}", tests]
    if project.shelf != "plugins":
        paths.append(str(copy / "tests" / "shared"))
        command += ["-p", "isolation", "-m", checks.QUICK.marks]
    variables = {**clean_environ(), "PYTHONPATH": os.pathsep.join(paths)}
    folder = Path(environment.python).parent
    variables["PATH"] = os.pathsep.join([str(folder), variables.get("PATH", os.defpath)])
    start = time.monotonic()
    done = subprocess.run(
        command, cwd=copy, env=variables, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - start
    failure = "" if done.returncode == 0 else f"{done.stdout}\n{done.stderr}"
    counts, reasons = Counter[str](), Counter[str]()
    for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
        outcome = next((child for child in case if child.tag != "system-out"), None)
        if outcome is None:
            counts["passed"] += 1
        elif outcome.tag == "skipped":
            counts["skipped"] += 1
            # Of a module that was skipped, only the text of the element has the reason.
            found = re.search(r"Skipped: (.*)['\"]\)$", outcome.text or "")
            message = found[1] if found else outcome.get("message", "")
            reasons[message.removeprefix("Skipped: ")] += 1
        else:
            counts["failed"] += 1
    return Result(project.name, counts, reasons, seconds, failure)


def copy_tests(project: Project, copy: Path) -> str:
    """Copies the tests of a project out of the checkout; returns their path below `copy`.

    With them go the tests of the core, for what others use of them, but not for those of a plugin.
    """
    copy.mkdir()
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    options = tables["tool"]["pytest"]["ini_options"]
    if project.shelf == "plugins":
        options = {"addopts": options["addopts"]}
    lists = {k: [v] if isinstance(v, str) else v for k, v in options.items()}
    lines = [f"{key} =\n    " + "\n    ".join(values) for key, values in lists.items()]
    (copy / "pytest.ini").write_text("\n".join(["[pytest]", *lines, ""]), encoding="utf-8")
    tests = Path(project.folder) / "tests"
    shutil.copytree(ROOT / tests, copy / tests, ignore=ignored)
    if project.shelf == "extensions":
        shutil.copytree(ROOT / "tests", copy / "tests", ignore=ignored)
    return tests.as_posix()


def print_results(results: Iterable[Result]) -> None:
    """Prints what failed, why tests were skipped, and the table of all results."""
    for result in results:
        if result.failure:
            print(f"\n--- {result.name}\n{result.failure}")
    for result in results:
        for reason, number in sorted(result.reasons.items()):
            print(f"{result.name}: {number} skipped: {reason}")
    print(f"\n{'passed':>8}{'skipped':>9}{'failed':>8}{'seconds':>9}  distribution")
    for result in results:
        counts = result.counts
        row = f"{counts['passed']:8}{counts['skipped']:9}{counts['failed']:8}{result.seconds:9.1f}"
        print(f"{row}  {result.name}{'  FAILED' if result.failure else ''}")


def line(result: Result) -> str:
    """The counts of a result."""
    return ", ".join(f"{number} {what}" for what, number in sorted(result.counts.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
