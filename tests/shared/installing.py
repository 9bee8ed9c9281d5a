"""Installs packages for dev.py, and projects of this checkout such that their files are in place.

`pip install --editable` does the same, but starts four processes for each project, one of which
installs the build tools again. Here all wheels are built in one process, which is this module as a
program, run by the Python of the environment.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MARK = "direct_url.json"
"""File of an installed distribution that says where it is from. pip shows this, and replaces a
distribution of the same version only if this says that its files are used in place."""


PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "install")


def install(python: Path, requirements: Sequence[str], projects: Sequence[Path]) -> None:
    """Installs requirements and projects, with what they require; ends the program if it fails."""
    pip = [str(python), *PIP]
    this = [str(python), __file__]
    folders = [str(project) for project in projects]
    with tempfile.TemporaryDirectory(prefix="tbcore-dev-") as scratch:
        tools, wheels = Path(scratch, "tools"), Path(scratch, "wheels")
        if folders:
            tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
            # hatchling needs editables for this kind of wheel.
            needed = [*tables["build-system"]["requires"], "editables"]
            fetch = [*pip, "--no-compile", "--target", str(tools), *needed]
            run_step("fetching the build tools", fetch)
            build = [*this, "build", str(wheels), *folders]
            run_step("preparing the files of this checkout", build, PYTHONPATH=str(tools))
        # In one call, so that pip takes the core, which the plugins require, from the checkout.
        found = [str(wheel) for wheel in sorted(wheels.glob("*.whl"))]
        # Of the many modules of tools, most are never imported.
        options = ["--no-compile"] if requirements else []
        run_step("installing packages", [*pip, *options, *found, *requirements])
        if folders:
            run_step("recording where they are", [*this, "mark", *folders])


def run_step(step: str, command: Sequence[str], **variables: str) -> None:
    """Runs a command; on a terminal, one line shows the step, and the last line of its output."""
    on_terminal = sys.stderr.isatty()
    width = shutil.get_terminal_size().columns - 1
    if not on_terminal:
        print(f"dev.py: {step}", file=sys.stderr, flush=True)
    environment = {**os.environ, **variables}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout or ():
            if on_terminal:
                shown = f"dev.py: {step}: {line.strip()}"[:width]
                print(f"{shown:{width}}", end="\r", file=sys.stderr, flush=True)
    if on_terminal:
        print(" " * width, end="\r", file=sys.stderr, flush=True)
    if process.returncode != 0:
        sys.exit(f"dev.py: {step} failed; see the message above")


# As a program ------------------------------------------------------------------------------------
#
#     python installing.py build FOLDER PROJECT...   build a wheel of each project in FOLDER
#     python installing.py mark PROJECT...           record that the installed ones are in place


def main(command: str, *arguments: str) -> None:
    """Runs a command; prints what it has done, line by line."""
    if command == "build":
        build(Path(arguments[0]), [Path(project) for project in arguments[1:]])
    else:
        for project in arguments:
            mark(Path(project))


def build(folder: Path, projects: list[Path]) -> None:
    """Builds a wheel of each project, with a .pth file in place of its package.

    What build hooks need is installed in the folder PYTHONPATH, with hatchling.
    """
    from hatchling import build as backend

    needed: set[str] = set()
    for project in projects:
        os.chdir(project)
        needed.update(backend.get_requires_for_build_editable())
    if missing := sorted(filter(is_missing, needed)):
        tools = os.environ["PYTHONPATH"]
        subprocess.run([sys.executable, *PIP, "--target", tools, *missing], check=True)
        importlib.invalidate_caches()
    for number, project in enumerate(projects, start=1):
        os.chdir(project)
        backend.build_editable(str(folder))
        print(f"{number} of {len(projects)}", flush=True)


def is_missing(requirement: str) -> bool:
    """Whether the environment does not have what a build needs."""
    from packaging.requirements import Requirement

    wanted = Requirement(requirement)
    try:
        return importlib.metadata.version(wanted.name) not in wanted.specifier
    except importlib.metadata.PackageNotFoundError:
        return True


def mark(project: Path) -> None:
    """Writes the file MARK of an installed project, as pip does for `--editable`."""
    name = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "name"
    ]
    distribution = importlib.metadata.distribution(name)
    files = {path.name: Path(str(path.locate())) for path in distribution.files or ()}
    content = {"dir_info": {"editable": True}, "url": project.as_uri()}
    files[MARK].write_text(json.dumps(content), encoding="utf-8")
    # The hash of a file is optional; the one here is of what pip wrote.
    record = files["RECORD"].read_text(encoding="utf-8")
    pattern = rf"^([^,\n]*{re.escape(MARK)}),.*$"
    files["RECORD"].write_text(re.sub(pattern, r"\1,,", record, flags=re.M), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
