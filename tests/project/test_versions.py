"""The version numbers of all packages in the repository agree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tbcore
from tbcore.extensions import INSTALL, STORAGE

REPOSITORY = Path(__file__).resolve().parents[2]


def tables(folder: Path) -> dict[str, Any]:
    """The tables of a folder's pyproject.toml."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def project(folder: Path) -> dict[str, Any]:
    """The `project` table of a folder's pyproject.toml."""
    table: dict[str, Any] = tables(folder)["project"]
    return table


CORE = project(REPOSITORY)
PLUGINS = sorted(path.parent for path in REPOSITORY.glob("plugins/*/pyproject.toml"))
EXTENSIONS = sorted(path.parent for path in REPOSITORY.glob("extensions/*/pyproject.toml"))


def compatible(version: str) -> str:
    """The range of compatible versions, which have the same first two numbers."""
    major, minor = map(int, version.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 1}"


def test_the_package_has_the_version_of_its_distribution() -> None:
    """`tbcore --version` and the page show what pip shows."""
    assert tbcore.__version__ == CORE["version"]


@pytest.mark.parametrize("folder", EXTENSIONS, ids=lambda folder: folder.name)
def test_an_extension_has_the_version_of_the_core_and_requires_it(folder: Path) -> None:
    """It imports names of `tbcore.engine`, which may change with the second number."""
    extension = project(folder)

    assert extension["name"] == f"tbcore-{folder.name}"
    assert extension["version"] == CORE["version"]
    own = [one for one in extension["dependencies"] if one.startswith("tbcore-")]
    assert f"tbcore-server{compatible(CORE['version'])}" in own
    assert all(one.endswith(compatible(CORE["version"])) for one in own)
    assert extension["requires-python"] == CORE["requires-python"]
    assert extension["license"] == CORE["license"]
    assert tables(folder)["build-system"] == tables(REPOSITORY)["build-system"]


def test_extras_of_the_core_install_those_of_an_extension() -> None:
    """`tbcore-server[s3]` is `tbcore-remote[s3]`, which hints name for `s3://`."""
    remote = project(REPOSITORY / "extensions" / "remote")
    wanted = compatible(CORE["version"])
    extras = CORE["optional-dependencies"]

    assert extras["remote"] == [f"tbcore-remote{wanted}"]
    for extra in remote["optional-dependencies"]:
        assert extras[extra] == [f"tbcore-remote[{extra}]{wanted}"]
    schemes = {name: hint for (group, name), hint in INSTALL.items() if group == STORAGE}
    assert schemes.keys() == remote["entry-points"][STORAGE].keys()
    hinted = set(re.findall(r"\[(\w+)\]", " ".join(schemes.values())))
    assert hinted == remote["optional-dependencies"].keys()


@pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)
def test_a_plugin_has_the_version_of_the_core_and_requires_it(folder: Path) -> None:
    """Installing a plugin installs a compatible core."""
    plugin = project(folder)

    assert plugin["name"] == f"tbcore-{folder.name.replace('_', '-')}"
    assert plugin["version"] == CORE["version"]
    core = [d for d in plugin["dependencies"] if re.match(r"tbcore-server\b", d)]
    assert [re.sub(r"\[\w+\]", "", d) for d in core] == [
        f"tbcore-server{compatible(CORE['version'])}"
    ]
    assert plugin["requires-python"] == CORE["requires-python"]
    assert plugin["license"] == CORE["license"]
    # The tests install what pip fetches to build the core and one plugin.
    assert tables(folder)["build-system"] == tables(REPOSITORY)["build-system"]
    assert list(plugin["entry-points"]["tbcore.plugins"]) == [folder.name]


@pytest.mark.parametrize("folder", [*PLUGINS, *EXTENSIONS], ids=lambda folder: folder.name)
def test_each_distribution_has_the_licence(folder: Path) -> None:
    """A copy, since the sdist of a folder can only have files of that folder."""
    assert (folder / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_the_extra_all_has_every_plugin_logs_and_notebooks() -> None:
    """`tbcore-server[all]` installs all plugins, and what users need beside the server."""
    folders = [
        *PLUGINS,
        *(REPOSITORY / "extensions" / name for name in ("formats", "logs", "notes", "jupyter")),
    ]
    wanted = [f"{project(folder)['name']}{compatible(CORE['version'])}" for folder in folders]
    assert sorted(CORE["optional-dependencies"]["all"]) == sorted(wanted)


def test_the_changelog_has_this_version() -> None:
    """The newest section is about the present version."""
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## Version (\S+)", changelog, re.MULTILINE)
    assert headings[0] == CORE["version"]


def test_no_group_has_a_possessive_quantifier() -> None:
    """Python 3.11.2, which is Debian's, finds other matches with them."""
    code = [
        path
        for top in ("tbcore", "plugins", "extensions")
        for path in (REPOSITORY / top).rglob("*.py")
    ]
    found = [p for p in code if "tests" not in p.parts and re.search(r"\)[*+?]\+", p.read_text())]
    assert len(code) > 300
    assert [path.relative_to(REPOSITORY).as_posix() for path in found] == []
