"""Subjects: the plugins that are checked, installed or in a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tbcore.kinds import Claim, Claims
from tbcore.plugins import LoadedPlugin, load_plugins
from tbcore.sources import installed


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
        return bool(self.plugin and self.plugin.has_module_file())


def find_subject(argument: str) -> Subject:
    """The plugin of this name; a text with a slash, or one that ends in .py, is its path."""
    is_path = os.sep in argument or "/" in argument or argument.endswith(".py")
    if is_path:
        path = Path(argument).expanduser().resolve()
        found = load_plugins(only=(), folders=[str(path)])
    else:
        found = load_plugins(only=[argument])
    there = [one for one in found if one.off is None and (is_path or one.name == argument)]
    if not there:
        what = f"there is no plugin at {argument}: no module, package or pyproject.toml"
        return Subject(argument, None, what)
    if len(there) > 1:
        names = ", ".join(one.name for one in there)
        what = f"there are {len(there)} plugins at {argument}, {names}: give each with its own path"
        return Subject(argument, None, what)
    error = there[0].error or ""
    if not is_path and argument not in {source.name for source in installed()}:
        error += "; a plugin in a folder is named by its path: --plugin ./path/to/plugin"
    return Subject(there[0].name, None if error else there[0], error)
