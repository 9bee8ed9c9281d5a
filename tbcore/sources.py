"""Sources: where plugins come from, found without importing any of them.

An installed plugin is an entry point of its distribution. One in a folder that the user names is a
file, a package, or the folder of a distribution that nobody has installed; it is imported from
where it lies, and nothing is put on Python's path for it.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import logging
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tbcore.errors import PluginError

logger = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "tbcore.plugins"
PREFIX = "tbcore_"
"""Of modules of plugins, by habit; the names of the plugins go without."""
SKIPPED_FOLDERS = {"__pycache__", "node_modules"}
"""Large, and nothing that a plugin's author edits."""
NO_PLUGINS = re.compile(r"[._].*|test_.*|conftest\.py|setup\.py")
"""Names in a folder of plugins that are there for something else."""


class Source(NamedTuple):
    """Where a plugin comes from."""

    name: str
    distribution: str
    """Name and version of what was installed, or the path in a folder of plugins."""
    load: Callable[[], object]
    module: str = ""
    """Of the entry point; "" for an object that is there already."""
    front_end: str = ""
    """The ES module of a plugin that is a single file, which lies beside it; "" for any other."""
    code: tuple[Path, ...] = ()
    """In a folder: the files and folders that the plugin is made of."""
    off: str = ""
    """Why it is not to be imported, in the words of whoever asked for that."""

    def __str__(self) -> str:
        return self.distribution or "this process"

    @property
    def key(self) -> tuple[str, str, str]:
        """What stays the same when it is found again."""
        return (self.name, self.distribution, self.off)

    @property
    def is_installed(self) -> bool:
        return bool(self.distribution) and not self.code

    def places(self) -> tuple[Path, ...]:
        """The files and folders whose changes are changes of this plugin; imports nothing of it."""
        if self.code or not self.module:
            return self.code
        try:
            place = _place(self.module)
        except Exception as error:
            # Finding a module may run code of packages that are broken.
            logger.debug("the code of plugin %r is not found: %r", self.name, error)
            place = None
        return (place,) if place else ()

    def files(self) -> Iterator[str]:
        """The paths of all files at its places."""
        for place in self.places():
            if not place.is_dir():
                yield str(place)
            for folder, folders, names in os.walk(place):
                folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS and f[0] != "."]
                yield from (os.path.join(folder, name) for name in names)
        if self.front_end:
            script, front_end = self.code[0], self.code[0].with_suffix("")
            yield from (str(path) for path in script.parent.glob(f"{front_end.name}.*")
                        if path != script)  # fmt: skip


def installed(*, strict: bool = False) -> list[Source]:
    """The entry points of all distributions, sorted by name and then by distribution.

    importlib.metadata.entry_points() gives up at the first distribution that has malformed entry
    points, whosoever they are; here such a distribution costs its own, unless `strict`.
    """
    sources: dict[str, list[Source]] = {}
    for distribution in importlib.metadata.distributions():
        try:
            entry_points = [
                point for point in distribution.entry_points if point.group == ENTRY_POINT_GROUP
            ]
            if not entry_points:
                continue
            name = distribution.metadata["Name"] or "unnamed"
            label = f"{name} {distribution.version}"
        except Exception as error:
            if strict:
                raise
            logger.debug("entry points of %s cannot be read: %r", distribution, error)
            continue
        # The first on the path hides older copies of the same distribution.
        sources.setdefault(
            one_spelling(name),
            [
                Source(point.name, label, point.load, point.value.partition(":")[0].strip())
                for point in entry_points
            ],
        )
    ordered = [source for name in sorted(sources) for source in sources[name]]
    return sorted(ordered, key=lambda source: source.name)


