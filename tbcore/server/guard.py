"""Guard: keeps the faults of one plugin its own, as an ASGI application round its routes.

Plain handlers, and what they yield as the body of an answer, run on threads of the plugin's own,
async ones on an event loop of its own. One that is slow or blocked keeps only its own plugin
waiting, and whatever they raise becomes an answer.
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
from tbcore.health import CURRENT, Call
from tbcore.http import BODY_KEY, printable, text_error
from tbcore.plugins import MountedPlugin, Outcome, attempt, describe, traceback_of
from tbcore.server.plugin_loop import PluginLoop, from_server
from tbcore.server.pool import ThreadPool, wait_for

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1 << 20
BODY_SECONDS = 20.0
"""A body that has not arrived by then is not waited for any longer."""
PATIENCE_SECONDS = 30.0
"""How long a request waits for one of the plugin's threads to become free."""

LOOK_SECONDS = 0.5
"""While it waits, it is looked at so often what it waits for."""
BUSY = "all of its threads, or its event loop, are taken"

SLOW_SECONDS = 5.0
"""A route that takes longer is named in the log."""

WITHOUT_BODY = (204, 304)
"""Statuses whose answers end with their headers."""

Handler = Callable[[Request], Any]


class Guard:
    """Answers requests to one plugin, also when the plugin cannot."""

    def __init__(self, mounted: MountedPlugin, pool: ThreadPool) -> None:
        self.name = mounted.plugin.name
        self._health = mounted.plugin.health
        self._loop = PluginLoop(self._health)
        self._longest: dict[str, float] = {}
        """Seconds, by route; a call is logged when it takes twice as long as all before."""
        self._told_running: set[str] = set()
        self._error = None if mounted.error is None else mounted.plugin.told(mounted.error)
        self._dev = mounted.plugin.strict
        self._tells = mounted.plugin.dev
        self._pool = pool

    async def handle(
        self, routes: Sequence[Route], scope: Scope, receive: Receive, send: Send
    ) -> bool:
        """Answers with the route that fits the scope's path below its root_path.

        False, and no answer, when there is none.
        """
        before = CURRENT.set(self._health)
        try:
            return await self._handle(routes, scope, receive, send)
        finally:
            CURRENT.reset(before)

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
                # Such as a number with more digits than int() takes: nothing has such an address.
                continue
            if outcome.error is not None:
                await self._fail(route, outcome.error, scope, receive, send)
                return True
            match, child_scope = outcome.value
            if match is Match.FULL:
                await self._answer(route, {**scope, **child_scope}, receive, send)
                return True
            if match is Match.PARTIAL:
                allowed |= route.methods or set()
        if allowed:
            await method_not_allowed(scope, allowed)(scope, receive, send)
        return bool(allowed)

    async def _answer(self, route: Route, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            body = await read_body(scope, receive)
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
            known = attempt(_answer_to, outcome.error)
            if known.value is None:
                await self._fail(route, known.error or outcome.error, scope, receive, send)
                return
            outcome = known
        await self._send(route, outcome.value, scope, receive, send)

    async def _call(self, route: Route, request: Request) -> Outcome | None:
        """What the handler returned or raised; None when nothing was free to run it."""
        what = f"route {route.path}"
        if _is_async(route.endpoint):
            started = attempt(route.endpoint, request)
            return started if started.error else await self._await(what, started.value)
        outcome = await self._in_thread(what, self._timed, what, route.endpoint, request)
        if outcome is not None and inspect.isawaitable(outcome.value):
            # A plain function around an async one, such as a decorator's.
            return await self._await(f"{what}, awaited", outcome.value)
        return outcome

    def _timed(self, what: str, handler: Handler, request: Request) -> Outcome:
        """Runs a handler in one of the plugin's threads."""
        with self._health.at(what) as call:
            outcome = attempt(handler, request)
        self._tell_slow(call)
        return outcome

    async def _await(self, what: str, awaitable: Awaitable[Any]) -> Outcome | None:
        """Runs async code on the plugin's event loop; None when that was blocked."""
        with self._health.at(what) as call:
            run = self._loop.submit(awaitable, what)
            try:
                outcome = await self._finished(what, run)
            except asyncio.CancelledError:
                run.stop()
                raise
        self._tell_slow(call)
        return outcome

    async def _in_thread(
        self, what: str, function: Callable[..., Outcome], *arguments: Any
    ) -> Outcome | None:
        """Calls in one of the plugin's threads; None when none was free."""
        return await self._finished(what, self._pool.submit(function, *arguments))

    async def _finished(self, what: str, future: Future[Outcome]) -> Outcome | None:
        """What code of the plugin has come to; None when it has not been begun in time."""
        patience = PATIENCE_SECONDS
        while patience > 0:
            pause = min(patience, LOOK_SECONDS)
            if await wait_for(future, pause):
                return future.result()
            self._loop.look()
            patience -= pause
        if future.cancel():
            self._health.failed(what, f"it was not begun: {BUSY}")
            return None
        if what not in self._told_running:
            self._told_running.add(what)
            logger.warning(
                "plugin %r: %s has been running for %.0f s", self.name, what, PATIENCE_SECONDS
            )
        await wait_for(future)
        return future.result()

    async def _send(
        self, route: Route, response: Any, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Sends what a handler returned; its body may be made by the plugin as it goes."""
        answer = _Answer(scope["method"], send)
        what = f"answer of route {route.path}"
        error = await self._respond(what, response, answer, scope, receive)
        if error is None:
            return
        if not answer.is_started:
            await self._fail(route, error, scope, receive, send)
            return
        # Half an answer is out. Ending without the other half closes the connection, so the client
        # sees that something is missing.
        self._log(route, error)
        if self._dev:
            raise error

    async def _respond(
        self, what: str, response: Any, answer: _Answer, scope: Scope, receive: Receive
    ) -> BaseException | None:
        """Sends an answer, runs what is to run behind it, and returns what was raised."""
        try:
            if not isinstance(response, Response):
                raise TypeError(f"the handler returned {type(response).__name__}, not a Response")
            answer.check(response)
            if type(response).__call__.__module__ != Response.__module__:
                # Code of the plugin, what runs behind it too.
                sending = response(scope, from_server(receive), from_server(answer.send))
                _value(what, await self._await(what, sending))
                return None
            background = response.background
            if background is not None or isinstance(response, StreamingResponse):
                # A plugin may return one and the same again.
                response = copy.copy(response)
                response.background = None
            if isinstance(response, StreamingResponse):
                response.body_iterator = body = self._parts(what, response.body_iterator)
                async with contextlib.aclosing(body):
                    await response(scope, receive, answer.send)
            else:
                await response(scope, receive, answer.send)
            if background is not None:
                behind = what.replace("answer", "background task", 1)
                _value(behind, await self._await(behind, background()))
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            return error
        return None

    def _parts(self, what: str, body: Any) -> AsyncGenerator[Any]:
        """The parts of a body, made by the plugin's own threads or on its own event loop.

        Starlette's threads for plain iterators are there once for all plugins.
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
            # Otherwise a generator ends where the last one lets go of it, which is here.
            if isinstance(parts, Generator):
                attempt(self._pool.submit, attempt, parts.close)

    async def _async_parts(self, what: str, parts: AsyncIterator[Any]) -> AsyncGenerator[Any]:
        async def following() -> Any:
            # Begun on the plugin's event loop, a generator ends there, too.
            return await anext(parts)

        try:
            while True:
                outcome = await self._await(what, following())
                if outcome is not None and isinstance(outcome.error, StopAsyncIteration):
                    return
                yield _value(what, outcome)
        finally:
            if isinstance(parts, AsyncGenerator):
                attempt(self._loop.submit, parts.aclose(), what)

    def _tell_slow(self, call: Call) -> None:
        if call.seconds > 2 * self._longest.get(call.what, SLOW_SECONDS / 2):
            self._longest[call.what] = call.seconds
            logger.warning("plugin %r: %s took %.1f s", self.name, call.what, call.seconds)

    async def _fail(
        self, route: Route, error: BaseException, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Answers for a route that cannot."""
        self._log(route, error)
        failed = f"plugin {self.name!r} failed in its route {route.path!r}"
        if self._tells:
            answer = _told(failed, error)
        else:
            answer = text_error(500, f"{failed}; the log has the details")
        await answer(scope, receive, send)
        if self._dev:
            raise error

    def _log(self, route: Route, error: BaseException) -> None:
        self._health.failed(f"route {route.path}", describe(error), error)
        if self._dev:
            error.add_note(f"raised by plugin {self.name!r} in its route {route.path!r}")
            return
        logger.error("plugin %r: route %r failed", self.name, route.path, exc_info=error)


class _Answer:
    """What a plugin sends, held against HTTP before it goes out.

    The server would find the same faults, but when it is too late to say so: an answer that is
    shorter than it announced keeps its client waiting for the rest.
    """

    def __init__(self, method: str, send: Send) -> None:
        self.is_started = False
        """Whether some of it is out, so that no other answer can take its place."""
        self._method = method
        self._send = send
        self._is_checked = False
        """Whether all of it is known to be right."""
        self._missing: int | None = None
        """Bytes of the body that are still to come; None when only its end tells."""

    def check(self, response: Response) -> None:
        """Raises for a body of another length than announced, if it is there before it is sent."""
        if type(response).__call__ is not Response.__call__:
            # Its body is made as it goes.
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
    """How long the body has to be; None when anything is fine. Raises for what is not HTTP."""
    head = h11.Response(status_code=status, headers=headers)
    if status > 599:
        raise ValueError(f"{status} is no status of HTTP")
    if status in WITHOUT_BODY:
        return 0
    if method == "HEAD":
        # No body is sent, and the headers are those of the answer to GET.
        return None
    lengths = [int(value) for name, value in head.headers if name == b"content-length"]
    return lengths[0] if lengths else None


def _value(what: str, outcome: Outcome | None) -> Any:
    """What code of a plugin came to; raises what it raised."""
    if outcome is None:
        raise TimeoutError(f"{what} was not begun: {BUSY}")
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def _match(route: Route, scope: Scope) -> tuple[Match, Scope]:
    """Starlette's match, of the whole path: its own lets a line end follow."""
    if route.path_regex.fullmatch(scope["path"].removeprefix(scope["root_path"])) is None:
        return Match.NONE, {}
    return route.matches(scope)


def method_not_allowed(scope: Scope, allowed: set[str]) -> Response:
    """405 for a method that no route at this address takes."""
    methods = ", ".join(sorted(allowed))
    message = f"method {scope['method']} is not allowed here; allowed: {methods}"
    return text_error(405, message, headers={"allow": methods})


def _answer_to(error: BaseException) -> Response | None:
    """The answer to an exception that a plugin may raise, None for any other."""
    if isinstance(error, TbcoreError):
        return text_error(error.status, str(error))
    if isinstance(error, HTTPException):
        if error.status_code in WITHOUT_BODY:
            return Response(status_code=error.status_code, headers=error.headers)
        return text_error(error.status_code, error.detail, headers=error.headers)
    return None


def _told(failed: str, error: BaseException) -> Response:
    """The answer to the author of a plugin: one line, and then where it was raised."""
    line = text_error(500, f"{failed}: {describe(error)}")
    text = f"{bytes(line.body).decode()}\n\n{printable(traceback_of(error))}"
    return Response(text, status_code=500, headers={"content-type": "text/plain; charset=utf-8"})


def _is_async(handler: Handler) -> bool:
    while isinstance(handler, functools.partial):
        handler = handler.func
    return inspect.iscoroutinefunction(handler)


async def read_body(scope: Scope, receive: Receive) -> bytes | Response | None:
    """The whole body; an answer when it is too long or too slow, None when the client went away."""
    try:
        return await asyncio.wait_for(_read_body(scope, receive), BODY_SECONDS)
    except TimeoutError:
        return text_error(
            408,
            "the body of the request did not arrive in time",
            headers={"connection": "close"},
        )


async def _read_body(scope: Scope, receive: Receive) -> bytes | Response | None:
    too_long = text_error(413, f"the body of a request has at most {MAX_BODY_BYTES} bytes")
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
    """A receive channel that has the body, for handlers that await it."""
    done = False

    async def replay() -> Message:
        nonlocal done
        if done:
            return await receive()
        done = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
