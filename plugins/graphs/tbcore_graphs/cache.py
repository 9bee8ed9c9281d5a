"""Caches: what was made of the bytes in a file, for as long as there is room."""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """The values used last, of at most `max_bytes` together; the very last one always."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._values: OrderedDict[Hashable, tuple[V, int]] = OrderedDict()
        self._num_bytes = 0
        self._lock = threading.Lock()
        self._making: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, make: Callable[[], V], size: Callable[[V], int]) -> V:
        """The value with this key, made if there is none; by one thread, and others wait for it.

        The key names bytes in a file, so that the value never gets old. `size` is in bytes. What
        `make` raises is passed on, and nothing is kept then.
        """
        with self._lock:
            found = self._find(key)
            if found is not None:
                return found
            making = self._making.setdefault(key, threading.Lock())
        with making:
            with self._lock:
                found = self._find(key)
            if found is not None:
                return found
            try:
                value = make()
                self.put(key, value, size(value))
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return value

    def peek(self, key: Hashable) -> V | None:
        """The value with this key, if there is one."""
        with self._lock:
            return self._find(key)

    def put(self, key: Hashable, value: V, size: int) -> None:
        """Keeps a value that was made elsewhere."""
        with self._lock:
            if key in self._values:
                self._num_bytes -= self._values.pop(key)[1]
            self._values[key] = value, size
            self._num_bytes += size
            while self._num_bytes > self._max_bytes and len(self._values) > 1:
                _, (_, freed) = self._values.popitem(last=False)
                self._num_bytes -= freed

    def _find(self, key: Hashable) -> V | None:
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key][0]


class TextCache:
    """Long texts in chunks, compressed: those of graphs are a tenth then, or a hundredth."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._texts: Cache[list[bytes]] = Cache(max_bytes)

    def get(self, key: Hashable) -> Iterator[bytes] | None:
        """The chunks of the text with this key, if there is one."""
        chunks = self._texts.peek(key)
        return None if chunks is None else map(zlib.decompress, chunks)

    def keep(self, key: Hashable, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks again; once the last one was taken, the text is kept."""
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
