"""The version numbers of all packages in the repository agree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tbcore

REPOSITORY = Path(__file__).resolve().parent.parent


def tables(folder: Path) -> dict[str, Any]:
    """The tables of a folder's pyproject.toml."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def project(folder: Path) -> dict[str, Any]:
    """The `project` table of a folder's pyproject.toml."""
    table: dict[str, Any] = tables(folder)["project"]
    return table


CORE = project(REPOSITORY)
EXTENSIONS = sorted(path.parent for path in REPOSITORY.glob("extensions/*/pyproject.toml"))
PLUGINS = sorted(path.parent for path in REPOSITORY.glob("plugins/*/pyproject.toml"))


def compatible(version: str) -> str:
    """The range of compatible versions, which have the same first two numbers."""
    major, minor = map(int, version.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 1}"


def test_the_package_has_the_version_of_its_distribution() -> None:
    """`tbcore --version` and the page show what pip shows."""
    assert tbcore.__version__ == CORE["version"]


def test_the_index_is_of_the_version_of_the_core_and_requires_exactly_that() -> None:
    """It uses modules of the core that are not public."""
    folder = REPOSITORY / "extensions" / "index"
    index = project(folder)

    assert index["version"] == CORE["version"]
    assert f"tbcore-server=={CORE['version']}" in index["dependencies"]
    text = (folder / "tbcore_index" / "__init__.py").read_text(encoding="utf-8")
    assert f'__version__ = "{CORE["version"]}"' in text
    assert tables(folder)["build-system"] == tables(REPOSITORY)["build-system"]


@pytest.mark.parametrize("folder", EXTENSIONS, ids=lambda folder: folder.name)
def test_an_extension_has_the_version_of_the_core_and_requires_it(folder: Path) -> None:
    """What an extension requires of tbcore is compatible with it, the core and other extensions."""
    extension = project(folder)

    assert extension["name"] == f"tbcore-{folder.name}"
    assert extension["version"] == CORE["version"]
    own = [d for d in extension["dependencies"] if d.startswith("tbcore-")]
    assert own[0].startswith("tbcore-server")
    for requirement in own if folder.name != "index" else own[1:]:
        assert re.sub(r"^[\w-]+", "", requirement) == compatible(CORE["version"])
    assert extension["requires-python"] == CORE["requires-python"]
    assert extension["license"] == CORE["license"]
    assert tables(folder)["build-system"] == tables(REPOSITORY)["build-system"]


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


def test_the_extra_all_has_every_plugin_and_logs() -> None:
    """`tbcore-server[all]` installs all plugins, and what reads logs without a server."""
    folders = [*PLUGINS, REPOSITORY / "extensions" / "logs"]
    wanted = [f"{project(folder)['name']}{compatible(CORE['version'])}" for folder in folders]
    assert sorted(CORE["optional-dependencies"]["all"]) == sorted(wanted)


def test_the_changelog_has_this_version() -> None:
    """The newest section is about the present version."""
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## Version (\S+)", changelog, re.MULTILINE)
    assert headings[0] == CORE["version"]
