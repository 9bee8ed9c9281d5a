"""Who may import whom, what the core may not name, and what does not belong into the repository."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

ROOMS = {
    "errors": 0,
    "kinds": 0,
    "eventfiles": 1,
    "values": 2,
    "store": 2,
    "health": 1,
    "options": 1,
    "http": 3,
    "media": 3,
    "hookspecs": 3,
    "sources": 2,
    "plugins": 3,
    "config": 3,
    "": 3,  # tbcore itself: the public names
    "server": 4,
    "cli": 5,
    "__main__": 5,
    "testing": 5,
    "_pytest_plugin": 6,
    "demo": 6,
}
"""Room -> how far to the right it lies. A room imports from its own column or from its left."""

APART = {"values": {"store"}, "store": {"values"}}
"""Rooms of one column that do not know each other: the core does not interpret what it stores."""

PUBLIC = {"tbcore", "tbcore.http", "tbcore.media", "tbcore.values", "tbcore.testing"}
"""What plugins import, they and their tests."""

IMPORT_MAP = {
    "preact",
    "preact/hooks",
    "htm",
    "htm/preact",
    "@preact/signals-core",
    "@preact/signals",
    "uplot",
}
"""What modules of the page import by name, beside `tbcore/...`."""

PLUGIN_NAMES = {
    "audio",
    "distributions",
    "graphs",
    "histograms",
    "hparams",
    "images",
    "pr_curves",
    "scalars",
    "text",
}
"""Of this repository and of TensorBoard; those of `plugins/` are added where it is used."""

MAY_NAME_PLUGINS = ("eventfiles/", "testing/", "values.py")
"""Where such words are the file format's: names of fields, and of plugins inside metadata. The
module of the legacy API may as well: its document gives the words."""


class Import(NamedTuple):
    """One imported name and where it stands."""

    module: str  # absolute; of `from a import b` it is a, or a.b when that is a module
    names: tuple[str, ...]  # what is taken from it
    line: int


def imports(path: Path, package: str) -> Iterator[Import]:
    """All imports of a module, relative ones made absolute.

    `package` is the dotted name of the package that holds the module.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], base]).rstrip(".")
            yield Import(base, tuple(alias.name for alias in node.names), node.lineno)


def python_files(folder: Path) -> list[Path]:
    """Modules that people write: generated ones have nothing to say here."""
    return [path for path in sorted(folder.rglob("*.py")) if not path.name.endswith("_pb2.py")]


def dotted(path: Path, root: Path) -> str:
    """The name of the package that holds a module."""
    return ".".join(path.relative_to(root).parent.parts)


def room(module: str) -> str:
    """The room of a module of the core: `tbcore.store.loader` is in `store`."""
    return module.removeprefix("tbcore").lstrip(".").split(".")[0]


def core_rooms(item: Import) -> set[str]:
    """The rooms that an import reaches: `from tbcore import errors` reaches `errors`."""
    if item.module == "tbcore":
        names = {name if name in ROOMS else "" for name in item.names}
        return names or {""}
    return {room(item.module)} if item.module.startswith("tbcore.") else set()


def plugin_folders() -> list[Path]:
    """Every plugin of the repository, the example included."""
    projects = [*REPOSITORY.glob("plugins/*/"), *REPOSITORY.glob("docs/examples/*/")]
    return sorted(path for path in projects if (path / "pyproject.toml").exists())


def test_rooms_import_only_from_their_left() -> None:
    """Data moves from event files to HTTP, and no room knows who comes after it."""
    wrong = []
    for path in python_files(REPOSITORY / "tbcore"):
        name = path.relative_to(REPOSITORY / "tbcore").with_suffix("").parts[0]
        own = "" if name == "__init__" else name
        assert own in ROOMS, f"tbcore/{name}: a new room needs a place in ROOMS"
        for item in imports(path, dotted(path, REPOSITORY)):
            for other in core_rooms(item):
                assert other in ROOMS, f"{path}:{item.line}: what is tbcore.{other}?"
                if ROOMS[other] > ROOMS[own] or other in APART.get(own, set()):
                    wrong.append(f"{path.relative_to(REPOSITORY)}:{item.line} imports {other!r}")
    assert wrong == []


