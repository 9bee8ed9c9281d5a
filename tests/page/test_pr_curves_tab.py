"""The tab of PR curves in a real browser, on real event files and a real server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbcore_testing import EventFileWriter, summaries, write_run

HELPERS = """
globalThis.curves = {
  plot: (tag) => tb.card(tag)?.querySelector('.pr-plot'),
  row: (tag, run) => [...tb.card(tag)?.querySelectorAll('tbody tr') ?? []]
    .filter((row) => row.cells[0].title === run)
    .map((row) => [...row.cells].slice(1).map((cell) => cell.innerText.trim()))[0]?.join(' ') ?? '',
};
"""

LABELS = [True, False, True, True, False]
PREDICTIONS = [0.75, 0.5, 0.5, 0.25, 0.0]
PERFECT = [0.75, 0.25, 0.75, 0.75, 0.25]


@pytest.fixture(scope="module")
def server(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    logdir = tmp_path_factory.mktemp("logdir")
    for run, steps, predictions in (("a", (10, 20), PREDICTIONS), ("b", (15,), PERFECT)):
        with EventFileWriter(logdir / run / "a.tfevents") as writer:
            for step in steps:
                value = summaries.pr_curve(
                    "cats", LABELS, PERFECT if step == 20 else predictions, num_thresholds=5
                )
                value.metadata.summary_description = "<i>whiskers</i>"
                writer.add_summary(step, value)
    with EventFileWriter(logdir / "a" / "b.tfevents") as writer:
        wrong = summaries.tensor("wrong", np.ones((5, 2)), plugin_name="pr_curves")
        writer.add_summary(15, wrong)
    write_run(logdir, "plain", scalars={"loss": [0.5]})
    return serve_for_module(logdir)


def wait_for_row(page: Any, run: str, cells: str) -> None:
    """Waits for a row of the table: AP, step, threshold, precision, recall and counts."""
    page.wait_for_function("([run, cells]) => curves.row('cats', run) === cells", arg=[run, cells])


def test_the_pointer_and_the_keys_select_a_threshold_for_all_runs(open_page: Any) -> None:
    page = open_page("#pr_curves&tagQuery=cats&step=10")
    nothing = " – – – – – – –"
    wait_for_row(page, "a", "0.8056 10" + nothing)
    page.wait_for_function("() => curves.row('cats', 'b').includes('The first step is 15')")
    # The description is requested after the curves.
    page.wait_for_function("() => tb.card('cats').innerText.includes('<i>whiskers</i>')")

    page.get_by_role("button", name="Next step: Step of all curves").click()
    wait_for_row(page, "a", "0.8056 10" + nothing)
    wait_for_row(page, "b", "1.0000 15" + nothing)

    # The points of `a` are at recall 1, 1, 2/3 and 1/3; the last is near the top left.
    plot = page.evaluate(
        "() => { const { x, y } = curves.plot('cats').getBoundingClientRect(); return [x, y] }"
    )
    page.mouse.move(plot[0] + 50, plot[1] + 12)
    wait_for_row(page, "a", "0.8056 10 0.7500 1.0000 0.3333 1 0 2 2")
    wait_for_row(page, "b", "1.0000 15 0.7500 1.0000 1.0000 3 0 2 0")
    assert page.evaluate("() => curves.plot('cats').querySelectorAll('circle').length") == 2
    page.mouse.move(2, 2)
    wait_for_row(page, "a", "0.8056 10" + nothing)

    page.evaluate("() => curves.plot('cats').focus()")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    wait_for_row(page, "a", "0.8056 10 0.2500 0.7500 1.0000 3 1 1 0")
    page.keyboard.press("ArrowDown")
    words = "b, threshold 0.25: precision 0.6, recall 1, 3 true positives, 2 false positives"
    page.wait_for_function(
        "(words) => tb.card('cats').querySelector('.pr-read').textContent.startsWith(words)",
        arg=words,
    )
    page.keyboard.press("]")
    wait_for_row(page, "a", "1.0000 20 0.2500 0.6000 1.0000 3 2 0 0")
    page.keyboard.press("Escape")
    wait_for_row(page, "a", "1.0000 20" + nothing)


def test_a_zoomed_plot_can_be_downloaded_as_data_and_image(open_page: Any, tmp_path: Path) -> None:
    page = open_page("#pr_curves&tagQuery=cats&step=10")
    wait_for_row(page, "a", "0.8056 10 – – – – – – –")
    ticks = "() => [...curves.plot('cats').querySelectorAll('text')].map((one) => one.textContent)"
    full_ticks = page.evaluate(ticks)
    assert full_ticks.count("0.2") + full_ticks.count("1.0") == 4
    x, y, width, height = page.evaluate(
        """() => {
          const plot = curves.plot('cats').querySelector('.tb-chart-plot');
          const { x, y, width, height } = plot.getBoundingClientRect();
          return [x, y, width, height];
        }"""
    )
    page.mouse.move(x + 0.6 * width, y + height / 2)
    page.mouse.down()
    page.mouse.move(x + 0.9 * width, y + height / 2, steps=3)
    page.mouse.up()
    page.wait_for_function(f"(full) => String(({ticks})()) !== String(full)", arg=full_ticks)
    zoomed_ticks = page.evaluate(ticks)
    assert {"0.60", "0.90"} <= set(zoomed_ticks)
    # The only visible point is selected wherever the pointer is.
    page.mouse.move(x + 2, y + height - 2)
    wait_for_row(page, "a", "0.8056 10 0.5000 0.6667 0.6667 2 1 1 1")

    def download(name: str) -> str:
        page.get_by_role("button", name="Download cats").click()
        with page.expect_download() as started:
            page.get_by_role("button", name=name, exact=True).click()
        page.keyboard.press("Escape")
        path = tmp_path / name
        started.value.save_as(path)
        return path.read_bytes().decode("latin-1")

    table = download("CSV").splitlines()
    assert table[0] == "Run,Step,Threshold,Precision,Recall,TP,FP,TN,FN"
    assert table[1].startswith("a,10,0,0.6")
    assert len(table) == 5
    picture = download("SVG")
    assert ">0.60</text>" in picture
    assert ">a, step 10</text>" in picture
    assert download("PNG").startswith("\x89PNG")

    page.get_by_role("button", name="Show all of cats").click()
    page.wait_for_function(f"(full) => String(({ticks})()) === String(full)", arg=full_ticks)
    page.evaluate("() => curves.plot('cats').focus()")
    page.keyboard.press("f")
    page.locator(".tb-expanded").wait_for()


def test_the_table_is_sorted_by_area_and_the_precision_axis_fits(
    open_page: Any, server: Any
) -> None:
    """Both are in the address. At first rows are in the order of runs, and the axis is 0 to 1."""
    page = open_page("#pr_curves&tagQuery=cats&step=15")
    wait_for_row(page, "a", "0.8056 10 – – – – – – –")
    wait_for_row(page, "b", "1.0000 15 – – – – – – –")

    def wait_for_order(runs: str, order: str) -> None:
        page.wait_for_function(
            """([runs, order]) => {
              const rows = [...tb.card('cats').querySelectorAll('tbody tr')];
              const heading = tb.card('cats').querySelector('th:nth-child(2)');
              return rows.map((row) => row.cells[0].title).join() === runs
                && heading.ariaSort === order;
            }""",
            arg=[runs, order],
        )

    wait_for_order("a,b", "none")
    by_area = page.locator(".pr-values").get_by_role("button", name="AP")
    by_area.click()
    wait_for_order("b,a", "descending")
    by_area.click()
    wait_for_order("a,b", "ascending")
    by_area.click()
    wait_for_order("a,b", "none")
    by_area.click()

    lowest = """() => Math.min(...[...curves.plot('cats').querySelectorAll('text')]
      .filter((text) => text.getAttribute('text-anchor') === 'end')
      .map((text) => Number(text.textContent)))"""
    assert page.evaluate(lowest) == 0
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Precision axis").select_option("Range of the curves")
    page.wait_for_function(f"() => ({lowest})() >= 0.5")  # the lowest precision is 0.6
    page.wait_for_function(
        "() => ['auc=descending', 'fit=true'].every((part) => location.hash.includes(part))"
    )
    address = page.evaluate("() => location.hash")
    page.goto("about:blank")
    page.goto(f"{server.url}/{address}")
    page.wait_for_function(f"() => curves.plot('cats') && ({lowest})() >= 0.5")
    wait_for_order("b,a", "descending")


def test_the_table_takes_the_height_that_the_window_has(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    for number in range(30):
        with EventFileWriter(tmp_path / "logs" / f"run{number:02}" / "a.tfevents") as writer:
            writer.add_summary(1, summaries.pr_curve("cats", LABELS, PREDICTIONS, num_thresholds=5))
            writer.add_summary(1, summaries.pr_curve("dogs", LABELS, PREDICTIONS, num_thresholds=5))
    server = serve(tmp_path / "logs")
    size = {"width": 1400, "height": 1000}
    page = profile.open(server.url, "#pr_curves&tagQuery=cats", viewport=size)
    heights = """() => {
      const table = tb.card('cats')?.querySelector('.pr-values');
      return table?.querySelectorAll('tbody tr').length === 30 && [
        table.clientHeight, innerHeight - tb.card('cats').getBoundingClientRect().bottom,
        document.documentElement.scrollHeight - innerHeight];
    }"""
    page.wait_for_function(f"() => ({heights})()[0] > 400")
    _, below, rest = page.evaluate(heights)
    assert 0 <= below < 60
    assert rest <= 1


def test_an_invalid_curve_shows_an_error_and_others_still_work(
    open_page: Any, profile: Any
) -> None:
    profile.expects_errors = True  # the server's response
    page = open_page("#pr_curves")
    wait_for_row(page, "b", "1.0000 15 – – – – – – –")
    page.wait_for_function(
        "() => curves.row('wrong', 'a').includes('(5, 2), not numbers of shape (6')"
    )


def test_groups_say_that_curves_are_not_averaged(open_page: Any) -> None:
    note = "One curve for each run: curves are not averaged"
    page = open_page("#pr_curves&tagQuery=cats&group=re:.")  # each run is a group
    page.wait_for_function("() => curves.row('cats', 'b')")
    assert page.get_by_text(note).count() == 0
    open_page("#pr_curves&tagQuery=cats&group={run}").get_by_text(note).wait_for()
