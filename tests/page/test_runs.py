"""The run list in a real browser: tree, order, ages, colours, groups and keys."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import until

from tbcore_testing import Page, write_run
from tbcore_testing.new_plugin import new_plugin

SEEDS = ["exp/a_s1/train", "exp/a_s2/train", "exp/b_s1/train", "exp/b_s2/train", "other"]

PROBE = """
export default {
  render(host) {
    const seen = (globalThis.seen = { keys: [] });
    host.runs.subscribe((runs) => { seen.runs = runs; });
    host.groups.subscribe((groups) => { seen.groups = groups; });
    host.hoveredRun.subscribe((run) => { seen.hovered = run; });
    host.preferences.subscribe((values) => { seen.preferences = values; });
    host.keys([
      { key: 'f', label: 'Full size', act: () => seen.keys.push('f') },
      { key: 'ArrowLeft', label: 'Only listed' },
    ]);
    globalThis.host = host;
    const box = document.createElement('input');
    box.type = 'search';
    host.element.append(box);
  },
};
"""

ROW_LABELS = """() => [...document.querySelectorAll('[role=treegrid] [role=row]')].map(
  (row) => '  '.repeat(row.ariaLevel - 1) + row.querySelector('.tb-name').textContent)"""
"""A function that returns the labels of the rows, indented by level."""


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two experiments with two seeds each, and another run, started in the order of their names."""
    path = tmp_path_factory.mktemp("logs")
    for index, run in enumerate(SEEDS):
        write_run(path, run, scalars={"loss": [1.0, 0.5]}, wall_time=1_700_000_000.0 + 100 * index)
    return path


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path, install_plugin: Callable[..., Path]) -> Any:
    """A server with a tab whose module records the values of its host object in `seen`."""
    return serve_for_module(logdir, python_path=[install_plugin("probe", PROBE)])


def wait_for_rows(page: Any, *rows: str) -> None:
    """Waits until the run list has these rows, indented by level."""
    page.wait_for_function(
        f"(rows) => JSON.stringify(({ROW_LABELS})()) === JSON.stringify(rows)", arg=list(rows)
    )


def test_a_folder_checks_all_runs_in_it(open_page: Any) -> None:
    """A folder with one child is merged with it; arrow keys move, expand and collapse."""
    page = open_page("#probe")
    wait_for_rows(
        page, "exp/", "  a_s1/train", "  a_s2/train", "  b_s1/train", "  b_s2/train", "other"
    )
    grid = page.get_by_role("treegrid", name="Runs")
    assert grid.get_by_role("row").first.get_attribute("aria-expanded") == "true"
    assert grid.get_by_role("row").nth(1).get_attribute("aria-setsize") == "4"

    folder = page.get_by_role("checkbox", name="exp/, 4 runs")
    page.get_by_role("checkbox", name="exp/a_s1/train").uncheck()
    assert folder.evaluate("(box) => box.indeterminate")
    folder.check()
    page.wait_for_function("() => globalThis.seen?.runs.length === 5")
    folder.uncheck()
    page.wait_for_function("() => globalThis.seen?.runs.map(({ name }) => name).join() === 'other'")

    folder.focus()
    page.keyboard.press("ArrowLeft")
    wait_for_rows(page, "exp/", "other")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.activeElement.ariaLabel === 'exp/a_s1/train'")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.activeElement.ariaLabel === 'exp/, 4 runs'")
    page.keyboard.press("Enter")
    page.wait_for_function("() => globalThis.seen?.runs.length === 4")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    wait_for_rows(page, "exp/", "other")
    page.get_by_label("Filter runs").fill("a_s")  # a filter expands folders
    wait_for_rows(page, "exp/", "  a_s1/train", "  a_s2/train")
    page.get_by_label("Filter runs").fill("")
    wait_for_rows(page, "exp/", "other")


