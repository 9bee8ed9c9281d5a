"""The histograms tab in a real browser, on real event files and a real server."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from common_fixtures import until
from drawn_charts import wait_for_curve

from tbcore_testing import EventFileWriter, Page, summaries, write_run

RUNS = ("sweep/a/train", "sweep/b/train")
STEPS = (0, 500, 1000)
BUCKETS = 30
PEAK = 12
START = 1_700_000_000.0


def counts_at(run: str, step: int) -> list[int]:
    """The samples in each of the buckets [0, 1), [1, 2) and so on: a peak and a long tail."""
    counts = [1 + (k + step // 100 + RUNS.index(run)) % 4 for k in range(BUCKETS)]
    counts[PEAK] = 60
    return counts


def samples_at(run: str, step: int) -> list[float]:
    """Samples whose 30 buckets of equal width have edges at whole numbers."""
    inside = [k + 0.5 for k, count in enumerate(counts_at(run, step)) for _ in range(count)]
    return [0.0, *inside[1:-1], float(BUCKETS)]


def exponential(tag: str, samples: Any) -> Any:
    """A histogram as tensorboardX logs it: each bucket is 10 % wider than the one before."""
    positive = 1e-12 * 1.1 ** np.arange(774)
    edges = np.concatenate([-positive[::-1], [0.0], positive])
    counts, _ = np.histogram(samples, edges)
    value = summaries.histogram(tag, samples)
    del value.histo.bucket_limit[:], value.histo.bucket[:]
    value.histo.bucket_limit.extend(edges[1:].tolist())
    value.histo.bucket.extend(counts.tolist())
    return value


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("logdir")
    for index, run in enumerate(RUNS):
        points = [(step, samples_at(run, step), START + step) for step in STEPS]
        tensors = index == 1
        write_run(
            logdir, run, histograms={"layer1/weights": points, "bias": points}, as_tensors=tensors
        )
    write_run(logdir, "odd", histograms={"empty": [[]], "constant": [[0.25] * 40]})
    rng = np.random.default_rng(0)
    steps = [rng.normal(step / 30, 1.0, 100) for step in range(120)]
    write_run(logdir, "long", histograms={"w": steps})
    for run, width in (("exp/narrow", 0.5), ("exp/wide", 1.0)):
        with EventFileWriter(logdir / run / "a.tfevents") as writer:
            writer.add_summary(0, exponential("w", width * np.linspace(-2.0, 2.0, 400)))
    return logdir


@pytest.fixture(scope="module")
def server(serve_for_module: Any, logdir: Path) -> Any:
    return serve_for_module(logdir)


def card(tag: str, run: str = RUNS[0]) -> str:
    return f"{tag} in {run}"


def wait_for_ridges(page: Any, tag: str, run: str = RUNS[0], least: int = 60) -> None:
    """Waits until a card has enough pixels in the colour of its run."""
    wait_for_curve(page, card(tag, run), run, least)


def hover(
    page: Any, tag: str, value: float, share_of_height: float, run: str = RUNS[0]
) -> dict[str, str]:
    """Moves the pointer over a value; returns the rows of the tooltip, label to text."""
    box = page.evaluate(
        """(name) => {
          tb.card(name).scrollIntoView({block: 'center'});
          return tb.card(name).querySelector('.tb-chart-plot').getBoundingClientRect().toJSON();
        }""",
        card(tag, run),
    )
    # The axis is padded by 2 % on both sides.
    share = (value + 0.02 * BUCKETS) / (1.04 * BUCKETS)
    page.mouse.move(
        box["x"] + share * box["width"], box["y"] + share_of_height * box["height"], steps=2
    )
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
    page.evaluate("() => tb.frame()")  # it may have been open at another place
    return tooltip_rows(page)


def tooltip_rows(page: Any) -> dict[str, str]:
    """The rows of the tooltip, label to text."""
    rows = page.evaluate(
        """() => tb.all('.tb-chart-tooltip:popover-open tr').map(
          (row) => [...row.cells].map((cell) => cell.textContent))"""
    )
    return dict(rows)


def test_each_bucket_of_each_step_can_be_read(open_page: Any) -> None:
    """For both forms of the file format; the newest ridge is at the bottom."""
    page = open_page("#histograms")
    for run in RUNS:
        wait_for_ridges(page, "layer1/weights", run)
        total = sum(counts_at(run, STEPS[0]))
        # Baselines are at 42 %, 71 % and 100 % of the height; a peak is 42 % high.
        for step, top in zip(STEPS, (0.1, 0.5, 0.9), strict=True):
            rows = hover(page, "layer1/weights", PEAK + 0.5, top, run)
            assert rows["Step"] == f"{step:,}"
            assert rows["Bucket"] == f"{PEAK} to {PEAK + 1}"
            assert rows["Count"].startswith("60 (")
            assert rows["Density"] == "60"
            assert rows["Samples"].endswith(" from 0 to 30")
            assert rows["Samples"].startswith(f"{sum(counts_at(run, step)):,} ")
        for k in (3, 20, 28):
            rows = hover(page, "layer1/weights", k + 0.5, 0.999, run)
            assert (rows["Step"], rows["Bucket"]) == ("1,000", f"{k} to {k + 1}")
            assert rows["Count"].startswith(f"{counts_at(run, 1000)[k]} (")
        assert total > 0


def test_cards_are_grouped_and_degenerate_histograms_are_drawn(open_page: Any) -> None:
    """One card per tag and run; a single value is a spike; a note says if there are no samples."""
    page = open_page("#histograms&query=sweep|odd")
    wait_for_ridges(page, "layer1/weights")
    titles = page.evaluate(
        "() => tb.all('.tb-card').map((card) => card.getAttribute('aria-label'))"
    )
    assert titles == [
        "bias in sweep/a/train",
        "bias in sweep/b/train",
        "constant in odd",
        "empty in odd",
        "layer1/weights in sweep/a/train",
        "layer1/weights in sweep/b/train",
    ]
    page.evaluate("() => tb.card('empty in odd').scrollIntoView({block: 'center'})")
    page.wait_for_function("() => tb.card('empty in odd').textContent.includes('no samples')")
    wait_for_ridges(page, "constant", "odd", 40)
    page.get_by_role("button", name="layer1 1").click()
    page.wait_for_function("() => location.hash.includes('histograms.closed=layer1')")
    page.wait_for_function("() => !tb.card('layer1/weights in sweep/a/train')")


def test_overlay_time_axes_and_trim_are_kept_in_the_address(open_page: Any) -> None:
    """A link restores them, and so does the browser for pages opened without one."""
    page = open_page("#histograms&tagQuery=layer1")
    wait_for_ridges(page, "layer1/weights")
    page.get_by_text("Overlay", exact=True).click()
    page.wait_for_function("() => location.hash.includes('histograms.mode=overlay')")
    wait_for_ridges(page, "layer1/weights")
    # On one baseline the peaks have 94 % of the plot's height; the newest is drawn last.
    rows = hover(page, "layer1/weights", PEAK + 0.5, 0.07)
    assert (rows["Step"], rows["Bucket"]) == ("1,000", "12 to 13")
    page.get_by_text("Wall time", exact=True).click()
    page.wait_for_function("() => location.hash.includes('histograms.y=wall_time')")
    page.get_by_label("Trim").select_option("5 %")
    page.wait_for_function("() => location.hash.includes('histograms.trim=5')")
    name = card("layer1/weights")
    page.wait_for_function(
        "(name) => tb.card(name).textContent.includes('5 % of the samples')", arg=name
    )
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Height scale").select_option("Square root")
    page.wait_for_function("() => location.hash.includes('histograms.root=true')")
    hash = page.evaluate("() => location.hash")

    again = open_page(hash)
    wait_for_ridges(again, "layer1/weights")
    assert again.get_by_role("radio", name="Overlay").is_checked()
    assert again.get_by_role("radio", name="Wall time").is_checked()
    assert again.get_by_label("Trim").input_value() == "5"
    fresh = open_page("#histograms")
    fresh.wait_for_function("() => location.hash.includes('histograms.trim=5')")


def test_zooming_shows_single_buckets_wider(open_page: Any) -> None:
    page = open_page("#histograms&tagQuery=layer1&query=sweep/a")
    wait_for_ridges(page, "layer1/weights")
    box = page.locator(".tb-chart-plot").bounding_box()
    middle = box["y"] + box["height"] * 0.9
    page.mouse.move(box["x"] + box["width"] * 0.5, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
    page.mouse.up()
    button = page.get_by_role("button", name=f"Show all of {card('layer1/weights')}")
    button.wait_for()
    seen = set()
    for share in (0.05, 0.5, 0.95):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] - 1, steps=2)
        page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
        page.evaluate("() => tb.frame()")
        seen.add(tooltip_rows(page)["Bucket"])
    assert seen <= {f"{k} to {k + 1}" for k in range(14, 20)}
    assert len(seen) == 3
    button.click()
    button.wait_for(state="detached")


def test_the_keyboard_steps_through_buckets_and_histograms(open_page: Any) -> None:
    page = open_page("#histograms&tagQuery=layer1&query=sweep/a")
    wait_for_ridges(page, "layer1/weights")
    page.locator(".tb-chart").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    spoken = page.locator(".tb-chart [role=status]")
    assert spoken.inner_text() == f"step 1,000, 1 to 2: {counts_at(RUNS[0], 1000)[1]} samples"
    page.keyboard.press("ArrowUp")
    assert spoken.inner_text().startswith("step 500, 1 to 2: ")
    page.keyboard.press("End")
    assert spoken.inner_text().startswith("step 500, 29 to 30: ")
    page.keyboard.press("f")
    page.locator(".tb-expanded").wait_for()
    page.keyboard.press("Escape")  # first closes the tooltip, then leaves full size
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 0")
    page.keyboard.press("Escape")
    page.locator(".tb-expanded").wait_for(state="detached")
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("Read the buckets of a chart").wait_for()


def test_narrow_buckets_are_drawn_in_equal_bins_on_one_axis(open_page: Any) -> None:
    """The settings show buckets as logged, and an axis for each card."""
    page = open_page("#histograms&query=exp/")
    wait_for_ridges(page, "w", "exp/wide", 400)
    wait_for_ridges(page, "w", "exp/narrow", 400)

    def read(run: str, share: float) -> dict[str, str]:
        """What the tooltip says at a share of the plot's width."""
        page.mouse.move(1, 1)
        page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 0")
        box = page.locator(f".tb-card[aria-label='w in {run}'] .tb-chart-plot").bounding_box()
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] - 2, steps=2)
        page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
        page.evaluate("() => tb.frame()")
        return tooltip_rows(page)

    # Both axes are from -2 to 2 with margins. 50 bins would be 0.083 wide; the next round is 0.1.
    for run, share_below in (("exp/wide", 0.7), ("exp/narrow", 0.9)):
        rows = read(run, (0.8 + 2.08) / 4.16 + 1e-3)
        assert rows["Bin"] == "0.8 to 0.9"
        [below] = [text for what, text in rows.items() if what.startswith("Below 0.80")]
        assert abs(float(below.removesuffix(" %")) / 100 - share_below) < 0.01
        assert abs(float(rows["Median"])) < 0.02
        low, high = map(float, rows["5 % to 95 %"].split(" to "))
        width = {"exp/wide": 1.0, "exp/narrow": 0.5}[run]
        assert abs(low + 1.8 * width) < 0.06
        assert abs(high - 1.8 * width) < 0.06

    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Axis of values").select_option("Each its own")
    page.get_by_label("Bins").select_option("As logged")
    page.wait_for_function(
        "() => location.hash.includes('own=true') && location.hash.includes('bins=logged')"
    )
    page.keyboard.press("Escape")
    page.evaluate("() => tb.frame()")
    rows = read("exp/narrow", (0.8 + 1.04) / 2.08 + 1e-3)
    left, right = map(float, rows["Bucket"].split(" to "))
    assert left < 0.803 < right
    assert abs(right / left - 1.1) < 1e-4


