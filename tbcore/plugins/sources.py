"""Sources: where plugins come from, found without importing any of them.

An installed plugin is an entry point of its distribution. A plugin in a folder of `--plugins_dir`
is a file, a package, or the folder of a distribution that is not installed. Such a plugin is
imported from there, without a change to Python's path.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import logging
import re
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tbcore.errors import PluginError
from tbcore.extensions import PLUGINS, canonical_name, declared, label, module_of

logger = logging.getLogger(__name__)

MODULE_PREFIX = "tbcore_"
"""Usual prefix of a plugin's module name. The name of a plugin in a folder omits the prefix."""
NOT_PLUGINS = re.compile(r"[._].*|test_.*|conftest\.py|setup\.py")
"""Names of files and folders that are never taken for plugins."""

_imported_files: set[str] = set()
"""Paths of all files from which plugins in folders have been imported."""


class Source(NamedTuple):
    """Where a plugin comes from, and how it is loaded."""

    name: str
    distribution: str
    """Name and version of an installed distribution; the path of a plugin in a folder; "" for an
    object that was passed in."""
    load: Callable[[], object]
    """Imports the plugin and returns the module or object that has its hooks."""
    module: str = ""
    """Dotted name of the plugin's module; "" for an object that was passed in."""
    front_end: str = ""
    """Name of the ES module next to the file of a single-file plugin; "" for any other plugin."""
    code: tuple[Path, ...] = ()
    """Files and folders with the code of a plugin in a folder; empty for any other plugin."""
    disabled_by: str = ""
    """Why the plugin is disabled, such as `--no_plugin`; "" if it is to be imported."""
    parent: str = ""
    """Name of the plugin whose hook `plugins` returned this one; "" for any other plugin."""

    def __str__(self) -> str:
        return self.distribution or "this process"

    @property
    def key(self) -> tuple[str, str, str]:
        """An identifier that is the same each time this source is found."""
        return (self.name, self.distribution, self.disabled_by)

    @property
    def is_installed(self) -> bool:
        return bool(self.distribution) and not self.code


def installed_plugins(*, strict: bool = False) -> list[Source]:
    """Sources of all installed plugins, sorted by name and then by distribution.

    See `extensions.declared` for malformed entry points.
    """
    return [
        Source(point.name, label(point), point.load, module_of(point.value))
        for point in declared(PLUGINS, strict=strict)
    ]


def in_folder(folder: Path) -> list[Source]:
    """Sources of the plugins in a folder, sorted by name.

    Each file `name.py`, package or distribution in the folder may be a plugin. The folder may also
    be a package or a distribution itself. A distribution whose pyproject.toml cannot be read
    becomes a source that raises PluginError when it is loaded.
    """
    found = _at_path(folder)
    if not found:
        try:
            paths = sorted(folder.iterdir())
        except OSError as error:
            # The folder existed when the server started, and may come back.
            logger.debug("cannot list the plugins in %s: %s", folder, error)
            paths = []
        for path in paths:
            if not NOT_PLUGINS.fullmatch(path.name):
                found += _at_path(path)
    return sorted(found, key=lambda source: source.name)


def _at_path(path: Path) -> list[Source]:
    """Sources of the plugins in the file, package or distribution at this path, not below it."""
    if path.suffix == ".py" and path.is_file():
        name = path.stem.removeprefix(MODULE_PREFIX)
        # Not the file's own name, so that a file `profile.py` does not hide Python's module.
        module = f"tbcore_file_{re.sub(r'[^0-9A-Za-z_]', '_', path.stem)}"
        load = partial(_import_from, module, path)
        return [Source(name, str(path), load, module, f"{path.stem}.js", (path,))]
    pyproject = path / "pyproject.toml"
    if pyproject.is_file():
        found = _declared_in(path, pyproject)
        if found:
            return found
    if (path / "__init__.py").is_file():
        load = partial(_import_from, path.name, path / "__init__.py")
        name = path.name.removeprefix(MODULE_PREFIX)
        return [Source(name, str(path), load, path.name, "", (path,))]
    return []


def _declared_in(folder: Path, pyproject: Path) -> list[Source]:
    """Sources of the plugins whose entry points are in the folder's pyproject.toml."""
    try:
        with pyproject.open("rb") as file:
            tables = tomllib.load(file)
        points = tables.get("project", {}).get("entry-points", {}).get(PLUGINS, {})
        values = {str(name): str(value) for name, value in points.items()}
    except (OSError, ValueError, AttributeError) as error:
        name = canonical_name(folder.name).removeprefix("tbcore-")
        load = partial(fail, f"plugin {name!r}: {pyproject} cannot be read: {error}")
        return [Source(name, str(folder), load, code=(pyproject,))]
    return [
        Source(
            name,
            str(folder),
            partial(_load_entry_point, name, folder, value),
            module_of(value),
            code=(_top_level(folder, value) or folder, pyproject),
        )
        for name, value in values.items()
    ]


def fail(message: str) -> object:
    """Raises PluginError with this message. The `load` of sources that cannot be loaded."""
    raise PluginError(message)


def _top_level(folder: Path, value: str) -> Path | None:
    """Path of the top-level package or module that an entry point names; None if it is missing."""
    name = re.split(r"[.:\s]", value.strip(), maxsplit=1)[0]
    for root in (folder, folder / "src"):
        if (root / name / "__init__.py").is_file():
            return root / name
        if (root / f"{name}.py").is_file():
            return root / f"{name}.py"
    return None


def _load_entry_point(name: str, folder: Path, value: str) -> object:
    """Imports the top-level package from the folder, then loads the entry point as usual."""
    point = importlib.metadata.EntryPoint(name, value, PLUGINS)
    path = _top_level(folder, value)
    if path is None:
        raise PluginError(
            f"plugin {name!r}: {folder / 'pyproject.toml'} has the entry point {value!r}, "
            f"but neither that folder nor its src/ has the module"
        )
    _import_from(path.stem, path / "__init__.py" if path.is_dir() else path)
    return point.load()


def _import_from(name: str, file: Path) -> ModuleType:
    """Imports a module from a file, or a package from its `__init__.py`.

    Replaces the module of an installed plugin with this name. Does not change Python's path. Raises
    PluginError if any other module has the name.
    """
    file = file.absolute()
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(file):
        return loaded
    _refuse_taken_name(name, loaded, file)
    # Another plugin may already have imported the module of the installed plugin.
    for other in [other for other in list(sys.modules) if f"{other}.".startswith(f"{name}.")]:
        del sys.modules[other]
    _imported_files.add(str(file))
    folders = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise PluginError(f"{file} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _refuse_taken_name(name: str, loaded: ModuleType | None, file: Path) -> None:
    """Raises PluginError if the name belongs to a module that is not an installed plugin.

    `loaded` is the module of this name that is already imported, if any.
    """
    is_installed_plugin = any(source.module.split(".")[0] == name for source in installed_plugins())
    loaded_from = (getattr(loaded, "__file__", None) or name) if loaded else None
    taken_by = None
    if loaded_from and (loaded_from in _imported_files or not is_installed_plugin):
        taken_by = loaded_from
    elif name in sys.stdlib_module_names:
        taken_by = "a module of Python itself"
    elif not is_installed_plugin:
        spec = importlib.util.find_spec(name)
        # The file itself is on Python's path if Python was started in its folder.
        taken_by = (spec.origin or name) if spec and spec.origin != str(file) else None
    if taken_by is not None:
        raise PluginError(
            f"the module {name!r} of {file} has the name of {taken_by}; "
            f"rename the folder, for example to {MODULE_PREFIX}{name.removeprefix(MODULE_PREFIX)}"
        )
