"""Plugins in folders: files, packages and distributions that are not installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tbcore.plugins import sources as sources_module
from tbcore.plugins.checks import RESERVED_NAMES
from tbcore.plugins.loading import load_plugins
from tbcore.plugins.sources import Source, in_folder
from tbcore.plugins.types import LoadedPlugin
from tbcore_testing import make_client, write_run

PLUGIN = """
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl
from tbcore.http import json_response

@hookimpl
def plugin_info():
    return PluginInfo(title="Mine")

@hookimpl
def routes():
    return [Route("/word", lambda request: json_response("WORD"))]
"""
PROJECT = """
[project]
name = "tbcore-mine"

[project.entry-points."tbcore.plugins"]
mine = "tbcore_mine"
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder


@pytest.fixture(autouse=True)
def _forget_modules() -> Iterator[None]:
    """Removes the modules of a test, so that the next one imports its own."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("tbcore_mine", "tbcore_file_", "mine")):
            del sys.modules[name]


def load(folder: Path) -> dict[str, LoadedPlugin]:
    """The plugins in a folder, by name."""
    plugins = load_plugins(folders=[str(folder)])
    return {p.name: p for p in plugins if p.source and not p.source.is_installed}


@pytest.mark.parametrize(
    ("files", "folder"),
    [
        ({"mine.py": PLUGIN, "mine.js": "export default {}"}, ""),
        ({"tbcore_mine.py": PLUGIN, "tbcore_mine.js": "export default {}"}, ""),
        ({"mine/__init__.py": PLUGIN, "mine/static/index.js": "export default {}"}, ""),
        ({"tbcore_mine/__init__.py": PLUGIN, "tbcore_mine/static/index.js": "export default {}"},
         ""),
        ({"mine/__init__.py": PLUGIN, "mine/static/index.js": "export default {}"}, "mine"),
        *[
            ({"work/pyproject.toml": PROJECT,
              f"work/{source}tbcore_mine/__init__.py": "from tbcore_mine.hooks import *",
              f"work/{source}tbcore_mine/hooks.py": PLUGIN,
              f"work/{source}tbcore_mine/static/index.js": "export default {}"}, folder)
            for source, folder in (("", ""), ("src/", ""), ("", "work"))
        ],
    ],
)  # fmt: skip
def test_a_plugin_works_without_being_installed(
    tmp_path: Path, files: dict[str, str], folder: str
) -> None:
    """A plugin may be a file with its ES module, a package or a distribution."""
    write(tmp_path / "plugins", files)
    path = list(sys.path)
    client = make_client(
        tmp_path / "logs", plugins=(), plugins_dirs=[str(tmp_path / "plugins" / folder)]
    )

    assert client.get("data/plugin/mine/word").json() == "WORD"
    [plugin] = client.get("data/frontends").json()["plugins"]
    assert (plugin["title"], plugin["error"]) == ("Mine", None)
    assert client.get(plugin["module"]).text == "export default {}"
    assert sys.path == path


def test_only_files_of_the_plugin_are_served(tmp_path: Path) -> None:
    """For a plugin that is a single file these have its name with another extension."""
    files = {
        "mine.py": PLUGIN,
        "mine.js": "1",
        "mine.css": "2",
        "secret.js": "3",
        "mine.d/x.js": "",
    }
    folder = write(tmp_path, files)
    client = make_client(tmp_path / "logs", plugins=(), plugins_dirs=[str(folder)])

    assert client.get("static/plugins/mine/mine.css").text == "2"
    for name in ("secret.js", "mine.py", "mine.d/x.js"):
        assert client.get(f"static/plugins/mine/{name}").status_code == 404


def test_a_file_may_have_the_name_of_a_module_of_python(tmp_path: Path) -> None:
    """Python's module of that name can still be imported."""
    plugins = load(write(tmp_path, {"profile.py": PLUGIN, "random.py": PLUGIN}))
    assert {name: p.error for name, p in plugins.items()} == {"profile": None, "random": None}
    import random

    assert random.random() < 1


CORE = [
    "", "data/runs", "data/status", "data/notes", "data/nothing", "data/nothing/x",
    "data/item?run=a&tag=b", "legacy/data/item?run=a&tag=b", "picture?run=a&tag=b",
    "static/tbcore/cards.js", "static/plugins/good/good.js", "static/nothing", "healthz", "readyz",
    "metrics", "images", "events/", "data/plugin/good/word", "legacy/data/runs", "legacy/nothing",
]  # fmt: skip
"""Addresses that are not those of a plugin that is refused or fails."""
GOOD = f"""
from tbcore import LegacyApi
{PLUGIN}
@hookimpl
def legacy_api():
    item = Route("/item", lambda request: json_response("item"))
    return LegacyApi(routes=[item], bare_routes=[Route("/picture", item.endpoint)])
"""
PAGES = f"{PLUGIN}\n@hookimpl\ndef page_routes():\n    return "


