"""The line chart of the web library in a real browser: drawing, gestures, legend and export."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbcore.testing import write_run

pytestmark = pytest.mark.browser

PLUGIN = """
import { html } from "htm/preact";
import { render } from "preact";
import { makeCursor } from "tbcore/chart.js";
import { Legend, legendRows } from "tbcore/chart.js";
import { LineChart } from "tbcore/chart.js";

globalThis.lab = { LineChart, cursor: makeCursor(), calls: [], hits: [] };
const column = (numbers) => Float64Array.from(numbers, Number);
// A line from JSON. Steps are 0, 1, 2, ... by default, and points are 10 seconds apart.
lab.line = ({ name, color = "#3366cc", step, value, smoothed, overview, ...more }) => ({
  name, color,
  step: column(step ?? value.map((_, i) => i)),
  wallTime: column(value.map((_, i) => 1.6e9 + 10 * i)),
  value: column(value),
  ...(smoothed && { smoothed: column(smoothed) }),
  ...(overview && { overview: lab.line({ name, value: overview, step: overview }) }),
  ...more,
});
lab.band = ({ name, color = "#3366cc", label, numRuns, key, dash, ...columns }) => ({
  name, color, label, numRuns, key, dash,
  ...Object.fromEntries(Object.entries(columns).map(([key, numbers]) => [key, column(numbers)])),
});
lab.pins = [];
lab.chart = ({ pins, ...options }, lines, bands = []) => {
  const card = document.createElement("article");
  card.className = "tb-card";
  card.setAttribute("aria-label", options.label);
  const element = document.createElement("div");
  card.append(element);
  lab.root.append(card);
  const chart = new LineChart(element, {
    onView: (view, settled) => lab.calls.push([view, settled]),
    onHover: (hits) => { lab.hits = hits; },
    ...(pins && { onPin: (...call) => lab.pins.push([options.label, ...call]) }),
    ...options,
  });
  chart.setLines(lines.map(lab.line));
  chart.setBands(bands.map(lab.band));
  return chart;
};
lab.legend = (lines, more = {}) => {
  const rows = legendRows(lines.map(lab.line), null);
  lab.only = null;
  const draw = (sort) => render(html`<${Legend}
    label="Lines" rows=${rows} sort=${sort} onSort=${draw}
    onOnly=${(row) => { lab.only = row.name; }}
  />`, lab.root);
  draw(null);
};

