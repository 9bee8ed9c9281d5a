"""Tests of the plugin's hooks, and of the responses of its routes."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable

import pytest

from tbcore import Item
from tbcore.engine import describe
from tbcore_testing.conformance import closing
from tbcore_testing.conformance.conftest import MAX_PAIRS
from tbcore_testing.conformance.logs import SampleLogs
from tbcore_testing.conformance.probing import (
    MAX_ATTEMPTS,
    MAX_DELAY_SECONDS,
    SLOW_RESPONSE_SECONDS,
    ProbedRoutes,
    Prober,
    ProbeResult,
    json_error,
)
from tbcore_testing.conformance.report import MAX_SHOWN, report
from tbcore_testing.conformance.servers import PREFIX
from tbcore_testing.conformance.subject import Subject
from tbcore_testing.other_logs import CHANGES

NOT_SUPPORTED = "which is not supported"
"""Part of the error of a route that uses a feature of Starlette that handlers cannot use."""
CLOSE_TIMEOUT_SECONDS = 120.0
"""Timeout of the program that starts a server with a plugin, and closes it; for busy machines."""
IS_ACTIVE_SECONDS = 0.1
"""Maximum time of `is_active`. If it takes longer, the core logs a warning."""

FindProber = Callable[..., Prober]
FindLogs = Callable[[str], SampleLogs]
FailingOn = Callable[..., list[ProbeResult]]


def failures(results: Iterable[ProbeResult]) -> list[ProbeResult]:
    """The results of requests that failed."""
    return [result for result in results if result.failed]


def test_it_loads(subject: Subject) -> None:
    """The plugin is found, its hooks are valid, and its ES module exists."""
    if subject.plugin is None:
        pytest.fail(
            f"the plugin does not load; see `tbcore plugins`: {subject.error}", pytrace=False
        )
    info = subject.plugin.info
    if info and subject.plugin.module and not subject.plugin.has_module_file():
        pytest.fail(
            f"PluginInfo.{'page' if info.page else 'module'} is {info.page or info.module!r}, but "
            f"{subject.plugin.folder} has no such file; "
            "add it, or set module=None for a plugin without a tab",
            pytrace=False,
        )


def test_its_hooks_give_routes(plugin: Subject, prober: FindProber) -> None:
    """`routes` and `legacy_api` return valid routes while there is no data."""
    mounted = prober("empty").server.mounted[plugin.name]
    assert mounted.error is None, mounted.error


def test_is_active_without_data(plugin: Subject, logs: FindLogs) -> None:
    """A plugin is inactive without data; a plugin without claims may always be active."""
    assert plugin.plugin is not None
    if not plugin.plugin.implements("is_active"):
        return
    try:
        is_active = plugin.plugin.call("is_active", multiplexer=logs("empty").multiplexer)
    except Exception as error:
        pytest.fail(f"is_active raises without data: {describe(error)}", pytrace=False)
    assert plugin.plugin.info is not None
    if is_active and plugin.plugin.info.claims:
        pytest.fail(
            "is_active is true for an empty log directory; return multiplexer.has(CLAIMS)",
            pytrace=False,
        )


def test_is_active_is_cheap(
    plugin: Subject, logs: FindLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`is_active` reads no items and is fast, because it is called for each generation."""
    assert plugin.plugin is not None
    if not plugin.plugin.implements("is_active"):
        return
    reads: list[Item] = []
    read = Item.read

    def counted_read(item: Item) -> object:
        reads.append(item)
        return read(item)

    monkeypatch.setattr(Item, "read", counted_read)
    fastest = float("inf")
    for _ in range(MAX_ATTEMPTS):
        started = time.perf_counter()
        try:
            plugin.plugin.call("is_active", multiplexer=logs("many").multiplexer)
        except Exception as error:
            pytest.fail(f"is_active raises: {describe(error)}", pytrace=False)
        fastest = min(fastest, time.perf_counter() - started)
    if reads:
        pytest.fail(
            f"is_active reads {len(reads) // MAX_ATTEMPTS} items; use multiplexer.has(CLAIMS) or "
            "multiplexer.tags(CLAIMS), which read no files",
            pytrace=False,
        )
    if fastest > IS_ACTIVE_SECONDS:
        pytest.fail(
            f"is_active takes {fastest:.2f} s with 10,000 tags, which is more than "
            f"{IS_ACTIVE_SECONDS} s; use multiplexer.has(CLAIMS)",
            pytrace=False,
        )