def test_layout_and_order_are_remembered(open_page: Any) -> None:
    """A list of full names, newest first, is the same after a reload."""
    page = open_page("#probe")
    page.get_by_text("List", exact=True).click()
    wait_for_rows(page, *SEEDS)
    page.get_by_label("Sort runs").select_option("newest start first")
    wait_for_rows(page, *reversed(SEEDS))
    page.wait_for_function("() => location.hash === '#probe&view=list&sort=start'")
    page.reload()
    wait_for_rows(page, *reversed(SEEDS))
    page.get_by_text("Tree", exact=True).click()
    page.get_by_label("Sort runs").select_option("latest event first")
    wait_for_rows(
        page, "other", "exp/", "  b_s2/train", "  b_s1/train", "  a_s2/train", "  a_s1/train"
    )


def test_runs_have_ages_live_marks_and_nan_marks(serve: Any, profile: Any, tmp_path: Path) -> None:
    """The list shows when a run last logged, whether it is live, and where it has NaN."""
    logdir = tmp_path / "logs"
    hours_ago = time.time() - 3 * 3600
    bad = {"loss": [1.0, float("nan")], "grad": [float("inf")]}
    [old, *_] = write_run(logdir, "old", scalars=bad, wall_time=hours_ago).parent.glob("*tfevents*")
    os.utime(old, (hours_ago, hours_ago))
    write_run(logdir, "new", scalars={"loss": [1.0]}, wall_time=time.time())
    write_run(logdir, "copied", scalars={"loss": [1.0]}, wall_time=hours_ago)
    write_run(logdir, "undated", scalars={"loss": [(0, 1.0, 0.0)]}, wall_time=0.0)
    server = serve(logdir)
    page = profile.open(server.url)
    row = Page(page).run("old")
    assert row.locator(".tb-nan").get_attribute("title") == (
        "NaN or infinite values in loss from step 1, grad from step 0."
    )
    row.get_by_text("2h").or_(row.get_by_text("3h")).wait_for()
    row.hover()
    row.locator(".tb-age[title*='Not live']").wait_for()
    assert row.get_by_role("img", name="live").count() == 0
    live = Page(page).run("new")
    live.get_by_role("img", name="live").wait_for(state="attached")
    live.hover()
    live.locator(".tb-age[title*='Live: new events in the last']").wait_for()
    assert live.locator(".tb-nan").count() == 0
    copied = Page(page).run("copied")
    assert copied.get_by_role("img", name="live").count() == 0
    # Its writer gave its events no time.
    assert page.locator(".tb-run[title=undated] .tb-age").inner_text() == ""

    write_run(logdir, "old", scalars={"loss": [0.5]}, wall_time=time.time())
    row.get_by_role("img", name="live").wait_for(state="attached")
    # Without a server, nobody knows.
    profile.expects_errors = True
    server.stop()
    row.get_by_role("img", name="live").wait_for(state="detached")
    server.start()
    row.get_by_role("img", name="live").wait_for(state="attached")