export default {
  render(host) {
    lab.root = host.element;
    lab.theme = host.theme;
  },
};
"""

RED, BLUE, GREEN = "#dc3912", "#3366cc", "#109618"
RISING = list(range(101))


@pytest.fixture
def page(
    serve: Callable[..., Any], new_profile: Callable[..., Any], install_plugin: Any, tmp_path: Path
) -> Any:
    """A page with a tab in which tests draw charts. Errors in the browser fail the test."""
    server, profile = _lab(serve, new_profile, install_plugin, tmp_path)
    yield _open(server, profile)
    profile.check(server.url)


def _lab(
    serve: Any, new_profile: Any, install_plugin: Any, tmp_path: Path, **options: Any
) -> tuple[Any, Any]:
    logdir = tmp_path / "logdir"
    write_run(logdir, "run", scalars={"loss": [1.0]})
    server = serve(logdir, python_path=[install_plugin("lab", PLUGIN)])
    return server, new_profile(**options)


def _open(server: Any, profile: Any) -> Any:
    page = profile.open(server.url, "#lab")
    page.wait_for_function("() => globalThis.lab?.root")
    return page


def draw(page: Any, lines: list[dict[str, Any]], bands: Any = (), **options: Any) -> dict[str, Any]:
    """Draws a chart and returns the rectangle of its plot in the page."""
    options = {"label": "loss", **options}
    page.evaluate(
        "([options, lines, bands]) => { lab.it = lab.chart(options, lines, bands); }",
        [options, lines, list(bands)],
    )
    page.wait_for_function("(tag) => tb.canvas(tag).width > 300", arg=options["label"])
    page.evaluate("() => tb.frame()")
    return plot_of(page, options["label"])


def plot_of(page: Any, label: str = "loss") -> dict[str, Any]:
    box: dict[str, Any] = page.evaluate(
        "(tag) => tb.card(tag).querySelector('.tb-chart-plot').getBoundingClientRect().toJSON()",
        label,
    )
    return box


def line(name: str, value: Any, **more: Any) -> dict[str, Any]:
    """A line for the page. Numbers that JSON does not support become texts."""
    texts = [x if math.isfinite(x) else str(x).replace("inf", "Infinity") for x in value]
    return {"name": name, "value": ["NaN" if x == "nan" else x for x in texts], **more}


def settled(page: Any) -> Any:
    """The view after the last gesture has ended."""
    page.wait_for_function("() => lab.calls.at(-1)?.[1] === true")
    page.evaluate("() => tb.frame()")
    return page.evaluate("() => lab.it.view")


def hover(page: Any, box: dict[str, Any], x: float, y: float = 0.5) -> list[list[str]]:
    """Hovers a position, as fractions of the plot, and returns the rows of the tooltip."""
    page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
    page.evaluate("() => tb.frame()")
    rows: list[list[str]] = page.evaluate("() => tb.rows()")
    return rows


def colored(page: Any, color: str, where: str = "true", label: str = "loss") -> int:
    """The number of pixels of the plot that have a colour.

    `where` is a JavaScript condition on `x` and `y`, which are fractions of the plot.
    """
    count: int = page.evaluate(
        f"""([tag, color]) => {{
          const canvas = tb.canvas(tag);
          const expected = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
          const {{ data, width, height }} =
            canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const box = tb.card(tag).querySelector('.tb-chart-plot').getBoundingClientRect();
          const outer = canvas.getBoundingClientRect();
          let count = 0;
          for (let i = 0; i < width * height; i++) {{
            const x = ((i % width) + outer.left - box.left) / box.width;
            const y = (Math.floor(i / width) + outer.top - box.top) / box.height;
            if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1) || !({where})) continue;
            if (expected.every((part, k) => Math.abs(part - data[4 * i + k]) <= 30)
                && data[4 * i + 3] > 128) count++;
          }}
          return count;
        }}""",
        [label, color],
    )
    return count


# Drawing -----------------------------------------------------------------------------------------


def test_segments_are_not_joined(page: Any) -> None:
    """No line joins the points before and after a restart; hover reads the later segment."""
    step = [0, 1, 2, 3, 10, 11, 12]
    draw(page, [line("run", [0, 0, 0, 0, 1, 1, 1], step=step, segments=[0, 4], color=RED)])
    assert colored(page, RED, "x < 0.28") > 40
    assert colored(page, RED, "x > 0.8") > 20
    assert colored(page, RED, "x > 0.32 && x < 0.78") == 0
    draw(page, [line("run", [0, 0, 1, 1], step=[0, 9, 5, 9], segments=[0, 2])], label="twice")
    rows = hover(page, plot_of(page, "twice"), 0.98)
    assert [row[:3] for row in rows] == [["run", "1", "9"]]


def test_a_smoothed_line_is_opaque_and_its_values_faint(page: Any) -> None:
    """The tooltip has both values."""
    value = [0.0, 1.0] * 30
    box = draw(page, [line("run", value, smoothed=[0.5] * 60, color=RED)])
    assert 1000 < colored(page, RED) < 3000  # one line across
    assert colored(page, "#f4c5ba") > 300
    assert hover(page, box, 0.5)[0][:4] == ["run", "0.5", "1", "29"]


def test_a_band_is_drawn_behind_its_mean_and_has_a_tooltip(page: Any) -> None:
    band = {
        **{"name": "seeds", "color": BLUE, "label": "lowest and highest", "x": [0, 50, 100]},
        **{"mean": [1, 2, 3], "low": [0, 1, 2.5], "high": [2, 4, 5], "count": [3, 3, 2]},
    }
    box = draw(page, [line("member", [1.5] * 101, color=GREEN)], [band])
    assert colored(page, BLUE) > 200
    assert colored(page, "#dae3f5") > 3000
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
    tip = page.locator(".tb-chart-tooltip")
    assert "lowest and highest" in tip.inner_text()
    rows = page.evaluate("() => tb.rows()")
    assert rows[0] == ["seeds", "2", "1", "4", "3"]
    assert rows[1][:3] == ["member", "1.5", "50"]


def test_a_band_reports_how_many_runs_are_in_its_mean(page: Any) -> None:
    """A cross marks where a run's value is not finite, and the tooltip counts the other runs."""
    mean, low, high = [2.0] * 101, [1.0] * 101, [3.0] * 101
    lost = [0] * 40 + [1] * 61
    band = {
        **{"name": "seeds", "color": BLUE, "x": list(range(101)), "mean": mean, "low": low},
        **{"high": high, "count": [5 - n for n in lost], "nonfinite": lost, "numRuns": 5},
    }
    for label, more in [("loss", {}), ("without", {"nonfinite": [0] * 101})]:
        draw(page, [], [{**band, **more}], label=label)
    # The cross extends beyond the line of the mean, and its halo interrupts the line.
    below = "x > 0.38 && x < 0.43 && y > 0.51"
    across = "x > 0.38 && x < 0.43 && y > 0.49 && y <= 0.5"
    assert colored(page, BLUE, below) > 2
    assert colored(page, BLUE, below, "without") == 0
    assert colored(page, BLUE, across) < colored(page, BLUE, across, "without") - 4
    box = plot_of(page)
    assert hover(page, box, 0.9)[0][-1] == "4 of 5"
    tip = page.locator(".tb-chart-tooltip:popover-open")
    assert "mean of 4 of 5 runs, 1 not finite" in tip.inner_text()
    assert hover(page, box, 0.1)[0][-1] == "5"


