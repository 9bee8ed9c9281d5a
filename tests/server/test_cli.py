"""The command line: valid and invalid arguments, help and messages."""

from __future__ import annotations

import dataclasses
import gc
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from disk import Disk

from tbcore import __version__
from tbcore.cli import main
from tbcore.cli.serve import IGNORED_OPTIONS, UNSUPPORTED_OPTIONS, serve_command
from tbcore.errors import TbcoreError
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.plugins.config import Config
from tbcore.server import serve as serve_module
from tbcore.server.serve import ServeOptions


class Served(NamedTuple):
    """The arguments with which the server would have been started."""

    config: Config
    options: ServeOptions


class Starts(list[Served]):
    """The servers that would have been started."""

    error: Exception | None = None
    """What a start raises."""

    def serve(self, config: Config, options: ServeOptions) -> int:
        if self.error is not None:
            raise self.error
        self.append(Served(config, options))
        return 17


def without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unsets the variables for options of `serve`."""
    for parameter in serve_command.params:
        monkeypatch.delenv(str(parameter.envvar), raising=False)


def stdout_is_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> Starts:
    """Runs command lines only until the server would start."""
    found = Starts()
    monkeypatch.setattr(serve_module, "serve", found.serve)
    return found


@pytest.fixture
def served(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, starts: Starts
) -> Callable[..., Served]:
    """`served("serve", "runs")` runs the command line until the server would start."""
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    without_variables(monkeypatch)

    def run(*arguments: str) -> Served:
        stdout_is_terminal(monkeypatch)
        assert main(arguments) == 17
        return starts[-1]

    return run


@pytest.fixture
def started_as(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """`started_as("tensorboard")`: the name under which the program was started."""
    return lambda name: monkeypatch.setattr(sys, "argv", [name])


@pytest.fixture
def refused(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    starts: Starts,
) -> Callable[..., str]:
    """`refused("serve", "--port", "x")` is the line of an error with exit status 2."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    without_variables(monkeypatch)

    def run(*arguments: str) -> str:
        stdout_is_terminal(monkeypatch)
        assert (main(arguments), starts) == (2, [])
        output = capsys.readouterr()
        assert output.out == ""
        [line] = output.err.splitlines()
        assert line.startswith("tbcore: ")
        return line

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ("runs",),
        ("serve", "runs"),
        ("serve", "--logdir", "runs"),
        ("serve", "--logdir=runs"),
        ("--logdir", "runs"),
        ("--logdir=runs",),
        ("--port", "7007", "runs"),  # `report` is a command
        ("./runs",),
    ],
)
def test_ways_to_name_the_directory(served: Any, arguments: tuple[str, ...]) -> None:
    """The log directory may be an option, as in TensorBoard, or an argument."""
    seen = served(*arguments)

    assert seen.config.logdir in ("runs", "./runs")
    assert seen.options.specs == [LogdirSpec(None, seen.config.logdir)]


def test_defaults(served: Any) -> None:
    """The defaults are those in the help."""
    seen = served("runs")

    assert seen.config == Config(logdir="runs")
    assert seen.options == ServeOptions(specs=[LogdirSpec(None, "runs")])


