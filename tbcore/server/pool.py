"""ThreadPool: daemon threads for work that must not block the event loop.

It differs from ThreadPoolExecutor in three ways: a thread is started only if all others are busy,
it ends when it has been idle for a while, and it does not keep the process from ending. A handler
may block forever, and Ctrl-C must still work.
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

from starlette.requests import Request

T = TypeVar("T")
GONE_KEY = "tbcore.gone"
"""Key of a scope with a threading.Event that `run_for` sets when the client has gone."""


class NoThreadError(RuntimeError):
    """A pool has no threads, and the system refuses to start one."""


class ThreadPool:
    """A pool of at most `max_threads` threads. If they block, no other pool is affected."""

    def __init__(
        self, name: str, *, max_threads: int = 16, idle_timeout_seconds: float = 60.0
    ) -> None:
        self.name = name
        self.max_threads = max_threads
        self.num_threads = 0
        self._idle_timeout_seconds = idle_timeout_seconds
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._num_queued = 0
        """Number of jobs that no thread has taken yet."""
        self._num_idle = 0
        """Number of threads that wait for a job."""
        self._lock = threading.Lock()

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Queues a call for one of the threads. The future can be cancelled until the call begins.

        Raises NoThreadError if the pool has no thread and cannot start one.
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
        """Calls a function in one of the threads; returns its result or raises its exception."""
        future = self.submit(function, *arguments)
        await wait_for(future)
        return future.result()

    async def run_for(self, request: Request, function: Callable[[Request], T]) -> T:
        """Like `run`, and watches the client of a request that has been received.

        The function is called even if the client has gone, since it may have to save something.
        """
        gone = request.scope[GONE_KEY] = threading.Event()
        future = self.submit(function, request)
        while not await wait_for(future, seconds=0.1):
            if await request.is_disconnected():
                gone.set()
        return future.result()

    def _add_thread(self) -> None:
        """Starts a thread if there are fewer than `max_threads`. The caller holds the lock."""
        if self.num_threads >= self.max_threads:
            return
        name = f"{self.name}-{self.num_threads + 1}"
        try:
            threading.Thread(target=self._work, name=name, daemon=True).start()
        except RuntimeError as error:
            if self.num_threads == 0:
                raise NoThreadError(f"no thread for {self.name}: {error}") from error
            # The job waits in the queue until another thread is idle.
            return
        self.num_threads += 1

    def _work(self) -> None:
        """Runs jobs until there is none for the idle timeout. Each thread runs this method."""
        while True:
            with self._lock:
                self._num_idle += 1
            job = None
            with contextlib.suppress(Empty):
                job = self._jobs.get(timeout=self._idle_timeout_seconds)
            with self._lock:
                self._num_idle -= 1
                if job is not None:
                    self._num_queued -= 1
                elif not self._num_queued:
                    # No job was queued just after the timeout, so the thread can end.
                    self.num_threads -= 1
                    return
            if job is not None:
                job()


async def wait_for(future: Future[Any], seconds: float | None = None) -> bool:
    """Waits for a future of another thread for at most `seconds`; returns whether it is done.

    Like `asyncio.wait` with `asyncio.wrap_future`, but in a third of the event loop's steps.
    Cancelling the task that waits does not cancel the future.
    """
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def wake_from_thread(_: Future[Any]) -> None:
        # RuntimeError: the loop is closed, because the server ended before the call did.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(wake)

    timer = None if seconds is None else loop.call_later(seconds, wake)
    future.add_done_callback(wake_from_thread)
    try:
        await waiter
    finally:
        if timer is not None:
            timer.cancel()
    return future.done()
