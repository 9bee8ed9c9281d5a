"""The tabs of the plugins that `tbcore plugins new` writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run
from tbcore_testing.new_plugin import new_plugin


@pytest.mark.parametrize("kind", ["scalars", "page"])
def test_the_tab_of_a_new_plugin_is_a_table(tbcore_page: Any, tmp_path: Path, kind: str) -> None:
    """It has the newest value of each tag, and those of new data."""
    write_run(tmp_path / "logs", "train", scalars={"loss": [0.9, 0.5]})
    folder = new_plugin(f"mine_{kind}", tmp_path, kind)
    page = tbcore_page(tmp_path / "logs", plugins_dirs=[str(folder)])
    rows = page.tab(f"mine_{kind}").locator("tbody tr")

    def cells() -> list[list[str]]:
        return [row.locator("td").all_inner_texts() for row in rows.all()]

    page.until(lambda: cells() == [["train", "loss", "1", "0.5"]])
    write_run(tmp_path / "logs", "train", scalars={"loss": [(7, 0.25)]})
    page.until(lambda: cells() == [["train", "loss", "7", "0.25"]])
    page.run("train").get_by_role("checkbox").click()
    page.until(lambda: cells() == [])
    assert page.errors == []


def test_the_tab_of_new_steps_has_the_data_of_the_demo(tbcore_page: Any, tmp_path: Path) -> None:
    """The last step of each run."""
    folder = new_plugin("mine_steps", tmp_path, "steps")
    subprocess.run([sys.executable, folder / "demo.py", tmp_path / "logs"], check=True)
    page = tbcore_page(tmp_path / "logs", plugins_dirs=[str(folder)])

    tab = page.tab("mine_steps")

    page.until(lambda: tab.get_by_role("img", name="step 90").count() == 2)
    assert tab.locator(".bars").first.locator("rect").count() == 10
    assert page.errors == []
