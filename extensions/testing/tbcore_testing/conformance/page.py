"""page: opens a plugin's tab in Chromium, and records errors and leftovers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_plus, urlsplit

import httpx

from tbcore_testing.conformance.blank import NAME as BLANK
from tbcore_testing.conformance.servers import RunningServer

WIDE = {"width": 1400, "height": 900}
"""Size of most windows, in pixels."""
NARROW = {"width": 400, "height": 800}
"""Size of the window in `Visits.narrow`, in pixels."""
OPEN_TIMEOUT_MS = 20_000
"""Maximum time until a tab shows something, even on a busy machine."""
QUIET_TIMEOUT_MS = 5_000
"""Maximum time to wait until a tab that shows something has no pending requests.

If a tab keeps sending requests, the tests go on regardless.
"""
LATE_MS = 3_000
"""Time that a tab stays open after it shows something, for what it does in a timer."""
MIN_CONTRAST = 3.0
"""Lowest contrast between a text and its background. WCAG requires 4.5, or 3 for large text."""
NUM_WARM_UP_ROUNDS = 5
"""Number of times that a tab is opened and closed before nodes and listeners are first counted."""
NUM_ROUNDS = 15
"""Number of times that a tab is opened and closed between the first and the last count."""
NUM_COUNTS = 3
"""Maximum number of times that growth is measured, until there is none.

What remains in memory by accident, as on a busy machine, does not grow every time; a leak does.
"""
STABLE_TIMEOUT_SECONDS = 5.0
"""Maximum time to wait for two equal counts in a row; the last count is used after that."""
MAX_GROWTH_PER_ROUND = 1
"""Maximum number of nodes, and of listeners, that a round may leave. The browser leaves fewer."""

CONTROLS = {
    *("button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox"),
    *("menuitemradio", "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox"),
}
"""ARIA roles of controls. Each control must have a name."""

SIGNALS = """
export * from "./signals-core.mjs?unchanged";
import { Signal, effect as unchanged } from "./signals-core.mjs?unchanged";

export const effect = (callback, options) =>
  unchanged(watch.recordingLate("effect", callback), options);
const { subscribe } = Signal.prototype;
Signal.prototype.subscribe = function (callback) {
  return subscribe.call(this, watch.recordingLate("subscription", callback));
};
"""
"""What pages load in place of the library of signals, so that watch.js sees who follows them."""

WATCH = Path(__file__).parent / "static" / "watch.js"
"""A script that runs before the scripts of the page, and records what they do."""


@dataclass
class TabErrors:
    """The errors while a tab was open."""

    notices: list[str] = field(default_factory=list)
    """Error notices that the shell showed in place of the tab, or above it."""
    console: list[str] = field(default_factory=list)
    """Errors in the console, and uncaught exceptions."""
    failed_requests: list[str] = field(default_factory=list)
    """Requests with a status of 4xx or 5xx. A 404 for a guessed value (see
    `SampleLogs.guessed_tags`) is not included."""
    blocked: list[str] = field(default_factory=list)
    """Violations of the page's content policy, and requests to other hosts."""
    outside_prefix: list[str] = field(default_factory=list)
    """Requests to this server without its path prefix."""
    is_drawn: bool = True
    """Whether the tab shows anything."""


