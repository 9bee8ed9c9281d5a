"""Plugins: how they are found, checked, mounted and listed; an error affects only its plugin."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from common_fixtures import patient_tuning, until
from starlette.endpoints import HTTPEndpoint
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute

from tbcore import Claim, LegacyApi, Option, PluginError, PluginInfo, __version__, hookimpl
from tbcore.errors import OptionError
from tbcore.plugins.config import Config
from tbcore.plugins.hookspecs import PLUGIN_API
from tbcore.plugins.loading import load_plugins, mount, mount_all
from tbcore.plugins.types import LoadedPlugin, MountedPlugin
from tbcore.server.app import create_app
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import make_client, write_run

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


# Discovery ---------------------------------------------------------------------------------------


def test_a_plugin_is_found_by_its_entry_point(distributions: Distributions) -> None:
    """The plugin has the name of the entry point, and the name and version of its distribution."""
    distributions.add(
        "tbcore-good",
        {"good": "good_plugin"},
        {"good_plugin/__init__.py": GOOD, "good_plugin/static/index.js": "export default {}"},
        version="2.3",
    )

    [plugin] = load_plugins()

    assert plugin.error is None
    assert (plugin.name, plugin.title, plugin.distribution) == ("good", "Good", "tbcore-good 2.3")
    assert plugin.module_address == "static/plugins/good/index.js"
    assert plugin.static_folder == distributions.folder / "good_plugin" / "static"
    assert plugin.has_module_file()


def test_an_object_inside_a_module_can_be_a_plugin(distributions: Distributions) -> None:
    """The folder of its files is that of the module of the entry point."""
    source = (
        GOOD + "\nclass Namespace: pass\nplugin = Namespace()\nplugin.plugin_info = plugin_info"
    )
    distributions.add("a", {"good": "pkg.inner:plugin"}, {"pkg/inner.py": source})

    [plugin] = load_plugins()

    assert plugin.error is None
    assert plugin.static_folder == distributions.folder / "pkg" / "static"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_this_na"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import sys; sys.exit()", "SystemExit"),
        ("def broken(:", "SyntaxError: "),
        ("raise BaseException('first\\nsecond')", "BaseException: first second"),
        ("raise OSError('\\x1b[31m\\u202e\\ud800')", "OSError: \\x1b[31m\\u202e\ufffd"),
        ("class E(Exception):\n  def __str__(self): raise ValueError\nraise E", "E"),
        ("raise Exception('x' * 10000)", "Exception: xxx"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ],
)
def test_a_plugin_that_cannot_be_imported_does_not_affect_others(
    distributions: Distributions, caplog: pytest.LogCaptureFixture, source: str, reason: str
) -> None:
    """The others load, and the traceback is logged once."""
    distributions.add("bad", {"bad": "bad_plugin"}, {"bad_plugin.py": source}, version="0.9")
    distributions.add("good", {"good": "good_plugin"}, {"good_plugin.py": GOOD})

    plugins = by_name(load_plugins())

    assert plugins["good"].error is None
    error = plugins["bad"].error
    assert error is not None
    assert error.startswith(f"plugin 'bad' failed: {reason}")
    assert "\n" not in error
    assert len(error) < 600
    assert plugins["bad"].distribution == "bad 0.9"
    tracebacks = [record for record in caplog.records if record.exc_info]
    assert [record.message for record in tracebacks] == [error]


@pytest.mark.parametrize("hook", ["plugin_info", "routes"])
def test_a_plugin_that_delays_the_start_is_logged(
    hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The warning is logged during the delay, which may never end."""

    def wait() -> Any:
        until(lambda: "has been starting" in caplog.text)
        return PluginInfo(title="Made", module=None) if hook == "plugin_info" else []

    extra = {"made": make_plugin(**{hook: wait})}
    [plugin] = load_plugins(only=(), extra=extra, tuning=patient_tuning(slow_call_seconds=0.05))
    mount_all([plugin], Multiplexer(), Config(logdir="logs"))

    # The log may also count the lines that another test's plugin wrote before.
    assert [line for line in caplog.messages if "'made'" in line] == [
        "plugin 'made' has been starting for 0 s; use --no_plugin made to start without it"
    ]


def test_an_invalid_entry_point(distributions: Distributions) -> None:
    """An entry point without the attribute, or with a malformed value, is an error."""
    distributions.add(
        "a", {"x": "good_plugin:missing", "y": "not a value!"}, {"good_plugin.py": GOOD}
    )

    plugins = by_name(load_plugins())

    assert str(plugins["x"].error).startswith("plugin 'x' failed: AttributeError: ")
    assert str(plugins["y"].error).startswith("plugin 'y' failed: ")


def test_a_distribution_with_malformed_entry_points_is_skipped(
    distributions: Distributions,
) -> None:
    """The distribution need not even be for tbcore."""
    distributions.add("broken", "[other]\nno equals sign here\n[tbcore.plugins]\nx = y\n")
    distributions.add("good", {"good": "good_plugin"}, {"good_plugin.py": GOOD})

    assert [(plugin.name, plugin.error) for plugin in load_plugins()] == [("good", None)]