def test_faint_lines_do_not_change_the_axes(page: Any) -> None:
    """The runs of a group are drawn thin, and the band keeps its position."""
    zero_to_ten = list(range(0, 101, 10))
    band = {
        **{"name": "seeds", "color": BLUE, "x": zero_to_ten, "mean": [1] * 11, "low": [0] * 11},
        **{"high": [2] * 11, "count": [2] * 11},
    }
    draw(page, [], [band])
    before = colored(page, BLUE)
    page.evaluate(
        """([lines]) => {
          lab.it.setLines(lines.map(lab.line));
          return tb.frame();
        }""",
        [[line("a", [1.5] * 301, color=RED, faint=True), line("b", [50.0], faint=True)]],
    )
    assert page.evaluate("() => lab.it.xExtent") == [0, 100]
    assert colored(page, BLUE) == before  # the axes did not change
    # The line is one pixel high, and not opaque.
    assert colored(page, RED, "y > 0.24 && y < 0.31") == 0
    rows = hover(page, plot_of(page), 0.5, 0.27)
    assert [row[0] for row in rows] == ["seeds", "a"]


def test_bands_with_one_name_are_distinguished_by_key(page: Any) -> None:
    """Each has its own dashes, and the keyboard selects each of them."""
    common = {"name": "seeds", "color": BLUE, "x": [0, 100], "count": [2, 2]}
    flat = [
        {**common, **{key: [value, value] for key in ("mean", "low", "high")}} for value in (1, 2)
    ]
    draw(page, [], [{**flat[0], "key": "loss"}, {**flat[1], "key": "val", "dash": [6, 3]}])
    whole = colored(page, BLUE, "y > 0.5")
    assert 0.5 * whole < colored(page, BLUE, "y < 0.5") < 0.85 * whole
    page.locator(".tb-chart").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => tb.rows()[0]?.[1] === '2'")
    page.keyboard.press("ArrowUp")
    page.wait_for_function("() => tb.rows()[0]?.[1] === '1'")


def test_marks_of_a_diverged_run_have_gaps(page: Any) -> None:
    """A hundred NaN in a row are drawn as separate crosses, not as a bar."""
    draw(page, [line("run", [1.0, *[math.nan] * 300, 2.0, math.inf, -math.inf], color=RED)])
    gaps = page.evaluate(
        """() => {
          const canvas = tb.canvas('loss');
          const width = canvas.width / 2;
          const {data} = canvas.getContext('2d').getImageData(width, canvas.height - 45, width, 20);
          const isRed = (i) => data[4*i] > 180 && data[4*i+1] < 120 && data[4*i+3] > 128;
          let gaps = 0, before = false;
          for (let x = 0; x < width; x++) {
            let found = false;
            for (let y = 0; y < 20; y++) found ||= isRed(y * width + x);
            if (before && !found) gaps++;
            before = found;
          }
          return gaps / width;
        }"""
    )
    assert 1 / 20 < gaps < 1 / 10  # one cross every 12 pixels
    assert 20 < colored(page, RED, "y < 0.06") < 80  # one triangle


def test_outliers_are_clipped_and_marked_only_with_the_option_clip(page: Any) -> None:
    value = [1 + 0.1 * (i % 7) for i in range(400)]
    value[200] = 1e6
    lines = [line("spiky", value, color=RED), line("calm", [1.2] * 400, color=BLUE)]
    box = draw(page, lines)
    note = page.locator(".tb-chart-note")
    assert note.inner_text() == ""
    assert colored(page, RED, "y < 0.8 && y > 0.1") < 400
    page.evaluate("() => { lab.it.setAxes({ clip: true }); return tb.frame(); }")
    assert note.inner_text() == "outliers clipped"
    assert colored(page, RED, "y < 0.8 && y > 0.1") > 1500
    assert colored(page, RED, "y < 0.06") > 8
    assert hover(page, box, 0.5)[0][0] in ("spiky", "calm")


def test_a_note_says_what_logarithmic_axes_leave_out(page: Any) -> None:
    value = [10.0 ** (-i / 20) for i in range(100)] + [0.0]
    box = draw(page, [line("run", value)], xScale="log", yScale="log")
    note = page.locator(".tb-chart-note").inner_text()
    assert note == "steps ≤ 0 not shown, values ≤ 0 not shown"
    over = page.evaluate(
        "() => [tb.all('.tb-chart-note')[0], tb.all('.tb-chart-plot')[0]]"
        ".map((part) => part.getBoundingClientRect())"
    )
    assert over[0]["bottom"] <= over[1]["top"]  # the note does not cover the curves
    assert over[0]["top"] >= box["y"] - 24
    # The axis is from 1 to 100, with margins of 2 %: its middle is 10.
    assert hover(page, box, 0.5)[0][:3] == ["run", "0.316228", "10"]
    page.evaluate("() => { lab.it.setLines([lab.line({name: 'a', value: [-1, -2]})]); }")
    page.wait_for_function(
        "() => tb.all('.tb-chart-note')[0].textContent.includes('no positive values')"
    )


