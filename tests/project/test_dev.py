"""dev.py: how it interprets its arguments."""

from __future__ import annotations

import contextlib
import importlib.util
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import checks
import click
import distributions
import installing
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
        (
            ["test", "-k", "a b"],
            "arguments of pytest must be after --, as in: dev.py test -- -k 'a b'",
        ),
        (
            ["test", "--quick", "-x"],
            "arguments of pytest must be after --, as in: dev.py test --quick -- -x",
        ),
        (
            ["test", "--qiuck"],
            "no such part '--qiuck'; expected --quick, --services, --isolated, --lowest, "
            "or -- before pytest's arguments",
        ),
        (
            ["test", "--quick", "--lowest"],
            "--quick and --lowest are two parts; run one after the other",
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
    ("arguments", "status", "failures"),
    [
        (["test_it.py"], 1, {"test_main": "", "test_service": "AssertionError: no way assert 0"}),
        (["test_it.py", "-k", "main"], 0, {"test_main": ""}),
        (["test_it.py", "-k", "nothing"], 1, {}),
    ],
)
def test_each_test_runs_in_one_of_the_calls_of_pytest(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    status: int,
    failures: dict[str, str],
) -> None:
    """A call may have no test for the arguments, but not all calls."""
    service = "import pytest\n@pytest.mark.services\ndef test_service(): assert 0, 'no\\nway'\n"
    (tmp_path / "test_it.py").write_text(f"{service}\ndef test_main(): pass\n")
    # At the end of a run, the plugin of Hypothesis imports all of it.
    ini = "[pytest]\naddopts = -p no:hypothesispytest\nmarkers =\n  services\n  browser\n"
    (tmp_path / "pytest.ini").write_text(ini)
    monkeypatch.setattr(checks, "ROOT", tmp_path)
    steps = checks.Steps()
    calls = [call._replace(in_parallel=False) for call in (checks.MAIN, checks.SERVICES)]
    results = checks.run_pytest(steps, Path(sys.executable), calls, arguments)
    assert steps.summary() == status
    assert {test.name.partition("::")[2]: test.failure for test in results} == failures


