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
from functools import partial
from textwrap import shorten
from typing import Any

TIMEOUT_SECONDS = 30.0
"""Maximum time of each wait, long enough for a busy machine."""

RECORDINGS = {
    "chart.js": """
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
""",
    "shell/state/reader-state.js": """
export * from "./reader-state.js?unchanged";
import { State as Unchanged } from "./reader-state.js?unchanged";

export class State extends Unchanged {
  constructor() {
    super();
    document.stateInTest = this;
  }
}
""",
}
"""What tests load in place of some modules of the page: charts keep the lines they got, and the
document has the state of the page."""

GO = """(name) => {
  for (const notice of document.querySelectorAll(".notice.failure")) notice.isOfLastTab = true;
  document.querySelector(`[role=tab][data-plugin="${CSS.escape(name)}"]`).click();
}"""
"""Opens the tab of a plugin, unless it is open."""

LINES = """([card]) => {
  card?.scrollIntoView({ block: "nearest" });
  const body = card?.querySelector(".tb-card-chart");
  const lines = body?.querySelector(".tb-chart")?.chartInTest?.linesInTest;
  if (!lines?.length || body.dataset.hint) return null;
  return lines.map(({ name, step, x, value }) => [name, [...(step ?? x)], [...value]]);
}"""
"""Scrolls to the first of some cards; the lines of its chart, null while it has none."""

DESCRIPTION = "([card]) => card?.querySelector('.tb-chart')?.ariaLabel"
"""The description of the chart in the first of some cards; null while there is none."""

PLOT = """([card]) => {
  card?.scrollIntoView({ block: "nearest" });
  const body = card?.querySelector(".tb-card-chart");
  const plot = body?.querySelector(".tb-chart-plot");
  if (!plot || plot.hidden || body.dataset.hint) return null;
  const { left, top, width, height } = plot.getBoundingClientRect();
  return width && height ? [left, top, width, height] : null;
}"""
"""Scrolls to the first of some cards; where its chart's plot is, null while it is not drawn."""

CARDS = "(cards) => cards.map((card) => card.ariaLabel)"
"""The labels of cards."""

RUNS = "() => document.stateInTest?.shownRuns.value.map(({ name }) => name) ?? []"
"""The names of the runs that are shown."""

PROBLEMS = """async () => {
  const response = await fetch("data/status");
  return response.ok ? (await response.json()).problems : [];
}"""
"""What the server could not read, one line each."""

MAX_SHOWN_CHARS = 600
"""Maximum number of characters of a text of the page in a message."""
MAX_SHOWN_CARDS = 20
"""Maximum number of cards whose labels are in a message."""

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
    """Lets `Chart.points` and `Page.runs` work in the pages of a browser context of Playwright."""
    for module, recording in RECORDINGS.items():
        context.route(
            lambda url, end=f"/static/tbcore/{module}": url.endswith(end),
            partial(_fulfill, recording),
        )


def _fulfill(script: str, route: Any) -> None:
    route.fulfill(body=script, content_type="text/javascript")


