"""The columns of the run list in a real browser: the form, headings, cells, orders and CSV."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_columns import GROUP_CELL, HELPERS, START, wait_for_cells, wait_for_names

from tbcore_testing import write_run

PROBE = """
export default {
  render(host) {
    host.runs.subscribe((runs) => { globalThis.shown = runs.map(({ name }) => name).join(); });
  },
};
"""

RUNS: dict[str, dict[str, Any]] = {
    "exp/a": {"lr": 0.1, "optimizer": "adam", "layers": 3},
    "exp/b": {"lr": 0.001, "optimizer": "sgd", "layers": 3},
    "exp/c": {"lr": 0.01, "optimizer": "adam", "layers": 3},
}
LOSSES = {"exp/a": [3.0, 0.5, 1.0], "exp/b": [2.0, 0.3, 0.25], "exp/c": [1.0, float("nan")]}
BY_LR = "exp/,exp/b,exp/c,exp/a,other"


def write_runs(logdir: Path) -> None:
    """Three runs with hyperparameters and a loss in a folder, and one run with neither."""
    for run, hparams in RUNS.items():
        points = [
            (1000 * index, value, START + 60 * index) for index, value in enumerate(LOSSES[run])
        ]
        write_run(logdir, run, hparams=hparams, scalars={"val/loss": points}, wall_time=START)
    write_run(logdir, "other", scalars={"train/loss": [1.0, 2.0]}, wall_time=START)


@pytest.fixture(scope="module")
def server(
    serve_for_module: Any,
    tmp_path_factory: pytest.TempPathFactory,
    install_plugin: Callable[..., Path],
) -> Any:
    """A server with a tab whose module stores the names of the runs in `shown`."""
    logdir = tmp_path_factory.mktemp("logs")
    write_runs(logdir)
    return serve_for_module(logdir, python_path=[install_plugin("probe", PROBE)])


def make_narrow(page: Any) -> None:
    """Makes the list, which is as wide as its columns need, as wide as without columns."""
    page.wait_for_function("() => document.querySelector('aside').offsetWidth > 280")
    edge = page.get_by_role("separator", name="Width of the run list")
    while page.locator("aside").bounding_box()["width"] > 280:
        edge.press("ArrowLeft")


def test_columns_are_added_moved_and_removed(open_page: Any) -> None:
    """By mouse and by keyboard; the link has the columns."""
    page = open_page("#probe")
    wait_for_names(page, "exp/,exp/a,exp/b,exp/c,other")
    button = page.get_by_role("button", name="Columns…")
    button.click()
    form = page.get_by_role("form", name="Columns")
    name = form.get_by_label("Name of the hyperparameter")
    page.wait_for_function("(box) => box === document.activeElement", arg=name.element_handle())
    options = form.locator("option[value=lr]")
    options.wait_for(state="attached")
    assert [option.get_attribute("value") for option in form.locator("datalist option").all()] == [
        "layers",
        "lr",
        "optimizer",
        "val/loss",
        "train/loss",
    ]
    page.keyboard.type("lr")
    page.keyboard.press("Enter")
    wait_for_cells(page, "exp/a", "0.1")
    wait_for_cells(page, "other", "")
    form.get_by_label("What to show").select_option("Lowest value of a tag")
    form.get_by_label("Tag").fill("val/loss")
    form.get_by_role("button", name="Add").click()
    wait_for_cells(page, "exp/a", "0.1", "0.50")
    form.get_by_label("What to show").select_option("Value of a tag at a step")
    form.get_by_label("Tag").fill("val/loss")
    assert form.get_by_role("button", name="Add").is_disabled()
    form.get_by_label("Step", exact=True).fill("1500")
    page.keyboard.press("Enter")
    wait_for_cells(page, "exp/b", "0.001", "0.25", "0.3")
    form.get_by_label("What to show").select_option("Last step")
    form.get_by_role("button", name="Add").click()
    form.get_by_label("What to show").select_option("Duration: first to last event")
    form.get_by_role("button", name="Add").click()
    wait_for_cells(page, "exp/c", "0.01", "1.00", "NaN", "1,000", "1m 00s")
    assert page.evaluate("() => columns.headings()") == [
        "lr",
        "min val/loss",
        "val/loss @1,500",
        "step",
        "took",
    ]
    page.wait_for_function(
        "() => location.hash === '#probe&columns=lr,val/loss:min,val/loss:at(1500),step,took'"
    )

    form.get_by_role("button", name="Move lr up").press("Enter")  # the first stays
    form.get_by_role("button", name="Move lr down").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    wait_for_cells(page, "exp/a", "0.50", "0.5", "0.1", "2,000", "2m 00s")
    for text in ("val/loss:min", "val/loss:at(1500)", "took"):
        form.get_by_role("button", name=f"Remove {text}").click()
    wait_for_cells(page, "exp/a", "0.1", "2,000")
    page.keyboard.press("Escape")
    form.wait_for(state="detached")
    page.wait_for_function(
        "(button) => button === document.activeElement", arg=button.element_handle()
    )
    page.keyboard.press("Enter")
    for text in ("lr", "step"):
        form.get_by_role("button", name=f"Remove {text}").click()
    page.locator(".tb-heads").wait_for(state="detached")
    page.wait_for_function("() => location.hash === '#probe'")


def test_a_column_has_the_change_over_the_last_steps(open_page: Any) -> None:
    """Its number of steps must be positive; the runs that changed are found by the same words."""
    page = open_page("#probe&query=val/loss:change(1000)>0")
    wait_for_names(page, "exp/a")
    page.get_by_role("searchbox", name="Filter runs").fill("newest:4")
    page.get_by_role("button", name="Columns…").click()
    form = page.get_by_role("form", name="Columns")
    form.get_by_label("What to show").select_option("Change of a tag's value over the last steps")
    form.get_by_label("Tag").fill("val/loss")
    steps = form.get_by_label("Number of steps", exact=True)
    steps.fill("0")
    assert form.get_by_role("button", name="Add").is_disabled()
    steps.fill("2000")
    page.keyboard.press("Enter")
    wait_for_cells(page, "exp/a", "-2.00")
    wait_for_cells(page, "exp/c", "")
    assert page.evaluate("() => columns.headings()") == ["change val/loss (2,000)"]
    page.wait_for_function("() => location.hash.endsWith('&columns=val/loss:change(2000)')")


def test_a_heading_sorts_the_list(open_page: Any) -> None:
    """Up, down, and back to the usual order; runs without a value are last; tabs follow."""
    page = open_page("#probe&columns=lr,val/loss:last")
    wait_for_cells(page, "exp/a", "0.1", "1.00")
    unsorted = "exp/,exp/a,exp/b,exp/c,other"
    wait_for_names(page, unsorted)
    heading = page.get_by_role("columnheader", name="lr")
    assert heading.get_attribute("aria-sort") == "none"
    heading.get_by_role("button").click()
    wait_for_names(page, BY_LR)
    assert heading.get_attribute("aria-sort") == "ascending"
    assert page.get_by_label("Sort runs").evaluate("(box) => box.value") == "+lr"
    page.keyboard.press("Enter")
    wait_for_names(page, "exp/,exp/a,exp/c,exp/b,other")
    assert heading.get_attribute("aria-sort") == "descending"
    page.wait_for_function("() => location.hash.endsWith('&sort=-lr')")  # not the link of before
    page.reload()
    wait_for_names(page, "exp/,exp/a,exp/c,exp/b,other")
    page.wait_for_function("() => globalThis.shown === 'exp/a,exp/c,exp/b,other'")
    heading.get_by_role("button").focus()
    page.keyboard.press("Space")
    wait_for_names(page, unsorted)

    sort = page.get_by_label("Sort runs")
    assert sort.locator("option").all_inner_texts()[3:] == [
        "lr ↑",
        "lr ↓",
        "val/loss ↑",
        "val/loss ↓",
    ]
    sort.select_option("val/loss ↑")
    wait_for_names(page, "exp/,exp/b,exp/a,exp/c,other")  # NaN after numbers
    sort.select_option("by name")
    wait_for_names(page, unsorted)
    heading.get_by_role("button").focus()
    page.keyboard.press("ArrowLeft")  # no key of the rows acts on a heading
    page.keyboard.press("Home")
    wait_for_names(page, unsorted)


def test_a_link_has_the_order_and_layout_of_the_list(
    open_page: Any, server: Any, new_profile: Any
) -> None:
    """What the browser remembers counts only if the address has no choices at all."""
    page = open_page("#probe&columns=lr")
    page.get_by_role("columnheader", name="lr").get_by_role("button").click()
    page.wait_for_function("() => location.hash === '#probe&columns=lr&sort=+lr'")
    page.keyboard.press("Enter")
    page.get_by_text("List", exact=True).click()
    page.wait_for_function("() => location.hash === '#probe&columns=lr&view=list&sort=-lr'")

    other = new_profile()
    other.context.add_init_script(HELPERS)
    linked = other.open(server.url, "#probe&columns=lr&view=list&sort=-lr")
    wait_for_names(linked, "exp/a,exp/c,exp/b,other")
    linked.get_by_text("Tree", exact=True).click()
    linked.get_by_label("Sort runs").select_option("newest start first")
    linked.wait_for_function("() => location.hash === '#probe&columns=lr&sort=start'")
    linked = other.open(server.url, "#probe&columns=lr&sort=-lr")
    wait_for_names(linked, "exp/,exp/a,exp/c,exp/b,other")
    linked = other.open(server.url, "#probe&sort=name&view=none")
    wait_for_names(linked, "exp/,exp/a,exp/b,exp/c,other")
    linked = other.open(server.url, "#probe&columns=lr")
    wait_for_names(linked, "exp/,exp/a,exp/b,exp/c,other")
    assert linked.get_by_label("Sort runs").input_value() == "name"
    assert linked.evaluate("() => location.hash") == "#probe&columns=lr"
    linked = other.open(server.url, "#probe")
    linked.wait_for_function("() => location.hash === '#probe&sort=start'")


def test_folders_and_groups_show_what_their_runs_have_in_common(open_page: Any) -> None:
    """Never the value of one run, also in the column that sorts."""
    page = open_page("#probe&columns=layers,lr,optimizer,train/loss:max")
    wait_for_cells(page, "exp/", "3", "", "", "")
    wait_for_cells(page, "exp/c", "3", "0.01", "adam", "")
    wait_for_cells(page, "other", "", "", "", "2")
    page.get_by_role("columnheader", name="lr").get_by_role("button").click()
    wait_for_names(page, BY_LR)
    wait_for_cells(page, "exp/", "3", "", "", "")
    grouped = open_page("#probe&columns=layers,lr&group=exp/*{}")
    grouped.locator(".tb-heads").wait_for()
    page.get_by_label("Filter runs").fill("adam")
    page.keyboard.press("Enter")
    page.get_by_text("No runs match").wait_for()


def test_cells_have_titles_in_full_precision(open_page: Any) -> None:
    """With the step that a value was logged at."""
    page = open_page("#probe&columns=val/loss:min,val/loss:last,step")
    wait_for_cells(page, "exp/b", "0.25", "0.25", "2,000")
    titles = "(row) => [...row.querySelectorAll('.tb-cell')].map((cell) => cell.title)"
    assert page.locator('.tb-row[title="exp/a"]').evaluate(titles) == [
        "Lowest value of val/loss: 0.5 at step 1,000",
        "Last value of val/loss: 1 at step 2,000",
        "Last step: 2000",
    ]
    heading = page.get_by_role("columnheader", name="min val/loss").get_by_role("button")
    assert heading.get_attribute("title") == "Lowest value of val/loss\nClick to sort"


def test_the_steps_of_lowest_and_highest_values_are_visible(
    open_page: Any, server: Any, new_profile: Any
) -> None:
    """Beside the values, below each other; not on narrow pages, which have no room."""
    page = open_page("#probe&columns=val/loss:min,val/loss:max,val/loss:at(1500),val/loss:last")
    wait_for_cells(page, "exp/b", "0.25", "2", "0.3", "0.25")
    steps = "(row) => [...row.querySelectorAll('.tb-step')].map((step) => step.innerText.trim())"
    row = page.locator('.tb-row[title="exp/b"]')
    assert row.evaluate(steps) == ["@2,000", "@0", "@1,000"]
    assert page.locator('.tb-row[title="exp/c"]').evaluate(steps) == ["@0", "@0", "@1,000"]
    assert row.locator(".tb-step").first.evaluate("(step) => step.scrollWidth <= step.clientWidth")

    narrow = new_profile(viewport={"width": 400, "height": 700})
    narrow.context.add_init_script(HELPERS)
    page = narrow.open(server.url, "#probe&columns=val/loss:min")
    page.get_by_role("button", name="Runs").click()
    wait_for_cells(page, "exp/b", "0.25")
    assert not page.locator(".tb-step").first.is_visible()


CUT_CELLS = """() => {
  const list = document.querySelector('.tb-with-columns .tb-list');
  const start = document.querySelector('.tb-heads .tb-row-main').getBoundingClientRect().right;
  const end = list.getBoundingClientRect().left + list.clientWidth;
  return [...document.querySelectorAll('.tb-run .tb-cell')].filter((cell) => {
    const { left, right } = cell.getBoundingClientRect();
    const style = getComputedStyle(cell);
    const inner = [left + parseFloat(style.paddingLeft), right - parseFloat(style.paddingRight)];
    const isCut = inner[0] < start - 1 || inner[1] > end + 1 || inner[1] - inner[0] < 20;
    return isCut && style.opacity === '1';
  }).length;
}"""
"""A function that returns how many cells are cut at an edge of the list, not by an ellipsis."""


@pytest.mark.parametrize("width", [400, 1400])
def test_a_value_that_is_cut_ends_with_an_ellipsis(
    server: Any, new_profile: Any, width: int
) -> None:
    """At both edges of what is visible beside the names, wherever the list is scrolled to."""
    profile = new_profile(viewport={"width": width, "height": 700})
    profile.context.add_init_script(HELPERS)
    columns = "lr,optimizer,val/loss:last,val/loss:min,step,took"
    page = profile.open(server.url, f"#probe&columns={columns}")
    if width == 400:
        page.get_by_role("button", name="Runs").click()
    wait_for_cells(page, "exp/a", "0.1", "adam", "1.00", "0.50", "2,000", "2m 00s")
    if width > 400:
        make_narrow(page)
    most = page.evaluate(
        """() => {
      const list = document.querySelector('.tb-with-columns .tb-list');
      return list.scrollWidth - list.clientWidth;
    }"""
    )
    assert most > 100
    for left in (*range(0, most, 17), most):
        page.evaluate(
            "(left) => { document.querySelector('.tb-with-columns .tb-list').scrollLeft = left; }",
            left,
        )
        page.wait_for_function(f"() => ({CUT_CELLS})() === 0")


def test_the_list_grows_with_its_columns(open_page: Any) -> None:
    """Names keep their width, up to a share of the window."""
    page = open_page("#probe&columns=optimizer")
    wait_for_cells(page, "exp/a", "adam")
    aside = page.locator("aside")
    width = aside.bounding_box()["width"]
    assert 280 <= width < 320  # marks of NaN have a place beside the names
    names = page.locator(".tb-heads .tb-row-main")
    before = names.bounding_box()["width"]
    page.get_by_role("button", name="Columns…").click()
    form = page.get_by_role("form", name="Columns")
    form.get_by_label("What to show").select_option("Lowest value of a tag")
    form.get_by_label("Tag").fill("val/loss")
    page.keyboard.press("Enter")
    wait_for_cells(page, "exp/a", "adam", "0.50")
    page.wait_for_function(
        "(width) => document.querySelector('aside').offsetWidth > width", arg=width
    )
    page.wait_for_function(
        """(before) => {
      const list = document.querySelector('.tb-with-columns .tb-list');
      const names = document.querySelector('.tb-heads .tb-row-main').getBoundingClientRect().width;
      return list.scrollWidth === list.clientWidth && Math.abs(names - before) < 2;
    }""",
        arg=before,
    )
    for what in ("Highest value of a tag", "Last value of a tag", "Value of a tag at a step"):
        form.get_by_label("What to show").select_option(what)
        form.get_by_label("Tag").fill("val/loss")
        if "step" in what:
            form.get_by_label("Step", exact=True).fill("1000")
        page.keyboard.press("Enter")
    for what in ("Last step", "Duration: first to last event"):
        form.get_by_label("What to show").select_option(what)
        form.get_by_role("button", name="Add").click()
    page.wait_for_function("() => document.querySelector('aside').offsetWidth > 500")
    assert aside.bounding_box()["width"] <= 0.6 * 1400


def test_the_form_for_columns_shows_what_is_missing(open_page: Any) -> None:
    """The name is an example, not a choice, and the button looks disabled until there is one."""
    page = open_page("#probe")
    page.get_by_role("button", name="Columns…").click()
    form = page.get_by_role("form", name="Columns")
    name = form.get_by_label("Name of the hyperparameter")
    page.wait_for_function(
        "(box) => box.placeholder === 'Name, such as layers'", arg=name.element_handle()
    )
    add = form.get_by_role("button", name="Add")
    color = "(element) => getComputedStyle(element).backgroundColor"
    disabled = add.evaluate(color)
    name.fill("lr")
    page.wait_for_function(
        f"([element, before]) => ({color})(element) !== before",
        arg=[add.element_handle(), disabled],
    )
    assert add.is_enabled()


def test_values_follow_the_disk(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Cells have a sign while their values are read, and change when a run does."""
    logdir = tmp_path / "logs"
    write_runs(logdir)
    waiting: list[Any] = []
    profile.context.route("**/data/run_attributes", lambda route: waiting.append(route))
    page = profile.open(serve(logdir).url, "#scalars&columns=val/loss:last")
    wait_for_cells(page, "exp/a", "…")
    page.get_by_role("columnheader", name="loss").get_by_role("button").click()
    wait_for_names(page, "exp/,exp/a,exp/b,exp/c,other")
    for route in waiting:
        route.continue_()
    profile.context.unroute_all()
    wait_for_cells(page, "exp/a", "1.00")
    wait_for_names(page, "exp/,exp/b,exp/a,exp/c,other")
    write_run(logdir, "exp/a", scalars={"val/loss": [(3000, 0.125)]}, wall_time=START + 900)
    wait_for_cells(page, "exp/a", "0.125")
    wait_for_names(page, "exp/,exp/a,exp/b,exp/c,other")


