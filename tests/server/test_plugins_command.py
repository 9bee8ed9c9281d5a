"""`tbcore plugins`: the list of what is installed, and why something is not."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from installed_plugins import GOOD, Distributions

from tbcore_testing import make_client

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
        "page": "",
        "state": "ok",
        "reason": None,
        "options": [],
        "routes": [{"path": "data/plugin/good/hello", "methods": ["GET", "HEAD"]}],
    }
    assert plugins["bad"]["state"] == "failed"
    assert plugins["bad"]["reason"] == "plugin 'bad' failed: SystemExit: 3"


def test_options_of_a_named_plugin_are_listed(distributions: Distributions) -> None:
    """Options have their values; the list of all plugins has only their names."""
    declared = 'PluginInfo(title="Good", options=[Option("size", default=10, help="Rows.")]'
    source = GOOD.replace("PluginInfo, ", "Option, PluginInfo, ")
    distributions.add(
        "tbcore-good",
        {"good": "good_plugin"},
        {"good_plugin.py": source.replace('PluginInfo(title="Good"', declared)},
    )

    listing = run_plugins_command(distributions.folder, TBCORE_SET_GOOD_SIZE="12").stdout
    text = run_plugins_command(distributions.folder, "good", TBCORE_SET_GOOD_SIZE="12").stdout
    refused = run_plugins_command(distributions.folder, TBCORE_SET_GOOD_SIZE="x")

    assert "    options: size\n" in listing
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
        assert re.match(
            r"# pip install (torch tensorboard|tensorflow tensorboard|jax)\n", program
        ), program
        compile(program, "hint", "exec")
