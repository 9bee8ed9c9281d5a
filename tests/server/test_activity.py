"""Whether a plugin is active: asked at most once in a generation, and never a burden to others."""

from __future__ import annotations

import asyncio
import logging
import re
import runpy
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from every_test import PATIENCE, until

from tbcore import Claim, Kind, hookspecs
from tbcore.plugins import load_plugins
from tbcore.server import activity
from tbcore.server.activity import Activity
from tbcore.server.pool import ThreadPool

Make = Callable[..., Any]


class Store(SimpleNamespace):
    """As much of a multiplexer as the activity asks for."""

    generation = 0
    held: tuple[Kind, ...] = ()
    num_changes = 0
    """How often pages are told to ask again."""

    def tell_change(self) -> None:
        self.num_changes += 1

    def has(self, claims: Any) -> bool:
        return any(claim.matches(kind) for claim in claims for kind in self.held)


@pytest.fixture
def make_activity(make_plugin: Make) -> Make:
    def make(store: Store, is_active: Callable[..., Any] | None = None, **info: Any) -> Activity:
        hooks = {"is_active": is_active} if is_active else {}
        [plugin] = load_plugins(only=(), extra={"made": make_plugin(info=info, **hooks)})
        assert plugin.error is None
        pool = ThreadPool("made")
        return Activity(plugin, store, pool, store.tell_change)  # type: ignore[arg-type]

    return make


def ask(activity: Activity, times: int = 1) -> list[bool]:
    async def together() -> list[bool]:
        return list(await asyncio.gather(*(activity.ask() for _ in range(times))))

    return asyncio.run(together())


def test_the_hook_is_called_once_in_a_generation(make_activity: Make) -> None:
    """However many ask, at one time or after one another."""
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
    # The thread has told its answer a moment before it is free.
    until(lambda: made._pool._num_idle == 1)
    assert ask(made, times=5) == [True] * 5
    assert calls == ["made-1"] * 2


def test_without_the_hook_claims_decide(make_activity: Make) -> None:
    """A plugin that claims nothing is always there."""
    store = Store(held=(Kind("histo"),))

    assert ask(make_activity(store)) == [True]
    assert ask(make_activity(store, claims=(Claim("histo"),))) == [True]
    assert ask(make_activity(store, claims=(Claim("image"),))) == [False]


def test_an_exception_counts_as_inactive_and_is_logged_once(
    make_activity: Make, caplog: pytest.LogCaptureFixture
) -> None:
    """Once for each type; the plugin is asked again in the next generation."""
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


def test_a_slow_answer_is_waited_for_and_told(
    make_activity: Make, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the time; again only when it gets worse."""
    monkeypatch.setattr(activity, "SLOW_SECONDS", 0.1)
    store = Store()
    made = make_activity(store, lambda multiplexer: time.sleep(0.15) or True)

    assert ask(made) == [True]
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert re.match(r"plugin 'made': is_active took \d+\.\d\d s", record.message)


def test_how_long_is_waited_is_what_authors_are_told() -> None:
    """On the page of hooks, and where the hook is declared."""
    page = Path(__file__).resolve().parents[2] / "docs" / "hooks.md"
    own = runpy.run_path(activity.__file__)  # Without the patience that tests have.
    for text in (page.read_text(encoding="utf-8"), hookspecs.is_active.__doc__ or ""):
        words = " ".join(text.split())
        assert f"bove {1000 * own['SLOW_SECONDS']:g} ms the log says" in words
        assert f"after {own['PATIENCE_SECONDS']:g} s the answer" in words


def test_the_event_loop_goes_on_meanwhile(make_activity: Make) -> None:
    """Other requests are answered while a plugin thinks."""
    has_turned = threading.Event()
    made = make_activity(Store(), lambda: has_turned.wait(PATIENCE))

    async def turn() -> bool:
        asking = asyncio.ensure_future(made.ask())
        for _ in range(10):
            await asyncio.sleep(0.01)
        assert not asking.done()
        has_turned.set()
        return await asking

    assert asyncio.run(turn())


def test_an_answer_that_does_not_come_is_not_waited_for(
    make_activity: Make, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last known answer stands in, and the log says so once; a late answer still counts."""
    store = Store()
    release = threading.Event()
    waited: list[float] = []

    def is_active(multiplexer: Any) -> bool:
        if multiplexer.generation == 1:
            release.wait(PATIENCE)
            return False
        return True

    async def wait_for(future: Any, seconds: float) -> bool:
        waited.append(seconds)
        return await real(future, seconds)

    real = activity.wait_for
    made = make_activity(store, is_active)
    assert ask(made) == [True]
    # Not before: on a busy machine the first answer might take as long.
    monkeypatch.setattr(activity, "PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(activity, "wait_for", wait_for)
    store.generation = 1
    assert ask(made, times=3) == [True] * 3
    assert any(waited)
    waited.clear()
    assert ask(made) == [True]
    assert waited == [0]
    assert [record.message for record in caplog.records] == [
        "plugin 'made': is_active has not answered for 1.0 s; the plugin counts as active for now"
    ]

    release.set()
    until(lambda: ask(made) == [False])


def test_the_answer_is_waited_for_in_tests_of_plugins(
    make_plugin: Make, make_client: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would fail on a busy machine."""
    monkeypatch.setattr(activity, "PATIENCE_SECONDS", 0.01)
    release = threading.Event()
    plugins = {"made": make_plugin(is_active=lambda: release.wait(PATIENCE))}

    assert make_client(plugins).get("data/plugins_listing").json() == {"made": False}
    threading.Timer(0.2, release.set).start()
    assert make_client(plugins, dev=True).get("data/plugins_listing").json() == {"made": True}


@pytest.mark.parametrize("answer", [True, False])
def test_pages_are_told_of_a_late_answer_that_changes_something(
    make_activity: Make, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    """They have been told "inactive", and nothing else may ever make them ask again."""
    monkeypatch.setattr(activity, "PATIENCE_SECONDS", 0.1)
    store = Store()
    release = threading.Event()
    made = make_activity(store, lambda: release.wait(PATIENCE) and answer)

    assert ask(made) == [False]
    assert store.num_changes == 0
    release.set()
    until(lambda: made._pool._num_idle)
    assert store.num_changes == answer
    assert ask(made) == [answer]


def test_a_generation_that_passes_meanwhile_is_asked_for(make_activity: Make) -> None:
    """An answer about older data does not do for somebody who saw newer data."""
    store = Store()
    started, release = threading.Event(), threading.Event()

    def is_active(multiplexer: Any) -> bool:
        generation = multiplexer.generation
        started.set()
        release.wait(PATIENCE)
        return bool(generation)

    made = make_activity(store, is_active)

    async def race() -> tuple[bool, bool]:
        early = asyncio.ensure_future(made.ask())
        while not started.is_set():
            await asyncio.sleep(0.001)
        store.generation = 1
        late = asyncio.ensure_future(made.ask())
        await asyncio.sleep(0.01)
        release.set()
        return await early, await late

    assert asyncio.run(race()) == (False, True)
