"""Plugins that a test installs, or makes of functions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tbcore import PluginInfo, hookimpl
from tbcore.plugins.config import Config
from tbcore.plugins.loading import load_plugins, mount
from tbcore.plugins.types import LoadedPlugin, MountedPlugin
from tbcore.store.multiplexer import Multiplexer

GOOD = """
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl

@hookimpl
def plugin_info():
    return PluginInfo(title="Good", description="Says hello.")

@hookimpl
def routes():
    return [Route("/hello", lambda request: PlainTextResponse("hello"))]
"""


FIRST = """
from collections.abc import Sequence
from starlette.routing import Route
from tbcore import Claim, LegacyApi, Multiplexer, PluginInfo, PluginOptions, hookimpl
from tbcore.http import json_response, required

CLAIMS = (Claim("simple_value"), Claim(plugin_name="scalars", is_scalar=True))

@hookimpl
def plugin_info() -> PluginInfo:
    return PluginInfo(
        title="First", claims=CLAIMS, samples=5, module="static/index.js", order=1, api=1,
        description="The first.", how_to_log={"Keras": "..."},
    )

@hookimpl
def is_active(multiplexer: Multiplexer) -> bool:
    return multiplexer.has(CLAIMS)

@hookimpl
def routes(multiplexer: Multiplexer, options: PluginOptions) -> Sequence[Route]:
    def values(request):
        run, tag = required(request, "run", "tag")
        series = multiplexer.scalars(run, tag, claims=CLAIMS, samples=options.samples)
        return json_response(list(zip(series.step.tolist(), series.value.tolist())))
    return [Route("/values", values)]

@hookimpl
def legacy_api(multiplexer: Multiplexer, options: PluginOptions) -> LegacyApi:
    return LegacyApi(
        routes=[Route("/first", lambda request: json_response(options.samples))],
        tag_types={"first": lambda run: True},
    )
"""


class Distributions:
    """A folder on the module path with installed distributions, as pip writes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        name: str,
        entry_points: Mapping[str, str] | str,
        modules: Mapping[str, str] | None = None,
        version: str = "1.0",
    ) -> None:
        info = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        if not isinstance(entry_points, str):
            lines = [f"{key} = {value}" for key, value in entry_points.items()]
            entry_points = "\n".join(["[tbcore.plugins]", *lines])
        (info / "entry_points.txt").write_text(entry_points)
        for path, source in (modules or {}).items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source)


@pytest.fixture
def distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Distributions]:
    """Installs distributions for one test, which hides all others."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    import importlib.metadata

    everything = importlib.metadata.distributions
    monkeypatch.setattr(
        importlib.metadata,
        "distributions",
        lambda **options: everything(**options | {"path": [str(folder)]}),
    )
    monkeypatch.delenv("TBCORE_PLUGINS", raising=False)
    before = set(sys.modules)
    yield Distributions(folder)
    for name in set(sys.modules) - before:
        module_file = getattr(sys.modules[name], "__file__", None) or ""
        if module_file.startswith(str(folder)):
            del sys.modules[name]


def by_name(plugins: Sequence[LoadedPlugin]) -> dict[str, LoadedPlugin]:
    return {plugin.name: plugin for plugin in plugins}


def make_plugin(**hooks: Callable[..., Any]) -> SimpleNamespace:
    """A plugin with the given hooks, and a default plugin_info."""
    functions = {"plugin_info": lambda: PluginInfo(title="Made", module=None), **hooks}
    return SimpleNamespace(**{name: hookimpl(f) for name, f in functions.items()})


def load_one(plugin: object, name: str = "made") -> LoadedPlugin:
    [loaded] = load_plugins(only=(), extra={name: plugin})
    return loaded


def mount_one(plugin: object, **config: Any) -> MountedPlugin:
    return mount(load_one(plugin), Multiplexer(), Config(logdir="logs", **config))
