"""Plugin settings: the options of plugins, from `--set`, the environment and their defaults."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any

from tbcore.errors import OptionError, did_you_mean
from tbcore.plugins.config import Config
from tbcore.plugins.options import VARIABLE_PREFIX, OptionValue, variable_prefix
from tbcore.plugins.types import LoadedPlugin, MountedPlugin, Plugins

logger = logging.getLogger(__name__)


def check_settings(plugins: Plugins, config: Config) -> None:
    """Raises OptionError if `--set` names a plugin that does not exist. While plugins are starting,
    it is only logged, since their hook `plugins` may return it.

    An environment variable that names no option is only logged as a warning, since it may be meant
    for another installation. The variables of plugins that failed or are disabled are not checked,
    since their options are unknown.
    """
    names = {plugin.name for plugin in plugins}
    for name, values in config.plugin_values.items():
        if name not in names:
            key = next(iter(values), "key")
            line = (
                f"--set {name}.{key}: no plugin {name!r} is installed{did_you_mean(name, names)}"
                f"{_list_of('installed', sorted(names))}"
            )
            if not any(plugin.starting for plugin in plugins):
                raise OptionError(line)
            logger.warning("%s", line)
    known = {
        option.variable(plugin.name): plugin
        for plugin in plugins
        if plugin.info
        for option in plugin.info.options
    }
    skipped_prefixes = tuple(variable_prefix(plugin.name) for plugin in plugins if not plugin.info)
    for variable in sorted(os.environ):
        if not variable.startswith(VARIABLE_PREFIX) or variable in known:
            continue
        if not variable.startswith(skipped_prefixes):
            logger.warning(
                "the environment variable %s matches no option of an installed plugin%s%s",
                variable,
                did_you_mean(variable, known),
                _list_of("available", sorted(known)),
            )


def option_values(plugin: LoadedPlugin, config: Config) -> dict[str, OptionValue]:
    """Maps each option of a plugin to its value: from `--set`, the environment, or the default.

    Raises OptionError for an unknown option in `--set`, and for a value that is not valid.
    """
    declared = {option.name: option for option in plugin.info.options} if plugin.info else {}
    given = config.plugin_values.get(plugin.name, {})
    for key in given:
        if key not in declared:
            parent = plugin.source.parent if plugin.source else ""
            raise OptionError(
                f"--set {plugin.name}.{key}: plugin {plugin.name!r} has no option {key!r}"
                f"{did_you_mean(key, declared)}{_list_of('options', list(declared))}"
                f"{parent and f'; it comes with {parent!r}: try --set {parent}.{key}'}"
            )
    values: dict[str, OptionValue] = {}
    for key, option in declared.items():
        variable = option.variable(plugin.name)
        if key in given:
            text, where = given[key], f"--set {plugin.name}.{key}"
        elif variable in os.environ:
            text, where = os.environ[variable], variable
        else:
            values[key] = option.default
            continue
        try:
            values[key] = option.value(text)
        except (ValueError, OverflowError):
            raise OptionError(f"{where}: {text!r} is not valid; expected {option.wanted}") from None
    return values


def plugin_json(mounted: MountedPlugin, *, whole_path: bool) -> dict[str, Any]:
    """A plugin's entry in lists of the installed plugins: its names, its source, its options.

    See `LoadedPlugin.source_label` for `whole_path`.
    """
    plugin, values = mounted.plugin, mounted.options.values
    distribution, version = plugin.source_label(whole_path=whole_path)
    return {
        "name": plugin.name,
        "title": plugin.title,
        "description": plugin.info.description if plugin.info else "",
        "distribution": distribution,
        "version": version,
        "page_allows": list(plugin.info.page_allows) if plugin.info else [],
        "page": f"{plugin.name}/" * (not plugin.module and plugin.implements("page_routes")),
        "options": [
            {
                "name": option.name,
                "type": option.type.__name__,
                "value": values[option.name],
                "default": option.default,
                "help": option.help,
                "wanted": option.wanted,
            }
            for option in (plugin.info.options if plugin.info else ())
            if option.name in values
        ],
    }


def _list_of(label: str, names: Sequence[str]) -> str:
    return f"; {label}: {', '.join(names) or 'none'}"