def test_the_core_imports_no_plugin() -> None:
    """Plugins are found by entry points alone."""
    wrong = [
        f"{path.relative_to(REPOSITORY)}:{item.line} imports {item.module}"
        for path in python_files(REPOSITORY / "tbcore")
        for item in imports(path, dotted(path, REPOSITORY))
        if item.module.startswith("tbcore_")
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", plugin_folders(), ids=lambda folder: folder.name)
def test_plugins_import_the_public_surface_only(folder: Path) -> None:
    """Another plugin, or a private module of the core, is out of bounds; in tests as well."""
    public_names = set(exported_names(REPOSITORY / "tbcore" / "__init__.py"))
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    wrong = []
    for path in python_files(folder):
        for item in imports(path, dotted(path, folder)):
            top = item.module.split(".")[0]
            where = f"{path.relative_to(REPOSITORY)}:{item.line}"
            if top.startswith("tbcore_") and top not in packages:
                wrong.append(f"{where} imports {item.module}")
            if top != "tbcore":
                continue
            if item.module not in PUBLIC:
                wrong.append(f"{where} imports {item.module}")
            if item.module == "tbcore":
                modules = {name.rpartition(".")[2] for name in PUBLIC}
                private = set(item.names) - public_names - modules
                wrong += [f"{where} imports {name} from tbcore" for name in sorted(private)]
    assert wrong == []


def exported_names(path: Path) -> list[str]:
    """`__all__` of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    raise AssertionError(f"{path} has no __all__")


def test_the_core_names_no_plugin() -> None:
    """The core works for any plugin alike; names that it knows would be favourites."""
    names = PLUGIN_NAMES | set(installable_plugins())
    wrong = []
    for path in python_files(REPOSITORY / "tbcore"):
        relative = path.relative_to(REPOSITORY / "tbcore").as_posix()
        if relative.startswith(MAY_NAME_PLUGINS) or "legacy" in relative:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and node.value in names:
                wrong.append(f"tbcore/{relative}:{node.lineno} names {node.value!r}")
    for path in page_modules(REPOSITORY / "tbcore" / "web"):
        found = re.findall(r"(['\"`])(\w+)\1", path.read_text(encoding="utf-8"))
        wrong += [f"{path.name} names {name!r}" for _, name in found if name in names]
    assert wrong == []


def installable_plugins() -> list[str]:
    """The names under which the plugins of this repository register."""
    names: list[str] = []
    for path in REPOSITORY.glob("plugins/*/pyproject.toml"):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        names += project["entry-points"]["tbcore.plugins"]
    return names


def page_modules(folder: Path) -> list[Path]:
    """The ES modules below a folder that people of this project write."""
    modules = [*folder.rglob("*.js"), *folder.rglob("*.mjs")]
    return [path for path in sorted(modules) if "vendor" not in path.parts]


IMPORT = re.compile(
    r"""^\s*(?:import|export)\b[^"';]*?\bfrom\s*["']([^"']+)["']   # import a from "x"; re-exports
      | ^\s*import\s*["']([^"']+)["']                              # import "x"
      | \bimport\(\s*["']([^"']+)["']                              # import("x"), types in JSDoc too
    """,
    re.MULTILINE | re.VERBOSE,
)


@pytest.mark.parametrize("folder", plugin_folders(), ids=lambda folder: folder.name)
def test_page_modules_of_a_plugin_import_their_own_and_the_shell(folder: Path) -> None:
    """A plugin's page works wherever it is installed: it asks for nothing of another one."""
    wrong = []
    for static in folder.glob("*/static"):
        for path in page_modules(static):
            for match in IMPORT.finditer(path.read_text(encoding="utf-8")):
                name = next(group for group in match.groups() if group)
                if name.startswith("."):
                    target = (path.parent / name).resolve()
                    allowed = target.is_file() and target.is_relative_to(static.resolve())
                elif name.startswith("tbcore/"):
                    allowed = (REPOSITORY / "tbcore/web" / name.removeprefix("tbcore/")).is_file()
                else:
                    allowed = name in IMPORT_MAP
                if not allowed:
                    wrong.append(f"{path.relative_to(REPOSITORY)} imports {name!r}")
    assert wrong == []


def test_page_modules_of_the_shell_import_their_own() -> None:
    """The shell meets plugins by the addresses that the server gives it, never by import."""
    web = REPOSITORY / "tbcore" / "web"
    wrong = []
    for path in page_modules(web):
        for match in IMPORT.finditer(path.read_text(encoding="utf-8")):
            name = next(group for group in match.groups() if group)
            if name.startswith("."):
                allowed = (path.parent / name).resolve().is_file()
            elif name.startswith("tbcore/"):
                allowed = (web / name.removeprefix("tbcore/")).is_file()
            else:
                allowed = name in IMPORT_MAP
            if not allowed:
                wrong.append(f"{path.relative_to(REPOSITORY)} imports {name!r}")
    assert wrong == []


def test_no_file_of_others_is_tracked() -> None:
    """Front-end libraries are fetched when a package is built, and are not committed."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("this is no git checkout, so nothing is tracked")
    listing = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    pattern = re.compile(r"(^|/)(vendor|node_modules)/|\.min\.(js|css|mjs)$|\.whl$")
    assert [path for path in listing.splitlines() if pattern.search(path)] == []


def test_the_lock_file_names_hashes_and_no_address() -> None:
    """Whoever builds decides which registry to ask; the hashes say what may come."""
    lock = json.loads((REPOSITORY / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [name for name, package in packages.items() if "integrity" not in package] == []


def test_front_end_libraries_are_pinned_exactly() -> None:
    """A range would let two builds of one version differ."""
    manifest = json.loads((REPOSITORY / "package.json").read_text(encoding="utf-8"))
    versions = {**manifest["dependencies"], **manifest["devDependencies"]}
    assert [
        f"{name} {version}" for name, version in versions.items() if not version[0].isdigit()
    ] == []