def test_all_options(served: Any) -> None:
    """Each option sets its field of Config or ServeOptions."""
    seen = served(
        "serve", "runs", "--host", "0.0.0.0", "--port", "7007", "--path_prefix", "/a/b/",
        "--allowed_host", "a.example", "--allowed_host", "b.example:8", "--token", "abc",
        "--reload_interval", "0.5", "--samples_per_plugin", " images=20 , a.b=0,,images=30 ",
        "--max_points", "1000", "--purge_orphaned_data=false", "--window_title", "Mine",
        "--api", "legacy", "--open", "--dev", "--set", "a.b.max-size=5", "--set", "images.mode=a=b",
        "--set", "a.b.max_size=6", "--no_plugin", "audio", "--no_plugin", "x.y",
    )  # fmt: skip

    assert seen.config == Config(
        logdir="runs",
        path_prefix="/a/b",
        allowed_hosts=("a.example", "b.example:8"),
        api="legacy",
        window_title="Mine",
        samples_per_plugin={"images": 30, "a.b": 0},
        plugin_values={"a.b": {"max_size": "6"}, "images": {"mode": "a=b"}},
        without_plugins=("audio", "x.y"),
        dev=True,
    )
    assert seen.options == ServeOptions(
        specs=[LogdirSpec(None, "runs")],
        host="0.0.0.0",
        port=7007,
        token="abc",
        reload_interval=0.5,
        purge_orphaned_data=False,
        max_points=1000,
        open_browser=True,
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["--path-prefix", "/x"], ["--path_prefix", "/x"]),
        (["--path_prefix", "x"], ["--path_prefix", "/x//"]),
        (["--path_prefix", "/"], ["--path_prefix", ""]),
        (["--samples-per-plugin=a=1"], ["--samples_per_plugin", "a=1"]),
        (["--purge-orphaned-data", "False"], ["--purge_orphaned_data=0"]),
        (["--purge-orphaned-data", "true"], []),
        (["--port", "default"], []),
        (["--reload-interval", "7"], ["--reload_interval=7.0"]),
        (["--bind-all", "--no-token"], ["--no_token", "--bind_all"]),
    ],
)
def test_spellings_that_mean_the_same(served: Any, one: list[str], other: list[str]) -> None:
    """Options may have dashes or underscores, and `=` or a space before the value."""
    first, second = served("runs", *one), served("runs", *other)

    assert (first.config, first.options) == (second.config, second.options)


def test_several_directories(served: Any, tmp_path: Path) -> None:
    """`Config.logdir`, which data/logdir returns, is the argument unchanged."""
    seen = served("serve", "--logdir_spec", "a:runs,other")

    assert seen.config.logdir == "a:runs,other"
    assert seen.options.specs == [
        LogdirSpec("a", str(tmp_path / "runs")),
        LogdirSpec(None, str(tmp_path / "other")),
    ]
    (tmp_path / "other").mkdir()
    (tmp_path / "lr=1").mkdir()
    seen = served("a=runs", "other", "lr=1")
    assert seen.config.logdir == "a=runs,other,lr=1"
    assert seen.options.specs == [("a", "runs"), (None, "other"), (None, "lr=1")]


