"""Plugins: how they are found, checked, mounted and listed; an error affects only its plugin."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from common_fixtures import patient_tuning, until
from installed_plugins import FIRST, GOOD, Distributions, by_name, load_one, make_plugin, mount_one
from starlette.endpoints import HTTPEndpoint
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute

from tbcore import Claim, LegacyApi, PluginError, PluginInfo, __version__, hookimpl
from tbcore.plugins.config import Config
from tbcore.plugins.hookspecs import PLUGIN_API
from tbcore.plugins.loading import load_plugins, mount, mount_all
from tbcore.server.app import create_app
from tbcore.store.board import Board
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import make_client, write_run

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
    app = create_app(Config(logdir=""), board=Board(), plugins=plugins)

    assert "bad_plugin" not in sys.modules
    assert [(p.name, p.disabled_by, p.error) for p in plugins] == [
        ("bad", "--no_plugin", None),
        ("good", None, None),
    ]
    assert by_name(plugins)["bad"].distribution == "a 1.0"
    assert [mounted.plugin.name for mounted in app.mounted] == ["good"]


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


def test_a_field_with_a_misspelt_name_is_named() -> None:
    """Once, although newer versions of Python ask that, too."""
    plugin = make_plugin(plugin_info=lambda: PluginInfo(title="x", modul=None))  # type: ignore[call-arg]

    error = load_one(plugin).error or ""

    assert error.endswith("got an unexpected keyword argument 'modul'; did you mean 'module'?")
    assert "upgrade" not in error


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
        (
            {"claims": [Claim(tags="a[0]")]},
            "must have tags such as 'grads/*', with '*' and '?'; got",
        ),
        ({"claims": [Claim(tags="")]}, "must have tags such as"),
        ({"claims": [Claim(files="*.json", tags="a")]}, "and no other attribute; got"),
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
            "PluginInfo.page_allows must be a sequence of 'eval', 'frames', got ['inline']",
        ),
        (
            {"page": "static/index.html", "page_allows": "eval"},
            "a sequence of 'eval', 'frames', got 'eval'",
        ),
        (
            {"page": "static/index.html", "page_allows": [[]]},
            "a sequence of 'eval', 'frames', got [[]]",
        ),
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
    board = Board()
    multiplexer = Multiplexer(board=board)
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
        (lambda: [Route("tags", hello)], "routes has the path 'tags', which is not valid"),
        (lambda: [Route(5, hello)], "AttributeError"),  # type: ignore[arg-type]
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
