"""dev.py: how it interprets its arguments."""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import checks
import click
import machine
import pytest

from tbcore.cli import serve_command

REPOSITORY = Path(__file__).resolve().parents[2]


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
        for parameter in serve_command.params
        if isinstance(parameter, click.Option) and parameter.is_flag
    ]
    assert sorted(flags) == sorted(dev.FLAGS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sreve"], "no such command 'sreve'; expected serve, test, docs or wheels"),
        (["test", "-x"], "arguments of pytest must be after --, as in: dev.py test -- -x"),
        (
            ["test", "--quick", "-x"],
            "arguments of pytest must be after --, as in: dev.py test -- -x",
        ),
        (["docs", "-x"], "docs takes no arguments"),
        (["wheels", "-x"], "wheels takes no arguments"),
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


@pytest.mark.parametrize("in_ci", [True, False])
def test_a_service_that_cannot_be_installed_fails_in_ci_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], in_ci: bool
) -> None:
    """Its tests are skipped otherwise, and a line says so."""
    monkeypatch.setattr(machine, "install_services", lambda: ["nginx"])
    monkeypatch.setenv("CI", "true" if in_ci else "")
    steps = checks.Steps()
    checks.find_programs(steps, Path(sys.executable), [checks.SERVICES])
    assert steps.summary() == in_ci
    captured = capsys.readouterr()
    assert "NO TEST WITH nginx RUNS" in captured.err
    assert ("1 of 1 steps failed" if in_ci else "everything passed") in captured.out


@pytest.mark.parametrize(
    ("arguments", "status", "slowest"),
    [
        (["test_it.py"], 0, ["test_it.py::test_main", "test_it.py::test_service"]),
        (["test_it.py", "-k", "main"], 0, ["test_it.py::test_main"]),
        (["test_it.py", "-k", "nothing"], 1, []),
    ],
)
def test_each_test_runs_in_one_of_the_calls_of_pytest(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    status: int,
    slowest: list[str],
) -> None:
    """A call may have no test for the arguments, but not all calls."""
    service = "import pytest\n@pytest.mark.services\ndef test_service(): pass\n"
    (tmp_path / "test_it.py").write_text(f"{service}\ndef test_main(): pass\n")
    # At the end of a run, the plugin of Hypothesis imports all of it.
    ini = "[pytest]\naddopts = -p no:hypothesispytest\nmarkers =\n  services\n  browser\n"
    (tmp_path / "pytest.ini").write_text(ini)
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    steps = checks.Steps()
    calls = [call._replace(in_parallel=False) for call in (checks.MAIN, checks.SERVICES)]
    seconds = checks.run_pytest(steps, Path(sys.executable), calls, arguments)
    assert steps.summary() == status
    assert sorted(seconds) == slowest


def test_each_test_is_in_exactly_one_call() -> None:
    """The expressions of marks are those of Python."""
    names = ("browser", "services", "alone", "promise", "slow")
    for marks in itertools.product([False, True], repeat=len(names)):
        values = dict(zip(names, marks, strict=True))
        assert sum(eval(call.marks, values) for call in checks.CALLS[""]) == 1, values
        is_quick = not any(values[name] for name in names if name != "alone")
        assert eval(checks.QUICK.marks, values) == is_quick


def test_isolated_tests_are_skipped_for_what_they_ask_for_themselves(tmp_path: Path) -> None:
    """What tbcore itself does not find is a failure, and so is a missing file of the tests."""
    package = tmp_path / "site-packages" / "tbcore_fake"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def work():\n    import tbcore_index_fake\n")
    shared = tmp_path / "tests" / "shared"
    shared.mkdir(parents=True)
    shutil.copy(REPOSITORY / "tests" / "shared" / "isolation.py", shared)
    (tmp_path / "tests" / "test_module.py").write_text("import tbcore_other_fake\n")
    (tmp_path / "tests" / "test_it.py").write_text(
        "from pathlib import Path\n"
        "import pytest, tbcore_fake\n"
        "ROOT = Path(__file__).parents[1]\n"
        "@pytest.fixture\n"
        "def readme(): return (ROOT / 'README.md').read_text()\n"
        "def test_other(): import tbcore_other_fake\n"
        "def test_file(readme): pass\n"
        "def test_own_file(): (ROOT / 'tests' / 'data').read_text()\n"
        "def test_tbcore(): tbcore_fake.work()\n"
        "def test_another_package(): import not_there_fake\n"
        "def test_hint(): assert 'x needs another package: pip install tbcore-fake' == ''\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:hypothesispytest\n")
    others = os.environ.get("PYTHONPATH", "")
    path = os.pathsep.join([str(package.parent), str(shared), others])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "isolation", "-rfEs", "tests"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    lines = re.findall(r"^(?:FAILED|ERROR|SKIPPED).*", done.stdout, re.MULTILINE)
    assert [line.split(" - ")[0] for line in lines] == [
        "FAILED tests/test_it.py::test_own_file",
        "FAILED tests/test_it.py::test_tbcore",
        "FAILED tests/test_it.py::test_another_package",
        "SKIPPED [1] tests/test_module.py:0: needs tbcore_other_fake",
        "SKIPPED [1] tests/test_it.py:0: needs tbcore_other_fake",
        "SKIPPED [1] tests/test_it.py:0: needs README.md of the repository",
        "SKIPPED [1] tests/test_it.py:0: needs tbcore-fake",
    ], done.stdout


@pytest.mark.release
@pytest.mark.skipif(sys.version_info[:2] > (3, 11), reason="needs the oldest Python")
def test_the_tests_pass_with_the_oldest_allowed_version_of_each_package() -> None:
    """Each floor in a pyproject.toml is one that works."""
    command = [sys.executable, "dev.py", "test", "--lowest"]
    assert subprocess.run(command, cwd=REPOSITORY, check=False).returncode == 0