def test_of_two_plugins_with_one_name_the_first_by_distribution_is_used(
    distributions: Distributions,
) -> None:
    """The other plugin is not imported, and the error has both distributions."""
    distributions.add("b-dist", {"same": "second"}, {"second.py": "raise SystemExit"})
    distributions.add("A-dist", {"same": "first"}, {"first.py": GOOD}, version="7")

    first, second = load_plugins()

    assert (first.distribution, first.error) == ("A-dist 7", None)
    assert second.distribution == "b-dist 1.0"
    assert second.error == (
        "plugin 'same' is defined by A-dist 7 and by b-dist 1.0; "
        "the first is used; uninstall one of them"
    )


def test_a_second_copy_of_one_distribution_is_hidden(
    distributions: Distributions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example if a checkout is on the path before the installed version."""
    distributions.add("tbcore-x", {"x": "good_plugin"}, {"good_plugin.py": GOOD}, version="2")
    distributions.add("tbcore_x", {"x": "good_plugin"}, version="1")

    assert len(load_plugins()) == 1


@pytest.mark.parametrize("name", ["Upper", "a b", "a/b", ".hidden", "..", "\u00e9", "a%2f"])
def test_invalid_names(name: str) -> None:
    """The message has the valid characters."""
    error = str(load_one(make_plugin(), name).error)

    assert error.startswith(
        f"plugin {name!r}: the name is not valid, since it is part of addresses"
    )
    assert "a-z, 0-9" in error


def test_a_reserved_name() -> None:
    """The page about all plugins has this name."""
    error = load_one(make_plugin(), "plugins").error
    assert error == "plugin 'plugins': the name is reserved for the page about all plugins"


def test_names_with_all_allowed_characters() -> None:
    """A name may have all of these characters."""
    assert load_one(make_plugin(), "a-z_0.9").error is None


def test_only_the_named_plugins_are_loaded(
    distributions: Distributions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An argument or an environment variable selects plugins; others are not imported."""
    distributions.add(
        "a",
        {"good": "good_plugin", "bad": "bad_plugin"},
        {"good_plugin.py": GOOD, "bad_plugin.py": "raise SystemExit"},
    )

    assert [plugin.name for plugin in load_plugins(only=["good"])] == ["good"]
    assert load_plugins(only=()) == []
    monkeypatch.setenv("TBCORE_PLUGINS", "")
    assert [plugin.disabled_by for plugin in load_plugins()] == ["not listed in TBCORE_PLUGINS"] * 2
    monkeypatch.setenv("TBCORE_PLUGINS", " good , goof")
    plugins = by_name(load_plugins())
    assert {name: plugin.disabled_by is None for name, plugin in plugins.items()} == {
        "bad": False, "good": True, "goof": True,
    }  # fmt: skip
    assert plugins["good"].error is None
    assert plugins["goof"].error == "plugin 'goof' is not installed; installed: 'bad', 'good'"


def test_a_disabled_plugin_is_not_imported(distributions: Distributions) -> None:
    """The plugin is listed as off, and a server does not have it."""
    distributions.add(
        "a",
        {"good": "good_plugin", "bad": "bad_plugin"},
        {"good_plugin.py": GOOD, "bad_plugin.py": "raise SystemExit"},
    )

    plugins = load_plugins(without=["bad"])
    app = create_app(Config(logdir=""), multiplexer=Multiplexer(), plugins=plugins)

    assert "bad_plugin" not in sys.modules
    assert [(p.name, p.disabled_by, p.error) for p in plugins] == [
        ("bad", "--no_plugin", None),
        ("good", None, None),
    ]
    assert by_name(plugins)["bad"].distribution == "a 1.0"
    assert [mounted.plugin.name for mounted in app.mounted] == ["good"]


# Options -----------------------------------------------------------------------------------------

OPTIONS = (
    Option("size", default=10, minimum=1, help="Rows in a page."),
    Option("ratio", default=0.5),
    Option("is_fast", default=False),
    Option("mode", default="all", choices=("all", "some")),
    Option("note", default=""),
)


def values_of(given: dict[str, Any]) -> dict[str, Any]:
    """The option values that a plugin `a-b.c` with OPTIONS receives."""
    seen = []
    plugin = make_plugin(
        plugin_info=lambda: PluginInfo(title="x", module=None, options=OPTIONS),
        routes=lambda options: seen.append(options.values) or [],
    )
    config = Config(logdir="", plugin_values={"a-b.c": given} if given else {})
    create_app(config, multiplexer=Multiplexer(), plugins=[load_one(plugin, "a-b.c")])
    return dict(seen[0])


def test_a_plugin_receives_options_as_values_of_their_types() -> None:
    """Options that the user does not set have their defaults."""
    defaults = {"size": 10, "ratio": 0.5, "is_fast": False, "mode": "all", "note": ""}
    assert values_of({}) == defaults

    texts = {"size": " 12 ", "ratio": "2", "is_fast": "Yes", "mode": "some", "note": " a=b "}
    values = values_of(texts)

    assert values == {"size": 12, "ratio": 2.0, "is_fast": True, "mode": "some", "note": " a=b "}
    assert [type(value) for value in values.values()] == [int, float, bool, str, str]
    assert values_of({"ratio": 3, "size": 1}) == {**defaults, "ratio": 3.0, "size": 1}


def test_options_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line takes precedence."""
    monkeypatch.setenv("TBCORE_SET_A_B_C_SIZE", "7")
    monkeypatch.setenv("TBCORE_SET_A_B_C_IS_FAST", "on")

    assert values_of({"is_fast": "off"}) | {"x": 0} == {
        "size": 7, "ratio": 0.5, "is_fast": False, "mode": "all", "note": "", "x": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "key", "value", "line"),
    [
        ("a-b.d", "size", "1",
         "--set a-b.d.size: no plugin 'a-b.d' is installed; did you mean 'a-b.c'?; "
         "installed: a-b.c"),
        ("a-b.c", "siez", "1",
         "--set a-b.c.siez: plugin 'a-b.c' has no option 'siez'; did you mean 'size'?; "
         "options: size, ratio, is_fast, mode, note"),
        ("a-b.c", "size", "x", "--set a-b.c.size: 'x' is not valid; expected an int, 1 or more"),
        ("a-b.c", "size", "0", "--set a-b.c.size: '0' is not valid; expected an int, 1 or more"),
        ("a-b.c", "size", "1.5",
         "--set a-b.c.size: '1.5' is not valid; expected an int, 1 or more"),
        ("a-b.c", "size", True, "--set a-b.c.size: True is not valid; expected an int, 1 or more"),
        ("a-b.c", "size", "9" * 5000, None),
        ("a-b.c", "size", "9" * 20, f"--set a-b.c.size: '{'9' * 20}' is not valid; "
         "expected an int, 1 or more"),
        ("a-b.c", "ratio", "nan", "--set a-b.c.ratio: 'nan' is not valid; expected a number"),
        ("a-b.c", "is_fast", "maybe",
         "--set a-b.c.is_fast: 'maybe' is not valid; expected true or false"),
        ("a-b.c", "mode", "most",
         "--set a-b.c.mode: 'most' is not valid; expected one of all, some"),
    ],
)  # fmt: skip
def test_invalid_options_are_errors(name: str, key: str, value: Any, line: str | None) -> None:
    """The message has what is valid, in one line."""
    plugin = make_plugin(plugin_info=lambda: PluginInfo(title="x", module=None, options=OPTIONS))
    config = Config(logdir="", plugin_values={name: {key: value}})

    with pytest.raises(OptionError) as caught:
        create_app(config, multiplexer=Multiplexer(), plugins=[load_one(plugin, "a-b.c")])

    assert line is None or str(caught.value) == line


def test_unknown_variables_are_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A misspelt variable is a warning, not an error: it may be meant for another installation."""
    plugin = make_plugin(plugin_info=lambda: PluginInfo(title="x", module=None, options=OPTIONS))

    monkeypatch.setenv("TBCORE_SET_MADE_SIEZ", "1")
    create_app(Config(logdir=""), multiplexer=Multiplexer(), plugins=[load_one(plugin)])
    [line] = caplog.messages
    assert line.startswith(
        "the environment variable TBCORE_SET_MADE_SIEZ matches no option of an installed plugin; "
        "did you mean 'TBCORE_SET_MADE_SIZE'?; available: TBCORE_SET_MADE_IS_FAST, "
    )

    monkeypatch.setenv("TBCORE_SET_MADE_SIZE", "x")
    with pytest.raises(OptionError) as caught:
        create_app(Config(logdir=""), multiplexer=Multiplexer(), plugins=[load_one(plugin)])
    assert str(caught.value) == "TBCORE_SET_MADE_SIZE: 'x' is not valid; expected an int, 1 or more"


def test_options_of_plugins_that_failed_or_are_off_are_not_checked(
    distributions: Distributions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their options are unknown, and their values are still needed once they work."""
    distributions.add(
        "a",
        {"off": "off_plugin", "bad": "bad_plugin"},
        {"off_plugin.py": GOOD, "bad_plugin.py": "raise SystemExit"},
    )
    monkeypatch.setenv("TBCORE_SET_OFF_SIZE", "1")
    monkeypatch.setenv("TBCORE_SET_BAD_SIZE", "1")
    values = {"off": {"size": "1"}, "bad": {"size": "1"}}
    config = Config(logdir="", plugin_values=values)

    app = create_app(config, multiplexer=Multiplexer(), plugins=load_plugins(without=["off"]))

    assert [mounted.error for mounted in app.mounted] == ["plugin 'bad' failed: SystemExit"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (3, "must be a sequence of Option, got 3"),
        ([3], "must be a sequence of Option, which 3 is not"),
        ([Option("a.b", 1)], "must be options named with a-z, 0-9 and '_', got 'a.b'"),
        ([Option("a", [])], "must be options whose defaults are bool, int, float or str, got []"),
        (
            [Option("a", 0, minimum=1)],
            "must be options whose defaults and choices are valid values",
        ),
        ([Option("a", "x", choices=("y",))], "must be options whose defaults and choices"),
        (
            [Option("a", "x", choices="xy")],
            "must be options whose choices are a sequence, got 'xy'",
        ),
        ([Option("a", 1, choices=(n for n in (1, 2)))], "must be options whose choices are a"),
        ([Option("a", 10**30)], "must be options whose defaults and choices are valid values"),
        ([Option("a", 1.0, choices=(1.0, 10**400))], "must be options whose defaults and choices"),
        ([Option("a", 1), Option("a", 2)], "has 'a' twice"),
    ],
)
def test_declared_options_are_checked(options: Any, reason: str) -> None:
    """An invalid declaration makes the plugin fail before a user sets an option."""
    plugin = make_plugin(plugin_info=lambda: PluginInfo(title="x", module=None, options=options))

    assert f"plugin 'made': PluginInfo.options {reason}" in (load_one(plugin).error or "")


# Hooks and PluginInfo ----------------------------------------------------------------------------


def test_a_misspelt_hook_is_an_error() -> None:
    """The message lists the hooks. No hook but plugin_info, which has the API, is called before."""
    called: list[int] = []
    plugin = make_plugin(is_activ=lambda: True, routes=lambda: called.append(1))

    assert load_one(plugin).error == (
        "plugin 'made': there is no hook 'is_activ'; the hooks are "
        "plugin_info, plugins, is_active, routes, page_routes, legacy_api, close; "
        "did you mean 'is_active'?"
    )
    assert called == []


def test_an_unknown_argument_is_an_error() -> None:
    """The message lists the arguments. pluggy passes them by name, so it cannot pass this one."""
    plugin = make_plugin(routes=lambda multiplexor, options: [])

    assert load_one(plugin).error == (
        "plugin 'made': hook 'routes' has no argument 'multiplexor'; its arguments are "
        "multiplexer, options; did you mean 'multiplexer'?"
    )
    assert load_one(make_plugin(plugin_info=lambda multiplexer: None)).error == (
        "plugin 'made': hook 'plugin_info' has no argument 'multiplexer'; its arguments are none"
    )


def test_an_argument_with_a_default_is_an_error() -> None:
    """pluggy would never pass the argument. Other arguments may have defaults."""
    refused = load_one(make_plugin(routes=lambda multiplexer=None: []))
    allowed = load_one(make_plugin(routes=lambda multiplexer, _cache=(): []))

    assert "argument 'multiplexer' of hook 'routes' must not have a default" in str(refused.error)
    assert allowed.error is None


@pytest.mark.parametrize("hook", ["is_active", "routes", "legacy_api"])
def test_an_async_hook_is_an_error(hook: str) -> None:
    """The coroutine would never be awaited."""

    async def asynchronous() -> None: ...

    error = load_one(make_plugin(**{hook: asynchronous})).error or ""

    assert error.startswith(f"plugin 'made': hook '{hook}' is async; hooks must be plain functions")


def test_methods_can_be_hooks() -> None:
    """`self` does not count as an argument of the hook."""

    class Plugin:
        @hookimpl
        def plugin_info(self) -> PluginInfo:
            return PluginInfo(title="Object", module=None)

        @hookimpl
        def is_active(self, multiplexer: Multiplexer) -> bool:
            return True

    plugin = load_one(Plugin())

    assert plugin.error is None
    assert plugin.implements("is_active")
    assert not plugin.implements("routes")
    assert plugin.call("is_active", multiplexer=None) is True
    assert plugin.call("routes", multiplexer=None, options=None) is None


@pytest.mark.parametrize(
    ("plugin", "reason"),
    [
        (SimpleNamespace(), "it has no hook 'plugin_info'"),
        (
            SimpleNamespace(plugin_info=lambda: PluginInfo(title="x")),
            "mark it with @tbcore.hookimpl",
        ),
        (
            make_plugin(plugin_info=lambda: {"title": "x"}),
            "plugin_info returned dict, not a Plugin",
        ),
        (make_plugin(plugin_info=lambda: None), "plugin_info returned NoneType, not a PluginInfo"),
        (
            make_plugin(plugin_info=lambda: 1 / 0),
            "failed in plugin_info: ZeroDivisionError: division by zero",
        ),
        (make_plugin(plugin_info=lambda: sys.exit(1)), "failed in plugin_info: SystemExit: 1"),
        (make_plugin(plugin_info=lambda: PluginInfo()), "TypeError"),  # type: ignore[call-arg]
    ],
)
def test_a_plugin_that_does_not_describe_itself_has_failed(plugin: object, reason: str) -> None:
    """The message has the reason."""
    error = str(load_one(plugin).error)

    assert error.startswith("plugin 'made'")
    assert reason in error


def test_a_plugin_for_another_api_is_an_error() -> None:
    """The message has what to upgrade. Other fields and hooks may differ, and are not checked."""
    newer = make_plugin(plugin_info=lambda: PluginInfo(title="", api=PLUGIN_API + 1))
    with_new_hook = make_plugin(
        plugin_info=lambda: PluginInfo(title="x", api=PLUGIN_API + 1), draws=lambda: 1
    )
    older = make_plugin(plugin_info=lambda: PluginInfo(title="x", api=PLUGIN_API - 1))
    starts = f"plugin 'x' needs plugin API {{}}, but tbcore {__version__} has {PLUGIN_API}; "

    wanted = starts.format(PLUGIN_API + 1) + "upgrade tbcore-server"
    assert load_one(newer, "x").error == wanted
    assert load_one(with_new_hook, "x").error == wanted
    assert load_one(older, "x").error == starts.format(PLUGIN_API - 1) + "upgrade x"


def test_a_field_of_a_newer_tbcore_is_an_error(distributions: Distributions) -> None:
    """Python raises TypeError before the version is known; the message has what to do."""
    plugin = make_plugin(plugin_info=lambda: PluginInfo(title="x", colour="red"))  # type: ignore[call-arg]

    error = load_one(plugin).error or ""

    assert error.startswith("plugin 'made' failed in plugin_info: TypeError: ")
    assert "'colour'; if the plugin needs a newer version than" in error
    assert error.endswith("upgrade tbcore-server")


def test_a_plugin_written_for_the_first_version_runs(
    distributions: Distributions, tmp_path: Path
) -> None:
    """This plugin must work unchanged as long as PLUGIN_API is 1, as plugins elsewhere."""
    distributions.add(
        "first",
        {"first": "first_plugin"},
        {"first_plugin/__init__.py": FIRST, "first_plugin/static/index.js": "export default {}"},
    )
    write_run(tmp_path / "logs", "train", scalars={"loss": [0.5, 0.25]})
    client = make_client(tmp_path / "logs", plugins=["first"])

    assert client.get("data/plugins_listing").json() == {"first": True}
    assert client.get("data/plugin/first/values?run=train&tag=loss").json() == [[0, 0.5], [1, 0.25]]
    assert client.get("data/plugin/first/values").status_code == 400
    assert client.get("data/plugin/first/values?run=x&tag=y").status_code == 404
    assert client.get("data/first").json() == 5
    assert client.get("legacy/data/runs").json()["train"]["first"] is True
    assert client.get("static/plugins/first/index.js").status_code == 200


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"title": ""},
            "PluginInfo.title must be one line of text, at most 100 characters, got ''",
        ),
        (
            {"title": 3},
            "PluginInfo.title must be one line of text, at most 100 characters, got 3",
        ),
        ({"title": "a\nb"}, r"PluginInfo.title must be one line of text"),
        ({"title": "\ud800"}, r"PluginInfo.title must be one line of text"),
        ({"title": "x" * 101}, "PluginInfo.title must be one line of text, at most 100 characters"),
        ({"claims": Claim("histo")}, "PluginInfo.claims must be a sequence of Claim"),
        ({"claims": ("histo",)}, "PluginInfo.claims must be a sequence of Claim"),
        (
            {"claims": [Claim(""), Claim("tensor"), Claim("simplevalue")]},
            "PluginInfo.claims has the unknown field 'simplevalue'; "
            "did you mean 'simple_value'?; the fields are audio, graph_def, histo, image, ",
        ),
        ({"samples": -1}, "PluginInfo.samples must be an int, 0 or more, got -1"),
        ({"samples": True}, "PluginInfo.samples must be an int, 0 or more, got True"),
        ({"samples": 10**30}, "PluginInfo.samples must be an int, 0 or more, got 1000"),
        ({"order": "first"}, "PluginInfo.order must be an int, got 'first'"),
        ({"order": -(10**30)}, "PluginInfo.order must be an int, got -1000"),
        ({"api": "1"}, "PluginInfo.api must be an int, such as 1, got '1'"),
        ({"description": None}, "PluginInfo.description must be a string, got None"),
        (
            {"run_action": "Com\npare"},
            "run_action must be a verb, or empty, got 'Com\\npare'",
        ),
        (
            {"how_to_log": {"a": 1}},
            "how_to_log must be a mapping of strings to strings, got {'a': 1}",
        ),
        ({"module": "index.js"}, "in a folder of its own, got 'index.js'"),
        ({"module": "../static/index.js"}, "inside the package"),
        ({"module": "/static/index.js"}, "inside the package"),
        ({"module": "static/.hidden/index.js"}, "inside the package"),
        ({"module": "static\\index.js"}, "inside the package"),
        (
            {"page": "index.html"},
            "PluginInfo.page must be None, or a path such as 'static/index.ht",
        ),
        ({"page": "static/index.js"}, "PluginInfo.page must be None, or a path such as 'static/in"),
        ({"page": "../static/index.html"}, "in a folder of its own, got '../static/index.html'"),
        ({"page": ""}, "in a folder of its own, got ''"),
        ({"page": 1}, "in a folder of its own, got 1"),
        (
            {"page": "static/index.html", "module": "static/main.js"},
            "PluginInfo.module must be left out if there is a page, got 'static/main.js'",
        ),
        (
            {"page": "static/index.html", "page_allows": ["inline"]},
            "PluginInfo.page_allows must be a sequence of 'eval', got ['inline']",
        ),
        ({"page": "static/index.html", "page_allows": "eval"}, "a sequence of 'eval', got 'eval'"),
        ({"page": "static/index.html", "page_allows": [[]]}, "a sequence of 'eval', got [[]]"),
        ({"page_allows": ["eval"]}, "PluginInfo.page_allows must be empty without a page, got"),
    ],
)
def test_fields_are_checked(fields: dict[str, Any], reason: str) -> None:
    """Invalid fields of PluginInfo are errors when the plugin is loaded."""
    plugin = make_plugin(plugin_info=lambda: PluginInfo(**{"title": "x", **fields}))

    assert reason in str(load_one(plugin).error)


def test_a_title_may_have_any_letters() -> None:
    """A title may have letters of several code points."""
    title = "Größe 大きさ 👩\u200d🔬"
    plugin = make_plugin(plugin_info=lambda: PluginInfo(title=title, module=None))

    assert load_one(plugin).title == title


def test_a_missing_es_module_is_a_warning(
    distributions: Distributions, caplog: pytest.LogCaptureFixture
) -> None:
    """The routes still work."""
    distributions.add("good", {"good": "good_plugin"}, {"good_plugin.py": GOOD})

    [plugin] = load_plugins()

    assert plugin.error is None
    assert "the module 'static/index.js' does not exist" in caplog.text


def test_a_plugin_may_have_a_page_in_place_of_a_module(
    distributions: Distributions, caplog: pytest.LogCaptureFixture
) -> None:
    """The core's module shows it; with `--dev` its address has the version."""
    source = GOOD.replace('title="Good"', 'title="Good", page="static/app/index.html"')
    distributions.add("good", {"good": "good_plugin"}, {"good_plugin/__init__.py": source})

    [plugin] = load_plugins()
    assert "the page 'static/app/index.html' does not exist" in caplog.text
    address = "static/tbcore/lib/frame/tab.js?page=static/plugins/good/index.html"
    assert plugin.module_address == address
    assert plugin.static_folder == distributions.folder / "good_plugin" / "static" / "app"
    plugin.version = "1f"
    assert plugin.module_address == f"{address}&version=1f"
    plugin.error = "failed"
    assert plugin.module_address is None


def test_a_single_file_cannot_have_a_page(tmp_path: Path) -> None:
    """The files of the page would be in a folder that all such plugins share."""
    source = GOOD.replace('title="Good"', 'title="Good", page="static/index.html"')
    (tmp_path / "good.py").write_text(source)

    [plugin] = [p for p in load_plugins(folders=[str(tmp_path)]) if p.name == "good"]
    sys.modules.pop("tbcore_file_good", None)

    assert "PluginInfo.page must be None for a plugin that is a single file; make it a package" in (
        str(plugin.error)
    )


# Mounting ----------------------------------------------------------------------------------------


def hello(request: Any) -> Response:
    return PlainTextResponse("hello")


def test_hooks_receive_the_arguments_that_they_name() -> None:
    """`options.samples` is the user's setting, or the plugin's default."""
    seen: list[tuple[Any, ...]] = []
    plugin = make_plugin(
        plugin_info=lambda: PluginInfo(title="x", samples=7, module=None),
        routes=lambda options, multiplexer: seen.append((multiplexer, options)) or [],
        legacy_api=lambda options: seen.append((options,)) or LegacyApi(),
    )
    multiplexer = Multiplexer()
    loaded = load_one(plugin)

    assert mount(loaded, multiplexer, Config(logdir="")).error is None
    assert mount(
        loaded,
        multiplexer,
        Config(logdir="", samples_per_plugin={"made": 0}),
    ).error is None  # fmt: skip

    assert seen[0][0] is multiplexer
    assert [entry[-1].samples for entry in seen] == [7, 7, 0, 0]


@pytest.mark.parametrize(
    ("routes", "reason"),
    [
        (lambda: 1 / 0, "failed in routes: ZeroDivisionError: division by zero"),
        (lambda: sys.exit(1), "failed in routes: SystemExit: 1"),
        (lambda: None, "routes returned NoneType, not a sequence of Route"),
        (lambda: "/x", "routes returned str, not a sequence of Route"),
        (lambda: [hello], "routes returned function among its routes"),
        (lambda: [Mount("/x", routes=[])], "routes returned Mount among its routes"),
        (
            lambda: [WebSocketRoute("/x", hello)],
            "routes returned WebSocketRoute among its routes; expected starlette.routing.Route",
        ),
        (lambda: [Route("x", hello)], "Routed paths must start with '/'"),
        (lambda: [Route("/x/", hello)], "has the path '/x/', which is not valid"),
        (lambda: [Route("//x", hello)], "has the path '//x', which is not valid"),
        (lambda: 2 * [Route("/x", hello)], "routes has the route '/x' twice"),
        (lambda: [Route("/x", HTTPEndpoint)], "the endpoint of route '/x' must be a function"),
        (
            lambda: [Route("/x", hello, middleware=[Middleware(GZipMiddleware)])],
            "must have no middleware",
        ),
        (lambda: (Route("/x", hello) if i else 1 / 0 for i in range(2)), "ZeroDivisionError"),
    ],
)
def test_a_plugin_with_invalid_routes_has_failed(
    routes: Callable[[], Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """None of the routes exist then."""
    mounted = mount_one(make_plugin(routes=routes))

    assert mounted.error is not None
    assert mounted.error.startswith("plugin 'made'")
    assert reason in mounted.error
    assert "\n" not in mounted.error
    assert mounted.error in caplog.text
    assert list(mounted.routes) == []


@pytest.mark.parametrize(
    ("legacy_api", "reason"),
    [
        (lambda: 1 / 0, "failed in legacy_api: ZeroDivisionError"),
        (lambda: [Route("/x", hello)], "legacy_api returned list, not a LegacyApi"),
        (lambda: LegacyApi(routes=[Route("/x/", hello)]), "has the path '/x/', which is not valid"),
        (lambda: LegacyApi(bare_routes=[hello]), "function among its routes"),  # type: ignore[list-item]
        (lambda: LegacyApi(tag_types={"x": ["a"]}), "tag_types of legacy_api must map names"),  # type: ignore[dict-item]
    ],
)
def test_a_plugin_with_a_broken_legacy_api_has_failed(
    legacy_api: Callable[[], Any], reason: str
) -> None:
    """The other routes do not exist either: part of a plugin would be harder to understand."""
    mounted = mount_one(make_plugin(routes=lambda: [Route("/x", hello)], legacy_api=legacy_api))

    assert reason in str(mounted.error)
    assert list(mounted.routes) == []


def test_a_plugin_that_failed_at_import_is_not_mounted() -> None:
    """The mounted plugin has the error of the import."""
    loaded = load_one(SimpleNamespace())

    assert mount(loaded, Multiplexer(), Config(logdir="")).error == loaded.error


def test_with_dev_errors_are_raised(distributions: Distributions) -> None:
    """Tests of a plugin show the traceback of an exception in the plugin."""
    distributions.add("bad", {"bad": "bad_plugin"}, {"bad_plugin.py": "raise SystemExit(3)"})

    with pytest.raises(SystemExit):
        load_plugins(strict=True)
    with pytest.raises(PluginError, match="is not installed"):
        load_plugins(only=["none"], strict=True)
    with pytest.raises(PluginError, match="there is no hook"):
        load_plugins(only=(), extra={"made": make_plugin(is_activ=lambda: True)}, strict=True)
    [plugin] = load_plugins(only=(), extra={"made": make_plugin(routes=lambda: 1 / 0)}, strict=True)
    with pytest.raises(ZeroDivisionError):
        mount(plugin, Multiplexer(), Config(logdir=""))


def test_hook_calls_can_be_traced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each call is printed with its result and its duration."""
    monkeypatch.setenv("TBCORE_TRACE_HOOKS", "1")
    plugin = make_plugin(is_active=lambda: True, routes=lambda: 1 / 0)

    loaded = load_one(plugin)
    loaded.call("is_active", multiplexer=None)
    mount(loaded, Multiplexer(), Config(logdir=""))

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("made.plugin_info: PluginInfo(title='Made'")
    assert lines[1].startswith("made.is_active: True (0.")
    assert lines[2].startswith("made.routes: ZeroDivisionError: division by zero (0.")


# The command -------------------------------------------------------------------------------------


def run_plugins_command(
    folder: Path, *options: str, only: str = "good,bad", **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TBCORE_PLUGINS": only, **variables}
    path = [str(folder), *sys.path]
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in path if entry)
    return subprocess.run(
        [sys.executable, "-m", "tbcore", "plugins", *options],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_the_list_of_plugins_has_good_and_bad_ones(distributions: Distributions) -> None:
    """Plugins are listed with their distributions, routes and errors."""
    distributions.add(
        "tbcore-good", {"good": "good_plugin"}, {"good_plugin.py": GOOD}, version="2.0"
    )
    distributions.add(
        "bad", {"bad": "bad_plugin"}, {"bad_plugin.py": "print('noise')\nraise SystemExit(3)"}
    )

    text = run_plugins_command(distributions.folder)
    listing = run_plugins_command(distributions.folder, "--json")

    assert text.returncode == 0
    assert "good  ok  (tbcore-good 2.0)\n    Says hello.\n    GET, HEAD data/plugin/good/hello" in (
        text.stdout
    )
    assert "bad  failed  (bad 1.0)\n    plugin 'bad' failed: SystemExit: 3\n" in text.stdout
    assert "Traceback" not in text.stdout + text.stderr
    assert listing.returncode == 0
    plugins = {plugin["name"]: plugin for plugin in json.loads(listing.stdout)}
    assert plugins["good"] == {
        "name": "good",
        "title": "Good",
        "description": "Says hello.",
        "distribution": "tbcore-good",
        "version": "2.0",
        "page_allows": [],
        "state": "ok",
        "reason": None,
        "options": [],
        "deprecated": [],
        "routes": [{"path": "data/plugin/good/hello", "methods": ["GET", "HEAD"]}],
    }
    assert plugins["bad"]["state"] == "failed"
    assert plugins["bad"]["reason"] == "plugin 'bad' failed: SystemExit: 3"


def test_options_of_a_named_plugin_are_listed(distributions: Distributions) -> None:
    """Options have their values; the list of all plugins has only their names."""
    declared = 'PluginInfo(title="Good", options=[Option("size", default=10, help="Rows.")]'
    source = GOOD.replace("PluginInfo, ", "Option, PluginInfo, ")
    # The plugin reports a deprecated name itself, since the core has none at present.
    source += "from tbcore.plugins.stats import warn_deprecated; warn_deprecated('Old', 'use New')"
    distributions.add(
        "tbcore-good",
        {"good": "good_plugin"},
        {"good_plugin.py": source.replace('PluginInfo(title="Good"', declared)},
    )

    listing = run_plugins_command(distributions.folder, TBCORE_SET_GOOD_SIZE="12").stdout
    text = run_plugins_command(distributions.folder, "good", TBCORE_SET_GOOD_SIZE="12").stdout
    refused = run_plugins_command(distributions.folder, TBCORE_SET_GOOD_SIZE="x")

    assert "    options: size\n" in listing
    assert "    uses Old, which is deprecated: use New\n" in listing
    assert text.endswith("    --set good.size=12  (default: 10)\n        Rows. [an int]\n")
    assert not text.startswith("bad")
    assert refused.returncode == 2
    assert refused.stderr == ("tbcore: TBCORE_SET_GOOD_SIZE: 'x' is not valid; expected an int\n")


def test_what_a_page_may_do_is_listed(distributions: Distributions) -> None:
    """A page that declares nothing has no such line."""
    info = 'title="Good", page="static/index.html"'
    for name, allows in (("bad", ""), ("good", ', page_allows=["eval"]')):
        source = GOOD.replace('title="Good"', info + allows)
        distributions.add(f"tbcore-{name}", {name: f"{name}_plugin"}, {f"{name}_plugin.py": source})

    bad, _, good = run_plugins_command(distributions.folder).stdout.partition("good  ok")

    assert "its page" not in bad
    assert "    its page may use eval\n" in good


def test_an_empty_list_has_the_variable_as_the_reason(distributions: Distributions) -> None:
    """The user may have forgotten the variable."""
    distributions.add("tbcore-good", {"good": "good_plugin"}, {"good_plugin.py": GOOD})

    listing = run_plugins_command(distributions.folder, only="")

    first, *others = listing.stdout.splitlines()
    assert first == "no plugins are loaded, because the variable TBCORE_PLUGINS names none"
    assert "good  off  (tbcore-good 1.0)" in others
    assert "    not listed in TBCORE_PLUGINS" in others


def test_the_list_of_plugins_fits_into_a_number_of_bytes(
    distributions: Distributions, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first ones that fit, and how many these are; as in all commands that print JSON."""
    from tbcore.cli import main

    for number in range(9):
        distributions.add(
            f"good{number}", {f"good{number}": f"good{number}"}, {f"good{number}.py": GOOD}
        )
    assert main(["plugins", "--json"]) == 0
    complete = json.loads(capsys.readouterr().out)
    for limit in (500, 2000, 1_000_000):
        assert main(["plugins", "--json", "--max-bytes", str(limit)]) == 0
        output = capsys.readouterr()
        rows = json.loads(output.out)
        assert len(output.out) <= limit
        if limit < 10_000:
            cut = f"{len(rows) - 1} of 9"
            assert rows.pop() == {"cut": {"rows": cut}}
            assert output.err == f"tbcore: warning: cut to --max_bytes {limit}: {cut} rows\n"
        assert rows == complete[: len(rows)]
    assert rows == complete
    for arguments, message in [
        ((), "--max_bytes is for --json"),
        (("--json", "--max_bytes", "499"), "--max_bytes: '499' is not valid; expected an int, 500"),
    ]:
        assert main(["plugins", "--max_bytes", "500", *arguments]) == 2
        assert capsys.readouterr().err.startswith(f"tbcore: {message}")


def test_without_any_plugin_the_list_has_how_to_install_them(
    distributions: Distributions, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hint is in the text only; the JSON is an empty list."""
    from tbcore.cli import main

    assert main(["plugins"]) == 0
    assert "no plugins are installed" in (text := capsys.readouterr().out)
    assert "pip install 'tbcore-server[all]'" in text
    assert main(["plugins", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert logging.getLogger("tbcore").propagate, "the log of the process is as before"


def test_hints_on_how_to_log_name_the_packages(tmp_path: Path) -> None:
    """Those of all installed plugins begin with the command that installs the writer."""
    found = make_client(tmp_path, plugins=None).get("data/frontends").json()["plugins"]
    if not found:
        pytest.skip("no plugin is installed")
    programs = [program for plugin in found for program in plugin["how_to_log"].values()]
    assert programs
    for program in programs:
        assert re.match(r"# pip install (torch|tensorflow) tensorboard\n", program), program
        compile(program, "hint", "exec")
