"""The line chart of the web library in a real browser: drawing, gestures, legend and export."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tbcore_testing import write_run

pytestmark = pytest.mark.browser

PLUGIN = """
import { html } from "htm/preact";
import { render } from "preact";
import { makeCursor } from "tbcore/chart.js";
import { Legend } from "tbcore/chart.js";
import { LineChart } from "tbcore/chart.js";

globalThis.lab = { LineChart, cursor: makeCursor(), calls: [], hits: [] };
const column = (numbers) => Float64Array.from(numbers, Number);
// A line from JSON. Steps are 0, 1, 2, ... by default, and points are 10 seconds apart.
lab.line = ({
  name, color = "#3366cc", step, value, smoothed, overview, isTimed = true, ...more
}) => ({
  name, color,
  step: column(step ?? value.map((_, i) => i)),
  ...(isTimed && { wallTime: column(value.map((_, i) => 1.6e9 + 10 * i)) }),
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
  const shown = lines.map(lab.line);
  lab.only = null;
  const draw = (sort) => render(html`<${Legend}
    label="Lines" lines=${shown} sort=${sort} onSort=${draw}
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


@pytest.fixture(scope="module")
def server(
    serve_for_module: Callable[..., Any],
    install_plugin: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    """A server with a tab in which tests draw charts."""
    logdir = tmp_path_factory.mktemp("logdir")
    write_run(logdir, "run", scalars={"loss": [1.0]})
    return serve_for_module(logdir, python_path=[install_plugin("lab", PLUGIN)])


@pytest.fixture
def page(server: Any, profile: Any) -> Any:
    """A page with the tab. Errors in the browser fail the test."""
    yield open_tab(server, profile)
    profile.check(server.url)


def open_tab(server: Any, profile: Any) -> Any:
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


def test_the_tooltip_has_the_values_of_lines_and_bands(page: Any) -> None:
    """It says how many runs are in a mean; a note above the chart says what is not shown."""
    band = {
        **{"name": "seeds", "color": BLUE, "label": "lowest and highest", "x": RISING},
        **{"mean": [2.0] * 101, "low": [1.0] * 101, "high": [3.0] * 101, "numRuns": 5},
        **{"count": [5] * 40 + [4] * 61, "nonfinite": [0] * 40 + [1] * 61},
    }
    member = line("member", [1.5] * 101, smoothed=[1.25] * 101, color=GREEN)
    box = draw(page, [member], [band])
    assert hover(page, box, 0.9) == [
        ["seeds", "2 [1, 3]", "4 of 5"],
        ["member", "1.25", "1.5", "92"],
    ]
    tip = page.locator(".tb-chart-tooltip:popover-open")
    assert "lowest and highest" in tip.inner_text()
    assert "mean of 4 of 5 runs, 1 not finite" in tip.inner_text()
    assert hover(page, box, 0.1)[0] == ["seeds", "2 [1, 3]"]  # all of them are in it
    assert colored(page, BLUE) > 200

    draw(page, [line("run", [*RISING, -1])], label="log", xScale="log", yScale="log")
    note, plot = page.evaluate(
        "() => ['.tb-chart-note', '.tb-chart-plot']"
        ".map((part) => tb.card('log').querySelector(part).getBoundingClientRect().toJSON())"
    )
    assert page.locator(".tb-chart-note").nth(1).inner_text() == (
        "steps ≤ 0 not shown, values ≤ 0 not shown"
    )
    assert note["bottom"] <= plot["top"]  # it does not cover the curves
    assert note["left"] >= plot["left"]  # ... or the highest label of the axis
    assert note["top"] >= plot["top"] - 24
    plots = page.evaluate("() => tb.all('.tb-chart-plot').map((plot) => plot.offsetHeight)")
    assert len(set(plots)) == 1  # it does not make the plot smaller either


def test_lines_without_times_are_drawn(page: Any) -> None:
    """Tables have no column for times, or none of theirs beside lines that have some."""
    untimed = line("untimed", RISING, color=BLUE, isTimed=False)
    box = draw(page, [untimed])
    assert hover(page, box, 0.5) == [["untimed", "50", "50"]]
    tip = page.locator(".tb-chart-tooltip:popover-open")
    assert "elative" not in tip.inner_text()
    assert colored(page, BLUE) > 200

    timed = line("timed", [50.0] * 101, color=RED)
    box = draw(page, [untimed, timed], label="both")
    page.mouse.move(0, 0)
    rows = hover(page, box, 0.25)
    assert {row[0]: len(row) for row in rows} == {"untimed": 3, "timed": 3}
    assert "Relative" not in tip.inner_text()  # no column, but the time of the nearest point
    assert tip.inner_text().endswith(" · relative 4m 00s")
    for lines, columns in (([untimed], ["Step"]), ([untimed, timed], ["Step", "Relative", "Time"])):
        page.evaluate("(lines) => lab.legend(lines)", lines)
        page.wait_for_function("(n) => tb.all('.tb-legend tbody tr').length === n", arg=len(lines))
        head = page.locator(".tb-legend thead").inner_text()
        assert re.findall("Step|Relative|Time", head) == columns


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

    # The last call of a pan is settled, wherever the pointer is released.
    page.evaluate("() => { lab.calls.length = 0; lab.it.setView([20, 40]); return tb.frame(); }")
    page.keyboard.down("Shift")
    page.mouse.move(left + 100, top)
    page.mouse.down()
    page.mouse.move(left + 300, top, steps=2)
    page.mouse.move(left + 100, top, steps=2)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert settled(page) == [pytest.approx(20), pytest.approx(40)]

    page.mouse.dblclick(left + width / 2, top)
    assert settled(page) is None
    before = page.evaluate("() => lab.calls.length")
    page.evaluate("() => lab.it.setView([10, 20])")
    assert page.evaluate("() => [lab.it.isZoomed, lab.calls.length]") == [True, before]
    page.evaluate("() => tb.frame()")
    assert hover(page, plot_of(page), 0.5)[0][2] == "15"


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


def test_two_fingers_zoom_and_pan(server: Any, new_profile: Any) -> None:
    """What is under the fingers stays under them; a tap shows the tooltip."""
    profile = new_profile(has_touch=True, viewport={"width": 400, "height": 800})
    page = open_tab(server, profile)
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
    # Each of two keys between two frames counts.
    page.evaluate(
        """() => ['+', '+'].forEach((key) => {
          const chart = document.querySelector('.plugin').shadowRoot.querySelector('.tb-chart');
          chart.dispatchEvent(new KeyboardEvent('keydown', {key}));
        })"""
    )
    assert settled(page) == [pytest.approx(37), pytest.approx(63)]
    page.keyboard.press("0")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    status = page.locator(".tb-chart [role=status]")
    page.wait_for_function("() => tb.all('[role=status]')[0]?.textContent === 'b, step 1: 99'")
    page.keyboard.press("ArrowUp")
    assert status.inner_text() == "a, step 1: 1"
    assert "loss by step from 0 to 100: a, b" in page.evaluate("() => tb.label('loss')")
    sentence = "a rises from 0 to 100. b falls from 100 to 0. Last values: a 100, b 0"
    page.wait_for_function(
        "(sentence) => tb.all('.tb-chart')[0].ariaDescription === sentence", arg=sentence
    )


def test_a_tooltip_whose_chart_is_gone_is_not_shown(page: Any) -> None:
    """As where a chart goes while the module of tooltips is loaded."""
    page.evaluate(
        """async () => {
          const { Tooltip } = await import("tbcore/tooltip.js");
          const owner = document.createElement("div");
          const tooltip = new Tooltip(owner);
          tooltip.show([], { left: 0, top: 0 }, "gone");
          document.body.append(owner);
          tooltip.show([], { left: 0, top: 0 }, "shown");
        }"""
    )
    page.get_by_role("status").get_by_text("shown").wait_for(state="attached")


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


def test_without_room_the_tooltip_covers_no_point_that_is_compared(page: Any) -> None:
    """Neither the points at the pointer nor the ends of lines: it is left or right of it."""
    names = [f"a rather long name of a run, with number {i}" for i in range(3)]
    lines = [line(name, [10.0 + 40 * i] * 101) for i, name in enumerate(names)]
    page.evaluate("(lines) => { lab.it = lab.chart({label: 'loss'}, lines); }", lines)
    page.set_viewport_size({"width": 900, "height": 300})
    page.wait_for_function("() => innerWidth === 900 && tb.canvas('loss').clientWidth > 500")
    page.evaluate("() => tb.frame()")
    box = plot_of(page)
    for x in (0.3, 0.45, 0.6):
        assert len(hover(page, box, x, 0.4)) == 3
        tip = page.locator(".tb-chart-tooltip:popover-open").bounding_box()
        left, right = tip["x"], tip["x"] + tip["width"]
        pointer, end = (box["x"] + at * box["width"] for at in (x, 1))
        assert right < pointer or left > pointer + 5
        # The ends are those of three lines from the top of the plot to its bottom.
        assert right < end - 1


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
            assert len(hover(page, plot_of(page), x)) == 5
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
    assert "nearest 5 of 30" in page.locator(".tb-chart-tooltip:popover-open").inner_text()
    page.keyboard.press("a")
    page.wait_for_function("() => tb.rows().length > 25")  # as many as fit
    tip = page.locator(".tb-chart-tooltip:popover-open").bounding_box()
    assert tip["x"] >= 0
    assert tip["x"] + tip["width"] <= 500
    assert tip["y"] >= 0
    assert tip["y"] + tip["height"] <= 640
    page.keyboard.press("a")
    page.wait_for_function("() => tb.rows().length === 5")


# Legend and export -------------------------------------------------------------------------------


def test_the_legend_sorts_and_selects_one_run(page: Any) -> None:
    lines = [line(f"run {i}", [i, (i * 7) % 11]) for i in range(5)]
    page.evaluate("(lines) => lab.legend(lines)", lines)
    names = "() => tb.all('.tb-legend tbody th span').map((name) => name.textContent)"
    page.wait_for_function(f"() => ({names})().length === 5")  # its module is loaded first
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


def test_the_last_bands_are_drawn_once_their_code_is_loaded(page: Any) -> None:
    """Also if they were replaced before that."""
    draw(page, [line("run", RISING)])
    fields = {"x": [0, 100], "mean": [1, 2], "low": [0, 1], "high": [2, 3], "count": [2, 2]}
    page.evaluate(
        """(fields) => {
          lab.it.setBands([lab.band({ name: 'old', color: '#000000', ...fields })]);
          lab.it.setBands([lab.band({ name: 'new', color: '#ff0000', ...fields })]);
        }""",
        fields,
    )
    page.wait_for_function("() => tb.label('loss').includes('new, run')")
    assert "old" not in page.evaluate("() => tb.label('loss')")


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
    assert texts.count("loss") == 2  # also at the y axis
    assert {"0", "50", "100", "step", "smoothed by 0.6, cross: NaN"} <= set(texts)
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


def test_all_axes_of_a_new_chart_count(page: Any) -> None:
    page.evaluate(
        """() => {
          const line = { name: 'one', value: [0, 5, 2] };
          lab.chart({ label: 'ends', limits: [0, null] }, [line]);
          lab.chart({ label: 'tail', tail: true }, [line]);
          lab.included = lab.chart({ label: 'include', include: [-70, 70] }, [line]);
        }"""
    )
    page.wait_for_function("() => tb.all('.tb-chart-note').length === 3")
    for note in ("y axis: from 0", "y axis: range of the last 20 %"):
        page.get_by_text(note, exact=True).wait_for()
    assert ">-60<" in page.evaluate("() => lab.included.toSVG()")