def test_the_home_directory(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell does not expand a tilde after `--logdir=`, so tbcore does."""
    monkeypatch.setenv("HOME", "/home/somebody")
    assert served("--logdir=~/runs").config.logdir == "/home/somebody/runs"


def test_the_token_may_come_from_the_environment(
    served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--token and --no_token take precedence over the environment."""
    monkeypatch.setenv("TBCORE_TOKEN", "abc")

    assert served("runs").options.token == "abc"
    assert served("runs", "--token", "def").options.token == "def"
    assert served("runs", "--no_token").options.no_token


@pytest.mark.parametrize(
    "arguments",
    [
        ["--load_fast=false"],
        ["--load_fast", "false"],
        ["--load-fast", "auto"],
        ["--load_fast"],
        ["--reload_multifile", "True"],
        ["--reload_multifile"],
        ["--reload_multifile=true"],
        ["--reload-multifile-inactive-secs", "-1"],
        ["--max_reload_threads", "4"],
        ["--reload_task", "process"],
        ["--generic_data", "true"],
        ["--detect_file_replacement=true"],
        ["--db", "sqlite:x"],
        ["--db_import"],
        ["--grpc_data_provider", "localhost:1"],
        ["--grpc_creds_type=local"],
        ["--extra_data_server_flags=--x"],
        ["--reuse_port", "true"],
        ["--verbosity=1"],
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_options_of_tensorboard_without_effect(
    served: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], first: bool
) -> None:
    """They are ignored with a warning, and their values too, but not the log directory."""
    order = [*arguments, "runs"] if first else ["runs", *arguments]
    seen = served("serve", *order)

    assert seen.config.logdir == "runs"
    name = arguments[0].partition("=")[0]
    assert capsys.readouterr().err == (
        f"tbcore: warning: {name} has no effect in tbcore and is ignored\n"
    )


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["serve"], ["no log directory given, and no logs found here; try `tbcore runs/`"]),
        (["serve", ""], ["no log directory given"]),
        (["serve", "--logdir="], ["no log directory given"]),
        (["serve", "runs", "--logdir", "runs"],
         ["LOGDIR, --logdir and --logdir_spec cannot be combined"]),
        (["serve", "--logdir", "runs", "--logdir_spec", "a:runs"],
         ["LOGDIR, --logdir and --logdir_spec cannot be combined"]),
        (["file"], ["'file' is a file; expected the directory that contains it, '.'"]),
        (["gs://bucket/runs"], ["gs:// needs another package: pip install 'tbcore-remote[gcs]'"]),
        (["--logdir_spec", "a:runs,b:az://x"],
         ["az:// needs another package: pip install 'tbcore-remote[azure]'"]),
        (["--logdir_spec", "a:file"], ["is a file; expected the directory that contains it"]),
        (["--logdir_spec", ",,"], ["no directory in --logdir_spec ',,'; expected name:path"]),
        (["plugns"], ["'plugns' is no command and no directory; did you mean 'plugins'?"]),
        (["nosuchdir"], ["'nosuchdir' is no command and no directory; `tbcore --logdir"]),
        (["no/such"], ["'no/such' is no command and no directory"]),
        (["version"], ["'version' is no command and no directory"]),
        (["runs", "--prot", "1"], ["no such option '--prot'; did you mean '--port'?"]),
        (["runs", "--port"], ["option '--port' requires an argument"]),
        (["runs", "--port", "x"], ["--port: 'x' is not a valid port; expected 0 to 65535"]),
        (["runs", "--port", "65536"], ["'65536' is not a valid port"]),
        (["runs", "--port", "-1"], ["'-1' is not a valid port"]),
        (["runs", "--port", "\u0663"], ["is not a valid port"]),
        (["runs", "--host", "::1", "--bind_all"], ["--host and --bind_all cannot be combined"]),
        (["runs", "--token", "a", "--no_token"], ["--token and --no_token cannot be combined"]),
        (["runs", "--token", "a b"], ["--token: the token is not valid; expected 1 to 200"]),
        (["runs", "--token", "a;b"], ["the token is not valid"]),
        (["runs", "--path_prefix", "/a/../b"], ["'/a/../b' is not a valid path"]),
        (["runs", "--path_prefix", "/a b"], ["is not a valid path"]),
        (["runs", "--path_prefix", "//a//b"], ["is not a valid path"]),
        (["runs", "--path_prefix", "/\u00e9"], ["is not a valid path"]),
        (["runs", "--allowed_host", "http://x"], ["'http://x' is not a valid host name"]),
        (["runs", "--allowed_host", "*"], ["--allowed_host '*' lets any page", "TBCORE_TOKEN"]),
        (["runs", "--embed_in", "https://a.b/c"], ["'https://a.b/c' is not an origin"]),
        (["runs", "--embed_in", "https://a.b"], ["--embed_in needs --secret_prefix FILE"]),
        (["runs", "--uds", "s", "--port", "1"], ["--uds and --port cannot be combined"]),
        (["runs", "--samples_per_plugin", "images"], ["'images' is not valid; expected NAME=N"]),
        (["runs", "--samples_per_plugin", "a=1,b=x"], ["'b=x' is not valid; expected NAME=N"]),
        (["runs", "--samples_per_plugin", "a=-1"], ["'a=-1' is not valid; expected NAME=N"]),
        (["runs", "--samples_per_plugin", "=1"], ["'=1' is not valid; expected NAME=N"]),
        (["runs", "--set", "images.size"], ["'images.size' is not valid; expected NAME.KEY=VALUE"]),
        (["runs", "--set", "size=1"], ["'size=1' is not valid; expected NAME.KEY=VALUE"]),
        (["runs", "--set", ".size=1"], ["'.size=1' is not valid; expected NAME.KEY=VALUE"]),
        (["plugins", "no-such"], ["no plugin 'no-such' is installed; ", "installed: "]),
        (["runs", "--purge_orphaned_data=maybe"],
         ["--purge_orphaned_data: 'maybe' is not valid; expected true or false"]),
        (["runs", "--purge_orphaned_data="], ["'' is not valid; expected true or false"]),
        (["--inspect", "--logdir", "runs"],
         ["--inspect is not supported; use `tbcore ls LOGDIR` or `tbcore show LOGDIR RUN`"]),
        (["--logdir", "runs", "--tag", "a"], ["--tag is not supported; use `tbcore show LOGDIR"]),
        (["runs", "--uds", "s", "--port", "0"], ["--uds and --port cannot be combined"]),
        (["runs", "--bind"], ["no such option '--bind'; did you mean '--bind_all'?"]),
        (["runs", "--reload_interval=-1"],
         ["--reload_interval: '-1' is not valid; expected a number of seconds, 0 or more"]),
        (["runs", "--reload_interval=nan"], ["'nan' is not valid; expected a number of seconds"]),
        (["runs", "--exit_when_idle", "soon"],
         ["--exit_when_idle: 'soon' is not valid; expected a time of up to 365 days, such as 30m"]),
        *((["runs", f"--exit_when_idle={text}"], [f"'{text}' is not valid; expected a time of up"])
          for text in ("", "0", "-1", "nan", "inf", "8 h", "8H", "1e3", "1h30m", "366d")),
        (["runs", "--max_points=-1"], ["--max_points: '-1' is not valid; expected an int"]),
        (["runs", "--max_points=x"],
         ["--max_points: 'x' is not valid; expected an int, 0 or more"]),
        (["runs", "--api", "new"], ["--api: 'new' is not one of 'plugin', 'legacy'"]),
        (["plugins", "--xml"], ["no such option '--xml'"]),
        (["check"], ["missing argument 'LOGDIR'"]),
        (["check", ""], ["no log directory given; try `tbcore check runs/`"]),
    ],
)  # fmt: skip
def test_invalid_command_lines(refused: Any, arguments: list[str], parts: list[str]) -> None:
    """The error is one line, never a traceback."""
    line = refused(*arguments)

    for part in parts:
        assert part in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "--no-such-option"], "no such option '--no-such-option'; did you mean"),
        (["serve", "--no_such_option"], "no such option '--no_such_option'; did you mean"),
        (["serve", "--no_such-option=1"], "no such option '--no_such-option'; did you mean"),
        (["--no-such-option"], "no such option '--no-such-option'; did you mean '--no_token'?"),
        (["plugins", "--as-json"], "no such option '--as-json'"),
        (["check", "--as-json", "runs"], "no such option '--as-json'"),
        (["plugins", "new", "--as-json", "x"], "no such option '--as-json'"),
        (["runs", "--path-prefix"], "option '--path-prefix' requires an argument"),
        (["runs", "--path_prefix"], "option '--path_prefix' requires an argument"),
        (["runs", "--no-token=1"], "option '--no-token' does not take a value"),
        (["runs", "--max-points", "x"], "--max-points: 'x' is not valid"),
        (["runs", "--max_points", "x"], "--max_points: 'x' is not valid"),
        (["runs", "--plugins-dir", "no"], "--plugins-dir: 'no' does not exist"),
        (["plugins", "--plugins-dir=no"], "--plugins-dir: 'no' does not exist"),
        (["runs", "--bind-all", "--host=x"], "--host and --bind-all cannot be combined"),
        (["runs", "--token=a", "--no-token"], "--token and --no-token cannot be combined"),
        (["--logdir-spec", ","], "no directory in --logdir-spec ','"),
    ],
)
def test_options_are_named_as_they_were_typed(
    refused: Any, arguments: list[str], message: str
) -> None:
    """Messages keep `-` or `_`; only suggestions have the spelling of the help."""
    assert refused(*arguments).startswith(f"tbcore: {message}")


