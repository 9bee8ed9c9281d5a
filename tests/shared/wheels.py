"""`dev.py wheels`: builds all distributions into `dist`, checks them, and installs each one.

The wheel of tbcore-testing also has the types of the page's modules, for authors of plugins.

A distribution may be installed only where what it requires is in `dist` or of somebody else. So
each one is installed without a package index, in an environment of its own, and tried there.
"""

from __future__ import annotations

import email.message
import email.parser
import json
import re
import shutil
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import machine
from distributions import (
    ROOT,
    Environment,
    Failed,
    Project,
    build,
    copy_checkout,
    in_parallel,
    make_environment,
    make_wheelhouse,
    projects,
    run,
)
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

DIST = ROOT / "dist"

METADATA_FILES = {"METADATA", "WHEEL", "RECORD"}
"""The files of each wheel's metadata, besides licences and entry points."""

OUR_LICENCE = "LICENSE"

TYPES = Path("extensions/testing/tbcore_testing/types")
"""The folder of the types of the page's modules, in a copy of the checkout."""


def main() -> int:
    """Makes `dist`; returns 1, after a line for each problem, if something in it is wrong."""
    with tempfile.TemporaryDirectory(prefix="tbcore-wheels-") as scratch:
        try:
            return make_dist(Path(scratch))
        except Failed as error:
            print(f"dev.py: {error}", file=sys.stderr)
            return 1


def make_dist(scratch: Path) -> int:
    """Builds, checks and installs everything; `scratch` is an empty folder."""
    source = scratch / "source"
    shutil.rmtree(DIST, ignore_errors=True)
    copy_checkout(source)
    npm = machine.npm_command(machine.node_command(Path(sys.executable)))
    run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=source)
    make_types(source, source / TYPES)
    shutil.rmtree(source / "node_modules")
    build(source, DIST)
    found = projects(source)
    problems = [line for project in found for line in problems_of(project, source, DIST)]
    for line in problems:
        print(f"dev.py: {line}", file=sys.stderr)
    if problems:
        return 1
    print(f"built and checked: a wheel and an sdist of {len(found)} distributions", flush=True)

    offline = make_wheelhouse(DIST, scratch / "wheelhouse")

    def try_alone(project: Project) -> None:
        """Installs a distribution by its name, which pip must find in `dist`."""
        start = time.monotonic()
        environment = make_environment(scratch / project.name, *offline, project.name)
        try_out(environment, [project])
        shutil.rmtree(environment.folder)
        print(f"installed alone  {time.monotonic() - start:5.1f} s  {project.name}", flush=True)

    in_parallel(try_alone, found)
    chosen = [project for project in found if project.shelf in ("", "plugins")]
    wheels = [str(project.wheel(DIST).relative_to(ROOT)) for project in chosen]
    paths = [str(ROOT / wheel) for wheel in wheels]
    try_out(make_environment(scratch / "set", *offline, *paths), chosen)
    # Not names, for which programs would also look on a package index.
    core, *plugins = wheels
    with_plugins = " ".join(f"--with {wheel}" for wheel in plugins)
    print(f"\nTo install the core and all plugins:\n\npip install {' '.join(wheels)}")
    print("\nTo run it without installing it:\n")
    print(f"uvx --from {core} {with_plugins} tbcore serve --logdir DIR")
    return 0


TYPEDEF_COMMENT = re.compile(r"^/\*\*(?:(?!\*/).)*?@typedef.*?\*/\n", re.DOTALL | re.MULTILINE)
TYPE_OF_THE_PAGE = re.compile(
    r"(^/\*\*(?:(?!\*/).)*\*/\n)?^export type "
    r"(Plugin|Unshown|Frontends|RunDetails|Nonfinite|Note\w*|MenuItem)\b.*?;\n(?=/\*\*|export |\Z)",
    re.DOTALL | re.MULTILINE,
)
"""A type of `host.js` that is for the page itself, or for an extension that keeps notes."""


