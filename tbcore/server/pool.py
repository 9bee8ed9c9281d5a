"""ThreadPool: daemon threads for work that must not hold up the event loop.

Unlike the executor of the standard library its threads are made only when all others are busy, and
they do not keep the process from ending: a handler may be blocked for ever, and Ctrl-C must still
work.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class NoThreadError(RuntimeError):
    """The system has no thread for a pool, and the pool has none of its own."""


class ThreadPool:
    """At most `max_threads` threads, all of which may be blocked without harm to anyone else."""

    def __init__(self, name: str, *, max_threads: int = 16) -> None:
        self.name = name
        self.max_threads = max_threads
        self.num_threads = 0
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        """How many threads wait for a job that nobody has claimed yet."""
        self._lock = threading.Lock()

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Starts a call in one of the threads. The future can be cancelled until it runs.

        Raises NoThreadError when there is no thread that would run it, now or later.
        """
        future: Future[T] = Future()
        context = contextvars.copy_context()

        def job() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = context.run(function, *arguments)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        if not self._idle.acquire(blocking=False):
            self._add_thread()
        self._jobs.put(job)
        return future

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Calls the function in one of the threads and waits for what it returns or raises."""
        return await asyncio.wrap_future(self.submit(function, *arguments))

    def _add_thread(self) -> None:
        with self._lock:
            if self.num_threads >= self.max_threads:
                return
            name = f"{self.name}-{self.num_threads + 1}"
            try:
                threading.Thread(target=self._work, name=name, daemon=True).start()
            except RuntimeError as error:
                if self.num_threads == 0:
                    raise NoThreadError(f"no thread for {self.name}: {error}") from error
                # The others will come to it.
                return
            self.num_threads += 1

    def _work(self) -> None:
        while True:
            self._jobs.get()()
            self._idle.release()
