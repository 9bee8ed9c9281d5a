"""Guard: runs the routes of one plugin so that its faults do not affect anything else.

Handlers, and the iterators that produce the body of a response, run on the plugin's own threads. A
handler that is `async def` is run to its end there, by an event loop of its own. A slow or blocked
handler delays only its own plugin, and an exception becomes an error response.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import copy
import inspect
import itertools
import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tbcore.http import error_response
from tbcore.http.parameters import BODY_KEY
from tbcore.plugins.stats import CURRENT_PLUGIN
from tbcore.plugins.types import MountedPlugin, Outcome, attempt, traceback_of
from tbcore.server.plugin_response import NOT_SUPPORTED, CheckedSender, plain_iterator, response_of
from tbcore.server.pool import ThreadPool, wait_for
from tbcore.server.request_body import read_body, replay
from tbcore.text import describe, printable, printable_line
from tbcore.tuning import Tuning

logger = logging.getLogger(__name__)

WITHHELD = re.compile(
    "set-cookie|access-control-.*|clear-site-data|service-worker-allowed"
    "|strict-transport-security|nel|report-to|reporting-endpoints|.*-report-only"
)
"""Matches the names of headers that are not sent."""
BUSY = "all of its threads are in use"
"""The reason why a call of a plugin was not started in time, for messages."""

Handler = Callable[[Request], Any]


class Guard:
    """Sends a response to every request for one plugin, even if the plugin fails."""

    def __init__(self, mounted: MountedPlugin, pool: ThreadPool, tuning: Tuning) -> None:
        self._plugin = mounted.plugin
        self._stats = mounted.plugin.stats
        self._slowest: dict[str, float] = {}
        """Maps `Call.what` to the seconds of the slowest logged call with this `what`. A later call
        is logged only if it takes more than twice as long."""
        self._withheld: set[tuple[str, str]] = set()
        """The routes and headers that were logged because they are not sent."""
        self._error = mounted.plugin.redact_paths(mounted.error)
        """Why the plugin could not be loaded or mounted; None if it works."""
        self._pool = pool
        self._tuning = tuning

    def response_to(
        self, routes: Sequence[Route], base: str, path: str, scope: Scope, slash: str = ""
    ) -> ASGIApp | None:
        """The response of the first route that matches `path`; None if no route does.

        `base` is the part of the address before `path`, which includes the server's path prefix;
        `slash` is the part after it, which is ignored if only a route without it matches. If routes
        match the path, but none of them accepts the method, the response is a 405.
        """
        if self._error is not None:
            return error_response(503, self._error)
        address = scope["path"]
        tried = [base + (each or "/") for each in dict.fromkeys((path + slash, path))]
        scopes = [{**scope, "root_path": base, "path": each} for each in tried]
        allowed: set[str] = set()
        for scope, route in itertools.product(scopes, routes):
            outcome = attempt(_match, route, scope)
            if isinstance(outcome.error, ValueError):
                # A parameter of the route could not be converted, for example a number with more
                # digits than int() accepts. Such an address does not exist.
                continue
            if outcome.error is not None:
                return partial(self._fail, route, outcome.error)
            match, child_scope = outcome.value
            if match is Match.FULL:
                return partial(self._respond, route, {**scope, **child_scope, "path": address})
            if match is Match.PARTIAL:
                allowed |= route.methods or set()
        return method_not_allowed(scope, allowed) if allowed else None

    async def _respond(
        self, route: Route, scope: Scope, _: Scope, receive: Receive, send: Send
    ) -> None:
        """Reads the request's body, calls the handler of a route, and sends the response.

        `scope` is that of the route, which takes the place of the application's.
        """
        CURRENT_PLUGIN.set(self._stats)
        scope[BODY_KEY] = b""
        if scope["method"] not in ("GET", "HEAD"):
            body = await read_body(scope, receive, self._tuning.request_timeout_seconds)
            if isinstance(body, Response):
                await body(scope, receive, send)
            if not isinstance(body, bytes):
                return
            scope[BODY_KEY] = body
        what = f"route {route.path}"
        request = Request(scope, replay(scope[BODY_KEY]))
        call = self._pool.submit(self._timed, what, route.endpoint, request)
        outcome = await self._outcome(what, call)
        if outcome is None:
            busy = f"plugin {self._plugin.name!r} is busy: {BUSY}"
            await error_response(503, busy, headers={"retry-after": "5"})(scope, receive, send)
            return
        await self._send(route, outcome, scope, receive, send)

    def _timed(self, what: str, handler: Handler, request: Request) -> Outcome:
        """Calls a handler and logs it if it is slow. Runs in one of the plugin's threads."""
        with self._stats.measure(what) as call:
            outcome = attempt(_result_of, handler, request)
        if call.seconds > max(self._tuning.slow_call_seconds, 2 * self._slowest.get(what, 0.0)):
            self._slowest[what] = call.seconds
            logger.warning("plugin %r: %s took %.1f s", self._plugin.name, what, call.seconds)
        return outcome

    async def _outcome(self, what: str, call: Future[Outcome]) -> Outcome | None:
        """The outcome of a call in a thread of the plugin.

        None if no thread was free in `queue_timeout_seconds`. There is no timeout for a call that
        was started.
        """
        timeout = self._tuning.queue_timeout_seconds
        if await wait_for(call, timeout):
            return call.result()
        if call.cancel():
            self._stats.record_failure(what, f"it was not started: {BUSY}")
            return None
        if self._slowest.get(what, 0.0) < timeout:
            name, self._slowest[what] = self._plugin.name, timeout
            logger.warning("plugin %r: %s has been running for %.0f s", name, what, timeout)
        await wait_for(call)
        return call.result()

    async def _send(
        self, route: Route, outcome: Outcome, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Sends what a handler returned or raised; an error response if that is not possible."""
        sender = CheckedSender(scope["method"], send)
        try:
            response = response_of(outcome)
            self._withhold_headers(route, response)
            if isinstance(response, StreamingResponse):
                # A copy, because a plugin may return the same object again.
                response = copy.copy(response)
                parts = self._parts(f"response of route {route.path}", plain_iterator(response))
                response.body_iterator = parts
                async with contextlib.aclosing(parts):
                    await response(scope, receive, sender.send)
            else:
                await response(scope, receive, sender.send)
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and error is not outcome.error:
                # The server ends.
                raise
            if not sender.is_started:
                await self._fail(route, error, scope, receive, send)
                return
            # Part of the response has been sent. Returning without the rest makes the server close
            # the connection, so the client sees that the response is incomplete.
            self._log_failure(route, error)
            if self._plugin.strict:
                raise

    def _withhold_headers(self, route: Route, response: Response) -> None:
        """Removes headers that concern the whole server, or send reports to another host."""
        for name in {*response.headers}:
            if WITHHELD.fullmatch(name):
                del response.headers[name]
                if (route.path, name) not in self._withheld:
                    self._withheld.add((route.path, name))
                    logger.warning(
                        "plugin %r: route %r sets the header %s, which is not sent",
                        self._plugin.name, route.path, name,
                    )  # fmt: skip

    async def _parts(self, what: str, parts: Iterator[Any]) -> AsyncGenerator[Any]:
        """The parts of a body, which are produced in the plugin's own threads."""
        call = self._pool.submit(attempt, next, parts)
        try:
            while True:
                outcome = await self._outcome(what, call)
                if outcome is None:
                    raise TimeoutError(f"{what} was not started: {BUSY}")
                if isinstance(outcome.error, StopIteration):
                    return
                if outcome.error is not None:
                    raise outcome.error
                part = outcome.value
                if isinstance(part, str):
                    # It would be encoded as a whole, on the event loop.
                    length = self._tuning.response_piece_bytes
                    for start in range(0, max(len(part), 1), length):
                        yield part[start : start + length]
                else:
                    yield part
                call = self._pool.submit(attempt, next, parts)
        finally:
            # Otherwise the garbage collector would close the generator, at some time and in any
            # thread. When the client has gone, the next part may still be under way, and a
            # generator that runs cannot be closed. The outer `attempt` is for a pool that cannot
            # start a thread.
            if isinstance(parts, Generator):
                run = contextvars.copy_context().run
                call.add_done_callback(
                    lambda _: attempt(run, self._pool.submit, attempt, parts.close)
                )

    async def _fail(
        self, route: Route, error: BaseException, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Logs the failure of a route and sends the error response."""
        CURRENT_PLUGIN.set(self._stats)
        self._log_failure(route, error)
        line = f"plugin {self._plugin.name!r} failed in its route {route.path!r}"
        if self._plugin.dev:
            line = printable_line(f"{line}: {describe(error)}")
            text = f"{line}\n\n{printable(traceback_of(error))}"
            response: Response = PlainTextResponse(text, status_code=500)
        else:
            response = error_response(500, f"{line}; the log has the details")
        await response(scope, receive, send)
        if self._plugin.strict:
            raise error

    def _log_failure(self, route: Route, error: BaseException) -> None:
        """Records a failure. Logs it, too, except in tests: there the caller raises the error."""
        self._stats.record_failure(f"route {route.path}", describe(error), error)
        if self._plugin.strict:
            error.add_note(f"raised by plugin {self._plugin.name!r} in its route {route.path!r}")
            return
        logger.error("plugin %r: route %r failed", self._plugin.name, route.path, exc_info=error)


def _result_of(handler: Handler, request: Request) -> Any:
    """The result of a handler. One that is `async def` is run to its end in this thread."""
    result = handler(request)
    return asyncio.run(_to_its_end(result)) if inspect.isawaitable(result) else result


async def _to_its_end(awaitable: Awaitable[Any]) -> Any:
    """The result of async code; raises RuntimeError if tasks are left, which would be cancelled."""
    result = await awaitable
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        if not task.cancelling():
            raise RuntimeError(
                f"the handler returned while its task {task.get_name()!r} runs, {NOT_SUPPORTED}; "
                f"await the task, or do its work in a thread"
            )
    return result


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
