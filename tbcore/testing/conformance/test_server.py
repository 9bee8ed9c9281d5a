"""Of the plugin's Python side: its hooks, and the answers of its routes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tbcore.plugins import attempt, describe
from tbcore.store.items import Item
from tbcore.testing.conformance.asking import (
    SLOW_SECONDS,
    TRIES,
    Answer,
    Asker,
    Routes,
    json_fault,
)
from tbcore.testing.conformance.conftest import MAX_PAIRS
from tbcore.testing.conformance.logs import Logs
from tbcore.testing.conformance.report import MAX_SHOWN, report
from tbcore.testing.conformance.servers import PREFIX
from tbcore.testing.conformance.subject import Subject

IS_ACTIVE_SECONDS = 0.1
"""The core's own bound, above which its log names the plugin."""

Ask = Callable[..., Asker]
Find = Callable[[str], Logs]


def failures(answers: Iterable[tuple[Any, Answer]]) -> list[Answer]:
    return [answer for _, answer in answers if answer.failed]


def test_it_loads(subject: Subject) -> None:
    """It is found, its hooks are ones that there are, and its module is there."""
    if subject.plugin is None:
        pytest.fail(
            f"the plugin does not load; `tbcore plugins` says: {subject.error}", pytrace=False
        )
    info = subject.plugin.info
    if info and info.module and not subject.plugin.has_module_file():
        pytest.fail(
            f"PluginInfo.module is {info.module!r}, and {subject.plugin.folder} has no such file; "
            "write it, or say module=None for a plugin without a tab",
            pytrace=False,
        )


def test_its_hooks_give_routes(plugin: Subject, asker: Ask) -> None:
    """`routes` and `legacy_api` return what they should, without any data."""
    mounted = asker("empty").server.mounted[plugin.name]
    assert mounted.error is None, mounted.error


def test_is_active_without_data(plugin: Subject, logs: Find) -> None:
    """A tab that has nothing to show says so; a plugin that claims nothing may always be active."""
    assert plugin.plugin is not None
    if not plugin.plugin.implements("is_active"):
        return
    answer = attempt(plugin.plugin.call, "is_active", multiplexer=logs("empty").multiplexer)
    if answer.error is not None:
        pytest.fail(f"is_active raises without data: {describe(answer.error)}", pytrace=False)
    assert plugin.plugin.info is not None
    if answer.value and plugin.plugin.info.claims:
        pytest.fail(
            "is_active is true for an empty log directory; return multiplexer.has(CLAIMS)",
            pytrace=False,
        )