class Page:
    """A page of a server in Chromium."""

    def __init__(self, page: Any, address: str = "") -> None:
        """Opens the address, if there is one, in a page of Playwright.

        `record_charts` must have been called with the page's context.
        """
        self.playwright = page
        """Playwright's page, for all that this class does not have."""
        self._is_waiting = False
        """Whether `until` has been called and has not returned."""
        self.errors: list[str] = []
        """Errors in the console, and uncaught errors, in the order in which they occurred."""
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        if address:
            page.goto(address)

    def tab(self, name: str) -> Any:
        """Opens the tab of a plugin; returns a locator of what it draws once it has been drawn.

        Of a plugin with a page of its own, the locator is that page's body. Raises AssertionError
        with the message of the page if the tab fails; with what the page shows, and what the server
        could not read, if the tab is empty after 30 seconds; and if there is no such tab.
        """
        button = self.playwright.locator(f"[role=tab][data-plugin={_quoted(name)}]")
        self.until(button.count, lambda: f"there is no tab of a plugin {name!r}, but {self.tabs}")
        if button.get_attribute("aria-selected") != "true":
            self.playwright.evaluate(GO, name)
        state = self.until(
            lambda: self.playwright.evaluate(TAB_STATE, name),
            lambda: f"the tab of the plugin {name!r} is empty; the page shows: {self._shown()}",
        )
        plugin = self.playwright.locator(f".plugin[data-plugin={_quoted(name)}]")
        if state == "page":
            return plugin.frame_locator("iframe").locator("body")
        if state != "module":
            raise AssertionError(f"the tab of the plugin {name!r} failed: {state}")
        return plugin.locator(".tb-plugin")

    @property
    def tabs(self) -> list[str]:
        """The titles of all tabs, also of plugins that have no data to show."""
        titles: list[str] = self.playwright.locator("[role=tab]").all_text_contents()
        return [title.strip() for title in titles]

    def run(self, name: str) -> Any:
        """A locator of the row of a run in the list of runs.

        A list of many runs has only the rows near its visible part.
        """
        return self.playwright.locator(f".tb-run[title={_quoted(name)}]")

    @property
    def runs(self) -> list[str]:
        """The names of the runs that are checked and match the filter, in natural order."""
        names: list[str] = self.playwright.evaluate(RUNS)
        return names

    def card(self, label: str) -> Any:
        """A locator of the card with this title, or with the `label` that the plugin gave it."""
        return self.playwright.locator(f".plugin .tb-card[aria-label={_quoted(label)}]")

    def chart(self, label: str) -> Chart:
        """The chart in the card with this title or label."""
        return Chart(self, label)

    def until(self, function: Callable[[], Any], reason: Callable[[], str] | None = None) -> Any:
        """Calls a function until its result is true; returns the result.

        An AssertionError in the function is a result that is not true. After 30 seconds raises
        AssertionError, with that error, what `reason` returns, or the last result. In the function,
        what else waits, such as `Chart.points`, raises AssertionError at once.
        """
        if self._is_waiting:
            if result := function():
                return result
            raise AssertionError(reason() if reason else f"the result is {result!r}")
        deadline = time.monotonic() + TIMEOUT_SECONDS
        self._is_waiting = True
        try:
            while True:
                error = None
                try:
                    if result := function():
                        return result
                except AssertionError as raised:
                    error, result = raised, None
                if time.monotonic() > deadline:
                    break
                self.playwright.wait_for_timeout(20)
        finally:
            self._is_waiting = False
        text = error or (reason() if reason else f"the last result is {result!r}")
        raise AssertionError(f"after {TIMEOUT_SECONDS:.0f} seconds, {text}") from error

    def _shown(self) -> str:
        """The beginning of the text in the place of the tab, and what the server could not read."""
        text = shorten(
            self.playwright.locator("main").inner_text(), MAX_SHOWN_CHARS, placeholder="…"
        )
        problems = self.playwright.evaluate(PROBLEMS)
        return "; ".join([repr(text), *problems])

    def _on_console(self, message: Any) -> None:
        if message.type == "error":
            self.errors.append(message.text)


class Chart:
    """A chart in a card of the open tab; only a `LineChart` has points."""

    def __init__(self, page: Page, label: str) -> None:
        self._page = page
        self._label = label
        self._card = page.card(label)

    @property
    def points(self) -> dict[str, list[tuple[float, float]]]:
        """Maps the name of each line to its points, each a pair of step and value.

        They are those that the chart has got: of a long series, what the visible part of the x axis
        needs. Scrolls to the card, and waits until its chart has a line; after 30 seconds raises
        AssertionError, with the cards that are there. If the x axis has numbers of the lines' own,
        such a number is in place of the step.
        """
        lines = self._page.until(lambda: self._card.evaluate_all(LINES), self._why_empty)
        return {name: list(zip(steps, values, strict=True)) for name, steps, values in lines}

    @property
    def description(self) -> str:
        """The chart in words, as a screen reader reads it. Waits until there is one."""
        return str(self._page.until(lambda: self._card.evaluate_all(DESCRIPTION), self._why_empty))

    def hover(self, x: float = 0.5, y: float = 0.5) -> Any:
        """Moves the pointer into the plot; returns a locator of the tooltip that is shown then.

        `x` and `y` are shares of its width and height, from its left and its top. The chart may be
        of any kind that is made of a `ChartFrame`.
        """
        found = self._page.until(lambda: self._card.evaluate_all(PLOT), self._why_empty)
        left, top, width, height = found
        self._page.playwright.mouse.move(left + x * width, top + y * height)
        return self._card.locator(".tb-chart-tooltip:popover-open")

    def _why_empty(self) -> str:
        """What the card shows in place of lines; or which cards there are, if it is not there."""
        if self._card.count():
            text = shorten(self._card.first.inner_text(), MAX_SHOWN_CHARS, placeholder="…")
            return f"the card {self._label!r} has no chart with a line; it shows: {text!r}"
        labels = self._page.playwright.locator(".plugin .tb-card").evaluate_all(CARDS)
        more = f" and {len(labels) - MAX_SHOWN_CARDS} more" if len(labels) > MAX_SHOWN_CARDS else ""
        names = ", ".join(map(repr, labels[:MAX_SHOWN_CARDS])) or "none"
        return f"there is no card {self._label!r} in the open tab; its cards: {names}{more}"
