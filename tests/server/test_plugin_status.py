"""Activity: calls of `is_active`, at most one for each generation, and their timeout."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, patient_tuning, until

from tbcore import Claim, Kind
from tbcore.plugins import hookspecs
from tbcore.plugins.loading import load_plugins
from tbcore.server import plugin_status
from tbcore.server.plugin_status import Activity
from tbcore.server.pool import ThreadPool
from tbcore.tuning import Tuning

Make = Callable[..., Any]


class Store(SimpleNamespace):
    """The part of a multiplexer that an activity uses."""

    generation = 0
    held: tuple[Kind, ...] = ()
    num_changes = 0
    """How often pages are made to request the plugins again."""

    def count_change(self) -> None:
        self.num_changes += 1

    def has(self, claims: Any) -> bool:
        return any(claim.matches(kind) for claim in claims for kind in self.held)


@pytest.fixture
def make_activity(make_plugin: Make) -> Make:
    """`make_activity(store, is_active)`: the activity of a plugin with this hook, if any."""

    def make(
        store: Store,
        is_active: Callable[..., Any] | None = None,
        tuning: Any = None,
        **info: Any,
    ) -> Activity:
        hooks = {"is_active": is_active} if is_active else {}
        [plugin] = load_plugins(only=(), extra={"made": make_plugin(info=info, **hooks)})
        assert plugin.error is None
        pool = ThreadPool("made")
        return Activity(
            plugin,
            store,  # type: ignore[arg-type]
            pool,
            tuning or patient_tuning(),
            store.count_change,
        )

    return make


def ask(activity: Activity, times: int = 1) -> list[bool]:
    """The results of this many simultaneous requests."""

    async def together() -> list[bool]:
        return list(await asyncio.gather(*(activity.is_active() for _ in range(times))))

    return asyncio.run(together())


def test_the_hook_is_called_once_in_a_generation(make_activity: Make) -> None:
    """All requests of a generation use the result of one call."""
    store = Store()
    calls = []

    def is_active(multiplexer: Any) -> int:
        calls.append(threading.current_thread().name)
        time.sleep(0.02)
        return multiplexer.generation % 2

    made = make_activity(store, is_active)

    assert ask(made, times=5) == [False] * 5
    assert ask(made) == [False]
    assert len(calls) == 1
    store.generation = 1
    # The thread sets the result a moment before it is idle.
    until(lambda: made._pool._num_idle == 1)
    assert ask(made, times=5) == [True] * 5
    assert calls == ["made-1"] * 2


def test_without_the_hook_claims_decide(make_activity: Make) -> None:
    """Without `is_active`, a plugin is active if a claim matches, or if it has no claims."""
    store = Store(held=(Kind("histo"),))

    assert ask(make_activity(store)) == [True]
    assert ask(make_activity(store, claims=(Claim("histo"),))) == [True]
    assert ask(make_activity(store, claims=(Claim("image"),))) == [False]


def test_an_exception_counts_as_inactive_and_is_logged_once(
    make_activity: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """Exceptions are logged once for each type. The hook is called again in each generation."""
    store = Store()

    def is_active(multiplexer: Any) -> bool:
        if multiplexer.generation == 9:
            return True
        raise [ValueError("a"), KeyError("b"), SystemExit()][multiplexer.generation % 3]

    made = make_activity(store, is_active)
    for store.generation in range(9):
        assert ask(made) == [False]
    store.generation = 9
    assert ask(made) == [True]

    assert [record.message for record in caplog.records] == [
        "plugin 'made': is_active failed, so the plugin counts as inactive: ValueError: a",
        "plugin 'made': is_active failed, so the plugin counts as inactive: KeyError: 'b'",
        "plugin 'made': is_active failed, so the plugin counts as inactive: SystemExit",
    ]
    assert all(record.exc_info for record in caplog.records)


def test_a_slow_call_is_waited_for_and_logged_once(
    make_activity: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """The first slow call is logged with its duration; even slower ones after it are not."""
    store = Store()
    seconds = iter([0.0, 0.15, 0.2, 0.0, 0.25])

    def is_active(multiplexer: Any) -> bool:
        time.sleep(next(seconds))
        return True

    made = make_activity(store, is_active, patient_tuning(slow_is_active_seconds=0.1))

    for store.generation in range(5):
        assert ask(made) == [True]
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert re.fullmatch(
        r"plugin 'made': is_active took \d+\.\d\d s; further slow calls are not logged",
        record.message,
    )


def test_documented_timeouts_are_those_of_the_server() -> None:
    """docs/hooks.md and the docstring of the hook have the defaults of `Tuning`."""
    page = Path(__file__).resolve().parents[2] / "docs" / "hooks.md"
    tuning = Tuning()
    for text in (page.read_text(encoding="utf-8"), hookspecs.is_active.__doc__ or ""):
        words = " ".join(text.split())
        slow = f"{1000 * tuning.slow_is_active_seconds:g} ms"
        assert re.search(rf"\b{slow}\b.*\b[Aa]fter {tuning.plugin_timeout_seconds:g} s\b", words)


def test_a_call_does_not_block_the_event_loop(make_activity: Make) -> None:
    """Other requests are served while the hook runs."""
    loop_has_run = threading.Event()
    made = make_activity(Store(), lambda: loop_has_run.wait(WAIT_SECONDS))

    async def turn() -> bool:
        asking = asyncio.ensure_future(made.is_active())
        for _ in range(10):
            await asyncio.sleep(0.01)
        assert not asking.done()
        loop_has_run.set()
        return await asking

    assert asyncio.run(turn())


def test_a_call_that_does_not_return_times_out(
    make_activity: Make,
    tuning: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last result is used then; a late result counts. Only the first timeout is logged."""
    store = Store()
    releases = {1: threading.Event(), 2: threading.Event()}
    waited: list[float] = []

    def is_active(multiplexer: Any) -> bool:
        generation = multiplexer.generation
        if generation in releases:
            releases[generation].wait(WAIT_SECONDS)
        return generation != 1

    async def wait_for(future: Any, seconds: float) -> bool:
        waited.append(seconds)
        return await real(future, seconds)

    real = plugin_status.wait_for
    made = make_activity(store, is_active, tuning)
    assert ask(made) == [True]
    # Not before: on a busy machine the first call might take as long.
    tuning.plugin_timeout_seconds = 1.0
    monkeypatch.setattr(plugin_status, "wait_for", wait_for)
    store.generation = 1
    assert ask(made, times=3) == [True] * 3
    assert any(waited)
    waited.clear()
    assert ask(made) == [True]
    assert waited == [0]
    line = (
        "plugin 'made': is_active has not returned within 1.0 s, so the plugin counts as active "
        "until it does; further timeouts are not logged"
    )
    assert [record.message for record in caplog.records] == [line]

    releases[1].set()
    until(lambda: ask(made) == [False])
    store.generation = 2
    assert ask(made) == [False]
    assert waited
    assert [record.message for record in caplog.records] == [line]
    releases[2].set()
    until(lambda: ask(made) == [True])


