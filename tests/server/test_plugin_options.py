"""Options of plugins: declared, given, checked, and in the environment."""

from __future__ import annotations

from typing import Any

import pytest
from installed_plugins import GOOD, Distributions, load_one, make_plugin

from tbcore import Option, PluginInfo
from tbcore.errors import OptionError
from tbcore.plugins.config import Config
from tbcore.plugins.loading import load_plugins
from tbcore.server.app import create_app
from tbcore.store.board import Board

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
    create_app(config, board=Board(), plugins=[load_one(plugin, "a-b.c")])
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
        create_app(config, board=Board(), plugins=[load_one(plugin, "a-b.c")])

    assert line is None or str(caught.value) == line


def test_unknown_variables_are_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A misspelt variable is a warning, not an error: it may be meant for another installation."""
    plugin = make_plugin(plugin_info=lambda: PluginInfo(title="x", module=None, options=OPTIONS))

    monkeypatch.setenv("TBCORE_SET_MADE_SIEZ", "1")
    create_app(Config(logdir=""), board=Board(), plugins=[load_one(plugin)])
    [line] = caplog.messages
    assert line.startswith(
        "the environment variable TBCORE_SET_MADE_SIEZ matches no option of an installed plugin; "
        "did you mean 'TBCORE_SET_MADE_SIZE'?; available: TBCORE_SET_MADE_IS_FAST, "
    )

    monkeypatch.setenv("TBCORE_SET_MADE_SIZE", "x")
    with pytest.raises(OptionError) as caught:
        create_app(Config(logdir=""), board=Board(), plugins=[load_one(plugin)])
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

    app = create_app(config, board=Board(), plugins=load_plugins(without=["off"]))

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
