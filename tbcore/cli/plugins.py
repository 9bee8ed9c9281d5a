"""The command `plugins`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tbcore.cli.parsing import Command, format_option, logs_discarded, plugins_dir_option
from tbcore.errors import did_you_mean
from tbcore.extensions import COMMANDS, loaded

if TYPE_CHECKING:
    from tbcore.plugins.types import MountedPlugin


class PluginsCommand(Command):
    """The command `plugins`; `new` and `types` are commands of an extension."""

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> Any:
        is_own = args[:1] not in (["new"], ["types"])
        make = super().make_context if is_own else loaded(COMMANDS, "plugins").make_context
        return make(info_name, args, *rest, **extra)


@click.command(cls=PluginsCommand, short_help="List the installed plugins, or create one.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@plugins_dir_option
@format_option("text json")
@click.pass_context
def plugins(
    context: click.Context,
    /,
    *,
    names: tuple[str, ...],
    plugins_dirs: tuple[str, ...],
    form: str | None,
) -> int:
    """List the installed plugins with their distributions, routes and errors.

    With NAME, list only that plugin, and its options for `tbcore serve --set`.

    `tbcore plugins new NAME` creates a plugin of your own, and `tbcore plugins types` writes the
    types of the page's modules, for an editor.
    """
    from tbcore.plugins.config import Config
    from tbcore.plugins.loading import load_plugins, mount
    from tbcore.plugins.settings import check_settings
    from tbcore.store.multiplexer import Multiplexer

    with logs_discarded():
        multiplexer, config = Multiplexer(), Config(logdir="")
        loaded = load_plugins(folders=plugins_dirs)
        check_settings(loaded, config)
        mounted = [mount(plugin, multiplexer, config) for plugin in loaded]
    known = [plugin.name for plugin in loaded]
    for name in names:
        if name not in known:
            raise click.UsageError(
                f"no plugin {name!r} is installed{did_you_mean(name, known)}; "
                f"installed: {', '.join(known) or 'none'}",
                context,
            )
    listing = [_listed(m) for m in mounted if not names or m.plugin.name in names]
    if form:
        from tbcore.json import to_json

        click.echo(to_json(listing))
        return 0
    if not any(m.plugin.disabled_by is None for m in mounted):
        from tbcore.server.report import no_plugins_hint

        click.echo(no_plugins_hint())
    for listed in listing:
        for line in _lines_of(listed, with_options=bool(names)):
            click.echo(line)
    return 0


def _lines_of(listed: dict[str, Any], *, with_options: bool) -> Iterator[str]:
    """Yields the lines that `tbcore plugins` prints for one plugin."""
    source = f"{listed['distribution']} {listed['version']}".strip()
    yield f"{listed['name']}  {listed['state']}  ({source or 'unknown'})"
    for line in (listed["description"], listed["reason"]):
        if line:
            yield f"    {line}"
    if listed["page_allows"]:
        yield f"    its page may use {', '.join(listed['page_allows'])}"
    for route in listed["routes"]:
        yield f"    {', '.join(route['methods'])} {route['path']}"
    options = listed["options"]
    if options and not with_options:
        yield f"    options: {', '.join(option['name'] for option in options)}"
        return
    for option in options:
        is_default = option["value"] == option["default"]
        default = "" if is_default else f"  (default: {option['default']})"
        yield f"    --set {listed['name']}.{option['name']}={option['value']}{default}"
        yield f"        {option['help']} [{option['wanted']}]".replace("  [", " [")


def _listed(mounted: MountedPlugin) -> dict[str, Any]:
    """The object that `tbcore plugins --json` prints for one plugin."""
    from tbcore.plugins.settings import plugin_json

    plugin = mounted.plugin
    return {
        **plugin_json(mounted, whole_path=True),
        "state": "off" if plugin.disabled_by else "failed" if mounted.error else "ok",
        "reason": plugin.disabled_by or mounted.error,
        "routes": [
            {"path": address.lstrip("/"), "methods": sorted(route.methods or ())}
            for address, route in mounted.addresses()
        ],
    }