def test_close_ends_what_it_started(plugin: Subject, logs: FindLogs) -> None:
    """After `close` no process and no thread is left that keeps the server from ending."""
    assert plugin.plugin is not None
    if not plugin.plugin.implements("close"):
        return
    program = (sys.executable, "-m", closing.__name__, plugin.argument, str(logs("plain").logdir))
    try:
        done = subprocess.run(
            program, capture_output=True, text=True, check=False, timeout=CLOSE_TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        pytest.fail(
            f"a server with the plugin has not ended {CLOSE_TIMEOUT_SECONDS:g} s after its start; "
            "a route or the hook close does not return",
            pytrace=False,
        )
    report(
        [*done.stdout.splitlines(), *([done.stderr] if done.returncode else [])],
        "the hook close fails, or leaves something running; end there what the plugin started:",
    )


def test_routes_answer_whatever_they_are_asked(
    plugin: Subject, routes: ProbedRoutes, prober: FindProber, logs: FindLogs
) -> None:
    """Odd parameters and bodies cause a status of 4xx, never 5xx."""
    pairs = logs("plain").pairs(plugin.claims, 1)
    wrong = [
        result
        for result in routes.results
        if result.failed and not result.is_slow and NOT_SUPPORTED not in result.error
    ]
    for probe in routes.odd_probes(pairs[0] if pairs else ("run", "tag")):
        result = prober("plain").send(probe)
        if result.failed:
            wrong.append(result)
        if len(wrong) > MAX_SHOWN:
            break
    report(
        wrong,
        "routes fail on odd parameters; read parameters with tbcore.http.required, optional and "
        "optional_int, bodies with json_body, and raise BadRequestError or NotFoundError:",
    )


def test_responses_are_supported(plugin: Subject, routes: ProbedRoutes) -> None:
    """Routes return what tbcore can send: no async iterators as bodies, and no background tasks."""
    report(
        [result for result in routes.results if NOT_SUPPORTED in result.error],
        "routes use features of Starlette that are not supported; docs/hooks.md says what handlers "
        "may return:",
    )


def test_routes_do_not_block(plugin: Subject, routes: ProbedRoutes) -> None:
    """Routes respond within 3 s, because a page waits for them."""
    report(
        [
            f"{result.probe} takes {result.seconds:.1f} s for six steps"
            for result in routes.results
            if result.is_slow
        ],
        f"routes take more than {SLOW_RESPONSE_SECONDS:.0f} s; split the response, or compute "
        "what many requests need once per generation of the data:",
    )


def test_routes_do_not_delay_others(
    plugin: Subject, routes: ProbedRoutes, prober: FindProber
) -> None:
    """While a route responds, other requests take at most half a second longer than usual."""
    wrong = []
    # A route can only delay others for as long as it takes.
    by_seconds = sorted(routes.results, key=lambda result: result.seconds)[-MAX_SHOWN:]
    for probe in [one.probe for one in by_seconds if one.seconds > MAX_DELAY_SECONDS]:
        delays = [MAX_DELAY_SECONDS]
        while len(delays) <= MAX_ATTEMPTS and delays[-1] >= MAX_DELAY_SECONDS:
            delays.append(prober("plain").delay_of_others(probe))
        if delays[-1] >= MAX_DELAY_SECONDS:
            wrong.append(f"{probe} delays other requests by {min(delays[1:]):.1f} s")
    report(
        wrong,
        "routes stop the whole server for a time, because a single call holds Python's GIL; split "
        "the call, for example into parts of an array:",
    )


def test_json_is_strict(
    plugin: Subject, routes: ProbedRoutes, prober: FindProber, logs: FindLogs
) -> None:
    """Responses have no NaN and Infinity in JSON, which browsers and most clients reject."""
    results = [*routes.results]
    for name in ("numbers", "names"):
        pairs = logs(name).pairs(plugin.claims, MAX_PAIRS)
        results += routes.probe_all(prober(name), pairs)
    report(
        [f"{r.probe} -> {error}" for r in results if not r.failed and (error := json_error(r))],
        "responses with the content type of JSON are not valid JSON; make them with "
        "tbcore.http.json_response:",
    )


def test_routes_work_below_a_path_prefix(
    plugin: Subject, routes: ProbedRoutes, prober: FindProber, logs: FindLogs
) -> None:
    """The status is the same as without a prefix, and absolute addresses include the prefix."""
    at_root = prober("plain", "")
    wrong = []
    for below in routes.results:
        if below.failed or below.is_slow:
            continue
        root = at_root.send(below.probe)
        if root.status != below.status:
            wrong.append(f"{below.probe} -> {below.status}, but without a prefix {root.status}")
        if below.location.startswith("/") and not below.location.startswith(f"{PREFIX}/"):
            wrong.append(f"{below.probe} -> redirects to {below.location}")
        if absolute := re.search(rb'"(/data/[^"\\]*)"', below.body):
            wrong.append(f"{below.probe} -> has the address {absolute[1].decode('latin-1')}")
    report(
        wrong,
        "routes do not work below a path prefix; use relative addresses in responses, such as "
        "'individualImage?...', and do not compare request.url with a fixed path:",
    )


def test_routes_answer_without_data(
    plugin: Subject, routes: ProbedRoutes, prober: FindProber
) -> None:
    """Routes respond with an empty listing, or with 404 for a run that does not exist."""
    report(
        failures(routes.probe_all(prober("empty"), [])),
        "routes fail without data; respond with an empty listing, and do not catch NotFoundError:",
    )


@pytest.fixture
def failing_on(
    plugin: Subject, routes: ProbedRoutes, prober: FindProber, logs: FindLogs
) -> FailingOn:
    """`failing_on("odd", 120)`: failures of requests for series of one log directory."""

    def failing(name: str, limit: int = MAX_PAIRS) -> list[ProbeResult]:
        pairs = logs(name).pairs(plugin.claims, limit)
        return failures(routes.probe_all(prober(name), pairs))

    return failing


def test_routes_answer_with_nan_and_infinities(failing_on: FailingOn) -> None:
    """Values, bucket edges, steps and wall times may be any number, as in runs that diverge."""
    report(
        failing_on("numbers"),
        "routes fail on NaN, infinities or extreme steps and times; filter out numbers that "
        "break a computation, such as by numpy.isfinite:",
    )


def test_routes_answer_with_any_names(failing_on: FailingOn) -> None:
    """Names of runs and tags may be markup, paths, quotes, in any script, and very long."""
    report(
        failing_on("names"),
        "routes fail on names of runs or tags; do not parse names, and encode them once, with "
        "urllib.parse.quote:",
    )


def test_routes_answer_with_odd_values(failing_on: FailingOn) -> None:
    """Values may not match the plugin that their metadata names, and files may be damaged."""
    report(
        failing_on("odd", 120),
        "routes fail on values that the plugin does not expect; decode with tbcore.values, and "
        "read with multiplexer.read_items, which skips items that cannot be decoded:",
    )


def test_routes_answer_with_ten_thousand_tags(
    plugin: Subject, routes: ProbedRoutes, prober: FindProber, logs: FindLogs
) -> None:
    """Routes are fast with 10,000 tags of each kind, since some programs log a tag per weight."""
    pairs = logs("many").pairs(plugin.claims, 3)
    wrong: list[object] = []
    for result in routes.probe_all(prober("many"), pairs):
        if result.is_slow:
            wrong.append(f"{result.probe} takes {result.seconds:.1f} s")
        elif result.failed:
            wrong.append(result)
        if len(wrong) == MAX_SHOWN:
            break
    report(
        wrong,
        f"routes fail or take more than {SLOW_RESPONSE_SECONDS:.0f} s with 10,000 tags; list tags "
        "with multiplexer.tags, and read an item only when it is requested:",
    )


def test_routes_answer_when_a_file_is_gone(failing_on: FailingOn) -> None:
    """Routes respond with 404, or leave items out, if a run is deleted while the server runs."""
    report(
        failing_on("gone"),
        "routes fail if a file was deleted after it was loaded; do not catch NotFoundError of "
        "item.read(), or read with multiplexer.read_items:",
    )


def test_routes_answer_while_runs_of_another_program_change(
    plugin: Subject, routes: ProbedRoutes, prober: FindProber, logs: FindLogs
) -> None:
    """Two runs in one file are added, renamed, replaced, slow and damaged; one is deleted."""
    found, pairs, wrong = logs("other"), list[tuple[str, str]](), list[object]()
    for what, content in CHANGES.items():
        (found.logdir / "x.lines").write_text(content)
        for _ in range(2):  # The first time, a slow run has only what it had before.
            found.reload()
            pairs = [*dict.fromkeys([*found.pairs(plugin.claims, MAX_PAIRS), *pairs])]
            failed = failures(routes.probe_all(prober("other"), pairs))
            wrong += [f"{what}: {result}" for result in failed]
    report(
        wrong[: MAX_SHOWN + 1],
        "routes fail when runs of a file that another program writes change; a run may get other "
        "and fewer points, and be gone, at any time:",
    )
