"""Subject: a plugin under test, installed or in a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tbcore import Claim, Claims
from tbcore.engine import LoadedPlugin, installed_plugins, load_plugins


@dataclass(frozen=True, eq=False)
class Subject:
    """A plugin that was loaded, or the reason why it could not be loaded."""

    name: str
    plugin: LoadedPlugin | None
    error: str = ""
    argument: str = ""
    """The name or the path that `find_subject` got."""

    @property
    def claims(self) -> Claims:
        """The claims of the plugin; a claim that matches all data if the plugin has none."""
        info = self.plugin.info if self.plugin else None
        return (info.claims if info else ()) or (Claim(),)

    @property
    def has_page(self) -> bool:
        """Whether the plugin has a tab."""
        return bool(self.plugin and self.plugin.has_module_file())


def find_subject(argument: str) -> Subject:
    """The plugin with this name or, if the argument has a slash or ends in .py, at this path."""
    is_path = os.sep in argument or "/" in argument or argument.endswith(".py")
    if is_path:
        path = Path(argument).expanduser().resolve()
        found = load_plugins(only=(), folders=[str(path)])
    else:
        found = load_plugins(only=[argument])
    enabled = [
        one for one in found if one.disabled_by is None and (is_path or one.name == argument)
    ]
    if not enabled:
        error = f"no plugin at {argument}; expected a module, a package or a pyproject.toml"
        return Subject(argument, None, error)
    if len(enabled) > 1:
        names = ", ".join(one.name for one in enabled)
        error = f"expected one plugin at {argument}, found {names}; pass the path of each"
        return Subject(argument, None, error)
    error = enabled[0].error or ""
    if not is_path and argument not in {source.name for source in installed_plugins()}:
        error += "; for a plugin in a folder pass its path: --plugin ./path/to/plugin"
    return Subject(enabled[0].name, None if error else enabled[0], error, argument)
