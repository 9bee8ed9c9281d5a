"""The tab of a plugin that `tbcore plugin new` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tbcore_testing import write_run
from tbcore_testing.new_plugin import new_plugin


def test_the_tab_of_a_new_plugin_is_a_table(serve: Any, profile: Any, tmp_path: Path) -> None:
    """It has the newest value of each tag."""
    write_run(tmp_path / "logs", "train", scalars={"loss": [0.9, 0.5]})
    new_plugin("mine", tmp_path)
    folder = tmp_path / "tbcore-mine"
    server = serve(tmp_path / "logs", "--plugins_dir", str(folder), plugins=[])
    page = profile.open(server.url)
    rows = page.locator(".plugin tbody tr")
    rows.first.wait_for()
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    assert cells == [["train", "loss", "1", "0.5"]]
