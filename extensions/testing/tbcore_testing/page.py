"""Page: the page of a server in Chromium, for tests that see what users see.

    def test_the_tab(tbcore_logdir, tbcore_page):
        write_run(tbcore_logdir, "train", scalars={"loss": [0.5, 0.25]})
        page = tbcore_page(tbcore_logdir, plugins=["scalars"])
        page.tab("scalars")
        assert page.chart("loss").points == {"train": [(0, 0.5), (1, 0.25)]}

It hides the elements of the page, whose names may change. What a tab draws is found by Playwright's
locators, which also find elements in shadow roots.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

TIMEOUT_SECONDS = 30.0
"""Maximum time of each wait, long enough for a busy machine."""

RECORDING = """
export * from "./chart.js?unchanged";
import { LineChart as Unchanged } from "./chart.js?unchanged";

export class LineChart extends Unchanged {
  constructor(element, options) {
    super(element, options);
    element.chartInTest = this;
    this.linesInTest = [];
  }
  setLines(lines) {
    this.linesInTest = lines;
    super.setLines(lines);
  }
}
"""
"""What tests load in place of the module `tbcore/chart.js`: its charts keep the lines they got."""

GO = """(name) => {
  for (const notice of document.querySelectorAll(".notice.failure")) notice.isOfLastTab = true;
  document.querySelector(`[role=tab][data-plugin="${CSS.escape(name)}"]`).click();
}"""
"""Opens the tab of a plugin, unless it is open."""

LINES = """(card) => {
  const body = card.querySelector(".tb-card-chart");
  const lines = body?.querySelector(".tb-chart")?.chartInTest?.linesInTest;
  if (!lines?.length || body.dataset.hint) return null;
  return lines.map(({ name, step, x, value }) => [name, [...(step ?? x)], [...value]]);
}"""
"""The lines of the chart in a card; null while it has none."""

TAB_STATE = """(name) => {
  const failure = [...document.querySelectorAll(".notice.failure")].find((one) => !one.isOfLastTab);
  const textOf = (part) => failure.querySelector(part).innerText;
  if (failure) return `${textOf("h1")}: ${textOf(".message")}`;
  const root = document.querySelector(`.plugin[data-plugin="${CSS.escape(name)}"]`)?.shadowRoot;
  const element = root?.querySelector(".tb-plugin");
  const isOpening = document.querySelector(".opening") !== null || !element?.firstChild;
  return isOpening ? null : element.querySelector(":scope > iframe") ? "page" : "module";
}"""
"""How the tab of a plugin is drawn; the error message if it failed; null until it is drawn."""


def _quoted(text: str) -> str:
    """A string in CSS."""
    return '"' + re.sub(r'[\\"\n\r\f]', lambda found: f"\\{ord(found[0]):x} ", text) + '"'


def record_charts(context: Any) -> None:
    """Lets `Chart.points` work in the pages of a browser context of Playwright."""
    context.route(
        lambda url: url.endswith("/static/tbcore/chart.js"),
        lambda route: route.fulfill(body=RECORDING, content_type="text/javascript"),
    )


class Page:
    """A page of a server in Chromium."""

    def __init__(self, page: Any, address: str = "") -> None:
        """Opens the address, if there is one, in a page of Playwright.

        `record_charts` must have been called with the page's context.
        """
        self.playwright = page
        """Playwright's page, for all that this class does not have."""
        self.errors: list[str] = []
        """Errors in the console, and uncaught errors, in the order in which they occurred."""
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        if address:
            page.goto(address)

    def tab(self, name: str) -> Any:
        """Opens the tab of a plugin; returns a locator of what it draws once it has been drawn.

        Of a plugin with a page of its own, the locator is that page's body. Raises AssertionError
        with the message of the page if the tab fails, and with what the page shows if the tab is
        empty after 30 seconds.
        """
        button = self.playwright.locator(f"[role=tab][data-plugin={_quoted(name)}]")
        button.wait_for()
        if button.get_attribute("aria-selected") != "true":
            self.playwright.evaluate(GO, name)
        state = self.until(
            lambda: self.playwright.evaluate(TAB_STATE, name),
            lambda: f"the tab of the plugin {name!r} is empty; the page shows: {self._shown()!r}",
        )
        plugin = self.playwright.locator(f".plugin[data-plugin={_quoted(name)}]")
        if state == "page":
            return plugin.frame_locator("iframe").locator("body")
        if state != "module":
            raise AssertionError(f"the tab of the plugin {name!r} failed: {state}")
        return plugin.locator(".tb-plugin")

    @property
    def tabs(self) -> list[str]:
        """The titles of the tabs in the bar, also of plugins that have no data to show."""
        titles: list[str] = self.playwright.get_by_role("tab").all_inner_texts()
        return titles

    def run(self, name: str) -> Any:
        """A locator of the row of a run in the list of runs."""
        return self.playwright.locator(f".tb-run[title={_quoted(name)}]")

    @property
    def runs(self) -> list[str]:
        """The names of the runs in the list that are checked, from top to bottom."""
        names: list[str] = self.playwright.evaluate(
            """() => [...document.querySelectorAll(".tb-run")]
              .filter((row) => row.querySelector("input").checked).map((row) => row.title)"""
        )
        return names

    def card(self, label: str) -> Any:
        """A locator of the card with this title, or with the `label` that the plugin gave it."""
        return self.playwright.locator(f".plugin .tb-card[aria-label={_quoted(label)}]")

    def chart(self, label: str) -> Chart:
        """The chart in the card with this title or label."""
        return Chart(self, label)

    def until(self, function: Callable[[], Any], reason: Callable[[], str] | None = None) -> Any:
        """Calls a function until its result is true; returns the result.

        After 30 seconds raises AssertionError, with what `reason` returns or the last result.
        """
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not (result := function()):
            if time.monotonic() > deadline:
                text = reason() if reason else f"the last result is {result!r}"
                raise AssertionError(f"after {TIMEOUT_SECONDS:.0f} seconds, {text}")
            self.playwright.wait_for_timeout(20)
        return result

    def _shown(self) -> str:
        """The first characters of the text in the place of the tab."""
        return str(self.playwright.locator("main").inner_text())[:300]

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)


class Chart:
    """A `LineChart` in a card of the open tab."""

    def __init__(self, page: Page, label: str) -> None:
        self._page = page
        self._card = page.card(label)

    @property
    def points(self) -> dict[str, list[tuple[float, float]]]:
        """Maps the name of each line to its points, each a pair of step and value.

        They are those that the chart has got: of a long series, what the visible part of the x axis
        needs. Scrolls to the card, and waits until its chart has a line. If the x axis has numbers
        of the lines' own, such a number is in place of the step.
        """
        self._card.scroll_into_view_if_needed()
        lines = self._page.until(lambda: self._card.evaluate(LINES))
        return {name: list(zip(steps, values, strict=True)) for name, steps, values in lines}

    @property
    def description(self) -> str:
        """The chart in words, as a screen reader reads it."""
        return str(self._card.locator(".tb-chart").get_attribute("aria-label"))
