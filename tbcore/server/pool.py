"""ThreadPool: daemon threads for work that must not hold up the event loop.

Unlike the executor of the standard library its threads are made only when all others are busy, end
when there is nothing to do, and do not keep the process from ending: a handler may be blocked for
ever, and Ctrl-C must still work.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

IDLE_SECONDS = 60.0
"""A thread that has had no job for so long ends."""


class NoThreadError(RuntimeError):
    """The system has no thread for a pool, and the pool has none of its own."""


class ThreadPool:
    """At most `max_threads` threads, all of which may be blocked without harm to anyone else."""

    def __init__(self, name: str, *, max_threads: int = 16) -> None:
        self.name = name
        self.max_threads = max_threads
        self.num_threads = 0
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._num_queued = 0
        """Jobs that no thread has taken."""
        self._num_idle = 0
        """Threads that wait for one."""
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

        with self._lock:
            if self._num_queued >= self._num_idle:
                self._add_thread()
            self._num_queued += 1
        self._jobs.put(job)
        return future

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Calls the function in one of the threads and waits for what it returns or raises."""
        future = self.submit(function, *arguments)
        await wait_for(future)
        return future.result()

    def _add_thread(self) -> None:
        """Starts one more, if there may be one. The caller holds the lock."""
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
            with self._lock:
                self._num_idle += 1
            job = None
            with contextlib.suppress(Empty):
                job = self._jobs.get(timeout=IDLE_SECONDS)
            with self._lock:
                self._num_idle -= 1
                if job is not None:
                    self._num_queued -= 1
                elif not self._num_queued:
                    self.num_threads -= 1
                    return
            if job is not None:
                job()


async def wait_for(future: Future[Any], seconds: float | None = None) -> bool:
    """Whether the future of another thread is done, which is waited for so long at most.

    As `asyncio.wait` of a wrapped future, with a third of the steps. The future goes on when the
    waiting is cancelled.
    """
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def tell(_: Future[Any]) -> None:
        # The loop is closed when the server ends before the call does.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(wake)

    timer = None if seconds is None else loop.call_later(seconds, wake)
    future.add_done_callback(tell)
    try:
        await waiter
    finally:
        if timer is not None:
            timer.cancel()
    return future.done()