def make_types(source: Path, folder: Path) -> None:
    """Writes the types of the page's public modules, and of what they use, into a folder.

    They are those in the comments of the modules, one `.d.ts` for each. `source` is a checkout, or
    a copy of one, whose `node_modules` are installed. TypeScript keeps the comments that it has
    made types of; these are left out, and so are the types that no plugin uses.
    """
    node = machine.node_command(Path(sys.executable))
    modules = [str(path) for path in sorted((source / "tbcore" / "web").glob("*.js"))]
    run(
        [
            *(node, "node_modules/typescript/bin/tsc", "--ignoreConfig", "--allowJs", "--strict"),
            *("--target", "es2022", "--lib", "es2024,dom,dom.iterable", "--module", "esnext"),
            *("--moduleResolution", "bundler", "--skipLibCheck", "--types", ""),
            *("--declaration", "--emitDeclarationOnly", "--rootDir", "tbcore/web"),
            *("--outDir", str(folder), *modules),
        ],
        cwd=source,
    )
    for path in folder.rglob("*.d.ts"):
        text = TYPEDEF_COMMENT.sub("", path.read_text(encoding="utf-8"))
        if path == folder / "host.d.ts":
            text = TYPE_OF_THE_PAGE.sub("", text)
        path.write_text(text, encoding="utf-8")


# Checking ----------------------------------------------------------------------------------------


def problems_of(project: Project, source: Path, dist: Path) -> Iterator[str]:
    """One line for each thing that is wrong with the wheel or the sdist of a project.

    `source` is the copy of the checkout that they were built from.
    """
    wheel, sdist = project.wheel(dist), project.sdist(dist)
    folder = source / project.folder
    licences = licence_files(project, source)
    for problem in wheel_problems(project, folder, wheel, licences):
        yield f"{wheel.name} {problem}"
    for problem in sdist_problems(project, folder, sdist, licences):
        yield f"{sdist.name} {problem}"
    for path in (wheel, sdist):
        content = read_metadata(path)
        try:
            Metadata.from_email(content, validate=True)
        except ExceptionGroup as group:
            yield from (f"{path.name} has invalid metadata: {e}" for e in group.exceptions)
        metadata = email.parser.Parser().parsestr(content.decode("utf-8"))
        for problem in metadata_problems(project, source, metadata, licences):
            yield f"{path.name} {problem}"


def licence_files(project: Project, source: Path) -> dict[str, bytes]:
    """The licences that a distribution must have: path in the project's folder to content."""
    folder = source / project.folder
    licences = {OUR_LICENCE: (source / OUR_LICENCE).read_bytes()}
    for path in sorted((folder / project.package).rglob("vendor/LICENSE-*")):
        licences[path.relative_to(folder).as_posix()] = path.read_bytes()
    return licences


def wheel_problems(
    project: Project, folder: Path, wheel: Path, licences: dict[str, bytes]
) -> Iterator[str]:
    """What is wrong with the files of a wheel."""
    wanted = package_files(project, folder)
    info = f"{project.name.replace('-', '_')}-{project.version}.dist-info"
    metadata = METADATA_FILES | {f"licenses/{path}" for path in licences}
    if "entry-points" in project.metadata or "scripts" in project.metadata:
        metadata |= {"entry_points.txt"}
    wanted |= {f"{info}/{name}" for name in metadata}
    with zipfile.ZipFile(wheel) as archive:
        found = set(archive.namelist())
        for path, content in licences.items():
            name = f"{info}/licenses/{path}"
            if name in found and archive.read(name) != content:
                yield f"has another text in {name}"
    yield from (f"lacks {name}" for name in sorted(wanted - found))
    yield from (f"has {name}, which is not of its package" for name in sorted(found - wanted))
    if f"{project.package}/py.typed" not in found:
        yield "lacks the marker of a typed package, py.typed"


