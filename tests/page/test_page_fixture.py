"""`tbcore_page` and `tbcore_testing.Page`, with which authors of plugins test what users see."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import page as page_module
from tbcore_testing import write_run


def test_the_points_of_a_chart(tbcore_page: Any, tmp_path: Path) -> None:
    """Of each run, as logged, also NaN; those of new data come by themselves."""
    write_run(tmp_path, "train", scalars={"loss": [0.5, float("nan"), (7, 0.25)], "lr": [1.0]})
    write_run(tmp_path, "eval", scalars={"loss": [(2**53, 0.75)]})
    page = tbcore_page(tmp_path, plugins=["scalars"])
    page.tab("scalars")

    points = page.chart("loss").points

    assert points["eval"] == [(2**53, 0.75)]
    (_, middle, _) = points["train"]
    assert (points["train"][::2], middle[0]) == ([(0, 0.5), (7, 0.25)], 1)
    assert math.isnan(middle[1])
    assert page.chart("lr").points == {"train": [(0, 1.0)]}
    assert page.chart("lr").description.startswith("lr by step")
    write_run(tmp_path, "eval", scalars={"lr": [2.0, 4.0]})
    page.until(lambda: page.chart("lr").points.get("eval") == [(0, 2.0), (1, 4.0)])
    assert page.errors == []


def test_the_pointer_on_a_chart(tbcore_page: Any, tmp_path: Path) -> None:
    """Also on one below the visible part of the page, and of another kind."""
    tags = {f"tag {index}": [0.5, 0.25] for index in range(20)}
    write_run(
        tmp_path, "train", scalars={**tags, "z": [0.5, 0.375]}, histograms={"w": [[1.0, 2.0]]}
    )
    page = tbcore_page(tmp_path, plugins=["scalars", "histograms"])
    page.tab("scalars")
    page.chart("z").hover(0.99, 0.5).get_by_text("0.375").wait_for()
    page.chart("z").hover(0.01).get_by_text("0.5").wait_for()
    page.tab("histograms")
    page.chart("w in train").hover().wait_for()
    assert page.errors == []


def test_tabs_and_runs(tbcore_page: Any, tmp_path: Path) -> None:
    """Any name of a run or a tag finds its row and its card."""
    name = "quotes \"'`<b>\\ é 名前 [x]=y"
    write_run(tmp_path, "a", scalars={name: [0.5]})
    write_run(tmp_path, "b", scalars={"loss": [0.5]}, texts={"note": ["some words"]})
    page = tbcore_page(tmp_path, plugins=["scalars", "text"])

    page.tab("text").get_by_text("some words").wait_for()
    assert page.tabs == ["Scalars", "Text"]
    assert page.runs == ["a", "b"]
    page.run("b").get_by_role("checkbox").click()
    page.until(lambda: page.runs == ["a"])
    page.tab("scalars")
    assert page.chart(name).points == {"a": [(0, 0.5)]}
    assert page.runs == ["a"]
    page.until(lambda: page.card("loss").count() == 0)


def test_a_tab_that_fails_is_an_error_with_the_message(tbcore_page: Any, tmp_path: Path) -> None:
    """So is a tab that the server could not load, and a condition that stays false."""
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    python = "from tbcore import PluginInfo, hookimpl\n@hookimpl\ndef plugin_info():\n    "
    (plugins / "bad.py").write_text(f"{python}return PluginInfo(title='Bad')\n")
    (plugins / "bad.js").write_text(
        "export default { render() { throw new Error('no such colour'); } };"
    )
    (plugins / "worse.py").write_text(f"{python}raise OSError('no GPU here')\n")
    write_run(tmp_path / "logs", "a", scalars={"loss": [0.5]})
    page = tbcore_page(tmp_path / "logs", plugins_dirs=[str(plugins)])

    with pytest.raises(AssertionError, match=r"plugin 'bad' failed: .*no such colour"):
        page.tab("bad")
    with pytest.raises(AssertionError, match=r"plugin 'worse' failed: .*no GPU here"):
        page.tab("worse")
    assert len(page.errors) == 0


def test_a_tab_that_stays_empty_is_an_error_with_what_is_there(
    tbcore_page: Any, tmp_path: Path, limits: Any
) -> None:
    """Here a plugin without data."""
    limits(page_module, TIMEOUT_SECONDS=0.5)
    write_run(tmp_path, "a", scalars={"loss": [0.5]})
    page = tbcore_page(tmp_path, plugins=["scalars", "text"])
    page.playwright.locator("main").get_by_text("loss").first.wait_for()

    with pytest.raises(AssertionError, match=r"plugin 'text' is empty; the page shows: '.*No "):
        page.tab("text")


def test_the_runs_of_a_long_list(tbcore_page: Any, tmp_path: Path) -> None:
    """Those that are checked and match the filter, whether or not the list has their rows."""
    names = [f"run{number:02}" for number in range(60)]
    for name in names:
        write_run(tmp_path, name, scalars={"loss": [0.5]})
    page = tbcore_page(tmp_path, plugins=["scalars"])

    page.until(lambda: page.runs == names)
    assert page.playwright.locator(".tb-run").count() < 60
    page.run("run01").get_by_role("checkbox").click()
    page.until(lambda: page.runs == [name for name in names if name != "run01"])
    page.playwright.keyboard.press("r")
    page.playwright.keyboard.type("run5")
    page.until(lambda: page.runs == names[50:])
    assert page.errors == []


def test_points_that_are_not_there_yet(tbcore_page: Any, tmp_path: Path, limits: Any) -> None:
    """They are an error that says what is there; `until` tries again, without a long wait."""
    write_run(tmp_path, "a", scalars={"loss": [0.5], "lr": [0.1]}, texts={"note": ["words"]})
    page = tbcore_page(tmp_path, plugins=["scalars", "text"])
    page.tab("scalars")
    page.until(lambda: page.chart("loss").points)
    num_calls = 0

    def points() -> Any:
        nonlocal num_calls
        num_calls += 1
        return page.chart("acc").points

    limits(page_module, TIMEOUT_SECONDS=1)
    with pytest.raises(AssertionError, match=r"no card 'acc' .*; its cards: 'loss', 'lr'$"):
        page.chart("acc").points  # noqa: B018
    with pytest.raises(AssertionError, match=r"after 1 seconds, .*no card 'acc'"):
        page.until(points)
    assert num_calls > 1
    limits(page_module, TIMEOUT_SECONDS=30)
    assert page.chart("lr").description.startswith("lr by step")
    write_run(tmp_path, "a", scalars={"acc": [0.75]})
    page.until(lambda: page.chart("acc").points == {"a": [(0, 0.75)]})
    page.tab("text").get_by_text("words").wait_for()
    limits(page_module, TIMEOUT_SECONDS=1)
    with pytest.raises(AssertionError, match=r"card 'note' has no chart .* shows: '.*words"):
        page.chart("note").points  # noqa: B018


def test_a_tab_that_does_not_exist(tbcore_page: Any, tmp_path: Path, limits: Any) -> None:
    write_run(tmp_path, "a", scalars={"loss": [0.5]})
    page = tbcore_page(tmp_path, plugins=["scalars"])
    page.tab("scalars")
    limits(page_module, TIMEOUT_SECONDS=1)
    with pytest.raises(AssertionError, match=r"no tab of a plugin 'scalar', but \['Scalars'\]"):
        page.tab("scalar")


def test_a_wrong_option_names_the_fixture(tbcore_page: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^tbcore_page\(\) got an unexpected .* 'reload'$"):
        tbcore_page(tmp_path, reload=1)
