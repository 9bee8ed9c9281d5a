"""The page's charts, for tests that look at them behind proxies, in frames and in containers."""

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


def wait_for_curve(page: Any, tag: str, run: str) -> None:
    """Waits until the chart of a tag shows pixels in the colour of a run."""
    page.wait_for_function(
        "([tag, run]) => tb.pixels(tag, tb.colors()[run] ?? '#000001') > 60", arg=[tag, run]
    )


def wait_for_text(page: Any, text: str) -> None:
    page.get_by_text(text).first.wait_for()
