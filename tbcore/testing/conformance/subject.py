"""Subjects: the plugins that are checked, installed or in a folder."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tbcore.kinds import Claim, Claims
from tbcore.plugins import LoadedPlugin, attempt, describe, load_plugins
from tbcore.sources import ENTRY_POINT_GROUP


@dataclass(frozen=True, eq=False)
class Subject:
    """A plugin that was loaded, or the reason why it was not."""

    name: str
    plugin: LoadedPlugin | None
    error: str = ""

    @property
    def claims(self) -> Claims:
        """What the plugin may be asked about: everything, where it claims nothing."""
        info = self.plugin.info if self.plugin else None
        return (info.claims if info else ()) or (Claim(),)

    @property
    def has_page(self) -> bool:
        return bool(self.plugin and self.plugin.static_folder)


def find_subject(argument: str) -> Subject:
    """The plugin of this name; a text with a slash, or one that ends in .py, is its path."""
    if os.sep not in argument and "/" not in argument and not argument.endswith(".py"):
        return _loaded(argument, None)
    try:
        name, module = _at_path(Path(argument).expanduser().resolve())
    except ValueError as error:
        return Subject(argument, None, str(error))
    imported = attempt(importlib.import_module, module)
    if imported.error is not None:
        return Subject(name, None, f"importing {module!r} failed: {describe(imported.error)}")
    return _loaded(name, imported.value)


def _loaded(name: str, module: object) -> Subject:
    extra = None if module is None else {name: module}
    [plugin, *_] = load_plugins(only=() if extra else [name], extra=extra)
    return Subject(name, None if plugin.error else plugin, plugin.error or "")


def _at_path(path: Path) -> tuple[str, str]:
    """Name and module of the plugin in a folder; what the module needs is made importable."""
    project = path / "pyproject.toml"
    if project.is_file():
        with project.open("rb") as file:
            table = tomllib.load(file).get("project", {}).get("entry-points", {})
        points = table.get(ENTRY_POINT_GROUP)
        if not points:
            raise ValueError(f"{project} has no entry point of the group {ENTRY_POINT_GROUP!r}")
        name, module = next(iter(points.items()))
        sys.path[:0] = [str(path), str(path / "src")]
        return name, str(module).partition(":")[0].strip()
    if (path / "__init__.py").is_file() or path.suffix == ".py":
        sys.path.insert(0, str(path.parent))
        module = path.stem
        return module.removeprefix("tbcore_"), module
    raise ValueError(f"there is no plugin at {path}: neither a pyproject.toml nor an __init__.py")