def sdist_problems(
    project: Project, folder: Path, sdist: Path, licences: dict[str, bytes]
) -> Iterator[str]:
    """What is wrong with the files of an sdist."""
    with tarfile.open(sdist) as archive:
        found = {member.name.partition("/")[2] for member in archive if member.isfile()}
    wanted = {"PKG-INFO", "pyproject.toml", "README.md", *licences, *package_files(project, folder)}
    yield from (f"lacks {name}" for name in sorted(wanted - found))


def package_files(project: Project, folder: Path) -> set[str]:
    """The files of a project's package: modules, protos, and what its page needs."""
    return {
        path.relative_to(folder).as_posix()
        for path in (folder / project.package).rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }


def read_metadata(path: Path) -> bytes:
    """The content of a wheel's METADATA or an sdist's PKG-INFO."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            return wheel.read(name)
    with tarfile.open(path) as sdist:
        file = sdist.extractfile(f"{path.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert file is not None
        return file.read()


def metadata_problems(
    project: Project, source: Path, metadata: email.message.Message, licences: dict[str, bytes]
) -> Iterator[str]:
    """What the metadata of a wheel or an sdist has that the project does not want."""
    core = projects(source)[0]
    for field, wanted in (
        ("Name", project.name),
        ("Version", core.version),
        ("Requires-Python", core.metadata["requires-python"]),
        ("License-Expression", core.metadata["license"]),
        ("Summary", project.metadata["description"]),
        ("Description-Content-Type", "text/markdown"),
    ):
        if metadata[field] != wanted:
            yield f"has {field} {metadata[field]!r}; expected {wanted!r}"
    if sorted(metadata.get_all("License-File", [])) != sorted(licences):
        yield f"has License-File {metadata.get_all('License-File')}; expected {sorted(licences)}"
    readme = (source / project.folder / "README.md").read_text(encoding="utf-8")
    if str(metadata.get_payload()).strip() != readme.strip():
        yield "has another description than README.md"
    requirements = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    yield from (f"requires the address {item}" for item in requirements if item.url)
    if project.name != core.name:
        on_core = [item.specifier for item in requirements if item.name == core.name]
        if not on_core or any(item not in ranges_of(core.version) for item in on_core):
            found = [str(specifier) for specifier in on_core]
            wanted = " or ".join(map(str, ranges_of(core.version)))
            yield f"requires {core.name} {found}; expected {wanted}"


def ranges_of(version: str) -> list[SpecifierSet]:
    """What a distribution may require of the core: a compatible version, or this one."""
    major, minor = map(int, version.split(".")[:2])
    return [SpecifierSet(f">={major}.{minor},<{major}.{minor + 1}"), SpecifierSet(f"=={version}")]


# Trying ------------------------------------------------------------------------------------------


def try_out(environment: Environment, installed: list[Project]) -> None:
    """Imports the packages, and runs the commands that show them; raises Failed."""
    version = run([environment.tbcore, "--version"]).strip()
    expect("tbcore --version", version, f"tbcore {installed[0].version}")
    for project in installed:
        code = f"import {project.package} as package; print(package.__file__)"
        place = run([environment.python, "-c", code], cwd=environment.folder).strip()
        is_inside = Path(place).is_relative_to(environment.folder)
        expect(f"import {project.package}", is_inside, True)
    listed = json.loads(run([environment.tbcore, "plugins", "--json"]))
    states = {plugin["name"]: plugin["state"] for plugin in listed}
    wanted = {name: "ok" for item in installed for name in item.entry_points("tbcore.plugins")}
    expect("tbcore plugins", states, wanted)
    for project in installed:
        for name in project.entry_points("tbcore.commands"):
            run([environment.tbcore, name, "--help"])


def expect(what: str, found: object, wanted: object) -> None:
    """Raises Failed if two values differ."""
    if found != wanted:
        raise Failed(f"{what}: found {found!r}; expected {wanted!r}")


if __name__ == "__main__":
    sys.exit(main())
