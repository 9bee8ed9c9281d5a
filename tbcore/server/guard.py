"""Guard: keeps the faults of one plugin its own, as an ASGI application round its routes.

Plain handlers run on threads of the plugin's own, so that one that is slow or blocked keeps only
its own plugin waiting. Whatever they raise becomes an answer.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from tbcore.errors import TbcoreError
from tbcore.http import BODY_KEY, text_error
from tbcore.plugins import MountedPlugin, Outcome, attempt
from tbcore.server.pool import ThreadPool

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 1 << 20
BODY_SECONDS = 20.0
"""A body that has not arrived by then is not waited for any longer."""
PATIENCE_SECONDS = 30.0
"""How long a request waits for one of the plugin's threads to become free."""

Handler = Callable[[Request], Any]


class Guard:
    """Answers requests to one plugin, also when the plugin cannot."""

    def __init__(self, mounted: MountedPlugin, pool: ThreadPool) -> None:
        self.name = mounted.plugin.name
        self._error = mounted.error
        self._dev = mounted.plugin.dev
        self._pool = pool

    async def handle(
        self, routes: Sequence[Route], scope: Scope, receive: Receive, send: Send
    ) -> bool:
        """Answers with the route that fits the scope's path below its root_path.

        False, and no answer, when there is none.
        """
        if self._error is not None:
            await text_error(503, self._error)(scope, receive, send)
            return True
        allowed: set[str] = set()
        for route in routes:
            match, child_scope = route.matches(scope)
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
            try:
                body = await asyncio.wait_for(_read_body(scope, receive), BODY_SECONDS)
            except TimeoutError:
                body = text_error(
                    408,
                    "the body of the request did not arrive in time",
                    headers={"connection": "close"},
                )
            if body is None:
                return
            if isinstance(body, Response):
                await body(scope, receive, send)
                return
            scope[BODY_KEY] = body
            receive = _replay(body, receive)
        request = Request(scope, receive, send)
        outcome = await self._call(route.endpoint, request)
        if outcome is None:
            busy = f"plugin {self.name!r} is busy: all of its threads are taken"
            await text_error(503, busy, headers={"retry-after": "5"})(scope, receive, send)
            return
        if outcome.error is None and not isinstance(outcome.value, Response):
            outcome = Outcome(
                error=TypeError(
                    f"the handler returned {type(outcome.value).__name__}, not a Response"
                )
            )
        if outcome.error is None:
            await self._send(route, outcome.value, scope, receive, send)
            return
        known = _answer_to(outcome.error)
        if known is not None:
            await known(scope, receive, send)
            return
        self._log(route, outcome.error)
        failed = f"plugin {self.name!r} failed in its route {route.path!r}; the log has the details"
        await text_error(500, failed)(scope, receive, send)
        if self._dev:
            raise outcome.error

    async def _call(self, handler: Handler, request: Request) -> Outcome | None:
        """What the handler returned or raised; None when no thread was free to run it."""
        if _is_async(handler):
            return await _attempt_async(handler, request)
        future = self._pool.submit(attempt, handler, request)
        waiter = asyncio.wrap_future(future)
        done, _ = await asyncio.wait([waiter], timeout=PATIENCE_SECONDS)
        if not done and future.cancel():
            return None
        outcome = await waiter
        if inspect.isawaitable(outcome.value):
            # A plain function around an async one, such as a decorator's.
            return await _attempt_async(lambda _: outcome.value, request)
        return outcome

    async def _send(
        self, route: Route, response: Response, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Sends a response, whose body may be made by the plugin as it goes."""
        started = False

        async def watch(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        outcome = await _attempt_async(lambda _: response(scope, receive, watch), None)
        if outcome.error is None:
            return
        self._log(route, outcome.error)
        if not started:
            failed = f"plugin {self.name!r} failed in its route {route.path!r}"
            await text_error(500, failed)(scope, receive, send)
        elif not self._dev:
            # Half an answer is out. Ending without the other half closes the connection, so the
            # client sees that something is missing.
            return
        if self._dev:
            raise outcome.error

    def _log(self, route: Route, error: BaseException) -> None:
        if self._dev:
            error.add_note(f"raised by plugin {self.name!r} in its route {route.path!r}")
            return
        logger.error("plugin %r: route %r failed", self.name, route.path, exc_info=error)


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
        return text_error(error.status_code, error.detail, headers=error.headers)
    return None


def _is_async(handler: Handler) -> bool:
    while isinstance(handler, functools.partial):
        handler = handler.func
    return inspect.iscoroutinefunction(handler)


async def _attempt_async(function: Callable[[Any], Awaitable[Any]], argument: Any) -> Outcome:
    """`attempt` for what runs on the event loop, where being cancelled is not a fault."""
    try:
        return Outcome(value=await function(argument))
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        # SystemExit, too: it must not end the server.
        return Outcome(error=error)


async def _read_body(scope: Scope, receive: Receive) -> bytes | Response | None:
    """The whole body; an answer when it is too long, None when the client went away."""
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
