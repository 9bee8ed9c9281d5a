"""Groups of runs in the scalars tab: means, bands and figures, in a real browser."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from common_fixtures import until
from drawn_charts import FADED, hover, set_option

from tbcore_testing import write_run


def test_the_mean_of_a_hovered_group_is_highlighted(profile: Any, seeds: Any) -> None:
    """By its row, and its row by the mean; over wall time, where there is no mean, its runs."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:reward|long&group=seeds")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    page.wait_for_function("() => tb.label('long').includes('ppo/*')")
    row = page.locator(".tb-folder[title='ppo/*']")
    row.hover()
    page.wait_for_function(FADED, arg="reward")
    page.get_by_label("Filter runs").hover()
    page.wait_for_function(f"() => !({FADED})('reward')")
    # There, the mean is 1.5, and no run has this value.
    assert hover(page, "reward", 50, 99, 0.61)[0][0] == "ppo/*"
    page.wait_for_function("() => document.querySelector('.tb-hovered')?.title === 'ppo/*'")
    page.get_by_role("radio", name="Wall time").check(force=True)
    page.wait_for_function("() => tb.label('reward').includes('ppo/seed=0')")
    row.hover()
    page.wait_for_function(FADED, arg="reward")
    assert not page.evaluate(FADED, "long")  # has no other lines


@pytest.fixture(scope="module")
def seeds(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Five seeds, one of which diverges and one of which ends early, and a run in no group."""
    logdir = tmp_path_factory.mktemp("seeds")
    for seed in range(5):
        value = [float(seed)] * (40 if seed == 4 else 100)
        if seed == 1:
            value[60:] = [math.nan] * 40
        long = np.random.default_rng(seed).random(20_000)
        write_run(logdir, f"ppo/seed={seed}", scalars={"reward": value, "val": value, "long": long})
    write_run(logdir, "sac/seed=0", scalars={"reward": [2.5] * 100})
    return serve_for_module(logdir)


def test_a_band_says_which_runs_are_in_it(profile: Any, seeds: Any) -> None:
    """A run is not counted after it diverged or ended; a run in no group is a line."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^reward$&group=seeds&scalars.legend=true")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    for step, runs, text in [
        (10, "5", "± standard deviation (n − 1) · mean"),
        (50, "4 of 5", "mean of 4 of 5 runs, 1 without points here"),
        (80, "3 of 5", "mean of 3 of 5 runs, 1 not finite, 1 without points here"),
    ]:
        rows = hover(page, "reward", step, 99, 0.5)
        assert rows[0][0] == "ppo/*"
        assert len(rows[0]) == (2 if runs == "5" else 3)
        assert rows[0][-1] == runs or runs == "5"
        assert text in page.evaluate("() => tb.all('.tb-chart-tooltip')[0].textContent")
        page.wait_for_function(
            "(runs) => tb.all('.tb-legend tbody tr')[0]?.lastElementChild.textContent === runs",
            arg=runs,
        )
    names = page.evaluate("() => tb.all('.tb-legend tbody th').map((cell) => cell.title)")
    assert names == ["ppo/*", "sac/seed=0"]


def test_a_group_can_be_a_median_and_its_band_an_interval(profile: Any, seeds: Any) -> None:
    """One choice in the form for groups has both; the address has them in one part."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^reward$&group=seeds")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    tooltip = "() => tb.all('.tb-chart-tooltip')[0].textContent"

    page.get_by_role("button", name="Grouped: seeds").click()
    page.get_by_label("Groups show").select_option("mean ± 95 % interval")
    page.get_by_role("form", name="Group runs").get_by_role("button", name="Close").click()
    page.wait_for_function("() => location.hash.includes('&average=mean-interval')")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    until(lambda: hover(page, "reward", 10, 99) and "interval" in page.evaluate(tooltip))
    row = hover(page, "reward", 10, 99)[0]
    # Of 0, 1, 2, 3, 4: 2.776 * sqrt(2.5 / 5) = 1.963 from the mean.
    assert row == ["ppo/*", "2.0 ± 2.0"]
    assert "95 % interval of the mean · mean" in page.evaluate(tooltip)

    page.get_by_role("button", name="Grouped: seeds").click()
    page.get_by_label("Groups show").select_option("median, quartiles")
    page.get_by_role("form", name="Group runs").get_by_role("button", name="Close").click()
    page.wait_for_function("() => location.hash.includes('&average=median')")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    # The address changes before the chart does.
    until(lambda: hover(page, "reward", 80, 99)[0] == ["ppo/*", "2 [1, 2.5]", "3 of 5"])
    text = page.evaluate(tooltip)
    assert "Median [low, high]Runs" in text
    assert "quartiles · median of 3 of 5 runs" in text


def test_a_picture_can_be_a_figure_for_a_paper(profile: Any, seeds: Any) -> None:
    """Of the width of one column or two, with letters of 8 points; it says what the band is."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^reward$&group=seeds")
    page.wait_for_function("() => tb.label('reward').includes('ppo/*, sac/seed=0')")
    page.get_by_role("button", name="More options for reward").click()
    size = page.get_by_label("Size of the picture")
    size.wait_for()
    assert size.locator("option").all_inner_texts() == [
        "as on the screen",
        "one column (3.4 in)",
        "two columns (7 in)",
    ]
    for inches in ("3.4", "7"):
        size.select_option(inches)
        files = {}
        for kind in ("SVG", "PNG"):
            with page.expect_download() as download:
                page.get_by_role("button", name=kind, exact=True).click()
            files[kind] = download.value.path().read_bytes()
        figure = ElementTree.fromstring(files["SVG"])
        assert (figure.get("width"), figure.get("font-size")) == (f"{inches}in", "8")
        text = " ".join(figure.itertext())
        assert "mean of 5 runs, band: ± standard deviation (n − 1)" in text
        assert text.split()[0] == "reward"
        width = int.from_bytes(files["PNG"][16:20], "big")
        assert abs(width - 600 * float(inches)) < 8  # 600 pixels per inch
    # The choice is kept for the next menu.
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More options for reward").click()
    assert page.get_by_label("Size of the picture").input_value() == "7"


