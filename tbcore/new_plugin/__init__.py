"""new_plugin: writes the distribution of a plugin that works at once, to be edited from there.

The files beside this one are what it writes, with `{{name}}` and the like in place of the words.
"""

from __future__ import annotations

import importlib.util
import keyword
import re
from pathlib import Path

import tbcore
from tbcore.errors import TbcoreError
from tbcore.plugins import RESERVED_NAME
from tbcore.sources import PREFIX, installed

TEMPLATES = Path(__file__).parent
FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "__init__.py": "tbcore_{{name}}/__init__.py",
    "index.js": "tbcore_{{name}}/static/index.js",
    "test_plugin.py": "tests/test_{{name}}.py",
}
"""Template to the path of the file that it becomes."""

MAX_NAME = 50
"""Characters of a name, which is part of names of files."""
NAME = re.compile(rf"(?=.{{1,{MAX_NAME}}}\Z)[a-z][a-z0-9]*(_[a-z0-9]+)*")
"""Part of the name of a module, and with `-` in place of `_` of that of a distribution."""

RESERVED = {
    RESERVED_NAME: "the page of the plugins has this name",
    "server": "tbcore-server is the distribution of tbcore itself",
    "tbcore": "it is that of tbcore itself",
}


def new_plugin(name: str, parent: Path) -> Path:
    """Writes the folder `tbcore-NAME` below another one, and returns it.

    Folder and distribution have `-` where the name has `_`, as those of tbcore's own plugins have.
    Raises TbcoreError with one line for a name that will not do, or a folder that is there already.
    """
    check_name(name)
    dashed = name.replace("_", "-")
    folder = parent / f"tbcore-{dashed}"
    major, minor = tbcore.__version__.split(".")[:2]
    words = {
        "name": name,
        "dashed": dashed,
        "title": name.replace("_", " ").capitalize(),
        "versions": f">={major}.{minor},<{major}.{int(minor) + 1}",
    }
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise TbcoreError(
            f"{str(folder)!r} is there already, and nothing is written over it; "
            f"move it away, or choose another name"
        ) from None
    except OSError as error:
        raise TbcoreError(f"{str(folder)!r} cannot be made: {error.strerror}") from None
    for template, path in FILES.items():
        target = folder / _filled(path, words)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = (TEMPLATES / f"{template}.in").read_text(encoding="utf-8")
        target.write_text(_filled(text, words), encoding="utf-8")
    return folder


def check_name(name: str) -> None:
    """Raises TbcoreError where a new plugin cannot have this name."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_").removeprefix(PREFIX)
    if not NAME.fullmatch(name) or name.startswith(PREFIX):
        close = f"; {plain!r} would do" if NAME.fullmatch(plain) else ""
        raise TbcoreError(
            f"{name[:100]!r} is no name for a plugin: it is made of words of a-z and 0-9 with '_' "
            f"between them, has {MAX_NAME} characters at most, begins with a letter, and goes "
            f"without 'tbcore'{close}"
        )
    if keyword.iskeyword(name):
        raise TbcoreError(f"{name!r} is a word of Python, so choose another name")
    if name in RESERVED:
        raise TbcoreError(f"a plugin cannot be called {name!r}: {RESERVED[name]}")
    for source in installed():
        if source.name == name:
            raise TbcoreError(
                f"there is a plugin {name!r} already, of {source}; choose another name, or "
                f"uninstall it"
            )
    if importlib.util.find_spec(f"{PREFIX}{name}") is not None:
        raise TbcoreError(
            f"there is a module {PREFIX + name!r} already, so choose another name than {name!r}"
        )


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: words[found[1]], text)