def test_restyle_applies_the_colours_of_the_theme(page: Any) -> None:
    draw(page, [line("run", RISING, color=RED)])
    light = page.evaluate("() => tb.pixels('loss', '#edeff3')")
    page.evaluate(
        "() => { document.documentElement.dataset.theme = 'dark'; lab.it.restyle(); "
        "return tb.frame(); }"
    )
    assert light > 200
    dark = page.evaluate("() => tb.pixels('loss', '#232932')")
    assert dark == pytest.approx(light, rel=0.02)
    assert colored(page, RED) > 100


# Gestures ----------------------------------------------------------------------------------------


def test_dragging_zooms_or_pans_and_a_double_click_resets(page: Any) -> None:
    """`onView` is called during a gesture and at its end, but not by `setView`."""
    box = draw(page, [line("run", RISING)])
    left, top = box["x"], box["y"] + box["height"] / 2
    width = box["width"]
    page.mouse.move(left + 0.25 * width, top)
    page.mouse.down()
    page.mouse.move(left + 0.75 * width, top, steps=3)
    page.mouse.up()
    from_, to = settled(page)
    assert (from_, to) == (pytest.approx(-2 + 0.25 * 104), pytest.approx(-2 + 0.75 * 104))

    page.keyboard.down("Shift")
    page.mouse.move(left + 0.25 * width, top)
    page.mouse.down()
    page.mouse.move(left + 0.5 * width, top, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    moved = settled(page)
    assert moved == [pytest.approx(from_ - 13), pytest.approx(to - 13)]
    calls = page.evaluate("() => lab.calls.map(([, settled]) => settled)")
    assert calls[0] is True
    assert calls[-1] is True
    assert calls.count(False) >= 3

    page.mouse.move(left + 0.25 * width, top)
    page.mouse.down(button="middle")
    page.mouse.move(left + 5 * width, top, steps=4)  # stops at the start of the full range
    page.mouse.up(button="middle")
    assert settled(page)[0] == pytest.approx(-2)

    page.mouse.dblclick(left + width / 2, top)
    assert settled(page) is None
    before = page.evaluate("() => lab.calls.length")
    page.evaluate("() => lab.it.setView([10, 20])")
    assert page.evaluate("() => [lab.it.isZoomed, lab.calls.length]") == [True, before]
    page.evaluate("() => tb.frame()")
    assert hover(page, plot_of(page), 0.5)[0][2] == "15"


def test_a_chart_that_is_zoomed_from_the_start_has_the_full_range(page: Any) -> None:
    """The full range comes from `overview` if there are only rows of the view, on any axis."""
    part = line("run", list(range(40, 61)), step=list(range(40, 61)), overview=RISING[1:])
    page.evaluate(
        """([part]) => {
          const chart = lab.it = lab.chart({label: 'loss'}, []);
          chart.setView([40, 60]);
          chart.setLines([lab.line(part)]);
        }""",
        [part],
    )
    page.wait_for_function("() => tb.canvas('loss').width > 300")
    page.evaluate("() => tb.frame()")
    assert page.evaluate("() => lab.it.xExtent") == [1, 100]
    label = "loss by step from 40 to 60, zoomed in from 1 to 100: run"
    assert page.evaluate("() => tb.label('loss')") == label
    description = page.locator(".tb-chart").get_attribute("aria-description")
    assert description == "Last values in view: run 60"
    page.evaluate("() => { lab.it.setAxes({ xScale: 'log' }); return tb.frame(); }")
    assert page.evaluate("() => lab.it.xExtent") == pytest.approx([1, 100])
    page.locator(".tb-chart").focus()
    for _ in range(5):
        page.keyboard.press("-")
        page.evaluate("() => tb.frame()")
    assert page.evaluate("() => lab.it.view") is None


def test_a_pan_that_returns_to_its_start_is_settled(page: Any) -> None:
    """The last call of `onView` in a gesture is settled, wherever the pointer is released."""
    box = draw(page, [line("run", RISING)])
    page.evaluate("() => lab.it.setView([20, 40])")
    top = box["y"] + 30
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 100, top)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, top, steps=2)
    page.mouse.move(box["x"] + 100, top, steps=2)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert settled(page) == [pytest.approx(20), pytest.approx(40)]


def test_the_raster_draws_lines_where_strokes_would_be(page: Any) -> None:
    """Also if steps decrease."""
    few = [line("run", [0, 10, 0, 10], step=[0, 50, 40, 100], color=RED)]
    draw(page, [*few, line("flat", [5] * 20_000, step=list(range(0, 20_000)), color=BLUE)])
    page.evaluate("() => { lab.it.setView([0, 100]); return tb.frame(); }")
    assert colored(page, RED, "x > 0.05 && x < 0.35 && y < 0.2") == 0
    assert colored(page, RED, "x > 0.4 && x < 0.5 && y < 0.2") > 10
    assert colored(page, RED, "x > 0.9 && y < 0.2") > 10
    assert colored(page, BLUE, "y > 0.45 && y < 0.55") > 500