@pytest.mark.parametrize("prefix", ["", "/team"])
@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("x = 1", ("runs", "item", "picture")),
        ("raise SystemExit(3)", ("runs", "item", "picture")),
        (f"{PAGES}1 / 0", ("runs", "item", "picture")),
        (f"{PAGES}[Route('/', lambda request: 1 / 0)]", ()),
    ],
)
def test_a_file_with_a_name_of_the_core_costs_itself_alone(
    tmp_path: Path, prefix: str, source: str, names: tuple[str, ...]
) -> None:
    """`data.py` is in the folder of many projects. It is refused, and others may fail: only their
    own routes respond with 503."""
    folder = write(tmp_path / "plugins", {"good.py": GOOD, "good.js": "export default {}"})
    found = []
    for _ in range(2):
        client = make_client(
            tmp_path, plugins=(), plugins_dirs=[str(folder)], path_prefix=prefix, dev=False
        )
        responses = {path: client.get(path, follow_redirects=False) for path in CORE}
        responses["data/updates"] = client.head("data/updates")
        found.append(
            {p: (r.status_code, r.headers["content-security-policy"]) for p, r in responses.items()}
        )
        write(folder, {f"{name}.py": source for name in (*RESERVED_NAMES, *names)})
    assert found[0] == found[1]
    assert responses["data/item?run=a&tag=b"].json() == "item"
    assert responses["picture?run=a&tag=b"].json() == "item"
    for name in (*RESERVED_NAMES, *names):
        response = client.get(f"data/plugin/{name}/word")
        assert (response.status_code, f"plugin {name!r}" in response.text) == (503, True)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"bad.py": "def broken(:"}, r"plugin 'bad' failed: SyntaxError: .*\(bad.py, line 1\)"),
        ({"bad.py": "import nowhere"}, "plugin 'bad' failed: ModuleNotFoundError: .*'nowhere'"),
        ({"bad.py": "raise SystemExit(3)"}, "plugin 'bad' failed: SystemExit: 3"),
        ({"bad.py": ""}, "plugin 'bad': it has no hook 'plugin_info'"),
        ({"Bad.py": PLUGIN}, "plugin 'Bad': the name is not valid, since it is part of addresses"),
        ({"bad/pyproject.toml": "[project"}, "plugin 'bad': .*pyproject.toml cannot be read"),
        ({"bad/pyproject.toml": PROJECT},
         "plugin 'mine': .*pyproject.toml has the entry point 'tbcore_mine', but neither"),
        ({"json/__init__.py": PLUGIN},
         "the module 'json' of .* has the name of .*; rename the folder, for example to "
         "tbcore_json"),
        ({"click/__init__.py": PLUGIN}, "the module 'click' of .* has the name of"),
    ],
)  # fmt: skip
def test_a_broken_plugin_does_not_affect_others(
    tmp_path: Path, files: dict[str, str], reason: str
) -> None:
    """The error names the plugin, and others in the folder work."""
    import re

    plugins = load(write(tmp_path, {**files, "mine.py": PLUGIN}))
    broken = [plugin for plugin in plugins.values() if plugin.error]
    if reason.startswith("plugin 'mine'"):
        # Both plugins have the name, so one of them has an error about the other.
        assert any(
            re.match(reason, str(p.error)) or "is defined by" in str(p.error) for p in broken
        )
        return
    [plugin] = broken
    assert re.match(reason, str(plugin.error)), plugin.error
    assert plugins["mine"].error is None


def test_other_files_are_ignored(tmp_path: Path) -> None:
    """Helpers, tests, hidden and empty folders, and files of other types are not plugins."""
    names = ("_helper.py", ".hidden.py", "test_mine.py", "conftest.py", "tests/test_x.py", "a.txt")
    folder = write(tmp_path, dict.fromkeys(names, "raise SystemExit"))
    assert in_folder(folder) == []
    assert in_folder(tmp_path / "nowhere") == []