def test_a_mean_over_fewer_runs_than_before_is_dotted_or_left_out(profile: Any, seeds: Any) -> None:
    """The chart and its picture say so; an option ends it where the first run ends."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^reward$&group=seeds")
    note = "dotted, no band: fewer runs than before"
    page.wait_for_function(
        "(note) => tb.card('reward')?.querySelector('.tb-chart-note')?.textContent === note",
        arg=note,
    )
    page.get_by_role("button", name="More options for reward").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    picture = download.value.path().read_text("utf-8")
    assert note in picture
    assert 'stroke-dasharray="2 4"' in picture
    page.keyboard.press("Escape")
    assert hover(page, "reward", 80, 99)[0][-1] == "3 of 5"
    set_option(page, "End means where the first run ends")
    page.wait_for_function("() => location.hash.includes('scalars.ends=true')")
    page.wait_for_function("() => !tb.card('reward').querySelector('.tb-chart-note').textContent")
    assert [row[0] for row in hover(page, "reward", 80, 99)] == ["sac/seed=0"]
    assert hover(page, "reward", 30, 99)[0][0] == "ppo/*"


def test_settings_and_table_name_the_average_of_groups(profile: Any, seeds: Any) -> None:
    """Not all lines of groups are means."""
    for average, title, plural in [
        ("mean", "Mean at end", "means"),
        ("median", "Median at end", "medians"),
        ("iqm", "Interquartile mean at end", "IQMs"),
    ]:
        page = profile.open(
            seeds.url,
            "#scalars&tagQuery=re:^reward$&group=seeds&query=ppo&scalars.legend=true"
            f"&average={average}",
        )
        heading = page.get_by_role("button", name=title, exact=True)
        heading.wait_for()
        assert title.removesuffix(" at end").lower() in heading.get_attribute("title")
        page.get_by_role("button", name="Settings").click()
        page.get_by_role("checkbox", name=f"End {plural} where the first run ends").wait_for()


def test_the_table_shows_bands_on_every_axis(profile: Any, seeds: Any) -> None:
    """If x is a time, the mean has a time and no step. Columns without values are not shown."""
    for axis, place in [("step", "step"), ("relative", "relative"), ("wall_time", None)]:
        page = profile.open(
            seeds.url,
            f"#scalars&tagQuery=re:^reward$&group=seeds&scalars.legend=true&scalars.x={axis}",
        )
        page.wait_for_function(
            "() => tb.all('.tb-legend tbody tr')[0]?.querySelector('th').title === 'ppo/*'"
        )
        # The column comes with the first point, which over wall time is that of a run.
        page.wait_for_function("() => tb.all('.tb-legend tbody [data-column=value]').length > 0")
        cells = page.evaluate(
            """() => Object.fromEntries([...tb.all('.tb-legend tbody tr')[0].cells].map(
              (cell) => [cell.dataset.column, cell.textContent]))"""
        )
        assert cells["final"] == "2.3 ± 1.7 (4 of 5, 1 not finite)"
        if place is None:
            assert not cells["value"]
            assert "low" not in cells
            continue
        assert (cells["value"], cells["low"], cells["high"]) == ("1.66667", "0.139141", "3.19419")
        assert (cells["min"], cells["max"]) == ("1.5", "2")  # of the mean, over the chart
        assert cells["runs"] == "3 of 5"
        filled = [name for name in ("step", "relative", "wallTime") if cells.get(name)]
        assert filled == [place]


@pytest.fixture(scope="module")
def configs(serve_for_module: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three seeds of each of two configurations, one after the other; one seed ends at NaN."""
    logdir = tmp_path_factory.mktemp("configs")
    ends = {"cfg0": [0.5, 0.75, 1.0], "cfg1": [0.25, 0.5, math.nan]}
    for start, (config, values) in enumerate(ends.items()):
        for seed, end in enumerate(values):
            # Longer runs are better, so the last point of the mean is the best seed's.
            length, wall_time = 30 - 10 * seed, 1.6e9 + 1000 * (3 * start + seed)
            loss = [(step, 3.0, wall_time + step) for step in range(length)]
            scalars = {"loss": [*loss, (length, end, wall_time + length)], "best": [loss[-1]]}
            write_run(logdir, f"{config}/seed={seed}", scalars=scalars, wall_time=wall_time)
    return serve_for_module(logdir)


