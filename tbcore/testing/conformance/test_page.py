"""Of the plugin's page: its tab in Chromium, in both themes, on all sorts of data, and afterwards.

Skipped for a plugin without a module, and, with a line that says so, where there is no browser.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from tbcore.testing.conformance.asking import Ask, Asker
from tbcore.testing.conformance.page import GROWTH_PER_ROUND, Seen, Visits
from tbcore.testing.conformance.report import MAX_SHOWN, report

MOST_REQUESTS = 300
"""That a tab makes when it is opened on 10,000 tags: it asks for what is in sight."""


def trouble(seen: Seen, *, but_missing: bool = False) -> list[str]:
    """What a reader or the console would tell."""
    found = [*seen.trouble, *seen.errors]
    if not seen.is_drawn and not found:
        found.append("the tab shows nothing")
    return found if but_missing else [*found, *seen.missing]


def test_the_tab_renders(visits: Visits) -> None:
    """In light and dark, wide and narrow: something is there, and the console has no error."""
    report(
        [*trouble(visits.plain[0]), *trouble(visits.narrow[0])],
        "the tab stops, stays empty, asks for what is not there, or has errors in the console:",
    )


def test_the_tab_stays_below_the_path_prefix(visits: Visits) -> None:
    """tbcore may be served below any path: addresses are relative."""
    report(
        [*visits.plain[0].outside, *visits.narrow[0].outside],
        "the tab asks for addresses outside of the server's path prefix; use host.fetch, "
        "host.fetchJSON and host.url with a path that has no slash in front:",
    )


def test_the_tab_needs_no_other_host(visits: Visits) -> None:
    """It works offline, and holds to the page's content policy."""
    report(
        [*visits.plain[0].refused, *visits.narrow[0].refused],
        "the tab does what the page's content policy refuses; ship what it needs in the package, "
        "and use host.css and element.style in place of <style> and style attributes in HTML:",
    )


def test_the_controls_have_labels(visits: Visits) -> None:
    """A screen reader has to say what they are."""
    report(
        visits.plain[1],
        "controls have no name; give them text, a <label>, or aria-label:",
    )


def test_the_text_can_be_read_in_both_themes(visits: Visits) -> None:
    """Its contrast is at least 3."""
    light, dark = visits.plain[2], visits.narrow[2]
    report(
        [*(f"in light {line}" for line in light), *(f"in dark {line}" for line in dark)],
        "text can hardly be told from what is behind it; use the variables --tb-ink, --tb-ground "
        "and so on, which follow the theme:",
    )


def test_the_tab_fits_a_narrow_window(visits: Visits) -> None:
    """400 px: nothing makes the whole page scroll sideways."""
    report(
        visits.narrow[1],
        "at 400 px the page scrolls sideways; let lines wrap (min-width: 0, flex-wrap), or give "
        "what is wide a box with overflow-x: auto:",
    )


def test_names_are_shown_as_text(visits: Visits) -> None:
    """Runs and tags can be markup."""
    seen, is_markup, _ = visits.with_data("names")
    report(
        ["a tag or a run has become an element of the page"] if is_markup else [],
        "show names with textContent or as a value in a template, never with innerHTML:",
    )
    report(trouble(seen), "the tab fails on names of runs or tags; encode them once, by host.url:")


def test_the_tab_renders_nan_and_infinities(visits: Visits) -> None:
    """They come as the texts NaN, Infinity and -Infinity in JSON."""
    seen, _, _ = visits.with_data("numbers")
    report(trouble(seen), "the tab fails on NaN, infinities, or extreme steps and times:")


def test_the_tab_renders_odd_values(visits: Visits) -> None:
    """What cannot be decoded is missing from answers, or answered with 404."""
    seen, _, _ = visits.with_data("odd")
    report(
        trouble(seen, but_missing=True),
        "the tab fails on values that are not what the plugin expects; what the server leaves out "
        "is missing from its answers, and what it cannot decode is answered with 4xx:",
    )


def test_the_tab_renders_ten_thousand_tags(visits: Visits) -> None:
    """And asks for those in sight only."""
    seen, _, num_requests = visits.with_data("many")
    report(trouble(seen), "the tab fails with 10,000 tags:")
    report(
        [f"{num_requests} requests"] if num_requests > MOST_REQUESTS else [],
        "the tab asks too much with 10,000 tags; ask for what is in sight, with "
        "tbcore/lib/lazy.js, or for many tags in one request:",
    )