def test_the_list_says_that_values_cannot_be_read(open_page: Any, profile: Any) -> None:
    """It has the server's reason, and recovers by itself."""
    profile.expects_errors = True
    profile.context.route(
        "**/data/run_attributes",
        lambda route: route.fulfill(status=500, content_type="text/plain", body="out of memory"),
    )
    page = open_page("#probe&columns=lr")
    failure = page.get_by_text("Values cannot be read")
    failure.wait_for()
    assert "out of memory" in failure.get_attribute("title")
    wait_for_cells(page, "exp/a", "…")
    profile.context.unroute_all()
    wait_for_cells(page, "exp/a", "0.1")
    failure.wait_for(state="detached")


def test_unknown_names_have_close_ones(open_page: Any) -> None:
    """A heading marks what no run has, and the form offers names and names mistakes."""
    page = open_page("#probe&columns=lrr,loss:mean,optimizer")
    wait_for_cells(page, "exp/a", "", "", "adam")
    heading = page.get_by_role("columnheader", name="lrr").get_by_role("button")
    page.wait_for_function(
        "(heading) => heading.title === 'Hyperparameter lrr\\nNo run has it; close: lr'",
        arg=heading.element_handle(),
    )
    page.get_by_role("button", name="Columns…").click()
    form = page.get_by_role("form", name="Columns")
    form.get_by_text("loss:mean: unknown statistic 'mean'; expected last, min, max").wait_for()
    form.get_by_role("button", name="lr", exact=True).click()
    wait_for_cells(page, "exp/a", "0.1", "", "adam")
    form.get_by_role("button", name="Remove loss:mean").click()
    wait_for_cells(page, "exp/a", "0.1", "adam")
    page.wait_for_function("() => location.hash === '#probe&columns=lr,optimizer'")