def test_the_wheel_zooms_at_the_pointer_with_ctrl_only(page: Any) -> None:
    box = draw(page, [line("run", RISING)])
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 20)
    page.mouse.wheel(0, -120)
    page.evaluate("() => tb.frame()")
    assert page.evaluate("() => lab.calls.length") == 0
    page.keyboard.down("Control")
    for count in range(1, 4):
        page.mouse.wheel(0, -120)
        # A busy browser merges several turns of the wheel into one.
        page.wait_for_function(
            "(count) => lab.calls.filter(([, settled]) => !settled).length === count", arg=count
        )
    page.keyboard.up("Control")
    from_, to = settled(page)
    assert (from_ + to) / 2 == pytest.approx(50, abs=0.5)
    assert to - from_ == pytest.approx(104 * math.exp(-1.5), rel=0.01)
    assert page.evaluate("() => devicePixelRatio") == 1
    page.keyboard.down("Control")
    for _ in range(8):
        page.mouse.wheel(0, 240)
    page.keyboard.up("Control")
    page.wait_for_function("() => lab.it.view === null")
    page.wait_for_function("() => lab.calls.at(-1)[1] === true")


def test_two_fingers_zoom_and_pan(
    serve: Any, new_profile: Any, install_plugin: Any, tmp_path: Path
) -> None:
    """What is under the fingers stays under them; a tap shows the tooltip."""
    server, profile = _lab(
        serve,
        new_profile,
        install_plugin,
        tmp_path,
        has_touch=True,
        viewport={"width": 400, "height": 800},
    )
    page = _open(server, profile)
    box = draw(page, [line("run", RISING)])
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    touches = profile.context.new_cdp_session(page)

    def touch(kind: str, *shares: float) -> None:
        points = [
            {"x": box["x"] + share * box["width"], "y": box["y"] + 60, "id": i}
            for i, share in enumerate(shares)
        ]
        touches.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 0.4)
    touch("touchStart", 0.4, 0.6)
    for spread in (0.05, 0.1, 0.2):
        touch("touchMove", 0.4 - spread, 0.6 + spread)
    touch("touchEnd")
    from_, to = settled(page)
    # A fifth of the range now takes three fifths of the axis.
    assert to - from_ == pytest.approx(104 / 3, rel=0.02)
    assert (from_ + to) / 2 == pytest.approx(50, abs=1)
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + 60)
    page.wait_for_function("() => tb.rows().length === 1")
    assert abs(int(page.evaluate("() => tb.rows()[0][2]")) - 50) <= 2
    profile.check(server.url)


def test_keys_zoom_pan_and_select_points(page: Any) -> None:
    draw(page, [line("a", RISING), line("b", RISING[::-1])])
    page.locator(".tb-chart").focus()
    page.keyboard.press("+")
    assert settled(page) == [pytest.approx(24), pytest.approx(76)]
    page.keyboard.press("Shift+ArrowRight")
    assert settled(page) == [pytest.approx(37), pytest.approx(89)]
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert page.evaluate("() => lab.it.view") is None
    page.keyboard.press("+")
    page.keyboard.press("0")
    assert page.evaluate("() => lab.it.view") is None
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    status = page.locator(".tb-chart [role=status]")
    page.wait_for_function("() => tb.all('[role=status]')[0]?.textContent === 'b, step 1: 99'")
    page.keyboard.press("ArrowUp")
    assert status.inner_text() == "a, step 1: 1"
    assert "loss by step from 0 to 100: a, b" in page.evaluate("() => tb.label('loss')")
    description = page.locator(".tb-chart").get_attribute("aria-description")
    assert description == "Last values: a 100, b 0"


def test_charts_share_a_cursor_and_the_hovered_run(page: Any) -> None:
    """Hovering one chart marks the same x in others; a highlighted run is emphasized in all."""
    page.evaluate(
        """([one, other]) => {
          lab.a = lab.chart({label: 'a', cursor: lab.cursor}, [one, other]);
          lab.b = lab.chart({label: 'b', cursor: lab.cursor}, [one, other]);
        }""",
        [line("one", RISING, color=RED), line("other", RISING[::-1], color=BLUE)],
    )
    page.wait_for_function("() => tb.canvas('b').width > 300")
    page.evaluate("() => tb.frame()")
    drawn = """() => {
      const canvas = tb.card('b').querySelector('.tb-chart-overlay');
      const {data, width, height} =
        canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let first = -1, count = 0;
      for (let i = 0; i < width * height; i++) if (data[4*i+3] > 100) {
        count++;
        if (first < 0) first = (i % width) / width;
      }
      return [first, count];
    }"""
    assert page.evaluate(drawn)[1] == 0
    hover(page, plot_of(page, "a"), 0.25)
    place, count = page.evaluate(drawn)
    assert place == pytest.approx(0.25, abs=0.02)
    assert 100 < count < 2000
    assert page.evaluate("() => tb.all('.tb-chart-tooltip:popover-open').length") == 1
    assert page.evaluate("() => lab.hits.map(({line, index}) => [line.name, index])")[0][1] == 24
    page.mouse.move(2, 2)
    page.wait_for_function("() => lab.hits.length === 0")
    assert page.evaluate(drawn)[1] == 0
    page.evaluate("() => lab.cursor.highlight('one')")
    assert page.evaluate(drawn)[1] > 10_000  # a veil over all other lines
    page.evaluate("() => lab.cursor.highlight(null)")
    assert page.evaluate(drawn)[1] == 0


