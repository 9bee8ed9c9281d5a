"""Pages: a plugin's tab in Chromium, and what can be seen of it from outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_plus, urlsplit

import httpx

from tbcore.testing.conformance.blank import NAME as BLANK
from tbcore.testing.conformance.servers import RunningServer

WIDE = {"width": 1400, "height": 900}
NARROW = {"width": 400, "height": 800}
OPEN_MS = 20_000
"""How long a tab may take to draw anything, on a busy machine."""
QUIET_MS = 5_000
"""How long requests may go on after that; what asks for ever is looked at as it is then."""
LEAST_CONTRAST = 3.0
"""Of text and what is behind it. WCAG asks for 4.5, and for 3 where text is large."""
ROUNDS_BEFORE, ROUNDS = 5, 15
"""Times that a tab is opened and closed before anything is counted, and after."""
SETTLE_SECONDS = 5.0
"""How long what is counted may take to stay the same."""
GROWTH_PER_ROUND = 1
"""Nodes or listeners that may remain of each round; what a browser does by itself is less."""

CONTROLS = {
    *("button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox"),
    *("menuitemradio", "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox"),
}
"""Roles of what a reader can use, and so has to know the name of."""

WATCH = Path(__file__).parent / "static" / "watch.js"


@dataclass
class Seen:
    """What went wrong while a tab was open."""

    trouble: list[str] = field(default_factory=list)
    """The shell's words, where the tab stopped."""
    errors: list[str] = field(default_factory=list)
    """In the console, or caught by nobody."""
    missing: list[str] = field(default_factory=list)
    """Addresses that answered 4xx or 5xx, but for the values that a plugin may refuse."""
    refused: list[str] = field(default_factory=list)
    """What the page's content policy did not allow, and requests to other hosts."""
    outside: list[str] = field(default_factory=list)
    """Requests to this server that are not below its path prefix."""
    is_drawn: bool = True