def test_is_active_is_cheap(plugin: Subject, logs: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for each generation of the data: it looks at the index and reads no file."""
    assert plugin.plugin is not None
    if not plugin.plugin.implements("is_active"):
        return
    reads: list[Item] = []
    read = Item.read

    def counted(item: Item) -> object:
        reads.append(item)
        return read(item)

    monkeypatch.setattr(Item, "read", counted)
    fastest = float("inf")
    for _ in range(TRIES):
        started = time.perf_counter()
        answer = attempt(plugin.plugin.call, "is_active", multiplexer=logs("many").multiplexer)
        fastest = min(fastest, time.perf_counter() - started)
        if answer.error is not None:
            pytest.fail(f"is_active raises: {describe(answer.error)}", pytrace=False)
    if reads:
        pytest.fail(
            f"is_active reads {len(reads) // TRIES} items; ask multiplexer.has(CLAIMS) or "
            "multiplexer.tags(CLAIMS), which need no file",
            pytrace=False,
        )
    if fastest > IS_ACTIVE_SECONDS:
        pytest.fail(
            f"is_active takes {fastest:.2f} s with 10,000 tags, and {IS_ACTIVE_SECONDS} s is too "
            "long; ask multiplexer.has(CLAIMS)",
            pytrace=False,
        )


def test_routes_answer_whatever_they_are_asked(
    plugin: Subject, routes: Routes, asker: Ask, logs: Find
) -> None:
    """What a client sent wrong is its fault: 400 or 404 with one line, never 5xx."""
    pairs = logs("plain").pairs(plugin.claims, 1)
    wrong = [answer for answer in routes.answers if answer.failed and not _is_slow(answer)]
    for ask in routes.odd_requests(pairs[0] if pairs else ("run", "tag")):
        answer = asker("plain").ask(ask)
        if answer.failed:
            wrong.append(answer)
        if len(wrong) > MAX_SHOWN:
            break
    report(
        wrong,
        "routes fail on what they are asked; read parameters with tbcore.http.required, optional "
        "and optional_int, bodies with json_body, and raise BadRequestError or NotFoundError:",
    )


def test_routes_do_not_block(plugin: Subject, routes: Routes, asker: Ask) -> None:
    """A page waits for them."""
    wrong = []
    for answer in routes.answers:
        if not _is_slow(answer):
            continue
        again = [asker("plain").ask(answer.ask) for _ in range(TRIES - 1)]
        if all(map(_is_slow, again)):
            seconds = min(one.seconds for one in (answer, *again))
            wrong.append(f"{answer.ask} takes {seconds:.1f} s for six steps")
    report(
        wrong,
        f"routes take more than {SLOW_SECONDS:.0f} s; do less, answer in parts, or work out once "
        "in each generation of the data what many requests need:",
    )


def test_json_is_strict(plugin: Subject, routes: Routes, asker: Ask, logs: Find) -> None:
    """Browsers refuse NaN and Infinity in JSON, and so do most other clients."""
    answers = [*routes.answers]
    for name in ("numbers", "names"):
        pairs = logs(name).pairs(plugin.claims, MAX_PAIRS)
        answers += [answer for _, answer in routes.ask_all(asker(name), pairs)]
    report(
        [f"{a.ask} -> {fault}" for a in answers if not a.failed and (fault := json_fault(a))],
        "answers say that they are JSON and are not; make them with tbcore.http.json_response:",
    )


def test_routes_work_below_a_path_prefix(
    plugin: Subject, routes: Routes, asker: Ask, logs: Find
) -> None:
    """The same answers as without one, and no address in them that leaves it."""
    at_root = asker("plain", "")
    wrong = []
    for below in routes.answers:
        if below.failed or below.seconds > SLOW_SECONDS:
            continue
        root = at_root.ask(below.ask)
        if root.status != below.status:
            wrong.append(f"{below.ask} -> {below.status}, and without a prefix {root.status}")
        if below.location.startswith("/") and not below.location.startswith(f"{PREFIX}/"):
            wrong.append(f"{below.ask} -> redirects to {below.location}")
        if leaving := re.search(rb'"(/data/[^"\\]*)"', below.body):
            wrong.append(f"{below.ask} -> has the address {leaving[1].decode('latin-1')}")
    report(
        wrong,
        "routes do not work below a path prefix; addresses in answers are relative, such as "
        "'individualImage?...', and request.url is not to be compared with a fixed path:",
    )


def test_routes_answer_without_data(plugin: Subject, routes: Routes, asker: Ask) -> None:
    """An empty listing, or 404 for a run that is not there."""
    report(
        failures(routes.ask_all(asker("empty"), [])),
        "routes fail without any data; answer with an empty listing, and let NotFoundError pass:",
    )


def _failing_on(
    name: str, plugin: Subject, routes: Routes, asker: Ask, logs: Find, limit: int = MAX_PAIRS
) -> list[Answer]:
    pairs = logs(name).pairs(plugin.claims, limit)
    return failures(routes.ask_all(asker(name), pairs))


def test_routes_answer_with_nan_and_infinities(
    plugin: Subject, routes: Routes, asker: Ask, logs: Find
) -> None:
    """Losses diverge: values, bucket edges, steps and wall times can be any number."""
    report(
        _failing_on("numbers", plugin, routes, asker, logs),
        "routes fail on NaN, infinities or extreme steps and times; leave out what cannot be "
        "computed with, such as by numpy.isfinite:",
    )


def test_routes_answer_with_any_names(
    plugin: Subject, routes: Routes, asker: Ask, logs: Find
) -> None:
    """Runs and tags can be markup, paths, quotes, any script, and long."""
    report(
        _failing_on("names", plugin, routes, asker, logs),
        "routes fail on names of runs or tags; do not take names apart, and encode them once, with "
        "tbcore.http.ItemAddress or urllib.parse.quote:",
    )


def test_routes_answer_with_odd_values(
    plugin: Subject, routes: Routes, asker: Ask, logs: Find
) -> None:
    """Metadata may name a plugin over values of any other sort, and files may be damaged."""
    report(
        _failing_on("odd", plugin, routes, asker, logs, 120),
        "routes fail on values that are not what the plugin expects; decode with tbcore.values and "
        "read with multiplexer.read_items, which leaves out what cannot be decoded:",
    )


def test_routes_answer_with_ten_thousand_tags(
    plugin: Subject, routes: Routes, asker: Ask, logs: Find
) -> None:
    """Some programs log a tag for each weight."""
    pairs = logs("many").pairs(plugin.claims, 3)
    wrong: list[object] = []
    for ask, answer in routes.ask_all(asker("many"), pairs):
        tries = [answer]
        while _is_slow(tries[-1]) and len(tries) < TRIES:
            tries.append(asker("many").ask(ask))
        if _is_slow(tries[-1]):
            wrong.append(f"{ask} takes {min(one.seconds for one in tries):.1f} s")
        elif answer.failed:
            wrong.append(answer)
        if len(wrong) == MAX_SHOWN:
            break
    report(
        wrong,
        f"routes fail or take more than {SLOW_SECONDS:.0f} s with 10,000 tags; list tags with "
        "multiplexer.tags, and read no item before somebody looks at it:",
    )


def test_routes_answer_when_a_file_is_gone(
    plugin: Subject, routes: Routes, asker: Ask, logs: Find
) -> None:
    """Somebody deletes a run while it is looked at: what was read stays, the rest is 404."""
    report(
        _failing_on("gone", plugin, routes, asker, logs),
        "routes fail when a file has vanished after it was loaded; let NotFoundError of "
        "item.read() pass, or read with multiplexer.read_items:",
    )


def _is_slow(answer: Answer) -> bool:
    return answer.seconds > SLOW_SECONDS