def test_the_tab_renders_when_a_file_is_gone(visits: Visits) -> None:
    """Requests fail with 404 then; the tab says so in its place, or leaves it out."""
    seen, _, _ = visits.with_data("gone")
    report(
        trouble(seen, but_missing=True),
        "the tab stops when a file has vanished after it was loaded; catch what host.fetchJSON "
        "rejects with, where the data of one tag is asked for:",
    )


def test_the_tab_renders_without_runs(visits: Visits) -> None:
    """No run is checked."""
    seen, _, _ = visits.with_data("plain", "&runs=")
    report(trouble(seen), "the tab fails when no run is checked (host.runs.value is empty):")


def test_requests_of_the_tab_never_fail(visits: Visits, asker: Callable[[str], Asker]) -> None:
    """What the page asks, with one part after the other replaced by something odd."""
    assert visits.plain
    folder = f"/data/plugin/{visits.name}/"
    wrong = []
    for ask in dict.fromkeys(_changed(visits.requests, folder)):
        answer = asker("plain").ask(ask._replace(headers={"content-type": "application/json"}))
        if answer.failed:
            wrong.append(answer)
        if len(wrong) > MAX_SHOWN:
            break
    report(
        wrong,
        "routes fail on bodies that are not what they expect; read them with "
        "tbcore.http.json_body, check what the fields hold, and raise BadRequestError:",
    )


def _changed(requests: list[dict[str, Any]], folder: str) -> Iterator[Ask]:
    """Of each address one request with a body, and all that it becomes by one change."""
    seen = set()
    for one in requests:
        parts = urlsplit(one["url"])
        _, _, rest = parts.path.partition(folder)
        if not rest or not one["body"] or rest in seen:
            continue
        seen.add(rest)
        try:
            body = json.loads(one["body"])
        except ValueError:
            continue
        for changed in _variants(body):
            encoded = json.dumps(changed).encode()
            yield Ask(one["method"], f"{folder}{rest}", parts.query, encoded, ())  # type: ignore[arg-type]


def _variants(value: Any) -> Iterator[Any]:
    yield from (None, -1, 1e308, 10**30, "", "x", [], {}, [None], [[]], True, float("nan"))
    if isinstance(value, dict):
        for key, part in value.items():
            yield {other: v for other, v in value.items() if other != key}
            for changed in _variants(part):
                yield {**value, key: changed}
    elif isinstance(value, list) and value:
        for changed in _variants(value[0]):
            yield [changed, *value[1:]]


def test_the_tab_ends_its_listeners(visits: Visits) -> None:
    """On the window, the document and the like, which outlive the tab."""
    report(
        visits.left.of("listener"),
        "listeners remain after the tab was left; add them with { signal: host.signal }:",
    )


def test_the_tab_ends_its_timers(visits: Visits) -> None:
    """Intervals, timeouts and frames."""
    left = visits.left
    frames = f"{left.frames} animation frames in a second" if left.frames > 5 else ""
    report(
        [*left.of("timer"), *filter(None, [frames])],
        "timers go on after the tab was left; clear them in the function that render returns:",
    )


def test_the_tab_ends_its_connections(visits: Visits) -> None:
    """Workers, streams, sockets, channels, sound."""
    report(
        visits.left.of("connection"),
        "workers or connections remain after the tab was left; terminate or close them in the "
        "function that render returns:",
    )


def test_the_tab_ends_its_observers(visits: Visits) -> None:
    report(
        visits.left.of("observer"),
        "observers go on after the tab was left; disconnect them in the function that render "
        "returns:",
    )


def test_the_tab_leaves_no_elements(visits: Visits) -> None:
    """In the page outside of its own root."""
    report(
        visits.left.elements,
        "elements remain in the page after the tab was left; draw below host.element only, or "
        "remove them in the function that render returns:",
    )


def test_the_tab_asks_nothing_after_it_was_left(visits: Visits) -> None:
    """Also when there is new data."""
    report(
        sorted(set(visits.left.requests)),
        "the tab asks on after it was left; use host.fetch, host.onReload and host.signal, which "
        "end with it:",
    )


def test_the_tab_does_not_grow(visits: Visits) -> None:
    """It is opened and closed twenty times; the browser holds as much as before."""
    report(
        [
            f"{number:.1f} {what} more each time"
            for what, number in visits.left.grown.items()
            if number > GROWTH_PER_ROUND
        ],
        "each time that the tab is opened and closed something remains; keep no elements in "
        "variables of the module, and call render(null, host.element) where preact drew:",
    )