def test_steps_beside_others_are_printed_whole_and_count(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """An error in place of a step is not lost, either."""
    program = "import sys; print(1, flush=True); print(2, file=sys.stderr); sys.exit({})"
    steps = checks.Steps()

    def work(beside: checks.Steps) -> None:
        beside.run("first", [sys.executable, "-c", program.format(0)])
        beside.run("second", [sys.executable, "-c", program.format(1)])

    steps.beside(work)()
    assert steps.summary() == 1
    printed = capfd.readouterr().out
    assert "\n--- first\n1\n2\n\n--- second\n1\n2\n" in printed
    assert "1 of 2 steps failed" in printed

    def fail(beside: checks.Steps) -> None:
        beside.run("none", ["/no/program"])

    with pytest.raises(FileNotFoundError):
        steps.beside(fail)()


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


def test_started_processes_receive_signals_that_the_tests_ignore(tmp_path: Path) -> None:
    """The tests run under `nohup` and in the background, too, and go on when the terminal ends."""
    (tmp_path / "conftest.py").write_text("from common_fixtures import *\n")
    (tmp_path / "test_it.py").write_text(
        "import os, signal, subprocess, sys\n"
        "import pytest\n"
        "@pytest.mark.parametrize('name', ['SIGINT', 'SIGHUP'])\n"
        "def test_it(name):\n"
        "    os.kill(os.getpid(), getattr(signal, name))\n"
        "    program = f'import os, signal; os.kill(os.getpid(), signal.{name}); print(1)'\n"
        "    done = subprocess.run([sys.executable, '-c', program], stdout=subprocess.PIPE)\n"
        "    assert (done.returncode, done.stdout) == (-getattr(signal, name), b'')\n"
    )
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {REPOSITORY}/tests/shared\n")
    script = f"trap '' INT HUP; exec {shlex.quote(sys.executable)} -m pytest -q -n 1 test_it.py"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert re.search("^2 passed", done.stdout, re.MULTILINE), done.stdout


PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "tbcore-{name}"
version = "1.5"
dependencies = [{requires}]
[project.optional-dependencies]
more = ["tbcore-absent>=2"]
[project.scripts]
{name} = "tbcore_{name}:main"
[project.entry-points."tbcore.plugins"]
{point} = "tbcore_{name}"
[tool.hatch.build.hooks.custom]
path = "hook.py"
"""
HOOK = """
from pathlib import Path
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
class Hook(BuildHookInterface):
    def dependencies(self):
        return ["iniconfig"]
    def initialize(self, version, build_data):
        import iniconfig
        Path(self.root, "made").touch()
"""


def write_project(folder: Path, name: str, point: str, requires: str) -> Path:
    """A project with a build hook, which needs a package, and with no requirements but ours."""
    (folder / f"tbcore_{name}").mkdir(parents=True, exist_ok=True)
    (folder / f"tbcore_{name}" / "__init__.py").write_text("def main(): print(__file__)")
    (folder / "pyproject.toml").write_text(
        PROJECT.format(name=name, point=point, requires=requires)
    )
    (folder / "hook.py").write_text(HOOK)
    return folder


@pytest.mark.slow
def test_projects_are_installed_in_place(dev: ModuleType, tmp_path: Path) -> None:
    """As pip would with --editable, with all metadata; a change of this is installed, too."""
    dev.make_venv(tmp_path / "venv")
    python = dev.python_of(tmp_path / "venv")

    def run(*command: str) -> str:
        return subprocess.run(
            [python, *command], capture_output=True, text=True, check=True, cwd=tmp_path
        ).stdout

    def described() -> object:
        program = (
            "import json; from importlib.metadata import distribution\n"
            "found = distribution('tbcore-b')\n"
            "print(json.dumps([found.version, found.requires, found.metadata.get_all("
            "'Provides-Extra'), [point[:2] for point in found.entry_points]]))"
        )
        return json.loads(run("-c", program))

    for point in ("first", "second"):
        a = write_project(tmp_path / "a folder", "a", point, "")
        b = write_project(tmp_path / "b", "b", point, '"tbcore-a>=1,<2"')
        installing.install(python, [], [b, a])
        assert described() == [
            "1.5", ["tbcore-a<2,>=1", "tbcore-absent>=2; extra == 'more'"], ["more"],
            [["b", "tbcore_b:main"], [point, "tbcore_b"]],
        ]  # fmt: skip
    assert (a / "made").exists()
    listed = json.loads(run("-m", "pip", "list", "--format", "json"))
    places = {each["name"]: each.get("editable_project_location") for each in listed}
    assert places.pop("pip") is None
    assert places.pop("setuptools", None) is None  # Python 3.11 has it in each environment.
    assert places == {"tbcore-a": str(a), "tbcore-b": str(b)}
    command = python.with_name("b")
    done = subprocess.run([command], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout == f"{b}/tbcore_b/__init__.py\n"
    assert "No broken requirements" in run("-m", "pip", "check")
    run("-m", "pip", "uninstall", "-y", "tbcore-a", "tbcore-b")
    assert not list(tmp_path.glob("venv/lib/*/site-packages/*tbcore*"))
    assert not command.exists()
    assert a.exists()


def test_all_projects_have_the_same_build_tools() -> None:
    """`dev.py` builds all with those of the core."""
    systems = [project.tables["build-system"] for project in distributions.projects()]
    assert systems == [systems[0]] * len(systems)


@pytest.mark.parametrize("status", [0, 3])
def test_a_step_is_one_line_with_progress_on_a_terminal(status: int) -> None:
    """Elsewhere it is a plain line. What went wrong stays visible."""
    program = (
        "import installing, sys\n"
        f'code = \'import sys; print(1, "of", 2); print("x" * 999); sys.exit({status})\'\n'
        "installing.run_step('building', [sys.executable, '-c', code])\n"
    )
    failed = "dev.py: building failed; see the message above\n" if status else ""
    command = [sys.executable, "-c", program]
    folder = Path(installing.__file__).parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stdout) == (status and 1, "")
    assert done.stderr == f"dev.py: building\n{failed}"

    ours, theirs = os.openpty()
    environment = {**os.environ, "COLUMNS": "40"}
    with subprocess.Popen(command, stderr=theirs, env=environment, cwd=folder) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # EIO: the program has ended.
            while part := os.read(ours, 1 << 16):
                shown += part
    os.close(ours)
    assert process.returncode == (status and 1)
    lines = re.sub(" +(?=\r)", "", shown.decode().replace("\r\n", "\n")).split("\r")
    texts = [line for line in lines if line]
    assert texts[:2] == ["dev.py: building: 1 of 2", f"dev.py: building: {'x' * 21}"]
    assert texts[2:] == ([failed] if failed else [])
