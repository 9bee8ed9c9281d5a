"""Extensions: other distributions' additions to tbcore, found by entry points, loaded when used.

    group             an entry point is
    tbcore.plugins    a dashboard: see `tbcore.plugins.sources`
    tbcore.commands   a click command, by its name on the command line
    tbcore.open       the function behind `tbcore.open`
    tbcore.index      an `IndexExtension` of `tbcore.store.stored_runs`
    tbcore.storage    a `Storage` of `tbcore.eventfiles.storage`, by the scheme of its URIs
    tbcore.launchers  a `Launcher` of `tbcore.server.launchers`
    tbcore.formats    a class with the members of `tbcore.eventfiles.formats.Format`
    tbcore.dev        a function from a `Config` to `DevTools` of `tbcore.server.app`
    tbcore.notes      a function that `tbcore.store.notes.open_notes` calls

Finding an entry point imports nothing of its distribution. An entry point that cannot be loaded
raises an error of one line that names its distribution, and everything else works.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import operator
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbcore import __version__
from tbcore.errors import ExtensionError, OptionError, TbcoreError
from tbcore.text import describe, one_line

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution, EntryPoint

# Modules that take long to import are imported in the functions that search for extensions, since
# reading the logs of this machine needs no extension.

logger = logging.getLogger(__name__)

PLUGINS = "tbcore.plugins"
COMMANDS = "tbcore.commands"
OPEN = "tbcore.open"
INDEX = "tbcore.index"
STORAGE = "tbcore.storage"
LAUNCHERS = "tbcore.launchers"
NOTES = "tbcore.notes"
FORMATS = "tbcore.formats"
DEV = "tbcore.dev"

_LOGS_COMMANDS = (
    "check", "completion", "diff", "export", "help", "ls", "report", "show", "tags", "tail",
)  # fmt: skip
INSTALL: Mapping[tuple[str, str], str] = {
    **{(COMMANDS, name): "tbcore-logs" for name in _LOGS_COMMANDS},
    (COMMANDS, "index"): "tbcore-index",
    (COMMANDS, "notes"): "tbcore-notes",
    (COMMANDS, "plugins"): "tbcore-testing",
    (OPEN, "open"): "tbcore-logs",
    (INDEX, "index"): "tbcore-index",
    (LAUNCHERS, "tensorboard_magic"): "tbcore-jupyter",
    (NOTES, "notes"): "tbcore-notes",
    (DEV, "dev"): "tbcore-testing",
    **{(FORMATS, name): "tbcore-formats" for name in ("csv", "mlflow", "trainer", "wandb")},
    **{
        (STORAGE, scheme): f"tbcore-remote{extra}"
        for extra, schemes in {
            "": ("http", "https", "hdfs", "webhdfs", "*"),
            "[s3]": ("s3", "s3a"),
            "[gcs]": ("gs", "gcs"),
            "[azure]": ("az", "abfs", "abfss", "adl"),
            "[sftp]": ("sftp", "ssh"),
            "[hf]": ("hf",),
        }.items()
        for scheme in schemes
    },
}
"""Maps the group and name of each entry point of tbcore's own extensions to the distribution to
install for it. If several distributions have the entry point, this one is used."""

_SUBJECTS = {OPEN: "tbcore.open", INDEX: "an index", NOTES: "a note on runs", DEV: "--dev"}
"""Maps groups that have a single name to their subject in messages."""
_KINDS = {LAUNCHERS: "launcher", FORMATS: "format"}
"""Maps groups with several names to what each is called in messages, if that is no command."""
_SLOW_IMPORT_SECONDS = 5.0
"""The import of an extension is reported when it takes longer than this."""
_COMPARISONS = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
_REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*")
"""A requirement without a marker: name and versions."""
_BOUND = re.compile(r"\s*(>=|<=|==|>|<)\s*(\d+(?:\.\d+)*)\s*")


def declared(group: str, *, strict: bool = False) -> list[EntryPoint]:
    """The entry points of a group, sorted by name and then by distribution.

    A distribution with malformed entry points is skipped; if `strict`, its error is raised. (With
    importlib.metadata.entry_points() one such distribution would hide those of all others.) If
    there are two copies of a distribution with such entry points, the first on `sys.path` counts,
    since Python would import that one. The working directory is not searched: it may have been
    downloaded from anywhere.
    """
    try:
        here = os.path.realpath("")
        path = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
    except OSError:  # The working directory was deleted.
        path = [entry for entry in sys.path if os.path.isabs(entry)]
    places = tuple((entry, os.stat(entry).st_mtime) for entry in path if os.path.exists(entry))
    # A distribution may be half installed, and a later change may get the same time.
    is_settled = max((changed for _, changed in places), default=0) < time.time() - 2
    found: dict[str, list[EntryPoint]] = {}
    for distribution, known in (_kept if is_settled else _installed)(places):
        try:
            every = distribution.entry_points if known is None else known
            points = [point for point in every if point.group == group]
            if points:
                found.setdefault(canonical_name(label(points[0]).partition(" ")[0]), points)
        except Exception as error:
            if strict:
                raise
            logger.debug("entry points of %s cannot be read: %r", distribution, error)
    ordered = [point for name in sorted(found) for point in found[name]]
    return sorted(ordered, key=lambda point: point.name)


def _installed(places: tuple[tuple[str, float], ...]) -> list[tuple[Distribution, Any]]:
    """The distributions in some folders, with their entry points; None if those are malformed."""
    import importlib.metadata

    found = []
    for distribution in importlib.metadata.distributions(path=[folder for folder, _ in places]):
        points: list[EntryPoint] | None = None
        with contextlib.suppress(Exception):
            points = [*distribution.entry_points]
        found.append((distribution, points))
    return found


_kept = functools.lru_cache(maxsize=1)(_installed)
"""Reads again if a folder has another time, as when a distribution comes or goes. What is changed
in the files of a distribution is not seen by this process."""


def label(point: EntryPoint) -> str:
    """Name and version of the distribution that has an entry point."""
    metadata: Any = point.dist and point.dist.metadata  # Each access parses it again.
    return f"{metadata['Name'] or 'unnamed'} {metadata['Version']}"


def canonical_name(distribution: str) -> str:
    """The name of a distribution, normalized as in PEP 503."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def module_of(value: str) -> str:
    """Dotted name of the module in an entry point's value, such as `package.module:object`."""
    return value.partition(":")[0].strip()