def test_a_folder_takes_precedence_over_installed_plugins(tmp_path: Path) -> None:
    """The installed plugin is off, with the reason. Of two in one folder the first is used."""
    files = {"mine.py": PLUGIN, "mine/__init__.py": PLUGIN}
    plugins = load_plugins(folders=[str(write(tmp_path, files))])
    [first, second] = [p for p in plugins if p.name == "mine"]
    assert {first.error is None, second.error is None} == {True, False}
    assert "is defined by" in f"{first.error}{second.error}"

    installed = [p.name for p in plugins if p.source and p.source.is_installed]
    if not installed:
        pytest.skip("no plugin is installed")
    folder = write(tmp_path / "more", {f"{installed[0]}.py": PLUGIN})
    both = [p for p in load_plugins(folders=[str(folder)]) if p.name == installed[0]]
    [used] = [p for p in both if not p.disabled_by]
    [other] = [p for p in both if p.disabled_by]
    assert (used.title, used.error) == ("Mine", None)
    assert other.disabled_by == (
        f"replaced by {folder}/{installed[0]}.py, which has the same name and is in --plugins_dir"
    )


@pytest.mark.parametrize("user", ["aaa", "zzz"])
def test_a_package_replaces_an_installed_plugin_that_is_imported_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    """Whether the plugin that imports it is loaded before or after the package."""
    site = write(
        tmp_path / "site",
        {
            "tbcore_mine/__init__.py": PLUGIN.replace("Mine", "Installed"),
            "tbcore_mine-1.0.dist-info/METADATA": "Name: tbcore-mine\nVersion: 1.0\n",
            "tbcore_mine-1.0.dist-info/entry_points.txt": "[tbcore.plugins]\nmine = tbcore_mine\n",
        },
    )
    monkeypatch.syspath_prepend(site)
    importing = f"import tbcore_mine\n{PLUGIN}"
    folder = write(tmp_path, {"tbcore_mine/__init__.py": PLUGIN, f"{user}.py": importing})

    plugins = load(folder)

    assert {name: (p.title, p.error) for name, p in plugins.items()} == {
        "mine": ("Mine", None), user: ("Mine", None),
    }  # fmt: skip


def test_two_packages_of_the_same_name_in_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second does not take the place of the first, even if an installed plugin has the name."""
    source = Source("mine", "tbcore-mine 1.0", lambda: None, "tbcore_mine")
    monkeypatch.setattr(sources_module, "installed_plugins", lambda: [source])
    for folder, name in (("a", "mine"), ("b", "other")):
        project = PROJECT.replace('mine = "tbcore_mine"', f'{name} = "tbcore_mine"')
        write(tmp_path / folder, {"pyproject.toml": project, "tbcore_mine/__init__.py": PLUGIN})

    plugins = load(tmp_path)

    assert plugins["mine"].error is None
    taken_by = tmp_path / "a" / "tbcore_mine" / "__init__.py"
    assert f"has the name of {taken_by}" in str(plugins["other"].error)


def test_plugins_dir_on_the_command_line(tmp_path: Path) -> None:
    """`tbcore plugins` lists the plugins, and an invalid folder is an error."""
    write(tmp_path, {"here/mine.py": PLUGIN, "here/bad.py": "1 / 0"})

    def tbcore(*arguments: str) -> tuple[str, str]:
        response = subprocess.run(
            [sys.executable, "-m", "tbcore", *arguments],
            capture_output=True, text=True, cwd=tmp_path, check=False,
        )  # fmt: skip
        return response.stdout, response.stderr

    listing, _ = tbcore("plugins", "--plugins_dir", "here")
    assert "mine  ok  (here/mine.py)\n" in listing
    assert "bad  failed  (here/bad.py)\n    plugin 'bad' failed: ZeroDivisionError" in listing
    for wrong, words in (
        ("nowhere", "does not exist"),
        ("here/mine.py", "is a file; expected the folder"),
    ):
        assert words in tbcore("serve", "--logdir", ".", "--plugins-dir", wrong)[1]


def test_hooks_of_a_file_read_the_data(tmp_path: Path) -> None:
    """Hooks of a single file work like those of any plugin."""
    source = """
from starlette.routing import Route
from tbcore import PluginInfo, hookimpl
from tbcore.http import json_response

@hookimpl
def plugin_info():
    return PluginInfo(title="Runs", module=None)

@hookimpl
def routes(multiplexer):
    return [Route("/runs", lambda request: json_response(multiplexer.runs()))]
"""
    write_run(tmp_path / "logs", "train", scalars={"loss": [1.0]})
    folder = write(tmp_path / "plugins", {"mine.py": source})
    client = make_client(tmp_path / "logs", plugins=(), plugins_dirs=[str(folder)])
    assert client.get("data/plugin/mine/runs").json() == ["train"]
