"""new_plugin: creates the distribution of a small plugin that works, as a starting point.

The files `*.in` in this folder are templates of the distribution's files, with placeholders such as
`{{name}}`. Those in the folders are for one kind of plugin, the others for all.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tbcore import TbcoreError, __version__
from tbcore.engine import installed_plugins

MODULE_PREFIX = "tbcore_"
TEMPLATES = Path(__file__).parent

TEST = "tests/test_{{name}}.py"
FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "tsconfig.json": "tsconfig.json",
    "package.json": "package.json",
    "gitignore": ".gitignore",
}
"""Maps the name of each template for all kinds, without `.in`, to the path of the file that is made
from it."""


FORMAT_FILES = {
    "format/pyproject.toml": "pyproject.toml",
    "format/README.md": "README.md",
    "gitignore": ".gitignore",
}
"""The same for the kind without a tab: a format of the logs of another program."""


class PluginKind(NamedTuple):
    """A kind of plugin to start from."""

    shows: str
    """What its tab shows, or what a format reads, for a sentence."""
    tab: str
    """The file to begin with, in the folder `static`; "" for a format."""
    demo: str
    """The command that writes runs with data for it."""
    files: Mapping[str, str]
    """The templates of this kind, like FILES."""
    more_files: str = ""
    """Lines of the table of files for those that other kinds do not have."""

    @property
    def all_files(self) -> Mapping[str, str]:
        """All templates, like FILES."""
        return {**(FILES if self.tab else FORMAT_FILES), **self.files}


def _package(kind: str, *static: str) -> Mapping[str, str]:
    """The templates of the package, and of what is in its folder `static`."""
    package = {f"{kind}/__init__.py": "tbcore_{{name}}/__init__.py"}
    files = {f"{kind}/{name}": f"tbcore_{{{{name}}}}/static/{name}" for name in static}
    return MappingProxyType({**package, **files})


KINDS: Mapping[str, PluginKind] = MappingProxyType({
    "scalars": PluginKind(
        "the newest value of each scalar of each run",
        "index.js",
        "python -m tbcore_testing.demo runs",
        {**_package("scalars", "index.js"), "scalars/test_plugin.py": TEST},
    ),
    "steps": PluginKind(
        "tensors of its own as bars, one step at a time",
        "index.js",
        "python demo.py runs",
        {
            **_package("steps", "index.js"),
            "steps/test_plugin.py": TEST,
            "steps/demo.py": "demo.py",
        },
        "| `demo.py` | writes runs with data of the plugin's own |\n",
    ),
    "files": PluginKind(
        "files beside the event files, here JSON objects",
        "index.js",
        "python demo.py runs",
        {
            **_package("files", "index.js"),
            "files/test_plugin.py": TEST,
            "files/demo.py": "demo.py",
        },
        "| `demo.py` | writes runs with such files |\n",
    ),
    "page": PluginKind(
        "the newest value of each scalar of each run, on a page of its own",
        "index.html",
        "python -m tbcore_testing.demo runs",
        {**_package("page", "index.html", "index.js"), "scalars/test_plugin.py": TEST},
    ),
    "format": PluginKind(
        "logs of another program, here JSON lines with a step",
        "",
        "python demo.py runs",
        {**_package("format"), "format/test_plugin.py": TEST, "format/demo.py": "demo.py"},
    ),
})  # fmt: skip
"""The kinds by name, the first of which is the default."""

MAX_NAME_CHARACTERS = 50
"""Maximum number of characters in a name, because file systems limit the names of files."""
NAME = re.compile(rf"(?=.{{1,{MAX_NAME_CHARACTERS}}}\Z)[a-z][a-z0-9]*(_[a-z0-9]+)*")
"""Matches valid names of new plugins.

The name becomes a part of the module's name and, with `-` in place of `_`, of the distribution's.
"""

RESERVED = {
    "plugins": "it is reserved for the page about all plugins",
    **dict.fromkeys(
        ("data", "static", "legacy", "healthz", "readyz", "metrics"),
        "it is reserved for the core's addresses",
    ),
    "server": "tbcore-server is the distribution of tbcore itself",
    "tbcore": "it is reserved for tbcore itself",
}
"""Maps each name that no plugin may have to the reason."""


def new_plugin(name: str, parent: Path, kind: str = "scalars") -> Path:
    """Creates the folder `tbcore-NAME` in a parent folder, and returns its path.

    `kind` is a key of KINDS. Folder and distribution have `-` where the name has `_`. Raises
    TbcoreError if the name is not valid, or if the folder exists.
    """
    check_name(name)
    dashed = name.replace("_", "-")
    folder = parent / f"tbcore-{dashed}"
    major, minor = __version__.split(".")[:2]
    replacements = {
        "name": name,
        "dashed": dashed,
        "title": name.replace("_", " ").capitalize(),
        **{field: getattr(KINDS[kind], field) for field in ("shows", "tab", "demo", "more_files")},
        "versions": f">={major}.{minor},<{major}.{int(minor) + 1}",
    }
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise TbcoreError(
            f"{str(folder)!r} already exists; move it away, or choose another name"
        ) from None
    except OSError as error:
        raise TbcoreError(f"{str(folder)!r} cannot be created: {error.strerror}") from None
    for template, path in KINDS[kind].all_files.items():
        target = folder / _filled(path, replacements)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (TEMPLATES / f"{template}.in").read_text(encoding="utf-8")
        target.write_text(_filled(text, replacements), encoding="utf-8")
    return folder


def check_name(name: str) -> None:
    """Raises TbcoreError if a new plugin cannot have this name."""
    similar = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_").removeprefix(MODULE_PREFIX)
    if not NAME.fullmatch(name) or name.startswith(MODULE_PREFIX):
        suggestion = f"; try {similar!r}" if NAME.fullmatch(similar) else ""
        raise TbcoreError(
            f"{name[:100]!r} is not a valid name of a plugin; expected words of a-z and 0-9, "
            f"separated by '_', with a letter first, without 'tbcore', and with at most "
            f"{MAX_NAME_CHARACTERS} characters{suggestion}"
        )
    if name in RESERVED:
        raise TbcoreError(f"a plugin cannot be named {name!r}: {RESERVED[name]}")
    for source in installed_plugins():
        if source.name == name:
            raise TbcoreError(
                f"a plugin {name!r} is installed already, by {source}; choose another name, or "
                f"uninstall it"
            )
    if importlib.util.find_spec(f"{MODULE_PREFIX}{name}") is not None:
        raise TbcoreError(
            f"a module {MODULE_PREFIX + name!r} exists already; choose another name than {name!r}"
        )


def _filled(text: str, replacements: dict[str, str]) -> str:
    """The text with each placeholder `{{name}}` replaced by `replacements["name"]`."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: replacements[found[1]], text)