def test_lines_of_several_tags_are_found_by_their_run(page: Any) -> None:
    """Lines with names like "run · tag" are marked if their run is hovered in another chart."""
    few = [line("one", RISING, color=RED), line("other", RISING[::-1], color=BLUE)]
    tags = [
        line(f"{run} · {tag}", values, run=run, color=color)
        for run, values, color in [("one", RISING, RED), ("other", RISING[::-1], BLUE)]
        for tag in ("loss", "val")
    ]
    page.evaluate(
        """([few, tags]) => {
          lab.chart({label: 'few', cursor: lab.cursor}, few);
          lab.chart({label: 'tags', cursor: lab.cursor}, tags);
        }""",
        [few, [*tags, *(line(f"more {i}", [50] * 101) for i in range(12))]],
    )
    page.wait_for_function("() => tb.canvas('tags').width > 300")
    page.evaluate("() => tb.frame()")
    drawn = """([label, color]) => {
      const canvas = tb.card(label).querySelector('.tb-chart-overlay');
      const expected = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i+3] <= 200) continue;
        if (expected.every((part, k) => Math.abs(part - data[i+k]) < 30)) count++;
      }
      return count;
    }"""
    page.evaluate("() => lab.cursor.highlight('one')")
    assert page.evaluate(drawn, ["tags", RED]) > 300
    assert page.evaluate(drawn, ["tags", BLUE]) == 0
    page.evaluate("() => lab.cursor.highlight(null)")
    hover(page, plot_of(page, "few"), 0.25, 0.75)  # the rising line
    assert page.evaluate("() => lab.hits[0].run") == "one"
    assert page.evaluate(drawn, ["tags", RED]) > 10  # its dots at the same x
    assert page.evaluate(drawn, ["tags", BLUE]) == 0
    page.mouse.move(2, 2)
    hover(page, plot_of(page, "tags"), 0.25, 0.75)
    assert page.evaluate(drawn, ["few", RED]) > 10


