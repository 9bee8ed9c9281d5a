"""Tests of the plugin's tab in Chromium: in both themes, with all sorts of data, and after closing.

The tests are skipped for a plugin without a tab. They are also skipped if there is no browser; the
summary then says why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from tbcore_testing.conformance.page import MAX_GROWTH_PER_ROUND, TabErrors, Visits
from tbcore_testing.conformance.probing import Probe, Prober
from tbcore_testing.conformance.report import MAX_SHOWN, report

MAX_REQUESTS = 300
"""Maximum number of requests of a tab that is opened on 10,000 tags.

A tab should load only the data of visible tags.
"""


def errors_of(errors: TabErrors, *, allow_failed_requests: bool = False) -> list[str]:
    """Error notices, errors in the console and, if these are not allowed, failed requests."""
    found = [*errors.notices, *errors.console]
    if not errors.is_drawn and not found:
        found.append("the tab shows nothing")
    return found if allow_failed_requests else [*found, *errors.failed_requests]


def test_the_tab_renders(visits: Visits) -> None:
    """The tab shows something, without errors, in both themes and in wide and narrow windows."""
    report(
        [*errors_of(visits.plain.errors), *errors_of(visits.narrow.errors)],
        "the tab fails, stays empty, requests missing files, or has errors in the console:",
    )


def test_the_tab_stays_below_the_path_prefix(visits: Visits) -> None:
    """The tab's addresses are relative, because tbcore may be served below any path."""
    report(
        [*visits.plain.errors.outside_prefix, *visits.narrow.errors.outside_prefix],
        "the tab requests addresses outside of the server's path prefix; use host.fetch, "
        "host.fetchJSON and host.url with paths that do not start with a slash:",
    )


def test_the_tab_needs_no_other_host(visits: Visits) -> None:
    """The tab works offline, and complies with the page's content policy."""
    report(
        [*visits.plain.errors.blocked, *visits.narrow.errors.blocked],
        "the tab violates the page's content policy; include all that it needs in the package, "
        "and use host.css and element.style instead of <style> and style attributes in HTML:",
    )


def test_the_controls_have_labels(visits: Visits) -> None:
    """Screen readers need a name for each control."""
    report(
        visits.plain.unlabelled_controls,
        "controls have no name; give them text, a <label>, or aria-label:",
    )


def test_the_text_can_be_read_in_both_themes(visits: Visits) -> None:
    """The contrast of each text is at least 3."""
    light, dark = visits.plain.low_contrast, visits.narrow.low_contrast
    report(
        [*(f"in light {line}" for line in light), *(f"in dark {line}" for line in dark)],
        "text has too little contrast; use the variables --tb-ink, --tb-ground and so on, which "
        "follow the theme:",
    )


def test_the_tab_fits_a_narrow_window(visits: Visits) -> None:
    """The page does not scroll sideways at a width of 400 px."""
    report(
        visits.narrow.too_wide_elements,
        "at 400 px the page scrolls sideways; allow lines to wrap (min-width: 0, flex-wrap), or "
        "put wide elements in a box with overflow-x: auto:",
    )


def test_names_are_shown_as_text(visits: Visits) -> None:
    """Markup in the names of runs and tags has no effect."""
    errors, is_markup, _ = visits.with_data("names")
    report(
        ["the name of a tag or a run became an element of the page"] if is_markup else [],
        "set names by textContent, or as a value in a template, never by innerHTML:",
    )
    report(
        errors_of(errors),
        "the tab fails on names of runs or tags; encode them once, by host.url, and look them up "
        "in a Map, or after Object.hasOwn:",
    )


def test_the_tab_renders_nan_and_infinities(visits: Visits) -> None:
    """The tab accepts the strings NaN, Infinity and -Infinity, which stand for numbers in JSON."""
    errors, _, _ = visits.with_data("numbers")
    report(errors_of(errors), "the tab fails on NaN, infinities, or extreme steps and times:")


def test_the_tab_renders_odd_values(visits: Visits) -> None:
    """The tab shows data next to values that cannot be decoded."""
    errors, _, _ = visits.with_data("odd")
    report(
        errors_of(errors, allow_failed_requests=True),
        "the tab fails on values that the plugin does not expect; handle responses without some "
        "of the items, and responses with status 4xx for items that cannot be decoded:",
    )


def test_the_tab_renders_ten_thousand_tags(visits: Visits) -> None:
    """The tab loads only the data of visible tags."""
    errors, _, num_requests = visits.with_data("many")
    report(errors_of(errors), "the tab fails with 10,000 tags:")
    report(
        [f"{num_requests} requests"] if num_requests > MAX_REQUESTS else [],
        "the tab sends too many requests with 10,000 tags; load visible tags only, with "
        "tbcore/ui.js, or many tags in one request:",
    )


def test_the_tab_renders_when_a_file_is_gone(visits: Visits) -> None:
    """The tab handles a status of 404 for data of a deleted file."""
    errors, _, _ = visits.with_data("gone")
    report(
        errors_of(errors, allow_failed_requests=True),
        "the tab fails if a file was deleted after it was loaded; catch rejections of "
        "host.fetchJSON where the data of one tag is requested:",
    )