def test_diverged_runs_of_a_folder_are_unchecked_by_one_click(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """A folder says that it contains such runs, to keys, too; the menu of all runs hides them."""
    logdir = tmp_path / "logs"
    for number, last in enumerate([0.5, float("-inf"), 0.5, float("nan")]):
        write_run(logdir, f"vit/seed{number}", scalars={"loss": [1.0, last]})
    write_run(logdir, "cnn/seed0", scalars={"loss": [1.0]})
    page = profile.open(serve(logdir).url)
    folder = page.locator('.tb-folder[title="vit/"]')
    badge = folder.locator(".tb-nan")
    badge.wait_for()
    assert badge.get_attribute("title") == "Hide 2 of 4 runs: NaN or infinite"
    assert badge.inner_text() == "NaN, −∞ 2/4"
    assert page.locator('.tb-folder[title="cnn/"] .tb-nan').count() == 0

    Page(page).run("vit/seed1").locator("input").uncheck()
    page.get_by_title("Hide 1 of 4 runs: NaN or infinite").wait_for()
    badge.click()
    page.wait_for_function("() => location.hash.includes('runs=~newest,!vit/seed1,!vit/seed3')")
    assert folder.locator(".tb-run-info").inner_text() == "2 of 4"
    assert badge.get_attribute("title") == "Show 2 of 4 runs: NaN or infinite"
    badge.click()
    page.wait_for_function("() => !location.hash.includes('runs=')")
    badge.click()
    page.wait_for_function("() => location.hash.includes('runs=~newest,!vit/seed1,!vit/seed3')")
    folder.locator("input").check()
    page.wait_for_function("() => !location.hash.includes('runs=')")
    folder.locator("input").focus()
    page.keyboard.press("Tab")
    assert badge.evaluate("(badge) => badge === document.activeElement")
    folder.click(button="right")
    page.get_by_role("menuitem", name="Copy name").wait_for()
    assert page.get_by_role("menuitem", name="Hide").count() == 0
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Actions for the list").click()
    page.get_by_role("menuitem", name="Hide 2 runs with NaN or infinite values").click()
    page.wait_for_function("() => location.hash.includes('runs=~newest,!vit/seed1,!vit/seed3')")
    page.get_by_role("button", name="Actions for the list").click()
    page.get_by_role("menuitem", name="Show 2 runs with NaN or infinite values").wait_for()
    page.keyboard.press("Escape")
    page.get_by_title("Check all").click()  # some are checked, as are those of a folder
    page.wait_for_function("() => !location.hash.includes('runs=')")
    page.get_by_title("Uncheck all").click()
    page.get_by_text("0 of 5", exact=True).wait_for()


def test_a_badge_to_click_stays_where_it_is(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Under the pointer, too, it covers neither the name nor the box of its row."""
    logdir = tmp_path / "logs"
    for number in range(5):
        write_run(logdir, f"configuration/s{number}", scalars={"loss": [float("nan")]})
    page = profile.open(serve(logdir).url, "#probe&group=seeds&columns=loss:last")
    page.locator('.tb-folder[title="configuration/*"]').wait_for()
    badge = page.locator("button.tb-nan")
    badge.wait_for()
    before = badge.bounding_box()
    name = page.locator(".tb-folder .tb-name")
    name.hover()
    assert badge.bounding_box() == before
    box = name.bounding_box()
    assert box["x"] + box["width"] <= before["x"]
    assert (
        before["x"] + before["width"]
        <= page.get_by_label("Actions for configuration").bounding_box()["x"]
    )
    name.click()
    page.wait_for_function("() => location.hash.includes('runs=')")
    assert page.locator(".tb-folder .tb-run-info").inner_text() == "5"
    assert not page.locator(".tb-folder input").is_checked()
    # A group has no "Rename…": its menu says where it can have another name.
    name.click(button="right")
    page.get_by_role("menu").get_by_text("Its name comes from the grouping").wait_for()


def test_a_run_has_a_menu(open_page: Any, profile: Any, logdir: Path) -> None:
    """The menu copies a path and sets a colour, which the browser keeps. Runs are shown and hidden
    by their boxes, and alone by a button."""
    profile.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_page("#probe")
    row = Page(page).run("other")
    row.wait_for()
    color = page.evaluate("() => tb.colors().other")
    row.click(button="right")
    page.get_by_role("menuitem", name="Copy path").click()
    until(lambda: page.evaluate("() => navigator.clipboard.readText()") == str(logdir / "other"))
    row.hover()
    page.get_by_role("button", name="Actions for other").click()
    menu = page.get_by_role("menu", name="other")
    assert not {"Hide this run", "Show only this run"} & set(menu.inner_text().splitlines())
    page.keyboard.press("Escape")
    page.get_by_role("checkbox", name="other").uncheck()
    page.wait_for_function("() => globalThis.seen?.runs.length === 4")
    row.hover()
    page.get_by_role("button", name="Only other").click()
    page.wait_for_function("() => location.hash === '#probe&runs=other'")

    row.hover()
    page.mouse.down(button="right")
    page.get_by_role("menu", name="other").wait_for()
    page.evaluate("() => tb.frame()")  # a click takes longer than a frame
    page.mouse.up(button="right")
    page.get_by_label("Colour").fill("#123456")
    page.wait_for_function("() => globalThis.seen?.runs[0].color === '#123456'")
    assert page.evaluate("() => tb.colors().other") == "#123456"
    page.keyboard.press("Escape")
    page.get_by_role("menu").wait_for(state="detached")
    page.reload()
    page.wait_for_function("() => globalThis.seen?.runs[0].color === '#123456'")
    row.click(button="right")
    page.get_by_role("menuitem", name="Reset colour").click()
    page.wait_for_function("(color) => globalThis.seen?.runs[0].color === color", arg=color)


def test_a_colour_that_is_being_chosen_stays_when_runs_come(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    write_run(tmp_path, "a", scalars={"loss": [2.0, 1.0]})
    page = profile.open(serve(tmp_path).url, "#scalars")
    Page(page).run("a").click(button="right")
    color = page.get_by_role("menu").get_by_label("Colour")
    color.evaluate("(box) => { box.value = '#123456'; }")  # as an open palette does at each move
    write_run(tmp_path, "b", scalars={"loss": [2.0, 1.0]})
    Page(page).run("b").wait_for()
    page.wait_for_function("() => Object.keys(tb.colors()).length === 2")
    assert color.input_value() == "#123456"
    color.dispatch_event("change")
    page.wait_for_function("() => tb.colors().a === '#123456'")


def test_the_hovered_run_is_shared(open_page: Any) -> None:
    """The tab receives the run under the pointer in the run list, and can highlight one there."""
    page = open_page("#probe")
    Page(page).run("other").hover()
    page.wait_for_function("() => globalThis.seen?.hovered === 'other'")
    page.mouse.move(700, 500)
    page.wait_for_function("() => globalThis.seen?.hovered === null")
    page.evaluate("() => host.hoveredRun.set('other')")
    page.locator(".tb-run.tb-hovered[title=other]").wait_for()
    page.evaluate("() => host.checkOnly('other')")
    page.wait_for_function("() => location.hash === '#probe&runs=other'")


def test_preferences_are_kept_in_the_browser(open_page: Any) -> None:
    """Preferences are not in the address, and another tab of the browser has them too."""
    page = open_page("#probe")
    page.wait_for_function("() => globalThis.host")
    page.evaluate(
        "() => { host.preferences.set('size', 'large'); host.preferences.set('x', 'y'); }"
    )
    page.evaluate("() => host.preferences.set('x', null)")
    assert page.evaluate("() => seen.preferences") == {"size": "large"}
    again = open_page("#probe")
    again.wait_for_function("() => globalThis.seen?.preferences?.size === 'large'")
    assert again.evaluate("() => location.hash") == "#probe"


def test_runs_are_grouped(open_page: Any) -> None:
    """The editor previews a rule; each group has a colour, and the rule is in the address."""
    page = open_page("#probe")
    page.get_by_role("button", name="Group…").click()
    page.get_by_role("button", name="Average over seeds 3 groups").click()
    page.get_by_text("3 groups of 5 runs, 1 with a single run").wait_for()
    wait_for_rows(page, "a/train", "b/train", "other")
    page.get_by_role("button", name="Grouped: seeds", exact=True).wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Group…", exact=True).wait_for()
    page.wait_for_function("() => document.activeElement.getAttribute('aria-label') === 'Rule'")
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.activeElement.textContent.trim() === 'Group…'")
    page.keyboard.press("Enter")
    rule = page.get_by_label("Rule")
    rule.fill("exp/{seed")
    page.get_by_text("unclosed {").wait_for()
    assert page.get_by_role("button", name="Group", exact=True).is_disabled()
    rule.fill("*/*_s{seed}")
    page.get_by_text("3 groups of 5 runs").wait_for()
    rule.press("Enter")
    page.wait_for_function("() => location.hash === '#probe&group=*/*_s{seed}'")
    wait_for_rows(page, "a_s{seed}/train", "b_s{seed}/train", "other")
    page.wait_for_function("() => globalThis.seen?.groups")
    groups = page.evaluate("() => seen.groups")
    assert groups["rule"] == "*/*_s{seed}"
    assert [(group["name"], len(group["runs"])) for group in groups["groups"]] == [
        ("exp/a_s{seed}/train", 2),
        ("exp/b_s{seed}/train", 2),
        ("other", 1),
    ]
    runs = page.evaluate("() => seen.runs")
    assert [run["group"] for run in runs[:2]] == ["exp/a_s{seed}/train"] * 2
    assert runs[0]["color"] == runs[1]["color"] == groups["groups"][0]["color"]
    assert len({group["color"] for group in groups["groups"]}) == 3

    page.get_by_role("button", name="Expand exp/a_s{seed}/train").click()
    wait_for_rows(
        page, "a_s{seed}/train", "  a_s1/train", "  a_s2/train", "b_s{seed}/train", "other"
    )
    page.get_by_role("checkbox", name="exp/b_s{seed}/train, 2 runs").uncheck()
    page.wait_for_function("() => globalThis.seen?.groups?.groups.length === 2")
    again = open_page("#probe&group=re:exp/(.)_s")
    wait_for_rows(again, "a", "b", "other")
    again.get_by_role("button", name="Grouped: re:exp/(.)_s", exact=True).click()
    again.get_by_role("button", name="Ungroup", exact=True).click()
    again.wait_for_function("() => globalThis.seen?.groups === null && seen.runs[0].group === null")
    again.wait_for_function("() => location.hash === '#probe'")
    broken = open_page("#probe&group=re:(")
    broken.get_by_text("Cannot group by “re:(”: unclosed (.").wait_for()
    broken.wait_for_function("() => globalThis.seen?.groups === null")


def test_a_filter_leaves_groups_folded(open_page: Any) -> None:
    """Folders that were closed open for it, since what it finds would be hidden in them."""
    page = open_page("#probe&group=*/*_s{seed}")
    wait_for_rows(page, "a_s{seed}/train", "b_s{seed}/train", "other")
    page.get_by_label("Filter runs").fill("train")
    wait_for_rows(page, "a_s{seed}/train", "b_s{seed}/train")
    page.locator(".tb-twist").first.click()
    page.wait_for_function("() => document.querySelectorAll('.tb-run').length === 2")
    page.get_by_label("Filter runs").fill("")
    page.wait_for_function("() => document.querySelectorAll('.tb-row').length === 5")


def test_keys_focus_the_filters_and_open_the_help(open_page: Any) -> None:
    """Keys of the open tab are called and listed too; no key acts while the reader types."""
    page = open_page("#probe")
    page.wait_for_function("() => globalThis.host")
    page.keyboard.press("/")
    page.wait_for_function(
        "() => document.activeElement.shadowRoot?.activeElement?.type === 'search'"
    )
    page.keyboard.type("rf?/")
    assert (
        page.evaluate("() => document.querySelector('.plugin').shadowRoot.activeElement.value")
        == "rf?/"
    )
    assert page.evaluate("() => seen.keys") == []
    page.evaluate("() => document.querySelector('.plugin').shadowRoot.activeElement.blur()")
    page.keyboard.press("r")
    assert page.get_by_label("Filter runs").evaluate("(box) => box === document.activeElement")
    page.get_by_label("Filter runs").blur()
    page.keyboard.press("f")
    page.keyboard.press("Control+f")
    assert page.evaluate("() => seen.keys") == ["f"]
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    dialog.get_by_text("Full size").wait_for()
    dialog.get_by_text("Only listed").wait_for()
    page.keyboard.press("f")
    assert page.evaluate("() => seen.keys") == ["f"]
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    page.get_by_role("button", name="Keyboard shortcuts", exact=True).click()
    dialog.wait_for()


def test_the_help_of_a_tab_without_a_filter_has_no_key_for_one(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """There the key goes to the filter for runs."""
    write_run(tmp_path / "logs", "a", scalars={"loss": [0.5]})
    folder = new_plugin("framed", tmp_path, "page")
    server = serve(tmp_path / "logs", "--plugins_dir", str(folder))
    page = profile.open(server.url, "#scalars")
    page.get_by_label("Filter tags").wait_for()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    dialog.get_by_text("Filter tags").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Framed").click()
    page.frame_locator(".plugin iframe").get_by_text("loss").wait_for()
    page.keyboard.press("?")
    dialog.get_by_role("cell", name="Filter runs").wait_for()
    assert dialog.get_by_text("Filter tags").count() == 0
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.wait_for_function("() => document.activeElement.ariaLabel === 'Filter runs'")


def test_letters_in_an_open_menu_are_no_shortcuts(open_page: Any) -> None:
    """Wherever the focus is: here, on the button that opened it."""
    page = open_page("#probe")
    page.wait_for_function("() => globalThis.host")
    help_button = page.get_by_role("button", name="Syntax of the filter")
    help_button.focus()
    page.keyboard.press("Enter")
    page.locator(":popover-open").wait_for()
    page.keyboard.press("f")
    page.keyboard.press("r")
    assert page.evaluate("() => seen.keys") == []
    assert help_button.evaluate("(button) => button === document.activeElement")
    page.keyboard.press("Escape")
    page.locator(":popover-open").wait_for(state="detached")
    page.keyboard.press("f")
    assert page.evaluate("() => seen.keys") == ["f"]


def test_back_undoes_a_grouping(open_page: Any) -> None:
    """One after the other; other choices have no entries in the history."""
    page = open_page("#probe&query=exp")
    page.wait_for_function("() => globalThis.host")
    page.get_by_role("button", name="Group…").click()
    form = page.get_by_role("form", name="Group runs")
    first = form.get_by_role("button").first
    first.wait_for()
    assert first.evaluate("(button) => button === document.activeElement")
    form.get_by_label("Rule").fill("exp/{a}_s*/train")
    form.get_by_role("button", name="Group", exact=True).click()
    page.wait_for_function("() => decodeURIComponent(location.hash).includes('group=exp/{a}')")
    page.get_by_label("Filter runs").fill("exp/")
    page.wait_for_function("() => location.hash.includes('query=exp/')")
    page.get_by_role("button", name="Grouped: exp").click()
    form.get_by_label("Rule").fill("re:_s(.)")
    form.get_by_role("button", name="Group", exact=True).click()
    page.wait_for_function("() => decodeURIComponent(location.hash).includes('group=re:')")
    page.go_back()
    page.get_by_role("button", name="Grouped: exp").wait_for()
    assert page.get_by_label("Filter runs").input_value() == "exp/"
    page.go_back()
    page.get_by_role("button", name="Group…").wait_for()
    assert page.get_by_label("Filter runs").input_value() == "exp"
    page.go_forward()
    page.get_by_role("button", name="Grouped: exp").wait_for()


def test_the_run_list_is_complete_at_400_pixels(server: Any, new_profile: Any) -> None:
    """Groups and menus work by touch, and the page does not scroll horizontally."""
    profile = new_profile(viewport={"width": 400, "height": 700}, has_touch=True, is_mobile=True)
    page = profile.open(server.url, "#probe")
    page.get_by_role("button", name="Runs").click()
    page.get_by_role("button", name="Group…").click()
    page.get_by_role("button", name="Average over seeds 3 groups").click()
    wait_for_rows(page, "a/train", "b/train", "other")
    page.get_by_role("button", name="Only other").tap()
    page.wait_for_function("() => globalThis.seen?.runs.length === 1")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400


def test_a_checked_box_has_a_tick_in_forced_colours(server: Any, new_profile: Any) -> None:
    """A partly checked folder has a dash, and the runs keep their colours."""
    profile = new_profile(forced_colors="active")
    page = profile.open(server.url, "#probe&runs=other,exp/a_s1/train")
    mark = """(box) => {
      const { content, clipPath, backgroundColor } = getComputedStyle(box, '::before');
      const isSeen = backgroundColor !== getComputedStyle(box).backgroundColor;
      return content === 'none' ? '' : isSeen ? clipPath.split('(')[0] : 'unseen';
    }"""
    box = page.get_by_role("checkbox", name="other")
    box.wait_for()
    assert box.evaluate(mark) == "polygon"
    assert page.get_by_role("checkbox", name="exp/a_s2/train").evaluate(mark) == ""
    assert page.get_by_role("checkbox", name="exp/, 4 runs").evaluate(mark) == "inset"
    assert page.evaluate("() => new Set(Object.values(tb.colors())).size") == len(SEEDS)


def test_names_are_cut_where_they_are_the_same(serve: Any, profile: Any, tmp_path: Path) -> None:
    """What all siblings share is truncated first, and a double click fits the list to the names."""
    runs = [
        f"sweep/imagenet_resnet50_baseline_lr1e-{index}_bs32_seed{index}_final_evaluation"
        for index in range(3, 6)
    ]
    logdir = tmp_path / "logs"
    for run in runs:
        write_run(logdir, run, scalars={"loss": [1.0]}, wall_time=1_700_000_000.0)
    page = profile.open(serve(logdir).url)
    row = page.locator(f'.tb-run[title="{runs[0]}"]')
    row.wait_for()
    cut = """(row) => [...row.querySelectorAll('.tb-name > span')].map(
      (part) => [part.textContent, part.scrollWidth > part.clientWidth])"""
    assert row.evaluate(cut) == [
        ["imagenet_resnet50_baseline_", True],
        ["lr1e-", False],
        ["3_bs32_seed3", False],
        ["_final_evaluation", True],
    ]
    assert row.get_attribute("title") == runs[0]
    assert row.get_by_role("checkbox", name=runs[0]).count() == 1

    # The age has no space left; under the pointer it covers the end of the name.
    is_age_seen = """(row) => {
      const [age, box] = [row.querySelector('.tb-age'), row].map((e) => e.getBoundingClientRect());
      return age.bottom <= box.bottom && age.right <= box.right;
    }"""
    row.locator(".tb-age").wait_for(state="attached")
    assert not row.evaluate(is_age_seen)
    row.hover()
    assert row.evaluate(is_age_seen)
    page.mouse.move(700, 500)

    handle = page.get_by_role("separator", name="Width of the run list")
    assert "Double-click" in handle.get_attribute("title")
    width = "(handle) => handle.ariaValueNow"
    handle.dblclick(position={"x": 4, "y": 300})
    page.wait_for_function("(handle) => handle.ariaValueNow > 500", arg=handle.element_handle())
    assert all(not is_cut for _, is_cut in row.evaluate(cut))
    assert row.evaluate(is_age_seen)
    fitted = handle.evaluate(width)
    assert int(fitted) < 700
    handle.dblclick(position={"x": 4, "y": 300})
    page.wait_for_function("(handle) => handle.ariaValueNow === '280'", arg=handle.element_handle())
    handle.press("Enter")
    page.wait_for_function(
        "([handle, width]) => handle.ariaValueNow === width", arg=[handle.element_handle(), fitted]
    )


def test_lines_keep_their_colours_when_runs_are_deleted(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """Those in sight differ, though the names of some give the same colour; filters change none."""
    for i in range(20):
        write_run(tmp_path, f"m{i % 4}/s{i}", scalars={"loss": [1.0, 2.0]})
    page = profile.open(serve(tmp_path).url, "#scalars")
    page.wait_for_function("() => new Set(Object.values(tb.colors())).size === 20")
    before = page.evaluate("() => tb.colors()").items()
    page.get_by_label("Filter runs").fill("m1")
    page.wait_for_function("() => Object.keys(tb.colors()).length === 5")
    assert page.evaluate("() => tb.colors()").items() <= before
    page.get_by_label("Filter runs").fill("")
    page.wait_for_function("() => Object.keys(tb.colors()).length === 20")
    profile.expects_errors = True  # a request for a run may be on its way
    for run in ("m0/s0", "m1/s1", "m2/s2"):
        shutil.rmtree(tmp_path / run)
    page.wait_for_function("() => Object.keys(tb.colors()).length === 17")
    assert page.evaluate("() => tb.colors()").items() <= before