def test_a_click_pins_a_step_in_all_charts(page: Any) -> None:
    """The handle can be dragged, moved by keys, edited and removed; a double click pins nothing."""
    page.evaluate(
        """(lines) => {
          for (const label of ['a', 'b']) lab.chart({label, pins: true, cursor: lab.cursor}, lines);
          lab.chart({label: 'alone'}, lines);
        }""",
        [line("one", RISING), line("other", RISING[::-1], color=BLUE)],
    )
    page.wait_for_function("() => tb.canvas('alone').width > 300")
    page.evaluate("() => tb.frame()")
    box = plot_of(page, "a")
    rows = hover(page, box, 0.25)
    assert rows[0][2] == "24"
    tip = page.locator(".tb-chart-tooltip:popover-open")
    assert "click to pin" in tip.inner_text()
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 40)
    page.mouse.click(box["x"] + 0.25 * box["width"], box["y"] + 40)
    page.wait_for_function("() => lab.pins.length > 0")
    assert page.evaluate("() => lab.pins") == [["a", 24, True, True], ["b", 24, True, False]]
    assert page.locator(".tb-chart-tooltip:popover-open").count() == 0
    handles = page.get_by_role("slider", name="Pinned step")
    handles.nth(1).wait_for()  # the module for pins is loaded on the first pin
    assert handles.count() == 2
    assert [handle.inner_text() for handle in handles.all()] == ["24", "24"]
    grip = handles.first.bounding_box()
    line_at = grip["x"] + grip["width"] / 2
    assert line_at == pytest.approx(box["x"] + 26 / 104 * box["width"], abs=12)
    assert grip["y"] >= box["bottom"] - 1  # below the plot, where it does not cover the curves

    page.mouse.move(line_at, grip["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 30, steps=4)
    assert page.evaluate("() => lab.pins.at(-1).slice(2)") == [False, False]
    page.mouse.up()
    label, x, settled, _ = page.evaluate("() => lab.pins.at(-1)")
    assert (label, settled) == ("b", True)
    assert x == pytest.approx(60, abs=1)
    assert page.evaluate("() => lab.calls.length") == 0  # the drag did not zoom

    # If dragged by its edge, the handle does not jump to the pointer. A click does not move it.
    grip = handles.first.bounding_box()
    page.mouse.move(grip["x"] + 2, grip["y"] + 8)
    page.mouse.down()
    page.mouse.move(grip["x"] + 4, grip["y"] + 8)
    page.mouse.up()
    assert page.evaluate("() => lab.pins.at(-1)[1]") == x
    step = page.get_by_role("textbox", name="Step")
    page.keyboard.press("Escape")
    assert step.count() == 0
    page.mouse.move(grip["x"] + 2, grip["y"] + 8)
    page.mouse.down()
    page.mouse.move(grip["x"] + 2 + 10 / 104 * box["width"], grip["y"] + 8, steps=4)
    page.mouse.up()
    assert page.evaluate("() => lab.pins.at(-1)[1]") == pytest.approx(x + 10, abs=1)

    handles.first.focus()
    page.keyboard.type("1,33")
    assert step.input_value() == "1,33"
    page.keyboard.press("Escape")
    page.keyboard.type("33")
    page.keyboard.press("Enter")
    assert page.evaluate("() => lab.pins.at(-1)[1]") == 33
    handles.first.click()
    step.fill("nothing")
    page.keyboard.press("Enter")
    assert step.is_visible()
    step.fill(str(x))
    page.keyboard.press("Enter")
    assert [handle.inner_text() for handle in handles.all()] == [str(x), str(x)]
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => lab.pins.at(-1)[1]") == x + 1
    assert handles.nth(1).get_attribute("aria-valuetext") == str(x + 1)
    page.keyboard.press("Delete")
    assert page.evaluate("() => lab.pins.at(-1)[1]") is None
    assert page.locator(".tb-chart-pin:visible").count() == 0
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert handles.first.inner_text() == "0"
    page.evaluate(
        """() => {
          const line = {name: 'one', value: [1, 2]};
          lab.chart({label: 'late', pins: true, cursor: lab.cursor}, [line]);
        }"""
    )
    page.wait_for_function("() => lab.pins.at(-1)[0] === 'late'")
    page.get_by_role("button", name="Unpin").first.click()
    assert page.evaluate("() => lab.pins.at(-1)[1]") is None


def test_a_highlighted_run_keeps_its_marks(page: Any) -> None:
    odd = [50.0] * 30 + [math.nan] * 40 + [50.0] * 31
    draw(page, [line("odd", odd, color=RED), line("even", RISING)], cursor=None)
    crosses = """() => {
      const canvas = tb.card('loss').querySelector('.tb-chart-overlay');
      const [from, width] = [0.4, 0.2].map((share) => Math.round(share * canvas.width));
      const { data } = canvas.getContext('2d').getImageData(from, 0, width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i+3] > 200 && data[i] - data[i+2] > 150) count++;
      }
      return count;
    }"""
    assert page.evaluate(crosses) == 0
    page.evaluate("() => lab.it.highlight('odd')")
    assert page.evaluate(crosses) > 20


def test_the_cursor_does_not_stop_at_the_end_of_a_shorter_line(page: Any) -> None:
    """After that end, the cursor follows the pointer along the lines that continue."""
    box = draw(
        page,
        [line("short", RISING[:51], color=RED), line("long", RISING[::-1])],
        pins=True,
        cursor=None,
    )
    at = [(step + 2) / 104 for step in (50, 52, 55)]
    assert sorted(row[0] for row in hover(page, box, at[0])) == ["long", "short"]
    for share, step in zip(at[1:], (52, 55), strict=True):
        rows = hover(page, box, share, 0.5)  # nearer to the end of the short line
        assert [row[:3] for row in rows] == [["long", str(100 - step), str(step)]]
    page.mouse.click(box["x"] + at[2] * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_function("() => lab.pins.length > 0")
    assert page.evaluate("() => lab.pins.at(-1)[1]") == 55


def test_the_tooltip_does_not_cover_the_chart(page: Any) -> None:
    """It is below, above or next to the card; with many lines it has only the nearest."""
    lines = [line(f"run {i}", [i + x for x in RISING]) for i in range(30)]
    page.evaluate(
        """(lines) => {
          lab.root.style.cssText = 'display: grid; padding-right: 700px';
          lab.it = lab.chart({label: 'loss'}, lines);
        }""",
        lines,
    )
    page.wait_for_function("() => tb.canvas('loss').width > 250")
    page.evaluate("() => tb.frame()")
    rects = """() => [tb.card('loss'), tb.all('.tb-chart-tooltip')[0]].map(
      (part) => part.getBoundingClientRect().toJSON())"""

    def is_apart() -> bool:
        card, tip = page.evaluate(rects)
        size = page.viewport_size
        assert 0 <= tip["left"] < tip["right"] <= size["width"]
        assert 0 <= tip["top"] < tip["bottom"] <= size["height"]
        return bool(
            tip["top"] >= card["bottom"]
            or tip["bottom"] <= card["top"]
            or tip["left"] >= card["right"]
            or tip["right"] <= card["left"]
        )

    for space, height in ((250, 900), (250, 640), (0, 400)):  # space below, above, at the side
        page.set_viewport_size({"width": 1400, "height": height})
        page.evaluate("(space) => { lab.root.style.paddingTop = `${space}px`; }", space)
        page.mouse.move(2, 2)
        page.evaluate("() => tb.frame()")
        for x in (0.02, 0.5, 0.98):
            assert len(hover(page, plot_of(page), x)) == 8
            assert is_apart(), (height, x)
    page.evaluate(
        """() => {
          const table = document.createElement('div');
          table.style.height = '500px';
          tb.card('loss').append(table);
          lab.root.style.padding = 0;
        }"""
    )
    page.set_viewport_size({"width": 500, "height": 640})
    page.wait_for_function(
        "() => innerWidth === 500 && tb.canvas('loss').width === tb.chart('loss').clientWidth"
    )
    page.evaluate("() => tb.frame()")  # the layout for the new size is complete
    hover(page, plot_of(page), 0.5)
    tip = page.locator(".tb-chart-tooltip:popover-open").bounding_box()
    assert tip["y"] >= plot_of(page)["bottom"]  # may cover the rest of a large card
    assert "nearest 8 of 30" in page.locator(".tb-chart-tooltip:popover-open").inner_text()


# Legend and export -------------------------------------------------------------------------------


def test_the_legend_sorts_and_selects_one_run(page: Any) -> None:
    lines = [line(f"run {i}", [i, (i * 7) % 11]) for i in range(5)]
    page.evaluate("(lines) => lab.legend(lines)", lines)
    names = "() => tb.all('.tb-legend tbody th span').map((name) => name.textContent)"
    assert page.evaluate(names) == [f"run {i}" for i in range(5)]
    falling = ["run 3", "run 1", "run 4", "run 2", "run 0"]  # last values are 0, 7, 3, 10, 6
    page.get_by_role("button", name="Value").click()
    assert page.evaluate(names) == falling
    assert page.evaluate("() => tb.all('[aria-sort=descending]').length") == 1
    page.get_by_role("button", name="Value").click()
    assert page.evaluate(names) == falling[::-1]
    page.get_by_role("button", name="Value").click()
    assert page.evaluate(names) == [f"run {i}" for i in range(5)]
    page.get_by_role("button", name="Min").click()
    assert page.evaluate("() => tb.all('[aria-sort=ascending]').length") == 1
    page.get_by_role("button", name="Value").click()
    page.get_by_role("row", name="run 4").hover()
    page.get_by_role("button", name="Only run 4").click()
    assert page.evaluate("() => lab.only") == "run 4"


def test_a_long_legend_renders_only_visible_rows(page: Any) -> None:
    page.evaluate("(lines) => lab.legend(lines)", [line(f"run {i}", [i]) for i in range(1000)])
    count = "() => tb.all('.tb-legend tbody th').length"
    page.wait_for_function(f"() => ({count})() > 10")  # its module is loaded when it is first shown
    assert page.evaluate(count) < 60
    page.evaluate("() => { tb.all('.tb-legend')[0].scrollTop = 1e6; }")
    page.wait_for_function(
        "() => tb.all('.tb-legend tbody th span').at(-1).textContent === 'run 999'"
    )
    assert page.evaluate(count) < 60
    head = page.evaluate("() => tb.all('.tb-legend thead th')[0].getBoundingClientRect().top")
    box = page.evaluate("() => tb.all('.tb-legend')[0].getBoundingClientRect().top")
    assert head == box  # the header stays visible


def test_a_chart_is_exported_as_svg_and_png(page: Any) -> None:
    """The picture has the title, axes, lines and names, which may contain any characters."""
    name = 'a <b> & "c"'
    draw(page, [line(name, RISING, color=RED), line("b", [*RISING[::-1][:-1], math.nan])])
    svg = page.evaluate("() => lab.it.toSVG('smoothed by 0.6')")
    parts = page.evaluate(
        """(svg) => {
          const parsed = new DOMParser().parseFromString(svg, 'image/svg+xml');
          if (parsed.querySelector('parsererror')) return null;
          const texts = [...parsed.querySelectorAll('text')].map((text) => text.lastChild.data);
          const paths = [...parsed.querySelectorAll('path')];
          return [texts, paths.map((path) => path.getAttribute('stroke'))];
        }""",
        svg,
    )
    assert parts is not None
    texts, strokes = parts
    assert texts[0] == "loss"
    assert texts[-2:] == [name, "b"]
    assert {"0", "50", "100", "step", "value", "smoothed by 0.6"} <= set(texts)
    assert RED in strokes
    assert BLUE in strokes
    size = page.evaluate(
        """async () => {
          const blob = await lab.it.toPNG(2);
          const image = await createImageBitmap(blob);
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = canvas.getContext('2d');
          context.drawImage(image, 0, 0);
          const {data} = context.getImageData(0, 0, image.width, image.height);
          let red = 0;
          for (let i = 0; i < data.length; i += 4) if (data[i] > 200 && data[i+1] < 80) red++;
          return [blob.type, image.width, red];
        }"""
    )
    assert size[0] == "image/png"
    assert size[1] >= 1280
    assert size[2] > 1000