FINAL_CELLS = """() => tb.all('.tb-legend tbody tr').map((row) => {
  const cell = row.querySelector('[data-column="final"]');
  return [row.querySelector('th').title, cell?.textContent, cell?.title];
})"""


def test_the_table_begins_with_the_final_value_of_groups(profile: Any, configs: Any) -> None:
    """It is the mean of the runs' last values, not the last point of the mean."""
    address = "#scalars&tagQuery=re:^loss$&group=seeds&scalars.legend=true"
    page = profile.open(configs.url, address)
    heading = page.get_by_role("button", name="Final: mean ± SD", exact=True)
    heading.wait_for()
    assert "standard deviation (n − 1)" in heading.get_attribute("title")
    columns = page.evaluate("() => tb.all('.tb-legend thead th').map((th) => th.dataset.column)")
    assert columns[:3] == ["name", "final", "value"]
    (first, second) = page.evaluate(FINAL_CELLS)
    title = "mean of the last values of 3 runs: 0.75, ± standard deviation (n − 1) 0.25"
    assert first == ["cfg0/*", "0.75 ± 0.25", title]
    assert second[:2] == ["cfg1/*", "0.38 ± 0.18 (2 of 3, 1 not finite)"]
    assert second[2].endswith(", 1 run NaN or infinite, not in it")
    for names in (["cfg0/*", "cfg1/*"], ["cfg1/*", "cfg0/*"]):
        heading.click()
        is_sorted = f"(names) => String(({FINAL_CELLS})().map(([name]) => name)) === String(names)"
        page.wait_for_function(is_sorted, arg=names)
    page = profile.open(configs.url, f"{address}&average=median")
    page.get_by_role("button", name="Final: median [quartiles]", exact=True).wait_for()
    assert page.evaluate(FINAL_CELLS)[0][1] == "0.75 [0.63, 0.88]"


def test_runs_with_one_point_are_dots_with_a_bar(profile: Any, configs: Any) -> None:
    """A line from seed to seed would look like a curve."""
    page = profile.open(configs.url, "#scalars&tagQuery=re:^best$&group=seeds&scalars.legend=true")
    page.wait_for_function("() => tb.label('best').includes('cfg0/*, cfg1/*, cfg0/seed=0')")
    page.wait_for_function("() => tb.all('.tb-legend tbody tr').length === 2")
    assert [row[0] for row in page.evaluate(FINAL_CELLS)] == ["cfg0/*", "cfg1/*"]
    rows = hover(page, "best", 19 - 9, 29 - 9)  # the axis begins at step 9
    assert {"cfg0/*", "cfg0/seed=1"} <= {row[0] for row in rows}
    text = page.evaluate("() => tb.all('.tb-chart-tooltip')[0].textContent")
    assert "around step 19 · ± standard deviation (n − 1) · mean" in text
    page.get_by_role("button", name="More options for best").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    picture = download.value.path().read_text("utf-8")
    assert "mean of 3 runs, bar: ± standard deviation (n − 1)" in picture
    names = re.findall(r">(cfg[^<]*)</text>", picture)
    assert names == ["cfg0/*", "cfg1/*"]


