"""Guard: runs the routes of one plugin so that its faults do not affect anything else.

Plain handlers, and iterators that make the body of a response, run on the plugin's own threads.
Async handlers, and async iterators, run on the plugin's own event loop. A handler that is slow or
blocked delays only its own plugin, and an exception becomes a response.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import inspect
import logging
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Sequence,
)
from concurrent.futures import Future
from typing import Any

import h11
from starlette.concurrency import iterate_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from tbcore.errors import TbcoreError
from tbcore.http import BODY_KEY, printable, text_error
from tbcore.plugin_stats import CURRENT_PLUGIN, Call
from tbcore.plugins import MountedPlugin, Outcome, attempt, describe, traceback_of
from tbcore.server.plugin_loop import PluginLoop, from_server
from tbcore.server.pool import ThreadPool, wait_for
from tbcore.tuning import Tuning

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1 << 20
"""Size of the largest request body that is accepted."""

BUSY = "all of its threads, or its event loop, are in use"
"""The reason in messages about calls of a plugin that were not started in time."""

STATUSES_WITHOUT_BODY = (204, 304)
"""A response with one of these statuses ends with its headers."""

Handler = Callable[[Request], Any]


class Guard:
    """Sends a response to every request for one plugin, even if the plugin fails."""

    def __init__(self, mounted: MountedPlugin, pool: ThreadPool, tuning: Tuning) -> None:
        self.name = mounted.plugin.name
        self._stats = mounted.plugin.stats
        self._loop = PluginLoop(self._stats, tuning)
        self._slowest: dict[str, float] = {}
        """Seconds of the slowest call that was logged, by route. A call is logged if it takes more
        than twice as long."""
        self._logged_running: set[str] = set()
        """Routes that have been logged for running longer than the timeout of the queue."""
        self._error = None if mounted.error is None else mounted.plugin.redact_paths(mounted.error)
        self._raises = mounted.plugin.strict
        """Whether faults are raised as well, for a plugin's own tests."""
        self._shows_tracebacks = mounted.plugin.dev
        self._pool = pool
        self._tuning = tuning

    async def handle(
        self, routes: Sequence[Route], scope: Scope, receive: Receive, send: Send
    ) -> bool:
        """Sends the response of the route that matches the scope's path below its root_path.

        Returns False, and sends nothing, if no route matches.
        """
        before = CURRENT_PLUGIN.set(self._stats)
        try:
            return await self._handle(routes, scope, receive, send)
        finally:
            CURRENT_PLUGIN.reset(before)

    async def _handle(
        self, routes: Sequence[Route], scope: Scope, receive: Receive, send: Send
    ) -> bool:
        if self._error is not None:
            await text_error(503, self._error)(scope, receive, send)
            return True
        allowed: set[str] = set()
        for route in routes:
            outcome = attempt(_match, route, scope)
            if isinstance(outcome.error, ValueError):
                # A parameter that cannot be converted, such as a number with more digits than int()
                # accepts, matches no address.
                continue
            if outcome.error is not None:
                await self._fail(route, outcome.error, scope, receive, send)
                return True
            match, child_scope = outcome.value
            if match is Match.FULL:
                await self._respond(route, {**scope, **child_scope}, receive, send)
                return True
            if match is Match.PARTIAL:
                allowed |= route.methods or set()
        if allowed:
            await method_not_allowed(scope, allowed)(scope, receive, send)
        return bool(allowed)

    async def _respond(self, route: Route, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            body = await read_body(scope, receive, self._tuning.request_timeout_seconds)
            if body is None:
                return
            if isinstance(body, Response):
                await body(scope, receive, send)
                return
            scope[BODY_KEY] = body
            receive = _replay(body, receive)
        request = Request(scope, from_server(receive), from_server(send))
        outcome = await self._call(route, request)
        if outcome is None:
            busy = f"plugin {self.name!r} is busy: {BUSY}"
            await text_error(503, busy, headers={"retry-after": "5"})(scope, receive, send)
            return
        if outcome.error is not None:
            error_response = attempt(_error_response, outcome.error)
            if error_response.value is None:
                error = error_response.error or outcome.error
                await self._fail(route, error, scope, receive, send)
                return
            outcome = error_response
        await self._send(route, outcome.value, scope, receive, send)

    async def _call(self, route: Route, request: Request) -> Outcome | None:
        """What the handler returned or raised; None if it was not started within the timeout."""
        what = f"route {route.path}"
        if _is_async(route.endpoint):
            started = attempt(route.endpoint, request)
            return started if started.error else await self._await(what, started.value)
        outcome = await self._in_thread(what, self._timed, what, route.endpoint, request)
        if outcome is not None and inspect.isawaitable(outcome.value):
            # A plain function that calls an async one, such as a decorator's.
            return await self._await(f"{what}, awaited", outcome.value)
        return outcome

    def _timed(self, what: str, handler: Handler, request: Request) -> Outcome:
        """Calls a handler, in one of the plugin's threads, and logs it if it is slow."""
        with self._stats.measure(what) as call:
            outcome = attempt(handler, request)
        self._log_slow(call)
        return outcome

    async def _await(self, what: str, awaitable: Awaitable[Any]) -> Outcome | None:
        """The outcome of async code on the plugin's event loop; None if the loop stays blocked."""
        with self._stats.measure(what) as call:
            loop_task = self._loop.submit(awaitable, what)
            try:
                outcome = await self._finished(what, loop_task)
            except asyncio.CancelledError:
                loop_task.stop()
                raise
        self._log_slow(call)
        return outcome

    async def _in_thread(
        self, what: str, function: Callable[..., Outcome], *arguments: Any
    ) -> Outcome | None:
        """The outcome of a call in one of the plugin's threads; None if none becomes free."""
        return await self._finished(what, self._pool.submit(function, *arguments))

    async def _finished(self, what: str, future: Future[Outcome]) -> Outcome | None:
        """The outcome of submitted code; None if it was not started before the queue's timeout."""
        timeout = self._tuning.queue_timeout_seconds
        seconds_left = timeout
        while seconds_left > 0:
            interval = min(seconds_left, self._tuning.blocked_loop_seconds)
            if await wait_for(future, interval):
                return future.result()
            self._loop.check_blocked()
            seconds_left -= interval
        if future.cancel():
            self._stats.record_failure(what, f"it was not started: {BUSY}")
            return None
        if what not in self._logged_running:
            self._logged_running.add(what)
            logger.warning("plugin %r: %s has been running for %.0f s", self.name, what, timeout)
        await wait_for(future)
        return future.result()

    async def _send(
        self, route: Route, response: Any, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Sends what a handler returned, or an error response if that fails."""
        sender = _CheckedSender(scope["method"], send)
        error = await self._try_send(route, response, sender, scope, receive)
        if error is None:
            return
        if not sender.is_started:
            await self._fail(route, error, scope, receive, send)
            return
        # Part of the response has been sent. Returning without the rest makes the server close the
        # connection, so the client sees that the response is incomplete.
        self._log(route, error)
        if self._raises:
            raise error

    async def _try_send(
        self, route: Route, response: Any, sender: _CheckedSender, scope: Scope, receive: Receive
    ) -> BaseException | None:
        """Sends a response and runs its background task; returns what was raised."""
        what = f"response of route {route.path}"
        try:
            if not isinstance(response, Response):
                raise TypeError(f"the handler returned {type(response).__name__}, not a Response")
            sender.check(response)
            if type(response).__call__.__module__ != Response.__module__:
                # A class of the plugin: it runs the background task itself.
                sending = response(scope, from_server(receive), from_server(sender.send))
                _value(what, await self._await(what, sending))
                return None
            background = response.background
            if background is not None or isinstance(response, StreamingResponse):
                # A copy, because a plugin may return the same object again.
                response = copy.copy(response)
                response.background = None
            if isinstance(response, StreamingResponse):
                response.body_iterator = body = self._parts(what, response.body_iterator)
                async with contextlib.aclosing(body):
                    await response(scope, receive, sender.send)
            else:
                await response(scope, receive, sender.send)
            if background is not None:
                task = f"background task of route {route.path}"
                _value(task, await self._await(task, background()))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            return error
        return None

    def _parts(self, what: str, body: Any) -> AsyncGenerator[Any]:
        """The parts of a body, made in the plugin's own threads or on its own event loop.

        A plain iterator is unwrapped first: Starlette would run it in threads that all plugins
        share.
        """
        if getattr(body, "ag_code", None) is iterate_in_threadpool.__code__:
            return self._plain_parts(what, iter(body.ag_frame.f_locals["iterator"]))
        return self._async_parts(what, aiter(body))

    async def _plain_parts(self, what: str, parts: Iterator[Any]) -> AsyncGenerator[Any]:
        try:
            while True:
                outcome = await self._in_thread(what, attempt, next, parts)
                if outcome is not None and isinstance(outcome.error, StopIteration):
                    return
                yield _value(what, outcome)
        finally:
            # Otherwise the garbage collector would close the generator in the server's thread.
            if isinstance(parts, Generator):
                attempt(self._pool.submit, attempt, parts.close)

    async def _async_parts(self, what: str, parts: AsyncIterator[Any]) -> AsyncGenerator[Any]:
        async def next_part() -> Any:
            # Called on the plugin's event loop, which then also closes the generator.
            return await anext(parts)

        try:
            while True:
                outcome = await self._await(what, next_part())
                if outcome is not None and isinstance(outcome.error, StopAsyncIteration):
                    return
                yield _value(what, outcome)
        finally:
            if isinstance(parts, AsyncGenerator):
                attempt(self._loop.submit, parts.aclose(), what)

    def _log_slow(self, call: Call) -> None:
        threshold = self._tuning.slow_call_seconds
        if call.what in self._slowest:
            threshold = 2 * self._slowest[call.what]
        if call.seconds > threshold:
            self._slowest[call.what] = call.seconds
            logger.warning("plugin %r: %s took %.1f s", self.name, call.what, call.seconds)

    async def _fail(
        self, route: Route, error: BaseException, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Sends the error response for a route that failed."""
        self._log(route, error)
        failed = f"plugin {self.name!r} failed in its route {route.path!r}"
        if self._shows_tracebacks:
            response = _traceback_response(failed, error)
        else:
            response = text_error(500, f"{failed}; the log has the details")
        await response(scope, receive, send)
        if self._raises:
            raise error

    def _log(self, route: Route, error: BaseException) -> None:
        self._stats.record_failure(f"route {route.path}", describe(error), error)
        if self._raises:
            error.add_note(f"raised by plugin {self.name!r} in its route {route.path!r}")
            return
        logger.error("plugin %r: route %r failed", self.name, route.path, exc_info=error)


class _CheckedSender:
    """Sends a plugin's response, and raises before anything that is not valid HTTP is sent.

    The server would find the same faults, but too late for an error response. For example, a body
    that is shorter than its Content-Length would keep the client waiting for the rest.
    """

    def __init__(self, method: str, send: Send) -> None:
        self.is_started = False
        """Whether the headers have been sent, so that no other response can be."""
        self._method = method
        self._send = send
        self._is_checked = False
        """Whether headers and body were checked before the first of them was sent."""
        self._missing: int | None = None
        """Bytes of the body that have not been sent yet; None if any length is valid."""

    def check(self, response: Response) -> None:
        """Raises if the body is known in advance, and its length is not the Content-Length."""
        if type(response).__call__ is not Response.__call__:
            # The body is made while it is sent.
            return
        expected = _body_size(response.status_code, response.raw_headers, self._method)
        if expected is not None and len(response.body) != expected:
            raise ValueError(
                f"the body has {len(response.body)} bytes, and the headers say {expected}"
            )
        self._is_checked = True

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if not self._is_checked:
                self._missing = _body_size(message["status"], message["headers"], self._method)
            await self._send(message)
            self.is_started = True
            return
        if self._missing is not None:
            self._missing -= len(message.get("body", b""))
            is_last = not message.get("more_body", False)
            if self._missing < 0 or (is_last and self._missing > 0):
                what = "longer" if self._missing < 0 else "shorter"
                raise ValueError(f"the body is {what} than the headers say")
        await self._send(message)


def _body_size(status: int, headers: list[tuple[bytes, bytes]], method: str) -> int | None:
    """Bytes that the body must have; None for any number. Raises if the headers are not valid."""
    head = h11.Response(status_code=status, headers=headers)
    if status > 599:
        raise ValueError(f"{status} is not a valid HTTP status")
    if status in STATUSES_WITHOUT_BODY:
        return 0
    if method == "HEAD":
        # No body is sent, and the headers are those of the response to GET.
        return None
    lengths = [int(value) for name, value in head.headers if name == b"content-length"]
    return lengths[0] if lengths else None


def _value(what: str, outcome: Outcome | None) -> Any:
    """What code of a plugin returned; raises what it raised."""
    if outcome is None:
        raise TimeoutError(f"{what} was not started: {BUSY}")
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def _match(route: Route, scope: Scope) -> tuple[Match, Scope]:
    """Starlette's match, for the whole path. Starlette alone ignores a newline at its end."""
    if route.path_regex.fullmatch(scope["path"].removeprefix(scope["root_path"])) is None:
        return Match.NONE, {}
    return route.matches(scope)


def method_not_allowed(scope: Scope, allowed: set[str]) -> Response:
    """The 405 response to a method that no route at this address accepts."""
    methods = ", ".join(sorted(allowed))
    message = f"method {scope['method']} is not allowed here; allowed: {methods}"
    return text_error(405, message, headers={"allow": methods})


def _error_response(error: BaseException) -> Response | None:
    """The response for an exception that a handler may raise; None for any other exception."""
    if isinstance(error, TbcoreError):
        return text_error(error.status, str(error))
    if isinstance(error, HTTPException):
        if error.status_code in STATUSES_WITHOUT_BODY:
            return Response(status_code=error.status_code, headers=error.headers)
        return text_error(error.status_code, error.detail, headers=error.headers)
    return None


def _traceback_response(failed: str, error: BaseException) -> Response:
    """The error response for the author of a plugin: one line, then the traceback."""
    line = text_error(500, f"{failed}: {describe(error)}")
    text = f"{bytes(line.body).decode()}\n\n{printable(traceback_of(error))}"
    return Response(text, status_code=500, headers={"content-type": "text/plain; charset=utf-8"})


def _is_async(handler: Handler) -> bool:
    while isinstance(handler, functools.partial):
        handler = handler.func
    return inspect.iscoroutinefunction(handler)


async def read_body(
    scope: Scope, receive: Receive, timeout_seconds: float
) -> bytes | Response | None:
    """The whole body of a request; None if the client has disconnected.

    A response, which the caller must send, if the body is too long or does not arrive in time.
    """
    try:
        return await asyncio.wait_for(_read_body(scope, receive), timeout_seconds)
    except TimeoutError:
        return text_error(
            408,
            "the body of the request did not arrive in time",
            headers={"connection": "close"},
        )


async def _read_body(scope: Scope, receive: Receive) -> bytes | Response | None:
    too_long = text_error(413, f"the body is too long; at most {MAX_BODY_BYTES} bytes are accepted")
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:20]) > MAX_BODY_BYTES:
            return too_long
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY_BYTES:
            return too_long
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A receive channel that yields a body which has been read already, then the real messages."""
    is_replayed = False

    async def replay() -> Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
