"""The custom scalars tab in a real browser, on real event files and a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbcore import smoothed
from tbcore_custom_scalars.proto.layout_pb2 import (
    Category,
    Chart,
    Layout,
    MarginChartContent,
    MultilineChartContent,
)
from tbcore_testing import EventFileWriter, summaries, write_run

MARKUP = "<b>bold</b>"
MARGIN = MarginChartContent.Series(value="price", lower="price/low", upper="price/high")
LAYOUT = Layout(
    category=[
        Category(
            title="Losses",
            chart=[
                Chart(title="all", multiline=MultilineChartContent(tag=["loss/"])),
                Chart(title=MARKUP, multiline=MultilineChartContent(tag=["(", "loss/eval$"])),
            ],
        ),
        Category(
            title="Money",
            chart=[
                Chart(title="range", margin=MarginChartContent(series=[MARGIN])),
                Chart(title="nothing", multiline=MultilineChartContent(tag=["nothing"])),
            ],
        ),
        Category(title="Folded", chart=[Chart(title="hidden")], closed=True),
    ]
)


def log_layout(logdir: Path, run: str, layout: Layout) -> None:
    with EventFileWriter(logdir / run / "layout.tfevents") as writer:
        writer.add_summary(
            0,
            summaries.string_tensor(
                "custom_scalars__config__",
                [layout.SerializeToString()],
                shape=(),
                plugin_name="custom_scalars",
            ),
        )


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    logdir = tmp_path / "logdir"
    wave = [(step, step % 10 / 10) for step in range(100)]
    for base, run in ((0.0, "a"), (3.0, "b")):
        tags = ("loss/train", "loss/eval", "price", "price/low", "price/high")
        shifts = (0.0, 0.5, 0.0, -0.5, 0.25)
        scalars = {
            tag: [(step, base + value + shift) for step, value in wave]
            for tag, shift in zip(tags, shifts, strict=True)
        }
        write_run(logdir, run, scalars=scalars)
    return logdir


def names_of(page: Any, card: str) -> list[str]:
    """The names in the table below a chart."""
    names: list[str] = page.evaluate(
        "(card) => [...tb.card(card).querySelectorAll('.tb-legend th[scope=row]')]"
        ".map((row) => row.title)",
        card,
    )
    return names


def test_the_charts_of_a_layout(serve: Any, new_profile: Any, profile: Any, logdir: Path) -> None:
    """Without a layout, with one, folded, filtered, by keyboard, and in a narrow dark window."""
    server = serve(logdir)
    page = profile.open(server.url, "#custom_scalars&custom_scalars.legend=true")
    page.get_by_text("add_custom_scalars").first.wait_for()

    log_layout(logdir, "a", LAYOUT)
    page.wait_for_function(
        "() => tb.card('all')?.querySelectorAll('.tb-legend tbody tr').length === 4"
    )
    assert names_of(page, "all") == [
        "a · loss/train", "a · loss/eval", "b · loss/train", "b · loss/eval",
    ]  # fmt: skip
    page.wait_for_function(
        f"() => tb.card('{MARKUP}')?.textContent.includes('not a valid regular expression')"
    )
    assert names_of(page, MARKUP) == ["a", "b"]
    colors = page.evaluate("() => tb.colors()")
    page.wait_for_function("(color) => tb.pixels('range', color) > 50", arg=colors["a"])
    page.get_by_text("no tag of the selected runs matches “nothing”").wait_for()

    # A margin can be read by keyboard.
    page.evaluate("() => tb.chart('range').scrollIntoView({ block: 'center' })")
    page.evaluate("() => tb.chart('range').focus()")
    page.keyboard.press("ArrowRight")
    page.get_by_text("price/high").first.wait_for()
    page.keyboard.press("f")
    page.wait_for_function("() => tb.card('range').classList.contains('tb-expanded')")

    # Both kinds of category can be toggled, and a link keeps that.
    assert page.evaluate("() => tb.card('hidden') === undefined")
    page.get_by_role("button", name="Folded 1").click()
    page.wait_for_function("() => tb.card('hidden')")
    page.get_by_role("button", name="Losses 2").click()
    page.wait_for_function("() => !tb.card('all')")
    page.wait_for_function("() => location.hash.includes('Losses')")
    link = page.evaluate("() => location.hash")

    narrow = new_profile(viewport={"width": 400, "height": 800}, color_scheme="dark")
    page = narrow.open(server.url, link)
    page.wait_for_function("() => tb.card('hidden') && !tb.card('all')")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    page.get_by_label("Filter charts").fill("re:^range$")
    page.wait_for_function("() => tb.all('.tb-card').length === 1")
    page.get_by_role("button", name="Download range").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV of b · price/low").click()
    text = Path(download.value.path()).read_text()
    assert text.splitlines()[0] == "Wall time,Step,Value"
    assert len(text.splitlines()) == 101


def test_a_smoothed_line_is_that_of_all_points(serve: Any, profile: Any, tmp_path: Path) -> None:
    """The chart has a sample of them."""
    value = np.random.default_rng(0).normal(size=5000) + 5
    write_run(tmp_path, "run", scalars={"loss": value}, dtype="float64")
    chart = Chart(title="all", multiline=MultilineChartContent(tag=["loss"]))
    log_layout(tmp_path, "run", Layout(category=[Category(title="Losses", chart=[chart])]))
    options = "custom_scalars.legend=true&custom_scalars.smooth=0.9"
    page = profile.open(serve(tmp_path).url, f"#custom_scalars&{options}")
    shown = "(text) => tb.all('.tb-legend')[0]?.textContent.includes(text)"
    page.wait_for_function(shown, arg=f"{smoothed(value, 0.9)[-1]:.6g}")
    page.get_by_role("combobox", name="Kind of smoothing").select_option("window")
    page.wait_for_function(shown, arg=f"{smoothed(value, 0.9, kind='window')[-1]:.6g}")


def test_a_line_far_out_of_range_is_left_out_in_one_click(
    serve: Any, profile: Any, tmp_path: Path
) -> None:
    """In this card alone: the axis is that of the other lines."""
    for seed in range(5):
        loss = [2 * 1.2**step if seed == 3 else 2.5 - 0.01 * step for step in range(100)]
        write_run(tmp_path, f"seed{seed}", scalars={"loss": loss})
    chart = Chart(title="all", multiline=MultilineChartContent(tag=["loss"]))
    log_layout(tmp_path, "seed0", Layout(category=[Category(title="Losses", chart=[chart])]))
    page = profile.open(serve(tmp_path).url, "#custom_scalars")
    # Whether the line of a tame run, the first, is in the upper half of the plot.
    is_high = """() => {
      const canvas = tb.canvas('all');
      const half = [canvas.width, Math.floor(canvas.height / 2)];
      const { data } = canvas.getContext('2d').getImageData(0, 0, ...half);
      const color = [1, 3, 5].map((at) => parseInt(tb.colors().seed0.slice(at, at + 2), 16));
      return data.some((value, index) => index % 4 === 3 && value > 128
        && color.every((part, k) => Math.abs(part - data[index - 3 + k]) < 30));
    }"""
    leave_out = page.get_by_role(
        "button", name="1 line far from the others: fit the axis to the others"
    )
    leave_out.wait_for()
    assert not page.evaluate(is_high)
    leave_out.click()
    page.wait_for_function(is_high)
    page.get_by_role("button", name="1 line far from the others: fit the axis to all").click()
    leave_out.wait_for()