def available(group: str) -> dict[str, list[EntryPoint]]:
    """Maps each name in a group to its entry points, the one that is used first.

    If several distributions have the name, the one in `INSTALL` is used, else the first by name.
    """
    found: dict[str, list[EntryPoint]] = {}
    for point in declared(group):
        found.setdefault(point.name, []).append(point)
    for points in found.values():
        if len(points) > 1:  # To find out whose one is, its whole METADATA is parsed.
            points.sort(key=lambda point: not _is_own(point))
    return found


def loaded(group: str, *names: str, found: Mapping[str, list[EntryPoint]] | None = None) -> Any:
    """Imports the object of an entry point and returns it.

    Uses the first of the names that an installed distribution has. Logs a warning if several
    distributions have it, or if the import takes long. `found` is what `available` returns; without
    it, the distributions are searched. Raises OptionError if no distribution has it, and
    ExtensionError if it cannot be imported or needs another version of the core.
    """
    what = _described(group, names[0])
    found = available(group) if found is None else found
    points = next((found[name] for name in names if name in found), None)
    if not points:
        installs = (INSTALL[group, name] for name in names if (group, name) in INSTALL)
        raise OptionError(needs(group, names[0], next(installs, "")))
    point = points[0]
    for other in points[1:]:
        line = f"{label(point)} and {label(other)} both have {what}; the first is used"
        logger.warning("%s", one_line(line))
    _check_version(point)
    slow = one_line(f"importing {label(point)} for {what} takes long")
    timer = threading.Timer(_SLOW_IMPORT_SECONDS, logger.warning, ["%s", slow])
    timer.daemon = True
    timer.start()
    try:
        return point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # Even SystemExit, which must not end a server.
        line = f"{what} of {label(point)} cannot be imported"
        raise ExtensionError(f"{one_line(line)}: {describe(error)}") from error
    finally:
        timer.cancel()


