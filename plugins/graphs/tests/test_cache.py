"""The caches stay within their capacity, make each value once and never keep half of a text."""

from __future__ import annotations

import gc
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tbcore_graphs.cache import Cache, TextCache


def test_the_least_recently_used_values_are_evicted() -> None:
    """The most recent value stays, even if it alone exceeds the capacity."""
    cache: Cache[str] = Cache(10)
    made: list[str] = []

    def get(key: str, size: int = 4) -> str:
        return cache.get(key, lambda: made.append(key) or f"value of {key}", lambda _: size)

    assert [get("a"), get("b"), get("a"), get("c")][2] == "value of a"
    assert made == ["a", "b", "c"]
    get("a")
    assert made == ["a", "b", "c"]
    get("b")
    assert made == ["a", "b", "c", "b"]
    get("large", 1000)
    get("large", 1000)
    get("a")
    assert made == ["a", "b", "c", "b", "large", "a"]


def test_a_value_is_made_by_one_thread_while_others_wait() -> None:
    """Reading a large graph twice at once would take twice the memory."""
    cache: Cache[int] = Cache(10)
    made: list[int] = []
    all_started = threading.Barrier(4)

    def make() -> int:
        made.append(1)
        return 7

    def get() -> int:
        all_started.wait(timeout=30)
        return cache.get("key", make, lambda _: 1)

    with ThreadPoolExecutor(4) as pool:
        found = [future.result() for future in [pool.submit(get) for _ in range(4)]]

    assert (found, made) == ([7] * 4, [1])


def test_an_error_propagates_and_nothing_is_cached() -> None:
    """The next call tries again."""
    cache: Cache[int] = Cache(10)
    with pytest.raises(ZeroDivisionError):
        cache.get("key", lambda: 1 // 0, lambda _: 1)
    assert cache.peek("key") is None
    assert cache.get("key", lambda: 3, lambda _: 1) == 3


def test_after_an_error_a_waiting_thread_makes_the_value_alone() -> None:
    """A thread that comes later waits for the same lock, which is forgotten in the end."""
    cache: Cache[bool] = Cache(10)

    def is_locked() -> bool:
        return cache._key_locks["key"].locked()

    def fail() -> bool:
        key_lock = cache._key_locks["key"]
        num_references = sys.getrefcount(key_lock)
        waiting.append(pool.submit(cache.get, "key", is_locked, lambda _: 1))
        deadline = time.monotonic() + 60
        while sys.getrefcount(key_lock) == num_references and time.monotonic() < deadline:
            time.sleep(0.001)
        raise ZeroDivisionError

    waiting: list[Future[bool]] = []
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(ZeroDivisionError):
            cache.get("key", fail, lambda _: 1)
        assert waiting[0].result() is True

    gc.collect()
    assert not cache._key_locks


def test_a_text_is_cached_after_its_last_chunk() -> None:
    """A client that disconnects in the middle leaves nothing in the cache."""
    texts = TextCache(1000)
    chunks = [b"first", b"second"]
    half = texts.keep("key", iter(chunks))
    assert next(half) == b"first"
    assert texts.get("key") is None

    assert list(texts.keep("key", iter(chunks))) == chunks

    kept = texts.get("key")
    assert kept is not None
    assert list(kept) == chunks


def test_a_text_that_is_too_long_is_not_cached() -> None:
    """Its chunks are still returned."""
    texts = TextCache(100)
    chunks = [bytes(range(256))] * 3
    assert list(texts.keep("key", iter(chunks))) == chunks
    assert texts.get("key") is None
