"""The page of the plugins in a real browser: reached, read, and kept up to date."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run

FAULTY = """
from starlette.routing import Route
from tbcore import Option, PluginInfo, hookimpl
from tbcore.http import json_response

@hookimpl
def plugin_info():
    rows = Option("rows", default=10, minimum=1, help="Most rows.")
    return PluginInfo(title="Faulty <b>one</b>", module=None, options=[rows])

@hookimpl
def is_active():
    return False

@hookimpl
def routes():
    def fail(request):
        raise ValueError("no <i>such</i> thing in /home/somebody/secret.txt")

    return [Route("/fail", fail)]
"""
WEB = """
from tbcore import PluginInfo, hookimpl

@hookimpl
def plugin_info():
    return PluginInfo(title="Web", module=None)

@hookimpl
def page_routes():
    return []
"""


def test_the_page_says_how_each_plugin_fares(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Reached from the window about the logs and by its address; faults appear by themselves."""
    write_run(tmp_path / "logs", "train", scalars={"loss": [0.5, 0.25]})
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "faulty.py").write_text(FAULTY)
    (folder / "web.py").write_text(WEB)
    (folder / "broken.py").write_text("import no_such_module")
    (folder / "unwanted.py").write_text("raise SystemExit")
    server = serve(
        tmp_path / "logs", "--plugins_dir", str(folder), "--set", "faulty.rows=3",
        "--no_plugin", "unwanted", plugins=["scalars"],
    )  # fmt: skip
    page = profile.open(server.url)
    page.locator(".tb-run").wait_for()
    page.locator(".chip").click()
    link = page.get_by_role("row").filter(has_text="Web").get_by_role("link", name="Open its page")
    assert link.evaluate("(link) => link.href") == f"{server.url}/web/"
    page.get_by_role("button", name="Plugin timings, errors and options").click()
    card = page.locator('[data-plugin="faulty"].plugin-state')
    card.wait_for()

    assert page.evaluate("() => location.hash") == "#plugins"
    assert page.locator("dialog").count() == 0
    assert card.locator("h2").inner_text() == "Faulty <b>one</b>"
    assert "its is_active returned False: there is nothing to show" in card.inner_text()
    options = card.locator(".options li").inner_text().split("\n")
    assert options[0] == "--set faulty.rows=3 default 10"
    assert options[-1] == "Most rows. (an int, 1 or more)"
    states = page.locator(".plugin-state").evaluate_all(
        "cards => cards.map((card) => [card.dataset.plugin, card.dataset.state])"
    )
    assert states[:3] == [["broken", "failed"], ["scalars", "active"], ["web", "active"]]
    assert states[3] == ["faulty", "inactive"]
    assert ["unwanted", "off"] in states
    assert "Not imported: --no_plugin" in page.locator('[data-plugin="unwanted"]').inner_text()

    assert "Last error" not in card.inner_text()
    for _ in range(2):
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{server.url}/data/plugin/faulty/fail")
    card.get_by_text("ValueError: no <i>such</i> thing in secret.txt").wait_for()
    card.get_by_text("route /fail 2 times, last at 20").wait_for()
    card.get_by_text("All timings").click()
    timings = card.locator("details tbody tr").all_inner_texts()
    assert [line.split("\t")[1] for line in timings if line.startswith("route /fail")] == ["2"]
    served = urllib.request.urlopen(f"{server.url}/data/plugins").read().decode()
    assert "/home/somebody" not in served
    assert json.loads(served)["dev"] is False

    page.reload()
    card.wait_for()
    page.get_by_role("tab", name="Scalars", exact=True).click()
    page.locator('.plugin[data-plugin="scalars"]').wait_for()
    page.wait_for_function("() => location.hash.startsWith('#scalars')")
    page.go_back()
    card.wait_for()
    page.get_by_role("tab", name="broken").click()
    page.get_by_role("button", name="About the plugins").click()
    card.wait_for()
    page.set_viewport_size({"width": 400, "height": 800})
    too_wide = (
        "() => [...document.querySelectorAll('.plugin-state, .plugin-state > *')]"
        ".filter((part) => part.getBoundingClientRect().right > 400).length"
    )
    assert page.evaluate(too_wide) == 0