def test_over_wall_time_the_runs_of_a_group_are_drawn(profile: Any, configs: Any) -> None:
    """A mean would lead from run to run. The table still has the groups."""
    address = "#scalars&tagQuery=re:^loss$&group=seeds&scalars.legend=true&scalars.x=wall_time"
    page = profile.open(configs.url, address)
    page.wait_for_function("() => tb.label('loss').includes(': cfg0/seed=0, cfg0/seed=1')")
    note = page.get_by_role("note")
    text = "2 groups drawn as runs, in the group's colour: no mean over wall time"
    assert note.text_content() == text
    page.wait_for_function("() => tb.all('.tb-legend tbody tr').length === 2")
    texts = [row[:2] for row in page.evaluate(FINAL_CELLS)]
    assert texts == [["cfg0/*", "0.75 ± 0.25"], ["cfg1/*", "0.38 ± 0.18 (2 of 3, 1 not finite)"]]
    held: list[Any] = []
    page.route("**/lib/cards/picture-buttons.js", lambda route: held.append(route))
    page.get_by_role("button", name="More options for loss").click()
    until(lambda: (page.evaluate("() => tb.frame()"), held)[1])
    menu = page.locator(".tb-menu:popover-open")
    assert menu.text_content() == ""  # what is there would be pushed away from under the pointer
    profile.expects_errors = True
    held[0].abort()  # then all the others are there
    with page.expect_download() as download:
        menu.get_by_role("button", name="CSV as drawn").click()
    rows = list(csv.reader(download.value.path().read_text("utf-8").splitlines()))
    assert rows[0] == ["run", "tag", "step", "wall_time", "value"]
    assert len(rows) == 1 + 2 * (31 + 21 + 11)
    page.keyboard.press("Escape")
    page.get_by_text("Step", exact=True).first.click()
    page.wait_for_function("() => tb.label('loss').includes('cfg0/*, cfg1/*')")
    note.wait_for(state="detached")


def test_an_enlarged_card_requests_more_points(profile: Any, seeds: Any) -> None:
    """More points in full size, and no request when it is small again."""
    page = profile.open(seeds.url, '#scalars&query="ppo/seed=0"')
    for tag in ("reward", "val", "long"):
        page.wait_for_function("(tag) => tb.label(tag).includes('ppo/seed=0')", arg=tag)

    def has_twice_the_points(response: Any) -> bool:
        is_window = response.url.endswith("/window")
        return is_window and json.loads(response.request.post_data)["pixels"] >= 2 * 500

    with page.expect_response(has_twice_the_points):
        page.get_by_role("button", name="Full size: long").click()
    num_requests = sum(address.endswith("/window") for address in profile.requested_urls)
    page.get_by_role("button", name="Full size: long").click()
    page.locator(".tb-expanded").wait_for(state="detached")
    for _ in range(3):
        page.evaluate("() => tb.frame()")
    assert sum(address.endswith("/window") for address in profile.requested_urls) == num_requests


def test_runs_of_a_hovered_group_are_drawn_faintly(profile: Any, seeds: Any) -> None:
    """They appear at the pointer without changing the axes."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^long$&group=seeds")
    page.wait_for_function("() => tb.label('long').includes('ppo/*')")
    axis = """() => {
      const canvas = tb.canvas('long');
      const width = tb.card('long').querySelector('.tb-chart-plot').getBoundingClientRect().left
        - canvas.getBoundingClientRect().left;
      const left = Math.floor((width - 2) * devicePixelRatio);
      return canvas.getContext('2d').getImageData(0, 0, left, canvas.height).data.join();
    }"""
    page.wait_for_function(f"() => ({axis})().split(',').some(Number)")
    before = page.evaluate(axis)
    hover(page, "long", 10_000, 19_999, 0.5)
    page.wait_for_function("() => tb.label('long').includes('ppo/seed=')")
    page.evaluate("() => tb.frame()")
    assert page.evaluate(axis) == before


def test_bands_of_several_tags_are_labelled_by_tag(profile: Any, seeds: Any) -> None:
    page = profile.open(seeds.url, "#scalars&group=seeds&scalars.with=reward,val")
    page.wait_for_function("() => tb.label('reward + val').includes('ppo/* · reward, ppo/* · val')")


def test_dragging_the_smoothing_slider_sends_one_request(profile: Any, seeds: Any) -> None:
    """The request is sent when the slider stops, with the last weight."""
    page = profile.open(seeds.url, "#scalars&tagQuery=re:^long$")
    page.wait_for_function("() => tb.label('long').includes('ppo/seed=0')")
    weights: list[float] = []
    page.on(
        "request",
        lambda request: (
            request.url.endswith("/window")
            and weights.append(json.loads(request.post_data)["smoothing"])
        ),
    )
    with page.expect_request("**/window"):
        page.evaluate(
            """async () => {
              const slider = tb.all('.tb-smoothing input[type=range]')[0];
              for (let i = 1; i <= 30; i++) {
                slider.value = i / 50;
                slider.dispatchEvent(new InputEvent('input', { bubbles: true }));
                await null;  // a longer pause could count as a slider that stopped
              }
            }"""
        )
    page.wait_for_function("() => tb.card('long') && location.hash.includes('scalars.smooth=0.6')")
    with page.expect_request("**/window"):
        page.locator(".tb-smoothing input[type=range]").fill("0.8")
    assert weights == [0.6, 0.8]
