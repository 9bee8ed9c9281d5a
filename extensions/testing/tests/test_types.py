"""The types of the page's modules, and the check of a new plugin with them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bundles import move_to_src
from machine import find_node
from wheels import make_types

from tbcore.cli import main
from tbcore.errors import TbcoreError
from tbcore_testing import types_of_page
from tbcore_testing.new_plugin import KINDS, new_plugin

REPOSITORY = Path(__file__).resolve().parents[3]
MODULES = REPOSITORY / "node_modules"


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The types as `dev.py wheels` makes them."""
    if find_node() is None or not (MODULES / "typescript").is_dir():
        pytest.skip("needs Node, and node_modules of the repository")
    folder = tmp_path_factory.mktemp("types")
    make_types(REPOSITORY, folder)
    return folder


def checked(project: Path) -> str:
    """What the check in the README of a new plugin prints."""
    if not (project / "node_modules").exists():
        (project / "node_modules").symlink_to(MODULES)
    command = [find_node() or "node", "node_modules/typescript/bin/tsc", "-p", "."]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (done.stdout + done.stderr == "")
    return done.stdout + done.stderr


def test_each_public_module_has_its_types(types: Path) -> None:
    """With the descriptions in the comments."""
    public = {path.stem for path in (REPOSITORY / "tbcore" / "web").glob("*.js")}
    assert {path.name for path in types.glob("*.d.ts")} == {f"{name}.d.ts" for name in public}
    host = (types / "host.d.ts").read_text(encoding="utf-8")
    assert host.count("the element to draw in") == 1
    assert len(host.splitlines()) < 350


def test_types_of_the_page_alone_are_left_out(types: Path) -> None:
    """No other one refers to them."""
    files = [*types.rglob("*.d.ts")]
    texts = {str(f.relative_to(types)): f.read_text(encoding="utf-8") for f in files}
    assert not [name for name, text in texts.items() if "@typedef" in text]
    known = set(re.findall(r"^export type (\w+)", texts["host.d.ts"], re.MULTILINE))
    assert {"Host", "Run", "Grouping", "PartsOfRuns", "Key", "PluginModule"} <= known
    assert not known & {"Plugin", "Notes", "NotesPage", "Noted", "Frontends", "RunDetails"}
    used = {name for text in texts.values() for name in re.findall(r'host\.js"\)\.(\w+)', text)}
    assert used - {"FrameHost"} <= known  # which is in lib/frame/host.js
    own = re.sub(r"/\*.*?\*/", "", texts["host.d.ts"], flags=re.DOTALL)
    gone = "Unshown|Frontends|RunDetails|Nonfinite|Notes|NotesPage|Noted|MenuItem"
    assert not re.search(rf"\b({gone})\b", own)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind].tab])
def test_a_new_plugin_has_no_error_of_types(types: Path, tmp_path: Path, kind: str) -> None:
    project = new_plugin("typed", tmp_path, kind)
    types_of_page.write_types(project, types)
    assert checked(project) == ""


def test_a_page_that_is_bundled_has_no_error_of_types(types: Path, tmp_path: Path) -> None:
    """Its source is where the comment in the template says, and imports the host as it says."""
    project = new_plugin("typed", tmp_path, "page")
    types_of_page.write_types(project, types)
    move_to_src(project, "tbcore_typed")
    assert checked(project) == ""
    source = project / "src" / "index.js"
    source.write_text(source.read_text("utf-8") + "host.css('p {}');\n", encoding="utf-8")
    assert "src/index.js" in (errors := checked(project))
    assert "TS2339" in errors


HOST = '/** @param {import("tbcore/host.js").Host} host */'
FRAME_HOST = '/** @param {import("tbcore/frame.js").FrameHost} host */'
MISTAKES = [
    ('import { LineChat } from "tbcore/chart.js";', "TS2724"),  # did you mean LineChart?
    ('import { formatStep } from "tbcore/format.js"; formatStep({});', "TS2345"),
    ('import { State } from "tbcore/shell/state/reader-state.js";', "TS2307"),  # private
    (f"{HOST} export const runs = (host) => host.rums;", "TS2339"),
    (f"{FRAME_HOST} export const css = (host) => host.css;", "TS2339"),
    ('import { renderStepTab } from "tbcore/steps.js"; renderStepTab({}, {});', "TS2740"),
    ('import { connect } from "../../tbcore/frame.js"; (await connect()).css("p {}");', "TS2339"),
    ('import { render } from "preact"; render();', "TS2554"),
]  # fmt: skip
"""Modules with one mistake, and the number of the error that is reported for it."""


def test_mistakes_are_found(types: Path, tmp_path: Path) -> None:
    """In names, in arguments and in members; private modules do not exist."""
    project = new_plugin("typed", tmp_path)
    types_of_page.write_types(project, types)
    static = project / "tbcore_typed" / "static"
    for number, (mistake, _) in enumerate(MISTAKES):
        (static / f"mistake{number}.js").write_text(f"{mistake}\n", encoding="utf-8")

    lines = checked(project).splitlines()

    found = [re.findall(r"mistake(\d+)\.js.*error (TS\d+)", line) for line in lines]
    wanted = [(str(number), error) for number, (_, error) in enumerate(MISTAKES)]
    assert sorted(one for [one] in filter(None, found)) == wanted
    assert all(line.startswith(("tbcore_typed/static/mistake", "  ")) for line in lines)


def test_the_command_writes_them_again(
    types: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of another version are gone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(types_of_page.write_types, "__defaults__", (types,))
    old = tmp_path / "types" / "tbcore" / "old.d.ts"
    old.parent.mkdir(parents=True)
    old.write_text("")

    assert main(["plugins", "types"]) == 0

    assert capsys.readouterr().out == "Wrote the types of tbcore's page to types/tbcore/\n"
    assert {path.name for path in old.parent.glob("*.d.ts")} == {
        p.name for p in types.glob("*.d.ts")
    }


def test_a_checkout_makes_its_types(types: Path, tmp_path: Path) -> None:
    """A copy of tbcore-testing in it has none."""
    folder = types_of_page.write_types(tmp_path, tmp_path / "none")
    assert {path.name for path in folder.glob("*.d.ts")} == {p.name for p in types.glob("*.d.ts")}
    assert (folder / "host.d.ts").read_bytes() == (types / "host.d.ts").read_bytes()


def test_without_types_the_error_says_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(types_of_page.make_in_checkout, "__defaults__", (tmp_path,))
    with pytest.raises(TbcoreError, match=r"no types, .*`python3 dev\.py wheels`") as caught:
        types_of_page.write_types(tmp_path, tmp_path / "none")
    assert "\n" not in str(caught.value)
    (tmp_path / "types").write_text("a file")
    some = tmp_path / "some"
    some.mkdir()
    with pytest.raises(TbcoreError, match=r"'.*types/tbcore' cannot be written: Not a directory"):
        types_of_page.write_types(tmp_path, some)


def test_the_tools_of_a_new_plugin_have_the_versions_of_the_page(tmp_path: Path) -> None:
    """So the types of the libraries are those of what the browser loads."""
    project = new_plugin("typed", tmp_path)
    tools = json.loads((project / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    ours = json.loads((REPOSITORY / "package.json").read_text(encoding="utf-8"))
    wanted = {**ours["dependencies"], **ours["devDependencies"]}
    assert tools == {name: wanted[name] for name in tools}
    assert set(ours["dependencies"]) <= set(tools)
    shutil.rmtree(project)