class Tab:
    """A browser page with a plugin's tab, in which watch.js records what the tab does."""

    def __init__(self, browser: Any, server: RunningServer, name: str, **options: Any) -> None:
        self.errors = TabErrors()
        self._server = server
        self._name = name
        self._root = f"{server.url}/"
        self._context = browser.new_context(**{"viewport": WIDE, **options})
        self._context.add_init_script(path=WATCH)
        self._context.route(
            lambda url: url.endswith("/static/tbcore/vendor/signals-core.mjs"),
            lambda route: route.fulfill(body=SIGNALS, content_type="text/javascript"),
        )
        self._context.on("console", self._on_console)
        self._context.on("weberror", lambda error: self._add_error(f"uncaught: {error.error}"))
        self._context.on("request", lambda request: self._on_request(request.url))
        self._context.on("response", self._on_response)
        self.page = self._context.new_page()

    def open(self, hash: str = "") -> Tab:
        """Opens the tab and calls `wait`. The address ends with `hash` or the plugin's name."""
        self.page.goto(f"{self._root}#{hash or self._name}")
        self.wait()
        return self

    def wait(self) -> None:
        """Waits until the tab shows something and has no pending requests, or has failed.

        Afterwards `errors` has the error notices of the shell and, if the wait timed out, whether
        the tab shows anything.
        """
        for test, timeout in (
            (f"() => watch.isDrawn({self._name!r}) || watch.notices().length", OPEN_TIMEOUT_MS),
            (f"() => watch.isReady({self._name!r}, 250)", QUIET_TIMEOUT_MS),
        ):
            try:
                self.page.wait_for_function(test, timeout=timeout)
            except Exception as error:
                if type(error).__name__ != "TimeoutError":
                    raise
                self.errors.is_drawn = self.page.evaluate(
                    f"() => Boolean(watch.isDrawn({self._name!r}))"
                )
                break
        self.errors.notices += self.page.evaluate("() => watch.notices()")

    def call(self, function: str, *arguments: Any) -> Any:
        """The result of a function of watch.js. Without arguments, it gets the plugin's name."""
        return self.page.evaluate(
            f"(args) => watch[{function!r}](...args)", list(arguments) or [self._name]
        )

    def unlabelled_controls(self) -> list[str]:
        """The HTML of each control in the tab that has no name for screen readers."""
        session = self._context.new_cdp_session(self.page)
        tree = session.send("Page.getFrameTree")["frameTree"]
        nodes = []
        # The page, and that of the plugin, if it has one.
        for frame in (tree, *tree.get("childFrames", ())):
            of_frame = {"frameId": frame["frame"]["id"]}
            nodes += session.send("Accessibility.getFullAXTree", of_frame)["nodes"]
        found = []
        for node in nodes:
            if node.get("ignored") or node.get("role", {}).get("value") not in CONTROLS:
                continue
            if str(node.get("name", {}).get("value", "")).strip():
                continue
            backend = {"backendNodeId": node["backendDOMNodeId"]}
            object_id = session.send("DOM.resolveNode", backend)["object"]["objectId"]
            # Only elements of the tab are in a shadow root or a frame; the shell's controls get "".
            html = session.send(
                "Runtime.callFunctionOn",
                {
                    "objectId": object_id,
                    "functionDeclaration": """function () {
                      const isOfTab = this.ownerDocument !== top.document ||
                        this.getRootNode() instanceof ShadowRoot;
                      return isOfTab ? this.outerHTML.slice(0, 160) : "";
                    }""",
                    "returnByValue": True,
                },
            )["result"]["value"]
            if html:
                found.append(html)
        session.detach()
        return found

    def counters(self) -> dict[str, int]:
        """Counts of the DOM nodes and the listeners in memory, including those of detached nodes.

        Counts again until two counts in a row are equal, since closed players and aborted requests
        are freed some time later, or until STABLE_TIMEOUT_SECONDS have passed.
        """
        session = self._context.new_cdp_session(self.page)
        deadline = time.monotonic() + STABLE_TIMEOUT_SECONDS
        previous: dict[str, int] = {}
        while True:
            for _ in range(2):
                session.send("HeapProfiler.collectGarbage")
            counters: dict[str, int] = session.send("Memory.getDOMCounters")
            if counters == previous or time.monotonic() > deadline:
                session.detach()
                return counters
            previous = counters
            time.sleep(0.3)

    def close(self) -> None:
        self._context.close()

    def _add_error(self, line: str) -> None:
        if line not in self.errors.console:
            self.errors.console.append(line[:500])

    def _on_console(self, message: Any) -> None:
        if message.type != "error":
            return
        text, where = message.text, message.location.get("url", "")
        if "Content Security Policy" in text:
            self.errors.blocked.append(text[:300])
        elif not text.startswith("Failed to load resource"):
            # Resources that failed to load are recorded with their addresses in _on_response.
            self._add_error(f"{text} ({where.removeprefix(self._root)})")

    def _on_request(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https", "ws", "wss"):
            return
        origin = f"{parts.scheme}://{parts.netloc}"
        if not self._root.startswith(f"{origin}/"):
            self.errors.blocked.append(f"a request to {address[:200]}")
        elif not address.startswith(self._root) and parts.path != "/favicon.ico":
            self.errors.outside_prefix.append(address.removeprefix(origin)[:200])

    def _on_response(self, response: Any) -> None:
        if response.status >= 400 and response.url.startswith(self._root):
            request = response.request
            request_text = unquote_plus(response.url) + (request.post_data or "")
            if response.status == 404 and any(
                tag in request_text for tag in self._server.logs.guessed_tags
            ):
                return  # The plugin may reject a guessed value.
            address = response.url.removeprefix(self._root)[:200]
            self.errors.failed_requests.append(f"{request.method} {address} -> {response.status}")


@dataclass
class Leftovers:
    """The leftovers of a tab after it was closed by opening another one."""

    resources: list[dict[str, str]]
    """Listeners, timers, connections and observers that the tab's code did not remove."""
    num_frames: int
    """Number of animation frames that the closed tab's code requested within a second."""
    requests: list[str]
    """Requests that the closed tab's code sent when new data arrived."""
    late: list[str]
    """Timeouts, effects and subscriptions of the closed tab's code that ran, and its errors."""
    elements: list[str]
    """HTML of elements that the tab's code left in the page."""
    growth: dict[str, float]
    """Maps `nodes` and `jsEventListeners` to the mean increase of their count per round.

    A round opens and closes the tab.
    """

    def of(self, kind: str) -> list[str]:
        """Descriptions of the resources of one kind."""
        return [
            f"{one['what']}, created at {one['where']}"
            for one in self.resources
            if one["kind"] == kind
        ]


class PlainVisit(NamedTuple):
    """The findings in the tab at 1400 px in the light theme."""

    errors: TabErrors
    unlabelled_controls: list[str]
    low_contrast: list[str]


class NarrowVisit(NamedTuple):
    """The findings in the tab at 400 px in the dark theme."""

    errors: TabErrors
    too_wide_elements: list[str]
    low_contrast: list[str]


class Visits:
    """Visits to one plugin's tab. Each is made when a test first needs it."""

    def __init__(self, browser: Any, server: Callable[[str], RunningServer], name: str) -> None:
        self._browser = browser
        self._server = server
        self.name = name
        self.requests: list[dict[str, Any]] = []
        """Requests of the tab with `url`, `method` and `body`; empty before the visit `plain`."""

    def is_active(self, logs: str) -> bool:
        """Whether the plugin is active on the log directory with this name."""
        server = self._server(logs)
        address = f"{server.url}/data/plugins_listing"
        return bool(httpx.get(address, timeout=30).json()[self.name])

    @cached_property
    def plain(self) -> PlainVisit:
        tab = self._tab("plain", color_scheme="light").open()
        unlabelled_controls = tab.unlabelled_controls()
        low_contrast = tab.call("lowContrast", self.name, MIN_CONTRAST)
        tab.call("sleep", LATE_MS)
        tab.errors.blocked += tab.page.evaluate("() => watch.refused")
        self.requests = tab.page.evaluate("() => watch.requests")
        tab.close()
        return PlainVisit(tab.errors, unlabelled_controls, low_contrast)

    @cached_property
    def narrow(self) -> NarrowVisit:
        tab = self._tab("plain", color_scheme="dark", viewport=NARROW).open()
        too_wide_elements = tab.call("overflow")
        low_contrast = tab.call("lowContrast", self.name, MIN_CONTRAST)
        tab.errors.blocked += tab.page.evaluate("() => watch.refused")
        tab.close()
        return NarrowVisit(tab.errors, too_wide_elements, low_contrast)

    def with_data(self, logs: str, hash: str = "") -> tuple[TabErrors, bool, int]:
        """Errors, whether a name became an element, and the number of requests to the plugin.

        `logs` is the name of a log directory; `hash` follows the plugin's name in the address. If
        the plugin is not active on these logs, it has no tab, so no errors and no requests.
        """
        if not self.is_active(logs):
            return TabErrors(), False, 0
        tab = self._tab(logs).open(f"{self.name}{hash}")
        is_markup = tab.call("markup")
        folder = f"/data/plugin/{self.name}/"
        requests = tab.page.evaluate("() => watch.requests")
        tab.close()
        return tab.errors, is_markup, sum(folder in one["url"] for one in requests)

    @cached_property
    def leftovers(self) -> Leftovers:
        """The leftovers of the tab, closed once, and opened and closed many times."""
        tab = self._tab("plain")
        page = tab.page
        page.goto(f"{tab._root}#{BLANK}")
        page.wait_for_function(f"() => watch.isDrawn({BLANK!r})", timeout=3 * OPEN_TIMEOUT_MS)
        elements_before = set(tab.call("outside"))
        page.evaluate(f"() => {{ location.hash = {self.name!r}; }}")
        tab.wait()
        num_errors_before = len(tab.errors.console)
        page.evaluate(f"() => {{ location.hash = {BLANK!r}; }}")
        page.wait_for_function(f"() => watch.isLeft({self.name!r})", timeout=3 * OPEN_TIMEOUT_MS)
        # Some things end a moment later, such as an animation, or the storing of a setting.
        tab.call("sleep", 700)
        tab.call("disturb")
        num_frames_before = tab.call("frames")
        num_requests_before = page.evaluate("() => watch.requests.length")
        self._server("plain").logs.add_step()
        tab.call("sleep", 1000)
        num_frames = tab.call("frames") - num_frames_before
        folder = f"/data/plugin/{self.name}/"
        later = page.evaluate(f"() => watch.requests.slice({num_requests_before})")
        requests = [one["url"].partition(folder)[2] for one in later if folder in one["url"]]
        resources = tab.call("left")
        late = [f"{one['what']}, created at {one['where']}" for one in tab.call("late")]
        late += tab.errors.console[num_errors_before:]
        elements = [one for one in tab.call("outside") if one not in elements_before]
        tab.call("openAndLeave", self.name, BLANK, NUM_WARM_UP_ROUNDS)
        count = tab.counters()
        for _ in range(NUM_COUNTS):
            tab.call("openAndLeave", self.name, BLANK, NUM_ROUNDS)
            before, count = count, tab.counters()
            growth = {
                key: (count[key] - before[key]) / NUM_ROUNDS
                for key in ("nodes", "jsEventListeners")
            }
            if max(growth.values()) <= MAX_GROWTH_PER_ROUND:
                break
        tab.close()
        return Leftovers(
            resources, num_frames, requests, list(dict.fromkeys(late)), elements, growth
        )

    def _tab(self, logs: str, **options: Any) -> Tab:
        return Tab(self._browser, self._server(logs), self.name, **options)