class Tab:
    """One page with a plugin's tab, and a watch over it."""

    def __init__(self, browser: Any, server: RunningServer, name: str, **options: Any) -> None:
        self.seen = Seen()
        self._server = server
        self._name = name
        self._root = f"{server.origin}{quote(server.prefix)}/"
        self._context = browser.new_context(**{"viewport": WIDE, **options})
        self._context.add_init_script(path=WATCH)
        self._context.on("console", self._on_console)
        self._context.on("weberror", lambda error: self._say(f"uncaught: {error.error}"))
        self._context.on("request", lambda request: self._on_request(request.url))
        self._context.on("response", self._on_response)
        self.page = self._context.new_page()

    def open(self, hash: str = "") -> Tab:
        """Opens the tab and waits until it has drawn something and asks for nothing more."""
        self.page.goto(f"{self._root}#{hash or self._name}")
        self.wait()
        return self

    def wait(self) -> None:
        for test, most in (
            (f"() => watch.isDrawn({self._name!r}) || watch.trouble().length", OPEN_MS),
            (f"() => watch.isReady({self._name!r}, 250)", QUIET_MS),
        ):
            try:
                self.page.wait_for_function(test, timeout=most)
            except Exception as error:
                if type(error).__name__ != "TimeoutError":
                    raise
                self.seen.is_drawn = self.page.evaluate(
                    f"() => Boolean(watch.isDrawn({self._name!r}))"
                )
                break
        self.seen.trouble += self.page.evaluate("() => watch.trouble()")

    def ask(self, function: str, *arguments: Any) -> Any:
        """What a function of watch.js returns."""
        return self.page.evaluate(
            f"(given) => watch[{function!r}](...given)", list(arguments) or [self._name]
        )

    def without_labels(self) -> list[str]:
        """The tab's controls that have no name for a screen reader."""
        session = self._context.new_cdp_session(self.page)
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        found = []
        for node in nodes:
            if node.get("ignored") or node.get("role", {}).get("value") not in CONTROLS:
                continue
            if str(node.get("name", {}).get("value", "")).strip():
                continue
            backend = {"backendNodeId": node["backendDOMNodeId"]}
            handle = session.send("DOM.resolveNode", backend)["object"]["objectId"]
            shown = session.send(
                "Runtime.callFunctionOn",
                {
                    "objectId": handle,
                    "functionDeclaration": "function () { return this.getRootNode() instanceof "
                    "ShadowRoot ? this.outerHTML.slice(0, 160) : '' }",
                    "returnByValue": True,
                },
            )["result"]["value"]
            if shown:
                found.append(shown)
        session.detach()
        return found

    def counters(self) -> dict[str, int]:
        """Nodes and listeners that the browser holds, the detached ones that somebody keeps too.

        Once they stay the same: players and requests that were ended go a while later.
        """
        session = self._context.new_cdp_session(self.page)
        deadline = time.monotonic() + SETTLE_SECONDS
        before: dict[str, int] = {}
        while True:
            for _ in range(2):
                session.send("HeapProfiler.collectGarbage")
            counters: dict[str, int] = session.send("Memory.getDOMCounters")
            if counters == before or time.monotonic() > deadline:
                session.detach()
                return counters
            before = counters
            time.sleep(0.3)

    def close(self) -> None:
        self._context.close()

    def _say(self, line: str) -> None:
        if line not in self.seen.errors:
            self.seen.errors.append(line[:500])

    def _on_console(self, message: Any) -> None:
        if message.type != "error":
            return
        text, where = message.text, message.location.get("url", "")
        if "Content Security Policy" in text:
            self.seen.refused.append(text[:300])
        elif not text.startswith("Failed to load resource"):
            # What could not be loaded is told by its address.
            self._say(f"{text} ({where.removeprefix(self._root)})")

    def _on_request(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https", "ws", "wss"):
            return
        if f"{parts.scheme}://{parts.netloc}" != self._server.origin:
            self.seen.refused.append(f"a request to {address[:200]}")
        elif not address.startswith(self._root) and parts.path != "/favicon.ico":
            self.seen.outside.append(address.removeprefix(self._server.origin)[:200])

    def _on_response(self, response: Any) -> None:
        if response.status >= 400 and response.url.startswith(self._root):
            request = response.request
            asked = unquote_plus(response.url) + (request.post_data or "")
            if response.status == 404 and any(tag in asked for tag in self._server.logs.guesses):
                return
            address = response.url.removeprefix(self._root)[:200]
            self.seen.missing.append(f"{request.method} {address} -> {response.status}")


@dataclass
class Left:
    """What is left of a tab after another one was opened."""

    things: list[dict[str, str]]
    """Listeners, timers, connections and observers that its code began."""
    frames: int
    """Animation frames that it asked for, in half a second."""
    requests: list[str]
    """That it made although new data came when it was closed."""
    elements: list[str]
    """In the page, outside of the tab."""
    grown: dict[str, float]
    """Nodes and listeners for each round of opening and closing."""

    def of(self, kind: str) -> list[str]:
        return [
            f"{one['what']}, begun at {one['where']}" for one in self.things if one["kind"] == kind
        ]


class Visits:
    """All visits to one plugin's tab; each is made when a check asks for it, and once."""

    def __init__(self, browser: Any, server: Callable[[str], RunningServer], name: str) -> None:
        self._browser = browser
        self._server = server
        self.name = name
        self.requests: list[dict[str, Any]] = []
        """What the page asked on plain data: `url`, `method` and `body`."""

    def is_active(self, logs: str) -> bool:
        """What the server says in its listing."""
        server = self._server(logs)
        address = f"{server.origin}{quote(server.prefix)}/data/plugins_listing"
        return bool(httpx.get(address, timeout=30).json()[self.name])

    @cached_property
    def plain(self) -> tuple[Seen, list[str], list[str]]:
        """In a wide window in light: what went wrong, controls without labels, faint text."""
        tab = self._tab("plain", color_scheme="light").open()
        labels = tab.without_labels()
        faint = tab.ask("faint", self.name, LEAST_CONTRAST)
        self.requests = tab.page.evaluate("() => watch.requests")
        tab.close()
        return tab.seen, labels, faint

    @cached_property
    def narrow(self) -> tuple[Seen, list[str], list[str]]:
        """At 400 px in dark: what went wrong, what is too wide, faint text."""
        tab = self._tab("plain", color_scheme="dark", viewport=NARROW).open()
        overflow = tab.ask("overflow")
        faint = tab.ask("faint", self.name, LEAST_CONTRAST)
        tab.close()
        return tab.seen, overflow, faint

    def with_data(self, logs: str, hash: str = "") -> tuple[Seen, bool, int]:
        """On other data: what went wrong, whether a name became markup, how many requests.

        Nothing, where the plugin is not active on such data: the shell shows no tab of it then.
        """
        if not self.is_active(logs):
            return Seen(), False, 0
        tab = self._tab(logs).open(f"{self.name}{hash}")
        is_markup = tab.ask("markup")
        folder = f"/data/plugin/{self.name}/"
        asked = [one for one in tab.page.evaluate("() => watch.requests") if folder in one["url"]]
        tab.close()
        return tab.seen, is_markup, len(asked)

    @cached_property
    def left(self) -> Left:
        """After the tab was left, and after it was opened and closed many times."""
        tab = self._tab("plain")
        page = tab.page
        tab.page.goto(f"{tab._root}#{BLANK}")
        page.wait_for_function(f"() => watch.isDrawn({BLANK!r})", timeout=3 * OPEN_MS)
        before = set(tab.ask("outside"))
        page.evaluate(f"() => {{ location.hash = {self.name!r}; }}")
        tab.wait()
        page.evaluate(f"() => {{ location.hash = {BLANK!r}; }}")
        page.wait_for_function(f"() => watch.isLeft({self.name!r})", timeout=3 * OPEN_MS)
        # Time for what was about to end: fading out, writing down a choice.
        tab.ask("sleep", 700)
        frames = tab.ask("frames")
        num_requests = page.evaluate("() => watch.requests.length")
        self._server("plain").logs.add_step()
        tab.ask("sleep", 1000)
        frames = tab.ask("frames") - frames
        folder = f"/data/plugin/{self.name}/"
        later = page.evaluate(f"() => watch.requests.slice({num_requests})")
        requests = [one["url"].partition(folder)[2] for one in later if folder in one["url"]]
        things = tab.ask("left")
        elements = [one for one in tab.ask("outside") if one not in before]
        tab.ask("openAndLeave", self.name, BLANK, ROUNDS_BEFORE)
        first = tab.counters()
        tab.ask("openAndLeave", self.name, BLANK, ROUNDS)
        last = tab.counters()
        grown = {key: (last[key] - first[key]) / ROUNDS for key in ("nodes", "jsEventListeners")}
        tab.close()
        return Left(things, frames, requests, elements, grown)

    def _tab(self, logs: str, **options: Any) -> Tab:
        return Tab(self._browser, self._server(logs), self.name, **options)