def test_the_list_is_written_as_csv(open_page: Any) -> None:
    """All matching runs in the order of the list, with all columns and steps in full precision."""
    page = open_page("#probe&columns=optimizer,val/loss:at(1000),lr")
    wait_for_cells(page, "exp/b", "sgd", "0.3", "0.001")
    page.get_by_role("columnheader", name="lr").get_by_role("button").click()
    page.get_by_role("button", name="Collapse exp/").click()
    wait_for_names(page, "exp/,other")
    page.get_by_role("button", name="Columns…").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "runs.csv"
    assert Path(download.value.path()).read_bytes().decode() == (
        "run,optimizer,val/loss:at(1000),val/loss:at(1000) step,lr\r\n"
        "exp/b,sgd,0.30000001192092896,1000,0.001\r\n"
        "exp/c,adam,NaN,1000,0.01\r\n"
        "exp/a,adam,0.5,1000,0.1\r\n"
        "other,,,,\r\n"
    )


def test_columns_work_at_400_pixels(server: Any, new_profile: Any) -> None:
    """The names stay while the columns scroll, and the page does not scroll horizontally."""
    profile = new_profile(viewport={"width": 400, "height": 700}, has_touch=True, is_mobile=True)
    profile.context.add_init_script(HELPERS)
    page = profile.open(server.url, "#probe&columns=lr,optimizer,val/loss:last,val/loss:min,step")
    page.get_by_role("button", name="Runs").tap()
    wait_for_cells(page, "exp/a", "0.1", "adam", "1.00", "0.50", "2,000")
    page.wait_for_function("() => document.querySelector('aside').getBoundingClientRect().x === 0")
    name = page.locator('.tb-row[title="exp/a"] .tb-name')
    before = name.bounding_box()
    page.get_by_role("columnheader", name="step").get_by_role("button").tap()
    wait_for_names(page, "other,exp/,exp/c,exp/a,exp/b")
    assert page.locator("aside .tb-list").evaluate("(list) => list.scrollLeft") > 50
    assert name.bounding_box()["x"] == before["x"] >= 0
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    # The menu has what a button does where names have more room.
    assert not page.get_by_role("button", name="Only other").is_visible()
    page.get_by_role("button", name="Actions for other").tap()
    page.get_by_role("menuitem", name="Only this").tap()
    page.wait_for_function("() => globalThis.shown === 'other'")
    page.get_by_role("button", name="Columns…").tap()
    form = page.get_by_role("form", name="Columns")
    form.get_by_role("button", name="Remove step").tap()
    wait_for_cells(page, "exp/a", "0.1", "adam", "1.00", "0.50")
    box = form.bounding_box()
    assert 0 <= box["x"] < box["x"] + box["width"] <= 400