def one_spelling(distribution: str) -> str:
    """The name of a distribution as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def in_folder(folder: Path) -> list[Source]:
    """The plugins in a folder, by name: `name.py`, packages, and folders of distributions.

    The folder of one distribution, or a package, will do as well. What cannot be understood is a
    source that raises PluginError when it is loaded.
    """
    found = _in_one(folder)
    if not found:
        try:
            paths = sorted(folder.iterdir())
        except OSError as error:
            # It was there at the start; it may come back.
            logger.debug("plugins in %s cannot be looked for: %s", folder, error)
            paths = []
        for path in paths:
            if not NO_PLUGINS.fullmatch(path.name):
                found += _in_one(path)
    return sorted(found, key=lambda source: source.name)


def _in_one(path: Path) -> list[Source]:
    """The plugins of one file or folder, without a look into its other folders."""
    if path.suffix == ".py" and path.is_file():
        name = path.stem.removeprefix(PREFIX)
        # Of its own, so that a file may be called `profile.py` without being taken for another.
        module = f"tbcore_file_{re.sub(r'[^0-9A-Za-z_]', '_', path.stem)}"
        load = partial(_import_from, module, path)
        return [Source(name, str(path), load, module, f"{path.stem}.js", (path,))]
    project = path / "pyproject.toml"
    if project.is_file():
        found = _in_distribution(path, project)
        if found:
            return found
    if (path / "__init__.py").is_file():
        load = partial(_import_from, path.name, path / "__init__.py")
        return [Source(path.name.removeprefix(PREFIX), str(path), load, path.name, "", (path,))]
    return []


def _in_distribution(folder: Path, project: Path) -> list[Source]:
    """The entry points that a pyproject.toml names."""
    try:
        with project.open("rb") as file:
            tables = tomllib.load(file)
        points = tables.get("project", {}).get("entry-points", {}).get(ENTRY_POINT_GROUP, {})
        values = {str(name): str(value) for name, value in points.items()}
    except (OSError, ValueError, AttributeError) as error:
        name = one_spelling(folder.name).removeprefix("tbcore-")
        load = partial(_fail, f"plugin {name!r}: {project} cannot be read: {error}")
        return [Source(name, str(folder), load, code=(project,))]
    return [
        Source(
            name,
            str(folder),
            partial(_load_entry_point, name, folder, value),
            value.partition(":")[0].strip(),
            code=(_top_level(folder, value) or folder, project),
        )
        for name, value in values.items()
    ]


def _fail(message: str) -> object:
    raise PluginError(message)


def _top_level(folder: Path, value: str) -> Path | None:
    """The package, or the module outside of any, that an entry point begins in."""
    name = re.split(r"[.:\s]", value.strip(), maxsplit=1)[0]
    for root in (folder, folder / "src"):
        if (root / name / "__init__.py").is_file():
            return root / name
        if (root / f"{name}.py").is_file():
            return root / f"{name}.py"
    return None


def _load_entry_point(name: str, folder: Path, value: str) -> object:
    point = importlib.metadata.EntryPoint(name, value, ENTRY_POINT_GROUP)
    place = _top_level(folder, value)
    if place is None:
        raise PluginError(
            f"plugin {name!r}: {folder / 'pyproject.toml'} has the entry point {value!r}, "
            f"and neither that folder nor its src/ has such a module"
        )
    _import_from(place.stem, place / "__init__.py" if place.is_dir() else place)
    return point.load()


def _import_from(name: str, file: Path) -> ModuleType:
    """Imports a module, or a package by its `__init__.py`, from where it lies."""
    file = file.absolute()
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(file):
        return known
    _refuse_taken_name(name, known, file)
    folders = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise PluginError(f"{file} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _refuse_taken_name(name: str, known: ModuleType | None, file: Path) -> None:
    """A folder may take the place of an installed plugin, and of no other module."""
    taken_by = getattr(known, "__file__", None) or name if known else None
    if taken_by is None and name in sys.stdlib_module_names:
        taken_by = "Python itself"
    if taken_by is None and all(source.module.split(".")[0] != name for source in installed()):
        spec = importlib.util.find_spec(name)
        # Whoever starts Python in the folder of a plugin has it on the path.
        taken_by = (spec.origin or name) if spec and spec.origin != str(file) else None
    if taken_by is not None:
        raise PluginError(
            f"the module {name!r} of {file} has a name that is taken by {taken_by}; "
            f"rename the folder, as in {PREFIX}{name.removeprefix(PREFIX)}"
        )


def _place(module: str) -> Path | None:
    """Of the outermost package that is more than a namespace, without importing it."""
    name, _, rest = module.partition(".")
    while (spec := importlib.util.find_spec(name)) is not None and spec.origin is None and rest:
        part, _, rest = rest.partition(".")
        name = f"{name}.{part}"
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin)
    return file.parent if spec.submodule_search_locations else file
