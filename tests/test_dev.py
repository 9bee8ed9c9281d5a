"""dev.py: how it interprets its arguments."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import click
import pytest

from tbcore.cli import serve

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def dev() -> ModuleType:
    """dev.py as a module."""
    spec = importlib.util.spec_from_file_location("tbcore_dev", REPOSITORY / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_dev_knows_which_options_take_no_value(dev: ModuleType) -> None:
    """An argument after such an option is the log directory."""
    flags = [
        parameter.opts[0].replace("_", "-")
        for parameter in serve.params
        if isinstance(parameter, click.Option) and parameter.is_flag
    ]
    assert sorted(flags) == sorted(dev.FLAGS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sreve"], "no such command 'sreve'; expected serve, test or docs"),
        (["test", "-x"], "arguments of pytest must be after --, as in: dev.py test -- -x"),
        (
            ["test", "--quick", "-x"],
            "arguments of pytest must be after --, as in: dev.py test -- -x",
        ),
        (["docs", "-x"], "docs takes no arguments"),
    ],
)
def test_invalid_arguments(
    dev: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    """The error is printed before the usage."""
    monkeypatch.setattr("sys.argv", ["dev.py", *arguments])
    assert dev.main() == 2
    assert capsys.readouterr().err.startswith(f"dev.py: {message}\n")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], False),
        (["--logdir", "runs"], True),
        (["--logdir=runs"], True),
        (["--logdir_spec", "a:runs"], True),
        (["--logdir-spec=a:runs"], True),
        (["runs"], True),
        (["--port", "7000"], False),
        (["--port", "7000", "runs"], True),
        (["--port=7000", "runs"], True),
        (["--dev", "runs"], True),
        (["--bind_all", "runs"], True),
        (["--bind-all"], False),
    ],
)
def test_the_demo_is_served_without_a_log_directory(
    dev: ModuleType, arguments: list[str], named: bool
) -> None:
    """The log directory may be an option or an argument."""
    assert dev.names_logdir(arguments) is named