def test_the_width_fits_names_and_columns(open_page: Any) -> None:
    """A double click on the edge leaves no column to scroll to."""
    page = open_page("#probe&columns=lr,optimizer,val/loss:last,val/loss:min,step,took")
    wait_for_cells(page, "exp/a", "0.1", "adam", "1.00", "0.50", "2,000", "2m 00s")
    make_narrow(page)
    rest = "(list) => list.scrollWidth - list.clientWidth"
    scroller = page.locator("aside .tb-list")
    assert scroller.evaluate(rest) > 0
    page.get_by_role("separator", name="Width of the run list").press("Enter")
    page.wait_for_function(f"(list) => ({rest})(list) === 0", arg=scroller.element_handle())


def test_the_width_that_fits_short_names_leaves_space_above_them(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """The order keeps its width, and the number of matching runs its line."""
    for run in ("a1", "a2", "b"):
        write_run(tmp_path / "logs", run, scalars={"loss": [1.0]}, wall_time=START)
    page = profile.open(serve(tmp_path / "logs").url, "#scalars&query=a")
    page.wait_for_function("() => document.querySelectorAll('.tb-run').length === 2")
    handle = page.get_by_role("separator", name="Width of the run list")
    sizes = """() => [...document.querySelectorAll('.tb-runs-bar > *, .tb-runs-all > *')]
      .map((element) => [element.offsetWidth, element.offsetHeight])"""
    before = page.evaluate(sizes)
    assert len(before) >= 4
    # No key is lost that comes before the code for it is loaded.
    held: list[Any] = []
    page.route("**/runs/fit.js*", lambda route: held.append(route))
    with page.expect_request("**/runs/fit.js*"):
        for _ in range(8):
            handle.press("ArrowRight")
    page.wait_for_function("() => true")
    held.pop().continue_()
    page.wait_for_function("() => document.querySelector('aside').offsetWidth > 380")
    handle.press("Enter")
    page.wait_for_function("() => document.querySelector('aside').offsetWidth < 380")
    assert page.evaluate(sizes) == before


def test_keys_move_below_the_headings(serve: Any, profile: Any, tmp_path: Path) -> None:
    """The row that has the focus is never hidden by the headings, which stay while rows scroll."""
    logdir = tmp_path / "logs"
    for index in range(60):
        write_run(logdir, f"run{index}", scalars={"loss": [index]}, wall_time=START)
    page = profile.open(serve(logdir).url, "#scalars&columns=loss:last")
    wait_for_cells(page, "run0", "0")
    page.locator(".tb-heads").get_by_role("button").focus()
    page.keyboard.press("Tab")
    visible = """(run) => {
      const box = document.activeElement;
      const [row, list, heads] = [box.closest('.tb-row'), box.closest('.tb-list'),
        document.querySelector('.tb-heads')].map((element) => element?.getBoundingClientRect());
      return box.ariaLabel === run && row.top >= heads.bottom - 1 && row.bottom <= list.bottom + 1
        && Math.abs(heads.top - list.top) < 1;
    }"""
    for key, run in (
        ("End", "run59"),
        ("ArrowUp", "run58"),
        ("PageUp", "run46"),
        ("PageUp", "run34"),
        ("PageUp", "run22"),
        ("ArrowUp", "run21"),
        ("Home", "run0"),
        ("PageDown", "run12"),
    ):
        page.keyboard.press(key)
        page.wait_for_function(visible, arg=run)
    grid = page.get_by_role("treegrid", name="Runs")
    assert grid.get_attribute("aria-rowcount") == "61"
    assert page.locator(".tb-row[title=run0]").get_attribute("aria-rowindex") == "2"


def test_the_tab_key_finds_the_current_row_wherever_it_is(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """After another order has moved it far out of sight, and after the list was scrolled."""
    logdir = tmp_path / "logs"
    for index in range(200):
        write_run(logdir, f"run{index:03}", scalars={"loss": [index]}, wall_time=START)
    page = profile.open(serve(logdir).url, "#scalars&columns=loss:last")
    wait_for_cells(page, "run000", "0")
    focused = "(run) => document.activeElement.ariaLabel === run"
    heading = page.locator(".tb-heads").get_by_role("button")
    heading.focus()
    page.keyboard.press("Tab")
    page.wait_for_function(focused, arg="run000")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.tb-run').title === 'run199'")
    page.keyboard.press("Tab")
    page.wait_for_function(focused, arg="run000")
    in_sight = """() => {
      const [row, list] = ['.tb-row', '.tb-list'].map(
        (part) => document.activeElement.closest(part)?.getBoundingClientRect());
      return row.top >= list.top && row.bottom <= list.bottom + 1;
    }"""
    page.wait_for_function(in_sight)
    page.evaluate("() => { document.querySelector('aside .tb-list').scrollTop = 0; }")
    page.locator(".tb-run[title=run199]").wait_for()
    assert page.evaluate(focused, "run000")
    page.keyboard.press("ArrowUp")
    page.wait_for_function(focused, arg="run001")
    page.wait_for_function(in_sight)


def test_a_name_that_only_a_tag_has_is_its_last_value(open_page: Any) -> None:
    """The form says so before Enter, and starts again with hyperparameters."""
    page = open_page("#scalars")
    page.get_by_role("button", name="Columns…").click()
    page.get_by_label("Name of the hyperparameter").fill("val/loss")
    page.get_by_label("Tag", exact=True).wait_for()
    assert page.get_by_label("What to show").input_value() == "last"
    page.keyboard.press("Enter")
    page.wait_for_function("() => columns.headings().join() === 'val/loss'")
    page.wait_for_function("() => columns.rows()['exp/a'][0] === '1.00'")
    page.get_by_label("Name of the hyperparameter").fill("lr")
    page.keyboard.press("Enter")
    page.wait_for_function("() => columns.headings().join() === 'val/loss,lr'")


def test_a_tag_that_is_asked_for_as_a_hyperparameter_is_offered(open_page: Any) -> None:
    page = open_page("#scalars")
    page.get_by_role("button", name="Columns…").click()
    page.get_by_label("What to show").select_option("last")
    page.get_by_label("What to show").select_option("hparam")
    page.get_by_label("Name of the hyperparameter").fill("val/loss")
    page.keyboard.press("Enter")
    page.get_by_text("No run has it. Close:").wait_for()
    page.get_by_role("button", name="val/loss:last", exact=True).click()
    page.wait_for_function(
        "() => decodeURIComponent(location.hash).includes('columns=val/loss:last')"
    )


def test_a_link_may_sort_by_a_column_that_it_does_not_show(open_page: Any) -> None:
    """The column is then shown; without a sign, the order is ascending."""
    for sort, names, columns in (
        ("lr", BY_LR, "lr"),
        ("-val/loss:min&columns=lr", "exp/,exp/c,exp/a,exp/b,other", "lr,val/loss:min"),
    ):
        page = open_page(f"#probe&sort={sort}")
        wait_for_names(page, names)
        wanted = f"#probe&columns={columns}&sort={sort.split('&')[0]}"
        wanted = wanted.replace("sort=lr", "sort=+lr")
        page.wait_for_function("(wanted) => location.hash === wanted", arg=wanted)


def test_marks_beside_names_cut_no_column(serve: Any, profile: Any, tmp_path: Path) -> None:
    """They come later than the columns, and the list becomes wider for them."""
    write_run(tmp_path, "run", scalars={"val/loss": [(99_000 + s, 0.5 + s) for s in range(9)]})
    write_run(tmp_path, "bad", scalars={"val/loss": [1.0, float("nan")]})
    page = profile.open(serve(tmp_path).url, "#scalars&columns=val/loss:min")
    page.wait_for_function(
        """() => {
          const list = document.querySelector('aside .tb-with-columns .tb-list');
          return list?.querySelector('.tb-nan') && list.querySelector('.tb-step')?.textContent
            && list.scrollWidth === list.clientWidth;
        }"""
    )


def test_names_are_cut_last_and_numbers_are_below_their_heads(
    serve: Any, new_profile: Any, tmp_path: Path
) -> None:
    """Equal decimals, a short mark for NaN with its words, and no space for empty columns."""
    config = "a_configuration_with_a_long_name"
    for seed, (value, most) in enumerate([(0.5, 2.473), (1.09375, 32.25), (float("nan"), 2.5)]):
        scalars = {"val/loss": [(0, most), (900 * seed + 100, value)]}
        hparams = {"seed": seed, "lr": 0.1, "mmm": 1, "gamma": 2}
        write_run(tmp_path, f"{config}/s{seed}", scalars=scalars, hparams=hparams, wall_time=START)
    profile = new_profile()
    profile.context.add_init_script(HELPERS)
    server = serve(tmp_path)
    columns = "val/loss:last,val/loss:max,step,none,lr,seed,took,val/loss:min,val/loss:at(100)"
    page = profile.open(server.url, f"#scalars&view=list&columns={columns}")
    page.wait_for_function("(row) => columns.rows()[row]?.[0] === '0.500'", arg=f"{config}/s0")
    rows = page.evaluate("() => columns.rows()")
    assert [rows[f"{config}/s{seed}"][:2] for seed in range(3)] == [
        ["0.500", "2.473"],
        ["1.094", "32.250"],
        ["NaN", "2.500"],
    ]
    page.wait_for_function(
        """() => {
          const list = document.querySelector('.tb-with-columns .tb-list');
          const names = [...list.querySelectorAll('.tb-run .tb-name *')];
          return list.scrollWidth > list.clientWidth && list.querySelector('.tb-nan')
            && names.every((name) => name.scrollWidth <= name.clientWidth);
        }"""
    )
    edges = page.evaluate(
        """() => {
          const right = (node) => {
            const range = document.createRange();
            range.selectNodeContents(node);
            return range.getBoundingClientRect().right;
          };
          const text = (cell) => [...cell.childNodes].find(({ data }) => data?.trim());
          const rows = [...document.querySelectorAll('.tb-row')];
          return [0, 1].map((i) => rows.map((row) => row.querySelectorAll('.tb-cell')[i]).map(
            (cell) => right(cell.querySelector('button .tb-name') ?? text(cell))));
        }"""
    )
    for column in edges:
        assert max(column) - min(column) < 1.5, column
    widths = (
        "() => [...document.querySelectorAll('.tb-heads .tb-cell')].map((cell) => cell.offsetWidth)"
    )
    assert page.evaluate(widths)[3] < 50 < page.evaluate(widths)[2]

    page = profile.open(server.url, f"#scalars&group=seeds&columns={columns}")
    page.wait_for_function("(row) => columns.rows()[row]?.[0] === '0.80 ± 0.42'", arg=f"{config}/*")
    cell = page.evaluate(GROUP_CELL, f"{config}/*")
    assert (cell["text"], cell["words"]) == ("0.80 ± 0.42 ×1", "1 not finite")
    assert page.evaluate(widths)[5] < 50  # the seeds of a closed group differ

    # A heading is whole beside the sign of the order; over a cut column, it has all the room.
    whole = """(heading) => [...document.querySelectorAll('.tb-heads :has(> i) > .tb-name')].some(
      (name) => name.textContent === heading
        && [...name.children].every((part) => part.scrollWidth <= part.clientWidth))"""
    for text in ("mmm", "gamma", "none"):
        page.goto(f"{server.url}/#scalars&view=list&columns=mmm,gamma,none&sort=%2B{text}")
        page.wait_for_function(whole, arg=text)
    phone = new_profile(viewport={"width": 400, "height": 700}, has_touch=True, is_mobile=True)
    link = "#scalars&group=seeds&columns=lr,val/loss:min&sort=%2Bval/loss:min"
    page = phone.open(server.url, link)
    page.wait_for_function(
        f"""(heading) => {{
          const [list, sign] = ['.tb-with-columns .tb-list', '.tb-heads i'].map(
            (part) => document.querySelector(part)?.getBoundingClientRect());
          return sign?.width && (({whole})(heading) || sign.right > list.right - 12);
        }}""",
        arg="min val/loss",
    )
    page.wait_for_function(
        """() => {
          const row = document.querySelector('.tb-row:has(.tb-nan)');
          return row?.querySelector('.tb-name').clientWidth > 30;
        }"""
    )
    # What is beside a figure is whole, also beside a mark of NaN.
    page.goto(f"{server.url}/{link.replace('lr,', '')}")
    page.get_by_role("button", name="Runs").tap()
    page.wait_for_function(
        """() => {
          const cells = [...document.querySelectorAll('.tb-cell:has(.tb-mark)')];
          const list = document.querySelector('aside.open .tb-list');
          return cells.length > 0 && cells.every((cell) => cell.scrollWidth <= cell.clientWidth &&
            cell.getBoundingClientRect().right <= list.getBoundingClientRect().right);
        }"""
    )
