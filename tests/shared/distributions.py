"""The distributions of this repository: built from a clean copy, and installed in environments.

`dev.py wheels`, `dev.py test --isolated`, the Dockerfile and the tests of what is built use this
module. `python distributions.py DIST` builds everything.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]

SHELVES = ("plugins", "extensions")
"""The folders with a distribution in each of their folders that has a pyproject.toml."""


class Failed(Exception):
    """A command failed; the message is the command and its output."""


class Project(NamedTuple):
    """What one distribution is built from."""

    folder: str
    """Relative to the root of the checkout, with slashes; "." for the core."""
    tables: dict[str, Any]
    """The tables of pyproject.toml."""

    @property
    def shelf(self) -> str:
        """The shelf it stands on, or "" for the core."""
        return self.folder.rpartition("/")[0]

    @property
    def metadata(self) -> dict[str, Any]:
        """The table `project`."""
        table: dict[str, Any] = self.tables["project"]
        return table

    @property
    def name(self) -> str:
        """The name of the distribution, such as `tbcore-pr-curves`."""
        return str(self.metadata["name"])

    @property
    def version(self) -> str:
        """The version of the distribution."""
        return str(self.metadata["version"])

    @property
    def package(self) -> str:
        """The import name of its only package."""
        (package,) = self.tables["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
        return str(package)

    def entry_points(self, group: str) -> list[str]:
        """The names of its entry points in a group."""
        return list(self.metadata.get("entry-points", {}).get(group, {}))

    def requirements(self) -> list[str]:
        """What it requires and what its extras do, but for our own distributions."""
        extras = self.metadata.get("optional-dependencies", {}).values()
        texts = [*self.metadata["dependencies"], *(text for extra in extras for text in extra)]
        return [text for text in texts if not text.startswith("tbcore-")]

    def wheel(self, dist: Path) -> Path:
        """Its wheel in a folder of built distributions."""
        return dist / f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"

    def sdist(self, dist: Path) -> Path:
        """Its sdist in a folder of built distributions."""
        return dist / f"{self.name.replace('-', '_')}-{self.version}.tar.gz"


def projects(root: Path = ROOT) -> list[Project]:
    """All projects of a checkout: the core, the plugins and the extensions, each sorted by name."""
    files = [root / "pyproject.toml"]
    for shelf in SHELVES:
        files += sorted(root.glob(f"{shelf}/*/pyproject.toml"))
    return [
        Project(
            file.parent.relative_to(root).as_posix(),
            tomllib.loads(file.read_text(encoding="utf-8")),
        )
        for file in files
    ]


# Building ----------------------------------------------------------------------------------------


def copy_checkout(destination: Path) -> None:
    """Copies the files that a fresh clone has; so there are no front-end libraries."""
    shutil.copytree(ROOT, destination, ignore=ignored)


def ignored(folder: str, names: list[str]) -> set[str]:
    """Names of files that a fresh clone does not have; an `ignore` function for shutil.copytree."""
    pattern = re.compile(
        r"\.git|\..*_cache|\.venv.*|\.hypothesis|__pycache__|node_modules|vendor|dist|build"
        r"|test-results|demo-logdir"
    )
    return {name for name in names if pattern.fullmatch(name)}


def build(source: Path, dist: Path) -> None:
    """Builds the sdist of each project in a copy of the checkout, and from it the wheel.

    The build tools are those of this environment. What the wheels have is thus what can be built
    from the sdists, too. Raises Failed with the output of the build.
    """

    def build_one(project: Project) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            if "hooks" in project.tables["tool"]["hatch"]["build"]:
                # The metadata names the licences of the front-end libraries, and is read before a
                # hook could fetch these.
                hatchling("--hooks-only", "-t", "sdist", cwd=source / project.folder)
            hatchling("-t", "sdist", "-d", str(dist), cwd=source / project.folder)
            unpack(project.sdist(dist), Path(scratch))
            (unpacked,) = Path(scratch).iterdir()
            hatchling("-t", "wheel", "-d", str(dist), cwd=unpacked)

    in_parallel(build_one, projects(source))


def write_constraints(dist: Path) -> None:
    """Writes a file for pip's `--constraint`: every distribution of ours is the wheel in `dist`.

    Otherwise pip would also take one of the same name from a package index.
    """
    lines = [f"{project.name} @ {project.wheel(dist).as_uri()}\n" for project in projects()]
    (dist / "constraints.txt").write_text("".join(lines), encoding="utf-8")


def hatchling(*arguments: str, cwd: Path) -> str:
    """Runs hatchling's command `build` in the folder of a project."""
    return run([sys.executable, "-m", "hatchling", "build", *arguments], cwd=cwd)


def unpack(archive: Path, folder: Path) -> None:
    """Extracts a tar archive. Python 3.11.2 has no filters, and ignores the attribute."""
    with tarfile.open(archive) as opened:
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(folder)


def in_parallel(function: Any, items: Iterable[Any]) -> list[Any]:
    """The results of a function that waits for other processes, in the order of the items."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


# Installing --------------------------------------------------------------------------------------


class Environment(NamedTuple):
    """A virtual environment with installed distributions."""

    folder: Path

    @property
    def python(self) -> str:
        """The path of its Python."""
        return str(self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))

    @property
    def tbcore(self) -> str:
        """The path of the command that the core installs."""
        return str(self.folder / ("Scripts/tbcore.exe" if os.name == "nt" else "bin/tbcore"))


def make_environment(folder: Path, *arguments: str | Path) -> Environment:
    """A virtual environment after `pip install ARGUMENTS`, which finds nothing installed before."""
    run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    environment = Environment(folder)
    # Modules that no test imports need not be compiled.
    pip("install", "--no-compile", *map(str, arguments), python=environment.python)
    return environment


def pip(command: str, *arguments: str, python: str = sys.executable) -> str:
    """Runs the pip of this environment for another one; returns its output."""
    options = ["--disable-pip-version-check", "--python", python]
    return run([sys.executable, "-m", "pip", *options, command, *arguments])


def make_wheelhouse(dist: Path, folder: Path) -> list[str]:
    """Fetches what the distributions in `dist` require; returns pip's options to install offline.

    With these options, pip takes our distributions from `dist`, all others from `folder`, and
    none from a package index.
    """
    pip("wheel", "--wheel-dir", str(folder), *map(str, sorted(dist.glob("*.whl"))))
    for copy in folder.glob("tbcore_*.whl"):
        copy.unlink()
    # --isolated: without the addresses in the variables and the configuration of the user.
    return ["--isolated", "--no-index", "--find-links", str(dist), "--find-links", str(folder)]


def run(command: list[str], cwd: Path | None = None, **variables: str) -> str:
    """Runs a command outside of this checkout, as a user does; returns its output."""
    response = subprocess.run(
        command,
        cwd=cwd,
        env={**clean_environ(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if response.returncode != 0:
        raise Failed(f"{command} failed:\n{response.stdout}\n{response.stderr}")
    return response.stdout


def clean_environ() -> dict[str, str]:
    """The environment variables without those that make modules of this checkout importable."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        and not name.startswith("TBCORE_")
    }


if __name__ == "__main__":
    build(ROOT, Path(sys.argv[1]).absolute())
    write_constraints(Path(sys.argv[1]).absolute())
