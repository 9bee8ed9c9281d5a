"""Guard: runs the routes of one plugin so that its faults do not affect anything else.

Plain handlers, and plain iterators that produce the body of a response, run on the plugin's own
threads. Async handlers and async iterators run on the plugin's own event loop. A slow or blocked
handler delays only its own plugin, and an exception becomes an error response.
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
from tbcore.http import error_response
from tbcore.http.json import printable
from tbcore.http.parameters import BODY_KEY
from tbcore.plugin_stats import CURRENT_PLUGIN, Call
from tbcore.plugins import MountedPlugin, Outcome, attempt, describe, traceback_of
from tbcore.server.plugin_loop import PluginLoop, on_server_loop
from tbcore.server.pool import ThreadPool, wait_for
from tbcore.tuning import Tuning

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1 << 20
"""Size of the largest request body that is accepted."""

BUSY = "all of its threads, or its event loop, are in use"
"""The reason why a call of a plugin was not started in time, for messages."""

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
        """Maps `Call.what` to the seconds of the slowest logged call with this `what`. A later call
        is logged only if it takes more than twice as long."""
        self._logged_running: set[str] = set()
        """The `what` of calls that were logged because they ran for `queue_timeout_seconds`."""
        self._error = None if mounted.error is None else mounted.plugin.redact_paths(mounted.error)
        """Why the plugin could not be loaded or mounted; None if it works."""
        self._raises_faults = mounted.plugin.strict
        """Whether faults are raised after their error response was sent, for tests of a plugin."""
        self._shows_tracebacks = mounted.plugin.dev
        self._pool = pool
        self._tuning = tuning

    async def handle(
        self, routes: Sequence[Route], scope: Scope, receive: Receive, send: Send
    ) -> bool:
        """Sends the response of the first route that matches; returns False if no route does.

        Routes are matched with the part of the scope's `path` that follows its `root_path`. If
        routes match the path, but none of them accepts the method, the response is a 405.
        """
        reset_token = CURRENT_PLUGIN.set(self._stats)
        try:
            return await self._handle(routes, scope, receive, send)
        finally:
            CURRENT_PLUGIN.reset(reset_token)

    async def _handle(
        self, routes: Sequence[Route], scope: Scope, receive: Receive, send: Send
    ) -> bool:
        if self._error is not None:
            await error_response(503, self._error)(scope, receive, send)
            return True
        allowed: set[str] = set()
        for route in routes:
            outcome = attempt(_match, route, scope)
            if isinstance(outcome.error, ValueError):
                # A parameter of the route could not be converted, for example a number with more
                # digits than int() accepts. Such an address does not exist.
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
        """Reads the request's body, calls the handler of a route, and sends the response."""
        if scope["method"] not in ("GET", "HEAD"):
            body = await read_body(scope, receive, self._tuning.request_timeout_seconds)
            if body is None:
                return
            if isinstance(body, Response):
                await body(scope, receive, send)
                return
            scope[BODY_KEY] = body
            receive = _replay(body, receive)
        request = Request(scope, on_server_loop(receive), on_server_loop(send))
        outcome = await self._call(route, request)
        if outcome is None:
            busy = f"plugin {self.name!r} is busy: {BUSY}"
            await error_response(503, busy, headers={"retry-after": "5"})(scope, receive, send)
            return
        if outcome.error is not None:
            converted = attempt(_response_to_error, outcome.error)
            if converted.value is None:
                error = converted.error or outcome.error
                await self._fail(route, error, scope, receive, send)
                return
            outcome = converted
        await self._send(route, outcome.value, scope, receive, send)

    async def _call(self, route: Route, request: Request) -> Outcome | None:
        """The outcome of the handler; None if it was not started in time, see `_outcome_of`."""
        what = f"route {route.path}"
        if _is_async(route.endpoint):
            called = attempt(route.endpoint, request)
            return called if called.error else await self._await(what, called.value)
        outcome = await self._in_thread(what, self._timed, what, route.endpoint, request)
        if outcome is not None and inspect.isawaitable(outcome.value):
            # The handler is a plain function that returns a coroutine, such as the wrapper that a
            # decorator puts around an async function.
            return await self._await(f"{what}, awaited", outcome.value)
        return outcome

    def _timed(self, what: str, handler: Handler, request: Request) -> Outcome:
        """Calls a handler and logs it if it is slow. Runs in one of the plugin's threads."""
        with self._stats.measure(what) as call:
            outcome = attempt(handler, request)
        self._log_slow(call)
        return outcome

    async def _await(self, what: str, awaitable: Awaitable[Any]) -> Outcome | None:
        """The outcome of async code on the plugin's loop; None if it was not started in time."""
        with self._stats.measure(what) as call:
            loop_task = self._loop.submit(awaitable, what)
            try:
                outcome = await self._outcome_of(what, loop_task)
            except asyncio.CancelledError:
                loop_task.stop()
                raise
        self._log_slow(call)
        return outcome

    async def _in_thread(
        self, what: str, function: Callable[..., Outcome], *arguments: Any
    ) -> Outcome | None:
        """The outcome of a call in a thread of the plugin; None if no thread was free in time."""
        return await self._outcome_of(what, self._pool.submit(function, *arguments))

    async def _outcome_of(self, what: str, future: Future[Outcome]) -> Outcome | None:
        """The outcome of submitted code; None if it was not started in `queue_timeout_seconds`.

        There is no timeout for code that was started.
        """
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
        """Sends what a handler returned; sends an error response if that is not possible."""
        sender = _CheckedSender(scope["method"], send)
        error = await self._try_send(route, response, sender, scope, receive)
        if error is None:
            return
        if not sender.is_started:
            await self._fail(route, error, scope, receive, send)
            return
        # Part of the response has been sent. Returning without the rest makes the server close the
        # connection, so the client sees that the response is incomplete.
        self._log_failure(route, error)
        if self._raises_faults:
            raise error

    async def _try_send(
        self, route: Route, response: Any, sender: _CheckedSender, scope: Scope, receive: Receive
    ) -> BaseException | None:
        """Sends a response and runs its background task; returns any exception that this raises."""
        what = f"response of route {route.path}"
        try:
            if not isinstance(response, Response):
                raise TypeError(f"the handler returned {type(response).__name__}, not a Response")
            sender.check(response)
            if type(response).__call__.__module__ != Response.__module__:
                # A class of the plugin's own, which also runs the background task.
                sending = response(scope, on_server_loop(receive), on_server_loop(sender.send))
                _unwrap(what, await self._await(what, sending))
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
                what = f"background task of route {route.path}"
                _unwrap(what, await self._await(what, background()))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            return error
        return None

    def _parts(self, what: str, body: Any) -> AsyncGenerator[Any]:
        """The parts of a body, produced in the plugin's own threads or on its own event loop.

        Starlette wraps a plain iterator in `iterate_in_threadpool`, whose threads all plugins would
        share. So the iterator is taken out of that wrapper.
        """
        if getattr(body, "ag_code", None) is iterate_in_threadpool.__code__:
            return self._plain_parts(what, iter(body.ag_frame.f_locals["iterator"]))
        return self._async_parts(what, aiter(body))

    async def _plain_parts(self, what: str, parts: Iterator[Any]) -> AsyncGenerator[Any]:
        """The parts of a plain iterator, which runs in the plugin's own threads."""
        try:
            while True:
                outcome = await self._in_thread(what, attempt, next, parts)
                if outcome is not None and isinstance(outcome.error, StopIteration):
                    return
                yield _unwrap(what, outcome)
        finally:
            # Otherwise the garbage collector would close the generator in the server's thread. The
            # outer `attempt` is for a pool that cannot start a thread.
            if isinstance(parts, Generator):
                attempt(self._pool.submit, attempt, parts.close)

    async def _async_parts(self, what: str, parts: AsyncIterator[Any]) -> AsyncGenerator[Any]:
        """The parts of an async iterator, which runs on the plugin's own event loop."""

        async def next_part() -> Any:
            # `anext` must be called on the plugin's event loop, so that this loop also closes the
            # generator.
            return await anext(parts)

        try:
            while True:
                outcome = await self._await(what, next_part())
                if outcome is not None and isinstance(outcome.error, StopAsyncIteration):
                    return
                yield _unwrap(what, outcome)
        finally:
            if isinstance(parts, AsyncGenerator):
                attempt(self._loop.submit, parts.aclose(), what)

    def _log_slow(self, call: Call) -> None:
        """Logs a finished call that was slow, and is not excluded by `_slowest`."""
        threshold = self._tuning.slow_call_seconds
        if call.what in self._slowest:
            threshold = 2 * self._slowest[call.what]
        if call.seconds > threshold:
            self._slowest[call.what] = call.seconds
            logger.warning("plugin %r: %s took %.1f s", self.name, call.what, call.seconds)

    async def _fail(
        self, route: Route, error: BaseException, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Logs the failure of a route and sends the error response."""
        self._log_failure(route, error)
        summary = f"plugin {self.name!r} failed in its route {route.path!r}"
        if self._shows_tracebacks:
            response = _traceback_response(summary, error)
        else:
            response = error_response(500, f"{summary}; the log has the details")
        await response(scope, receive, send)
        if self._raises_faults:
            raise error

    def _log_failure(self, route: Route, error: BaseException) -> None:
        """Records a failure. Logs it, too, except in tests: there the caller raises the error."""
        self._stats.record_failure(f"route {route.path}", describe(error), error)
        if self._raises_faults:
            error.add_note(f"raised by plugin {self.name!r} in its route {route.path!r}")
            return
        logger.error("plugin %r: route %r failed", self.name, route.path, exc_info=error)


class _CheckedSender:
    """Sends a plugin's response; raises instead of sending anything that is not valid HTTP.

    Without these checks, the server would find the faults too late to send an error response: a
    client would, for example, wait for the rest of a body shorter than its Content-Length.
    """

    def __init__(self, method: str, send: Send) -> None:
        self.is_started = False
        """Whether the headers have been sent, so that it is too late for an error response."""
        self._method = method
        self._send = send
        self._is_checked = False
        """Whether `check` has compared the whole body with the headers."""
        self._num_bytes_left: int | None = None
        """How many bytes of the body must still be sent; None if any number of bytes is valid."""

    def check(self, response: Response) -> None:
        """Raises ValueError if the response holds a body that is not as long as the headers say."""
        if type(response).__call__ is not Response.__call__:
            # The body is produced while it is sent.
            return
        expected = _body_size(response.status_code, response.raw_headers, self._method)
        if expected is not None and len(response.body) != expected:
            raise ValueError(
                f"the body has {len(response.body)} bytes, and the headers say {expected}"
            )
        self._is_checked = True

    async def send(self, message: Message) -> None:
        """Sends an ASGI message; raises ValueError if the body gets too long or ends too early."""
        if message["type"] == "http.response.start":
            if not self._is_checked:
                self._num_bytes_left = _body_size(
                    message["status"], message["headers"], self._method
                )
            await self._send(message)
            self.is_started = True
            return
        if self._num_bytes_left is not None:
            self._num_bytes_left -= len(message.get("body", b""))
            is_last = not message.get("more_body", False)
            if self._num_bytes_left < 0 or (is_last and self._num_bytes_left > 0):
                what = "longer" if self._num_bytes_left < 0 else "shorter"
                raise ValueError(f"the body is {what} than the headers say")
        await self._send(message)


def _body_size(status: int, headers: list[tuple[bytes, bytes]], method: str) -> int | None:
    """Number of bytes that the body must have; None for any number. Raises for invalid headers."""
    head = h11.Response(status_code=status, headers=headers)
    if status > 599:
        raise ValueError(f"{status} is not a valid HTTP status")
    if status in STATUSES_WITHOUT_BODY:
        return 0
    if method == "HEAD":
        # No body is sent, and Content-Length is that of the response to GET.
        return None
    lengths = [int(value) for name, value in head.headers if name == b"content-length"]
    return lengths[0] if lengths else None


def _unwrap(what: str, outcome: Outcome | None) -> Any:
    """The value of an outcome. Raises its exception, or TimeoutError if there is no outcome."""
    if outcome is None:
        raise TimeoutError(f"{what} was not started: {BUSY}")
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def _match(route: Route, scope: Scope) -> tuple[Match, Scope]:
    """Starlette's match of a route, except that a newline at the end of the path prevents it."""
    if route.path_regex.fullmatch(scope["path"].removeprefix(scope["root_path"])) is None:
        return Match.NONE, {}
    return route.matches(scope)


def method_not_allowed(scope: Scope, allowed: set[str]) -> Response:
    """The 405 response to a method that no route at this address accepts."""
    methods = ", ".join(sorted(allowed))
    message = f"method {scope['method']} is not allowed here; allowed: {methods}"
    return error_response(405, message, headers={"allow": methods})


def _response_to_error(error: BaseException) -> Response | None:
    """The response for an exception that a handler may raise on purpose; None for another one."""
    if isinstance(error, TbcoreError):
        return error_response(error.status, str(error))
    if isinstance(error, HTTPException):
        if error.status_code in STATUSES_WITHOUT_BODY:
            return Response(status_code=error.status_code, headers=error.headers)
        return error_response(error.status_code, error.detail, headers=error.headers)
    return None


def _traceback_response(summary: str, error: BaseException) -> Response:
    """The error response for the author of a plugin: the reason in one line, and the traceback."""
    line = error_response(500, f"{summary}: {describe(error)}")
    text = f"{bytes(line.body).decode()}\n\n{printable(traceback_of(error))}"
    return Response(text, status_code=500, headers={"content-type": "text/plain; charset=utf-8"})


def _is_async(handler: Handler) -> bool:
    """Whether a handler is an `async def` function, perhaps within a partial."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    return inspect.iscoroutinefunction(handler)


async def read_body(
    scope: Scope, receive: Receive, timeout_seconds: float
) -> bytes | Response | None:
    """The whole body of a request; None if the client has disconnected.

    If the body is too long or does not arrive in time, the result is an error response, which the
    caller must send.
    """
    try:
        return await asyncio.wait_for(_read_body(scope, receive), timeout_seconds)
    except TimeoutError:
        return error_response(
            408,
            "the body of the request did not arrive in time",
            headers={"connection": "close"},
        )


async def _read_body(scope: Scope, receive: Receive) -> bytes | Response | None:
    """Like `read_body`, without its timeout."""
    too_long = error_response(
        413, f"the body is too long; at most {MAX_BODY_BYTES} bytes are accepted"
    )
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
    """A `receive` that first returns a body that was read before, and then the real messages."""
    is_replayed = False

    async def replay() -> Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
