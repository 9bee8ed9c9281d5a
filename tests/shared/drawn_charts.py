"""The page's charts, for tests that look at them, also behind proxies, in frames and containers."""

from __future__ import annotations

from typing import Any

from common_fixtures import until

DRAWN = """() => {
  const canvases = document.querySelector('.plugin')?.shadowRoot?.querySelectorAll('canvas') ?? [];
  return [...canvases].some(({ width, height }, index) => width > 0 &&
    canvases[index].getContext('2d').getImageData(0, 0, width, height).data.some(Boolean));
}"""
"""Whether a chart of the page is drawn."""
LABEL = """() => document.querySelector('.plugin')?.shadowRoot
  ?.querySelector('.tb-chart')?.getAttribute('aria-label') ?? ''"""
"""The text alternative of the first chart."""


def zoom(page: Any, frame: Any) -> None:
    """Zooms into the first chart of a frame, or of the page itself, which takes a POST request."""
    chart = frame.locator(".tb-chart-plot").first
    boxes = [None]

    def is_still() -> bool:
        page.evaluate("() => new Promise(requestAnimationFrame)")
        boxes.append(chart.bounding_box())
        return boxes[-1] is not None and boxes[-1] == boxes[-2]

    until(is_still)
    box: Any = boxes[-1]
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
    with page.expect_response("**/data/plugin/scalars/window") as posted:
        page.mouse.up()
    assert (posted.value.request.method, posted.value.status) == ("POST", 200)


def wait_for_text(page: Any, text: str) -> None:
    page.get_by_text(text).first.wait_for()


def wait_for_curve(page: Any, tag: str, run: str, min_pixels: int = 60) -> int:
    """Waits until a chart has enough pixels in the colour of a run; returns their number."""
    handle = page.wait_for_function(
        """([tag, run, min_pixels]) => {
          const count = tb.pixels(tag, tb.colors()[run] ?? '#000001');
          return count >= min_pixels && count;
        }""",
        arg=[tag, run, min_pixels],
    )
    return int(handle.json_value())


def hover(page: Any, tag: str, step: float, last: float, share_of_height: float = 0.5) -> Any:
    """Moves the pointer over a step of a chart; returns run, value, step and time of each row."""
    page.wait_for_function(  # a chart has no plot until it has points
        "(tag) => tb.card(tag)?.querySelector('.tb-chart-plot')?.checkVisibility()", arg=tag
    )
    page.evaluate("(tag) => tb.card(tag).scrollIntoView({block: 'center'})", tag)
    place = "(tag) => tb.card(tag).querySelector('.tb-chart-plot').getBoundingClientRect().toJSON()"
    # The axis is padded by 2 % on both sides.
    share = (step + 0.02 * last) / (1.04 * last)
    box = None
    # The names of lines are loaded later, and take a part of the plot's width.
    while box != (box := page.evaluate(place, tag)):
        page.mouse.move(
            box["x"] + share * box["width"], box["y"] + share_of_height * box["height"], steps=2
        )
        page.wait_for_function("() => tb.all('.tb-chart-tooltip:popover-open').length === 1")
        page.evaluate("() => tb.frame()")  # it may have been open at another place
    return page.evaluate("() => tb.rows()")


FADED = """(tag) => {
  const canvas = tb.card(tag).querySelector('.tb-chart-overlay');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((byte, i) => i % 4 === 3 && byte > 100).length > data.length / 8;
}"""
"""Whether a veil is over the lines of a chart."""


def set_option(page: Any, name: str) -> None:
    """Checks a box in the settings menu."""
    page.get_by_role("button", name="Settings").click()
    page.get_by_role("checkbox", name=name).check()
    page.keyboard.press("Escape")
