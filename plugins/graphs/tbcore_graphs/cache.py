"""Caches of values that were computed from the bytes of a file, limited by their size."""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

V = TypeVar("V")


class Cache(Generic[V]):
    """A thread-safe LRU cache of up to `max_bytes`.

    The most recent value is kept even if it alone exceeds `max_bytes`.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._values: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self._num_bytes = 0
        self._lock = threading.Lock()
        self._key_locks = WeakValueDictionary[Hashable, threading.Lock]()
        """Maps each key whose value is being made to a lock, which exists while a thread holds it
        or waits for it."""

    def get(self, key: Hashable, make: Callable[[], V], size: Callable[[V], int]) -> V:
        """The value for this key, made by `make()` if it is not in the cache.

        Only one thread makes the value; other threads that request it wait. Keys identify bytes in
        a file, so values never go stale. `size` returns a value's size in bytes. An exception from
        `make` propagates, and nothing is cached.
        """
        with self._lock:
            found = self._find(key)
            if found is not None:
                return found
            key_lock = self._key_locks.setdefault(key, threading.Lock())
        with key_lock:
            with self._lock:
                found = self._find(key)
            if found is not None:
                return found
            value = make()
            self.put(key, value, size(value))
        return value

    def peek(self, key: Hashable) -> V | None:
        """The value for this key, or None; never makes one. The value counts as recently used."""
        with self._lock:
            return self._find(key)

    def put(self, key: Hashable, value: V, size: int) -> None:
        """Caches a value of `size` bytes, and evicts the least recently used values if needed."""
        with self._lock:
            if key in self._values:
                self._num_bytes -= self._values.pop(key)[1]
            self._values[key] = value, size
            self._num_bytes += size
            while self._num_bytes > self._max_bytes and len(self._values) > 1:
                _, (_, freed) = self._values.popitem(last=False)
                self._num_bytes -= freed

    def _find(self, key: Hashable) -> V | None:
        """The same as `peek`, for callers that hold `_lock`."""
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]


class TextCache:
    """A cache of long texts, which are compressed chunk by chunk.

    The text of a graph shrinks to between a tenth and a hundredth of its size.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._texts: Cache[list[bytes]] = Cache(max_bytes)

    def get(self, key: Hashable) -> Iterator[bytes] | None:
        """The chunks of the text for this key; None if it is not in the cache."""
        chunks = self._texts.peek(key)
        return None if chunks is None else map(zlib.decompress, chunks)

    def keep(self, key: Hashable, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yields the chunks unchanged. After the last one, the text is cached unless too large."""
        kept: list[bytes] = []
        size = 0
        for chunk in chunks:
            if size <= self._max_bytes:
                kept.append(zlib.compress(chunk, 1))
                size += len(kept[-1])
            else:
                kept.clear()
            yield chunk
        if size <= self._max_bytes:
            self._texts.put(key, kept, size)