def test_every_step_can_be_shown(open_page: Any) -> None:
    """A card says how many steps it shows of how many, and can show all."""
    page = open_page("#histograms&query=long")
    wait_for_ridges(page, "w", "long")
    page.get_by_text("50 of 120 steps", exact=True).wait_for()
    page.get_by_label("Steps").select_option("All")
    page.wait_for_function(
        "() => tb.label('w in long').includes('120 histograms from step 0 to 119')"
    )
    page.get_by_text("50 of 120 steps", exact=True).wait_for(state="detached")
    page.wait_for_function("() => location.hash.includes('histograms.samples=0')")


def test_a_run_that_grows_during_its_request_is_drawn(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """A pending request is not cancelled, so that a run that keeps growing is drawn at all."""
    logdir = tmp_path / "live"

    def write(step: int) -> None:
        with EventFileWriter(logdir / "grows" / "events.out.tfevents.1") as writer:
            writer.add_histogram("weights", [0.0, 1.0], step)

    write(0)
    server = serve(logdir)
    address = f"{server.url}/data/plugin/histograms/series?run=grows&tag=weights"

    def has_both() -> bool:
        with urllib.request.urlopen(address) as answer:
            return bool(json.load(answer)["num_steps"] == 2)

    page = profile.context.new_page()
    held: list[Any] = []
    # A lambda, since Playwright sets an attribute on handlers, which held.append does not allow.
    page.route("**/histograms/series?*", lambda route: held.append(route))
    with page.expect_request("**/histograms/series?*"):
        page.goto(f"{server.url}/#histograms")
    write(400)
    until(has_both)
    write_run(logdir, "other", scalars={"loss": [1.0]})
    Page(page).run("other").wait_for()  # the page now knows both changes
    page.evaluate("() => tb.frame()")
    [first] = held
    first.continue_()
    page.wait_for_function(
        "() => tb.label('weights in grows').includes('2 histograms from step 0 to 400')"
    )
    profile.check(server.url)