def test_a_bad_value_from_the_environment(refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the variable, and does not repeat the secret."""
    monkeypatch.setenv("TBCORE_TOKEN", "a;b")

    line = refused("runs")

    assert line.startswith("tbcore: TBCORE_TOKEN: the token is not valid; ")
    assert "a;b" not in line
    monkeypatch.setenv("TBCORE_TOKEN", "")  # as after `TBCORE_TOKEN=$(a command that failed)`
    assert refused("runs").startswith("tbcore: TBCORE_TOKEN is empty; ")


VARIABLES = {
    "logdir": ("runs", "runs"),
    "logdir_spec": ("a:runs", "a:runs"),
    "index": ("kept", "kept"),
    "host": ("0.0.0.0", "0.0.0.0"),
    "bind_all": ("1", True),
    "port": ("7007", 7007),
    "path_prefix": ("a/b", "/a/b"),
    "secret_prefix": ("secret", "secret"),
    "uds": ("socket", "socket"),
    "allowed_hosts": (" a.example  b.example:8 ", ("a.example", "b.example:8")),
    "embed_in": ("https://a.b https://c.d", ("https://a.b", "https://c.d")),
    "token": ("abc", "abc"),
    "no_token": ("true", True),
    "read_token": ("def", "def"),
    "notes": ("read", "read"),
    "formats": ("csv", "csv"),
    "reload_interval": ("0.5", 0.5),
    "samples_per_plugin": ("images=20,a.b=0", {"images": 20, "a.b": 0}),
    "plugin_values": ("a.b.size=5 c.d=e", {"a.b": {"size": "5"}, "c": {"d": "e"}}),
    "without_plugins": ("audio x.y", ("audio", "x.y")),
    "max_points": ("1000", 1000),
    "purge_orphaned_data": ("false", False),
    "window_title": ("My runs", "My runs"),
    "api": ("legacy", "legacy"),
    "exit_when_idle": ("8h", 28800),
    "exit_with_parent": ("1", os.getppid()),
    "log_format": ("json", "json"),
    "open_browser": ("1", True),
}
"""Maps the parameter of each option with a variable to a text of the variable, and its value."""


def test_each_option_of_serve_has_a_variable(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is that of the option, but options that load code have none."""
    options = [option for option in serve_command.params if option.param_type_name == "option"]
    names = {option.name: option.envvar for option in options}

    assert {name for name, variable in names.items() if variable is None} == {"plugins_dirs", "dev"}
    assert {name for name, variable in names.items() if variable} == set(VARIABLES)
    assert names["without_plugins"] == "TBCORE_NO_PLUGIN"
    for name, (text, value) in VARIABLES.items():
        with monkeypatch.context() as patch:
            patch.setenv(str(names[name]), text)
            if name == "embed_in":
                patch.setenv("TBCORE_SECRET_PREFIX", "secret")
            # The arguments need no log directory, so that those of variables count.
            seen = served("serve", *([] if name in ("logdir", "logdir_spec") else ["runs"]))
        if name in ("logdir", "logdir_spec"):
            assert seen.config.logdir == value
        else:
            holder = seen.options if hasattr(seen.options, name) else seen.config
            assert getattr(holder, name) == value, name


@pytest.mark.parametrize(
    "variables",
    [
        {"TBCORE_PORT": "tcp://10.0.0.1:80"},
        {"TBCORE_BIND_ALL": "0", "TBCORE_NO_TOKEN": "false"},
        {"TBCORE_PORT": "", "TBCORE_ALLOWED_HOST": "", "TBCORE_BIND_ALL": "", "TBCORE_LOGDIR": ""},
        {"TBCORE_PLUGINS_DIR": "/no/such", "TBCORE_DEV": "1"},
    ],
)
def test_variables_that_change_nothing(
    served: Any, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    """Kubernetes sets such a port; empty variables are as unset ones; some options have none."""
    plain = served("runs")
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    seen = served("runs")

    assert (seen.config, seen.options) == (plain.config, plain.options)


@pytest.mark.parametrize(
    ("variables", "arguments", "same"),
    [
        ({"TBCORE_LOGDIR": "x"}, ["runs"], ["runs"]),
        ({"TBCORE_LOGDIR_SPEC": "a:x"}, ["--logdir", "runs"], ["runs"]),
        ({"TBCORE_LOGDIR": "x"}, ["--logdir-spec", "a:runs"], ["--logdir_spec", "a:runs"]),
        ({"TBCORE_BIND_ALL": "1"}, ["runs", "--host", "::1"], ["runs", "--host", "::1"]),
        ({"TBCORE_HOST": "::1"}, ["runs", "--bind_all"], ["runs", "--bind_all"]),
        ({"TBCORE_TOKEN": "a"}, ["runs", "--no_token"], ["runs", "--no_token"]),
        ({"TBCORE_NO_TOKEN": "1"}, ["runs", "--token=a"], ["runs", "--token=a"]),
        ({"TBCORE_UDS": "s"}, ["runs", "--port=0"], ["runs", "--port=0"]),
        ({"TBCORE_PORT": "7", "TBCORE_HOST": "::1"}, ["runs", "--uds=s"], ["runs", "--uds=s"]),
        ({"TBCORE_PORT": "7"}, ["runs", "--port=default"], ["runs"]),
        ({"TBCORE_NO_PLUGIN": "a b"}, ["runs", "--no_plugin", "c"], ["runs", "--no_plugin", "c"]),
    ],
)
def test_the_command_line_comes_before_variables(
    served: Any,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    arguments: list[str],
    same: list[str],
) -> None:
    """Also if it has another option, which excludes that of the variable."""
    plain = served(*same)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    seen = served(*arguments)

    assert seen.config == plain.config
    for field in dataclasses.fields(ServeOptions):
        value, expected = getattr(seen.options, field.name), getattr(plain.options, field.name)
        assert value == expected or not (value or expected), field.name


@pytest.mark.parametrize(
    ("variables", "arguments", "message"),
    [
        ({"TBCORE_PORT": "x"}, ["runs"], "TBCORE_PORT: 'x' is not a valid port; "),
        ({"TBCORE_BIND_ALL": "maybe"}, ["runs"], "TBCORE_BIND_ALL: 'maybe' is not a valid bool"),
        ({"TBCORE_HOST": "a", "TBCORE_BIND_ALL": "1"}, ["runs"],
         "TBCORE_HOST and TBCORE_BIND_ALL cannot be combined; "),
        ({"TBCORE_TOKEN": "a", "TBCORE_NO_TOKEN": "1"}, ["runs"],
         "TBCORE_TOKEN and TBCORE_NO_TOKEN cannot be combined; "),
        ({"TBCORE_LOGDIR": "a", "TBCORE_LOGDIR_SPEC": "a:b"}, [],
         "LOGDIR, TBCORE_LOGDIR and TBCORE_LOGDIR_SPEC cannot be combined; "),
        ({"TBCORE_LOGDIR_SPEC": ","}, ["serve"], "no directory in TBCORE_LOGDIR_SPEC ',';"),
        ({"TBCORE_ALLOWED_HOST": "*"}, ["runs"], "TBCORE_ALLOWED_HOST '*' lets any page"),
        ({"TBCORE_EMBED_IN": "https://a.b"}, ["runs"], "TBCORE_EMBED_IN needs --secret_prefix"),
    ],
)  # fmt: skip
def test_errors_name_variables(
    refused: Any,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    arguments: list[str],
    message: str,
) -> None:
    """The user has not typed the options."""
    for name, text in variables.items():
        monkeypatch.setenv(name, text)

    assert refused(*arguments).startswith(f"tbcore: {message}")


@pytest.mark.usefixtures("log_levels")
def test_errors_at_the_start_name_variables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Such as an address of another machine."""
    monkeypatch.setenv("TBCORE_HOST", "999.1.1.1")

    assert main([str(tmp_path), "--port=0"]) == 1
    assert capsys.readouterr().err.startswith("tbcore: TBCORE_HOST '999.1.1.1' is not an address")


def test_messages_end_with_the_help_of_their_command(refused: Any) -> None:
    """After a question the hint is a sentence of its own."""
    assert refused("check").endswith("'LOGDIR'; see `tbcore check --help`")
    assert refused("runs", "--prot=1").endswith("'--port'? See `tbcore serve --help`")


@pytest.mark.parametrize("arguments", [(), ("serve",), ("--port", "7007")])
def test_a_usual_directory_is_found(
    served: Any, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    """The first of runs, lightning_logs and logs that has event files; a line names all of them."""
    for folder in ("lightning_logs", "logs/a/b"):
        Path(folder).mkdir(parents=True)
        Path(folder, "events.out.tfevents.1").touch()

    seen = served(*arguments)

    assert seen.config.logdir == "lightning_logs"
    line = "no log directory given; serving lightning_logs (found: lightning_logs, logs)"
    assert capsys.readouterr().err == f"tbcore: {line}\n"


def test_the_working_directory_is_served_if_it_has_event_files(
    served: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the commands without a directory do: see test_commands.py of tbcore-logs."""
    Path("outputs/a").mkdir(parents=True)
    Path("outputs/a/events.out.tfevents.1").touch()

    assert served().config.logdir == "."
    assert capsys.readouterr().err == "tbcore: no log directory given; serving . (found: .)\n"


def test_a_given_directory_is_not_searched_for(
    served: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty one is an error, an index needs none, and a variable gives one, too."""
    Path("runs/events.out.tfevents.1").touch()
    assert served("serve", "--index", "kept").options.specs == []
    monkeypatch.setenv("TBCORE_LOGDIR", "other")
    assert served().config.logdir == "other"
    assert capsys.readouterr().err == ""

    assert main(["--logdir="]) == 2
    assert capsys.readouterr().err.startswith("tbcore: no log directory given; try `tbcore runs/`")


def test_the_search_for_a_directory_is_short(served: Any, disk: Disk) -> None:
    """Of a large directory without event files, only a part is searched."""
    for number in range(1100):
        Path(f"runs/{number}").mkdir()
    Path("logs/a/b").mkdir(parents=True)
    Path("logs/a/b/events.out.tfevents.1").touch()

    assert served().config.logdir == "logs"
    num_listed = len([path for path in disk.listed if path.startswith("runs")])
    assert 500 < num_listed <= 1001


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--logdir", "runs"), "runs"),
        (("serve", "runs"), "runs"),
        (("plugins",), "plugins"),
        ((), "runs"),
    ],
)
@pytest.mark.parametrize("name", ["/usr/local/bin/tensorboard", "TensorBoard.exe"])
def test_under_the_name_of_tensorboard_all_arguments_are_those_of_serve(
    served: Any,
    started_as: Callable[[str], None],
    name: str,
    arguments: tuple[str, ...],
    expected: str,
) -> None:
    """There are no other commands, and the rules for access are the same."""
    started_as(name)
    Path("runs/events.out.tfevents.1").touch()

    seen = served(*arguments)

    assert seen.config == Config(logdir=expected, program="tensorboard")
    assert seen.options == ServeOptions(specs=[LogdirSpec(None, expected)])


def test_messages_have_the_name_under_which_the_program_was_started(
    started_as: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that only contains that of TensorBoard is not enough."""
    for name, expected in (("tensorboard", "tensorboard"), ("my-tensorboard", "tbcore")):
        started_as(name)
        assert main(["serve", "--prot=1"]) == 2
        assert capsys.readouterr().err.startswith(f"{expected}: no such option '--prot'; ")
    started_as("tensorboard")
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: tensorboard serve [OPTIONS] [LOGDIR |")
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tbcore {__version__}\n"


def test_all_options_of_tensorboard_are_known() -> None:
    """Each is an option here, ignored with a warning, or refused with what to do instead."""
    pytest.importorskip("tensorboard", reason="its help has the list of its options")
    done = subprocess.run(
        [sys.executable, "-m", "tensorboard.main", "--help"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    listed = set(re.findall(r"^  (?:-\w, )?(--\w+)", done.stdout, re.MULTILINE))
    own = {name for parameter in serve_command.params for name in parameter.opts}

    assert len(listed) >= 27
    assert listed - own - IGNORED_OPTIONS.keys() - UNSUPPORTED_OPTIONS.keys() == {"--help"}


@pytest.mark.skipif(not hasattr(os, "getsid"), reason="needs sessions of processes")
@pytest.mark.parametrize(
    ("sessions", "has_parent"),
    [
        ({0: 50, 7: 50}, True),  # a program started it
        ({0: 99, 7: 50}, True),  # ... in a session of its own
        ({0: 50, 7: 1}, False),  # that program ended, and another process adopted this one
    ],
)
def test_a_parent_that_is_another_process_by_now(
    served: Any, monkeypatch: pytest.MonkeyPatch, sessions: dict[int, int], has_parent: bool
) -> None:
    """Only the process that started this one has its session, or this one has its own."""
    system = {"getpid": lambda: 99, "getppid": lambda: 7, "getsid": sessions.__getitem__}
    for name, function in system.items():
        monkeypatch.setattr(os, name, function)
    found = served("runs", "--exit_with_parent").options.exit_with_parent

    assert found == (7 if has_parent else -1)


def test_a_directory_that_does_not_exist_is_no_error(served: Any) -> None:
    """The directory may be created later, also the target of a broken link."""
    os.symlink("nowhere", "link")
    for path in ("later", "link", "runs/later/still"):
        assert served("serve", path).config.logdir == path
        assert served("--logdir", path).config.logdir == path


@pytest.mark.parametrize("logdir", ["a:runs,b:more", "runs,more", "a:runs"])
def test_several_directories_in_the_wrong_option(
    served: Any, capsys: pytest.CaptureFixture[str], logdir: str
) -> None:
    """The path may be created later; it is accepted with a warning that names the right option."""
    assert served("--logdir", logdir).config.logdir == logdir
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"tbcore: warning: {logdir!r} does not exist; ")
    assert "use NAME=LOGDIR for each" in line


def test_errors_at_the_start_are_one_line(
    starts: Starts, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 1, not 2 as for wrong usage."""
    starts.error = TbcoreError("port 1 is in use\nby another program")

    assert main(["serve", "somewhere"]) == 1
    assert capsys.readouterr().err == "tbcore: port 1 is in use by another program\n"


@pytest.mark.usefixtures("log_levels")
@pytest.mark.parametrize("host", ["999.1.1.1", "no.such.host.invalid", "192.0.2.1", "x" * 300])
def test_an_address_of_another_machine(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, host: str
) -> None:
    """The error is reported when the server tries to listen."""
    assert main([str(tmp_path), "--host", host]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("tbcore: ")
    assert "address of this machine" in line


@pytest.mark.usefixtures("log_levels")
def test_a_server_with_invalid_options_of_plugins_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error lists the installed plugins; it is the same with --dev."""
    monkeypatch.setenv("TBCORE_PLUGINS", "")
    for more in ([], ["--dev"]):
        assert main([str(tmp_path), "--port", "0", "--set", "no-such.size=1", *more]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith(
            "tbcore: --set no-such.size: no plugin 'no-such' is installed; installed:"
        )


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints the name and the version."""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tbcore {__version__}\n"


def test_the_help_is_short_and_complete(capsys: pytest.CaptureFixture[str]) -> None:
    """The overview has an example, and the help of `serve` all options."""
    assert main(["--help"]) == 0
    overview = capsys.readouterr().out
    assert "tbcore runs/" in overview
    assert "serve" in overview
    assert "plugins" in overview
    assert len(overview.splitlines()) <= 30

    assert main(["serve", "--help"]) == 0
    options = capsys.readouterr().out
    for option in (
        "--logdir", "--logdir_spec", "--host", "--bind_all", "--port", "--path_prefix",
        "--allowed_host", "--token", "--no_token", "--reload_interval", "--samples_per_plugin",
        "--max_points", "--purge_orphaned_data", "--window_title", "--api", "--open", "--dev",
    ):  # fmt: skip
        assert f" {option} " in options
    assert len(options.splitlines()) < 63

    for arguments, same in (
        (["help"], overview),
        (["-h"], overview),
        (["help", "serve"], options),
        (["serve", "-h"], options),
    ):
        assert main(arguments) == 0
        assert capsys.readouterr().out == same


def test_a_program_may_call_main_and_continue(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`main` does not exit because of earlier threads, and restores the garbage collector."""
    monkeypatch.setattr(os, "_exit", lambda status: pytest.fail("the process would have ended"))
    before = gc.isenabled(), gc.get_threshold()
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    try:
        served("runs")
    finally:
        release.set()
        thread.join()
    assert (gc.isenabled(), gc.get_threshold()) == before


def test_without_arguments_the_help_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The exit status is 2, as for wrong usage, and a line has what was searched for.

    Without a terminal, as in a script, nothing is searched for, and nothing served.
    """
    monkeypatch.chdir(tmp_path)
    assert main([]) == 2
    silent = capsys.readouterr()
    assert ("tbcore runs/" in silent.out, silent.err) == (True, "")
    stdout_is_terminal(monkeypatch)
    assert main([]) == 2
    output = capsys.readouterr()
    assert "tbcore runs/" in output.out
    [line] = output.err.splitlines()
    assert "no logs found here" in line


def test_help_needs_none_of_the_heavy_modules() -> None:
    """It is printed without importing numpy, the server or an extension."""
    program = (
        "import sys; from tbcore.cli import main; main(['serve', '--help']); "
        "heavy = {'numpy', 'starlette', 'uvicorn', 'google.protobuf', 'watchfiles'}; "
        "heavy |= {'tbcore_index', 'tbcore_testing'}; print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_it_runs_as_a_module() -> None:
    """`python -m tbcore` is the same command."""
    done = subprocess.run(
        [sys.executable, "-m", "tbcore", "--version"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == f"tbcore {__version__}\n"