def test_the_timeout_is_longer_in_tests_of_plugins(make_plugin: Make, make_client: Make) -> None:
    """With `strict` the timeout is longer, so that a busy machine does not fail a test."""
    tuning = patient_tuning(plugin_timeout_seconds=0.01)
    release = threading.Event()
    plugins = {"made": make_plugin(is_active=lambda: release.wait(WAIT_SECONDS))}

    client = make_client(plugins, tuning=tuning)
    assert client.get("data/plugins_listing").json() == {"made": False}
    threading.Timer(0.2, release.set).start()
    client = make_client(plugins, dev=True, tuning=tuning)
    assert client.get("data/plugins_listing").json() == {"made": True}


@pytest.mark.parametrize("late", [True, False])
def test_pages_are_notified_of_a_late_result_that_differs(make_activity: Make, late: bool) -> None:
    """A late result makes pages request the plugins again only if it differs from the one used."""
    store = Store()
    release = threading.Event()
    tuning = patient_tuning(plugin_timeout_seconds=0.1)
    made = make_activity(store, lambda: release.wait(WAIT_SECONDS) and late, tuning)

    assert ask(made) == [False]
    assert store.num_changes == 0
    release.set()
    until(lambda: made._pool._num_idle)
    assert store.num_changes == late
    assert ask(made) == [late]


def test_a_new_generation_during_a_call_causes_another_call(make_activity: Make) -> None:
    """The result for older data is not used for a client that has seen newer data."""
    store = Store()
    started, release = threading.Event(), threading.Event()

    def is_active(multiplexer: Any) -> bool:
        generation = multiplexer.generation
        started.set()
        release.wait(WAIT_SECONDS)
        return bool(generation)

    made = make_activity(store, is_active)

    async def race() -> tuple[bool, bool]:
        early = asyncio.ensure_future(made.is_active())
        while not started.is_set():
            await asyncio.sleep(0.001)
        store.generation = 1
        late = asyncio.ensure_future(made.is_active())
        await asyncio.sleep(0.01)
        release.set()
        return await early, await late

    assert asyncio.run(race()) == (False, True)
