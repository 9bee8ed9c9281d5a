"""`tbcore plugins new`: the plugin that it creates works, and invalid names are errors."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tbcore.cli import main
from tbcore.errors import TbcoreError
from tbcore.plugins.checks import RESERVED_NAMES
from tbcore_testing import make_client, write_run
from tbcore_testing.new_plugin import KINDS, new_plugin
from tbcore_testing.plugin_command import new

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module", params=[name for name, each in KINDS.items() if each.tab])
def kind(request: pytest.FixtureRequest) -> str:
    """The name of each kind of plugin with a tab."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, kind: str) -> Iterator[Path]:
    """The folder of a new plugin `last_words` of that kind."""
    yield new_plugin("last_words", tmp_path_factory.mktemp("new"), kind)
    for name in [name for name in sys.modules if name.startswith("tbcore_last_words")]:
        del sys.modules[name]


def run(*command: str, cwd: Path, **variables: str) -> str:
    response = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "300", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert response.returncode == 0, f"{response.stdout}\n{response.stderr}"
    return response.stdout


def test_it_works_unchanged(made: Path, kind: str, tmp_path: Path) -> None:
    """The plugin works from its folder without being installed, and has no placeholders left."""
    if (made / "demo.py").exists():
        run(sys.executable, "demo.py", str(tmp_path), cwd=made)
    write_run(tmp_path, "train", scalars={"loss": [0.5, 0.25]})
    client = make_client(tmp_path, plugins=(), plugins_dirs=[str(made)])

    [plugin] = client.get("data/frontends").json()["plugins"]
    assert (plugin["name"], plugin["title"], plugin["error"]) == ("last_words", "Last words", None)
    assert plugin["active"] is True
    assert "export default" in client.get(plugin["module"]).text
    files = [path for path in made.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert len(files) == len(KINDS[kind].all_files)
    for file in files:
        assert not re.search(r"\{\{\w+\}\}", file.read_text(encoding="utf-8"))


def test_the_command_has_all_kinds() -> None:
    [choice] = [parameter.type for parameter in new.params if parameter.name == "kind"]
    assert choice.choices == tuple(KINDS)  # type: ignore[attr-defined]


@pytest.mark.browser
def test_its_own_tests_pass(made: Path) -> None:
    """The tests pass without the plugin being installed, in a browser too."""
    output = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=made)
    assert "3 passed" in output


def test_its_own_tests_need_no_browser(made: Path) -> None:
    """Those of its tab are skipped with the reason."""
    command = (sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider")
    output = run(*command, cwd=made, TBCORE_CHROMIUM=str(made / "none"))
    assert "2 passed, 1 skipped" in output
    assert "Chromium could not be started" in output or "playwright is not installed" in output


@pytest.mark.release
def test_it_passes_the_conformance_suite(made: Path) -> None:
    """The suite is started as in the README of the plugin."""
    suite = "tbcore_testing.conformance"
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs", suite)
    output = run(sys.executable, *command, "--plugin", "./", cwd=made)
    assert " passed" in output
    assert "skipped" not in output


def test_a_format_works_unchanged(tmp_path: Path) -> None:
    """Its tests pass, and as soon as it is installed, its files are runs."""
    folder = new_plugin("more_words", tmp_path, "format")
    output = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=folder)
    assert "3 passed" in output
    test_its_python_passes_ruff(folder)
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert len(files) == len(KINDS["format"].all_files)
    for file in files:
        assert not re.search(r"\{\{\w+\}\}", file.read_text(encoding="utf-8"))
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    [(name, value)] = project["entry-points"]["tbcore.formats"].items()
    info = folder / "more_words-0.1.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: more-words\nVersion: 0.1.0\n"
    )
    info.joinpath("entry_points.txt").write_text(f"[tbcore.formats]\n{name} = {value}\n")
    logs = tmp_path / "logs" / "train"
    logs.mkdir(parents=True)
    (logs / "more_words.jsonl").write_text('{"step": 7, "loss": 0.5}\n')
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    command = ("-m", "tbcore", "ls", str(logs.parent), "--columns", "loss,source")
    found = run(sys.executable, *command, cwd=tmp_path, PYTHONPATH=path)
    assert found == "run\tloss\tsource\ntrain\t0.5\ttrain/more_words.jsonl\n"


def test_its_python_passes_ruff(made: Path) -> None:
    """The code complies with the rules of this repository."""
    ruff = shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))
    if ruff is None:
        pytest.skip("ruff is not installed")
    if not (REPOSITORY / "pyproject.toml").exists():
        pytest.skip("needs pyproject.toml of the repository")
    config = ("--config", str(REPOSITORY / "pyproject.toml"))
    run(ruff, "check", "--no-cache", *config, ".", cwd=made)
    run(ruff, "format", "--no-cache", "--check", *config, ".", cwd=made)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Loss-Table", "not a valid name of a plugin; .*; try 'loss_table'"),
        ("tbcore_hello", "not a valid name of a plugin; .*; try 'hello'"),
        ("../hello", "not a valid name of a plugin"),
        ("hello_", "not a valid name of a plugin; .*; try 'hello'"),
        ("hello__world", "not a valid name of a plugin; .*; try 'hello_world'"),
        ("tbcore-hello-world", "not a valid name of a plugin; .*; try 'hello_world'"),
        ("9lives", "not a valid name of a plugin"),
        ("é", "not a valid name of a plugin"),
        ("", "not a valid name of a plugin"),
        ("a" * 200, "not a valid name of a plugin"),
        ("plugins", "it is reserved for the page about all plugins"),
        *[(name, "reserved for") for name in RESERVED_NAMES],
        ("server", "tbcore-server is the distribution of tbcore itself"),
    ],
)
def test_invalid_names(tmp_path: Path, name: str, reason: str) -> None:
    """The error has one line, and nothing is written."""
    with pytest.raises(TbcoreError, match=reason) as caught:
        new_plugin(name, tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_names_that_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is taken by an installed plugin, or by a module."""
    info = tmp_path / "tbcore_taken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tbcore-taken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[tbcore.plugins]\ntaken = anything\n")
    (tmp_path / "tbcore_module.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    taken = r"plugin 'taken' is installed already, by tbcore-taken 1\.0"
    with pytest.raises(TbcoreError, match=taken):
        new_plugin("taken", tmp_path)
    with pytest.raises(TbcoreError, match="module 'tbcore_module' exists already"):
        new_plugin("module", tmp_path)


def test_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An existing folder or file is an error. The output has the command to try the plugin."""
    monkeypatch.chdir(tmp_path)
    assert main(["plugins", "new", "mine"]) == 0
    assert "tbcore serve --logdir DIR --plugins_dir tbcore-mine --dev" in capsys.readouterr().out
    readme = tmp_path / "tbcore-mine" / "README.md"
    readme.write_text("mine")
    (tmp_path / "tbcore-file").write_text("a file")
    for name in ("mine", "file"):
        assert main(["plugins", "new", name]) == 1
        error = capsys.readouterr().err
        assert error.startswith(f"tbcore: 'tbcore-{name}' already exists")
        assert error.count("\n") == 1
    assert readme.read_text() == "mine"


def test_the_listing_has_it(made: Path) -> None:
    """`tbcore plugins` lists the plugin from its folder."""
    command = ("-m", "tbcore", "plugins", "last_words", "--plugins_dir", str(made), "--json")
    [plugin] = json.loads(run(sys.executable, *command, cwd=made))
    assert plugin["state"] == "ok"
    assert plugin["routes"][0]["path"].startswith("data/plugin/last_words/")