@contextlib.contextmanager
def guarded(group: str, *names: str) -> Iterator[None]:
    """Turns exceptions of an extension that is called in the `with` block into ExtensionErrors.

    The message is one line that names the extension's distribution. Errors of tbcore and OSErrors
    are raised unchanged. The arguments are those of `loaded`.
    """
    try:
        yield
    except (TbcoreError, OSError):
        raise
    except Exception as error:
        found = available(group)
        point = next((found[name][0] for name in names if name in found), None)
        whose = f" of {label(point)}" if point else ""
        line = f"{_described(group, names[0])}{whose} failed"
        raise ExtensionError(f"{one_line(line)}: {describe(error)}") from error


def needs(group: str, name: str, install: str) -> str:
    """A message about a missing entry point, with the command that installs it, or all names."""
    quoted = f"'{install}'" if "[" in install else install or ", ".join(available(group)) or "none"
    command = f": pip install {quoted}" if install else f"; installed: {quoted}"
    if group in (STORAGE, FORMATS) and (group, name) not in INSTALL:
        return f"{_described(group, name)} is not known; another package may have it{command}"
    return f"{_described(group, name)} needs another package{command}"


def _described(group: str, name: str) -> str:
    """The subject of an entry point in messages, such as `s3://` or `the command 'ls'`."""
    if group == STORAGE:
        return f"{name}://"
    return _SUBJECTS.get(group, f"the {_KINDS.get(group, 'command')} {name!r}")


def summary(point: EntryPoint) -> str:
    """The first line of the docstring of an entry point's module, read without importing it.

    Returns "" if there is none, or if the file cannot be found or read.
    """
    import ast
    import importlib.util

    package, *rest = module_of(point.value).split(".")
    with contextlib.suppress(ImportError, OSError, SyntaxError, ValueError):
        spec = importlib.util.find_spec(package)
        for path in _files_of(spec, rest) if spec else ():
            if path.is_file():
                docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
                return one_line((docstring or "").partition("\n")[0])
    return ""


def _files_of(spec: ModuleSpec, parts: list[str]) -> Iterator[Path]:
    """The possible files of a module of the package that `spec` describes, or of the package."""
    if not parts and spec.origin:
        yield Path(spec.origin)
    for place in spec.submodule_search_locations or ():
        yield Path(place, *parts[:-1], f"{parts[-1]}.py") if parts else Path(place, "__init__.py")
        yield Path(place, *parts, "__init__.py")


def _is_own(point: EntryPoint) -> bool:
    """Whether an entry point belongs to tbcore's own extension."""
    install = INSTALL.get((point.group, point.name), "").partition("[")[0]
    return canonical_name(label(point).partition(" ")[0]) == install


def _check_version(point: EntryPoint) -> None:
    """Raises ExtensionError if the distribution requires another version of tbcore-server.

    pip checks this, too, but only when it installs the distribution, and the core may have been
    upgraded since. Only bounds such as `>=0.1,<0.2` are checked; any other part of a requirement
    counts as met.
    """
    distribution: Any = point.dist
    for line in distribution.requires or ():
        requirement = _REQUIREMENT.fullmatch(line)
        if requirement is None or canonical_name(requirement[1]) != "tbcore-server":
            continue
        wanted = requirement[2].strip()
        for part in wanted.split(","):
            bound = _BOUND.fullmatch(part)
            if bound and not _COMPARISONS[bound[1]](_numbers(__version__), _numbers(bound[2])):
                raise ExtensionError(
                    f"{label(point)} needs tbcore-server {wanted}, found {__version__}; "
                    f"install versions that fit"
                )


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparisons."""
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