def test_the_tab_renders_without_runs(visits: Visits) -> None:
    """The tab accepts an empty list of runs."""
    errors, _, _ = visits.with_data("plain", "&runs=")
    report(errors_of(errors), "the tab fails when no run is checked (host.runs.value is empty):")


def test_the_tab_renders_at_any_step(visits: Visits) -> None:
    """The step of all tabs may be before the first step of every run."""
    errors, _, _ = visits.with_data("plain", "&step=-7")
    report(errors_of(errors), "the tab fails at a step before all data (host.step.value is -7):")


def test_requests_of_the_tab_never_fail(visits: Visits, prober: Callable[[str], Prober]) -> None:
    """Requests of the tab with one changed part cause no status of 5xx."""
    assert visits.plain  # This visit records the requests.
    folder = f"/data/plugin/{visits.name}/"
    wrong = []
    for probe in dict.fromkeys(_changed(visits.requests, folder)):
        result = prober("plain").send(probe._replace(headers={"content-type": "application/json"}))
        if result.failed:
            wrong.append(result)
        if len(wrong) > MAX_SHOWN:
            break
    report(
        wrong,
        "routes fail on bodies that they do not expect; read them with tbcore.http.json_body, "
        "check the fields, and raise BadRequestError:",
    )


def _changed(requests: list[dict[str, Any]], folder: str) -> Iterator[Probe]:
    """Yields the first JSON request to each route, in all variants with one changed part."""
    seen = set()
    for request in requests:
        parts = urlsplit(request["url"])
        _, _, path = parts.path.partition(folder)
        if not path or not request["body"] or path in seen:
            continue
        seen.add(path)
        try:
            body = json.loads(request["body"])
        except ValueError:
            continue
        for changed in _variants(body):
            encoded = json.dumps(changed).encode()
            # Headers of () instead of a dict, to make probes hashable.
            yield Probe(request["method"], f"{folder}{path}", parts.query, encoded, ())  # type: ignore[arg-type]


def _variants(value: Any) -> Iterator[Any]:
    """Yields replacements for a JSON value, and copies of it with one part removed or replaced."""
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
    """Listeners on the window, the document and the like are removed when the tab is closed."""
    report(
        visits.leftovers.of("listener"),
        "listeners remain after the tab was closed; add them with { signal: host.signal }:",
    )


def test_the_tab_ends_its_timers(visits: Visits) -> None:
    """Intervals, timeouts and animation frames stop when the tab is closed."""
    leftovers = visits.leftovers
    num_frames = leftovers.num_frames
    frames = f"{num_frames} animation frames in a second" if num_frames > 5 else ""
    report(
        [*leftovers.of("timer"), *filter(None, [frames])],
        "timers still run after the tab was closed; clear them in the function that render "
        "returns:",
    )


def test_the_tab_ends_its_connections(visits: Visits) -> None:
    """Workers, streams, sockets, channels and audio contexts are closed along with the tab."""
    report(
        visits.leftovers.of("connection"),
        "workers or connections remain after the tab was closed; terminate or close them in the "
        "function that render returns:",
    )


def test_the_tab_ends_its_observers(visits: Visits) -> None:
    report(
        visits.leftovers.of("observer"),
        "observers remain after the tab was closed; disconnect them in the function that render "
        "returns:",
    )


def test_the_tab_calls_nothing_back_after_it_was_left(visits: Visits) -> None:
    """No timeout, effect or subscription of the closed tab runs, and none of its code fails."""
    report(
        visits.leftovers.late,
        "code of the tab runs, or fails, after the tab was closed; clear timeouts and end effects "
        "in the function that render returns, follow signals by their subscribe() of the host, "
        "which ends along with the tab, and test host.signal.aborted after each await:",
    )


def test_the_tab_leaves_no_elements(visits: Visits) -> None:
    """The tab's code leaves no elements in the page outside of its own root."""
    report(
        visits.leftovers.elements,
        "elements remain in the page after the tab was closed; add them to host.element only, or "
        "remove them in the function that render returns:",
    )


def test_the_tab_asks_nothing_after_it_was_left(visits: Visits) -> None:
    """The closed tab sends no requests, not even for new data."""
    report(
        sorted(set(visits.leftovers.requests)),
        "the tab sends requests after it was closed; use host.fetch, host.onReload and "
        "host.signal, which end along with it:",
    )


def test_the_tab_does_not_grow(visits: Visits) -> None:
    """Opening and closing the tab twenty times leaves no nodes or listeners in memory."""
    report(
        [
            f"{increase:.1f} more {what} each time"
            for what, increase in visits.leftovers.growth.items()
            if increase > MAX_GROWTH_PER_ROUND
        ],
        "something remains in memory each time the tab is opened and closed; keep no elements in "
        "variables of the module, and call render(null, host.element) if the tab uses preact:",
    )
