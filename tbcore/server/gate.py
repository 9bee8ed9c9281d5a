"""Gate: access control, decided from the raw headers before anything else is done.

A page on any web site can make a browser send requests to this machine. With DNS rebinding the page
can even make the browser believe that the requests go to the page's own site. So a server without
a secret accepts only host names that such a page cannot have. A server with a token, the default if
other machines can reach it, or with a secret path, accepts all host names, so that proxies work.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote_plus

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tbcore.http import error_response
from tbcore.http.parameters import READER_KEY, query_of
from tbcore.plugins.config import Config
from tbcore.server.login import RENEWAL_SECONDS, Login, WrongTokens, equals

HOST_HEADER = re.compile(r"(?P<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(?::[0-9]{1,5})?")
"""A whole Host header, in lower case."""

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})

SAFE_METHODS = ("GET", "HEAD")

PROBES = frozenset({"/healthz", "/readyz"})
"""Addresses that need no token, for programs that watch servers. They tell nothing about runs."""

TOKEN_NAMES = ("token", "tbcore_token")
"""Names of the token in an address; proxies that have tokens of their own take the first one."""
_FORWARDED_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)+/?")


class Gate:
    """An ASGI layer that refuses invalid requests, with a line of text that says what to do."""

    def __init__(self, app: ASGIApp, config: Config) -> None:
        self._app = app
        self._prefix = config.path_prefix
        self._has_secret_prefix = config.has_secret_prefix
        self._frame_sites = {"same-site"} if config.embed_in else set()
        """The values of Sec-Fetch-Site with which the page may be requested for a frame."""
        if config.embed_in and config.has_secret_prefix:
            self._frame_sites.add("cross-site")
        self._logins = [Login(t) for t in (config.token, config.read_token) if t is not None]
        """The logins of the token and of the one for reading; empty if there is no token."""
        self._wrong_tokens = WrongTokens(config.tuning.wrong_token_log_seconds)
        self._allowed = {host.lower() for host in config.allowed_hosts}
        self._own_names = LOOPBACK_NAMES | _names_of_this_machine() | {config.host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = self._early_response(scope)
        for login in self._logins if response is None else ():
            if 0 < _seconds_left(scope, login) < RENEWAL_SECONDS:
                send = login.renewing(send, self._cookie_path(scope))
        await (response or self._app)(scope, receive, send)

    def _early_response(self, scope: Scope) -> Response | None:
        """The response to a request that is not passed on; None if the request is admitted.

        The response refuses the request, or moves the token from its URL into a cookie.
        """
        # Outside the secret path all responses are the same, so that they tell nothing about it.
        if self._has_secret_prefix and not self._knows_secret(scope["path"]):
            return error_response(404, "Not found")
        target = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
        if not target.startswith(b"/"):
            return error_response(
                400, "the target of the request must be a path that starts with '/'"
            )
        hosts = Headers(scope=scope).getlist("host")
        if len(hosts) != 1:
            return error_response(400, f"a request needs exactly one Host header, not {len(hosts)}")
        host = hosts[0].lower()
        match = HOST_HEADER.fullmatch(host)
        if match is None:
            return error_response(400, "the Host header is malformed")
        response = None
        if self._logins:
            if scope["path"].removeprefix(self._prefix) not in PROBES:
                response = self._check_token(scope)
        elif not self._has_secret_prefix:
            response = self._check_host(scope, host, match["name"])
        return response or self._check_origin(scope, host)

    def _knows_secret(self, path: str) -> bool:
        """Whether a path begins with the secret one; the duration tells nothing about either."""
        start, rest = path[: len(self._prefix)], path[len(self._prefix) :]
        return equals(start, self._prefix) and rest[:1] in ("", "/")

    def _cookie_path(self, scope: Scope) -> str:
        """The path that the cookie is for: below a proxy's own path, if it sends that.

        Any client may send the header. But a wrong path only makes its own cookie useless.
        """
        forwarded = Headers(scope=scope).getlist("x-forwarded-prefix")
        if len(forwarded) == 1 and _FORWARDED_PREFIX.fullmatch(forwarded[0]):
            # It ends with the server's own prefix if it is the path that the browser has.
            return forwarded[0].rstrip("/").removesuffix(self._prefix) + self._prefix or "/"
        return self._prefix or "/"

    def _check_host(self, scope: Scope, host: str, name: str) -> Response | None:
        """Refuses host names other than those of this machine and of `--allowed_host`."""
        if name in self._own_names or {name, host, "*"} & self._allowed:
            return None
        if name == _local_address(scope):
            return None
        return error_response(
            403,
            f"host {name!r} is not allowed; "
            f"start the server with --allowed_host {name} to allow it",
        )

    def _check_token(self, scope: Scope) -> Response | None:
        """Refuses a request without a token, and redirects one with a token in its URL."""
        query = query_of(Request(scope))
        given = [query[name] for name in TOKEN_NAMES if name in query]
        for login in self._logins:
            if any(map(login.is_token, given)) and scope["method"] in SAFE_METHODS:
                # The token must not stay in the browser's history, or in links that people share.
                return _redirect_with_cookie(scope, login.set_cookie(self._cookie_path(scope)))
        credentials = [
            value[len("bearer ") :].strip()
            for value in Headers(scope=scope).getlist("authorization")
            if value.lower().startswith("bearer ")
        ]
        for login in self._logins:
            is_given = any(map(login.is_token, (*given, *credentials)))
            if is_given or _seconds_left(scope, login) > 0:
                scope[READER_KEY] = login is not self._logins[0]
                return None
        fault = "this server requires a token"
        names = [login.cookie_name for login in self._logins]
        if any(given) or credentials or any(any(_cookies(scope, name)) for name in names):
            fault = "the token is wrong"
            self._wrong_tokens.add(_plain_address(scope.get("client")) or "an unknown address")
        return error_response(
            401,
            f"{fault}; add ?token=TOKEN to the address, "
            "or open the address that tbcore gave at its start",
            headers={"www-authenticate": "Bearer"},
        )

    def _check_origin(self, scope: Scope, host: str) -> Response | None:
        """Refuses requests from pages of other sites, except for links that a user follows."""
        is_safe = scope["method"] in SAFE_METHODS
        sites = [site.lower() for site in Headers(scope=scope).getlist("sec-fetch-site")]
        for site in sites:
            is_page = is_safe and (_is_link(scope) or self._is_frame(scope, site))
            if site not in ("same-origin", "none") and not is_page:
                # The page could not read the response, but its requests could keep the server busy.
                return error_response(403, "pages of other sites may not send such requests")
        # A browser that says "same-origin" has compared the origin with the address in the browser,
        # which the server does not know if a proxy has changed the Host header.
        if is_safe or sites == ["same-origin"]:
            return None
        for origin in Headers(scope=scope).getlist("origin"):
            scheme, separator, origin_host = origin.lower().partition("://")
            if separator and scheme in ("http", "https"):
                match = HOST_HEADER.fullmatch(origin_host)
                if match and (origin_host == host or {origin_host, match["name"]} & self._allowed):
                    continue
            return error_response(
                403,
                f"pages of {origin[:200]!r} may not send such requests; "
                f"if that is this server's address in the browser, allow it with --allowed_host",
            )
        return None

    def _is_frame(self, scope: Scope, site: str) -> bool:
        """Whether a browser asks for the page, to show it in a frame where that is allowed."""
        is_frame = Headers(scope=scope).getlist("sec-fetch-dest") == ["iframe"]
        return is_frame and site in self._frame_sites and scope["path"] == f"{self._prefix}/"


def is_host(text: str) -> bool:
    """Whether a text is a valid Host header, with or without a port."""
    return HOST_HEADER.fullmatch(text.lower()) is not None


def _redirect_with_cookie(scope: Scope, cookie: str) -> Response:
    """Redirects to the same URL without the token, which is stored in a cookie."""
    rest = b"&".join(
        part for part in scope["query_string"].split(b"&") if _decoded_name(part) not in TOKEN_NAMES
    )
    # Only the query is replaced, since a proxy may have changed the path. It may not be empty: some
    # clients would take that for the old query. The page removes the underscore.
    location = f"?{rest.decode('latin-1') or '_'}"
    headers = {"location": location, "set-cookie": cookie, "cache-control": "no-store"}
    return Response(status_code=303, headers=headers)


def _seconds_left(scope: Scope, login: Login) -> float:
    """How long the request's cookie is valid; 0 or less if it has none that is."""
    return login.seconds_left(_cookies(scope, login.cookie_name))


def _is_link(scope: Scope) -> bool:
    """Whether the browser will show the response as a page in a tab, not in a frame."""
    mode = Headers(scope=scope).getlist("sec-fetch-mode")
    destination = Headers(scope=scope).getlist("sec-fetch-dest")
    # Some older browsers send no Sec-Fetch-Dest.
    return mode == ["navigate"] and destination in (["document"], [])


def _local_address(scope: Scope) -> str | None:
    """The address of this machine that the client connected to, in the form of a Host header.

    A request for it is safe to accept: DNS can redirect a name, but not an address.
    """
    address = _plain_address(scope.get("server"))
    return f"[{address}]" if address and ":" in address else address


def _plain_address(endpoint: Sequence[Any] | None) -> str | None:
    """The address of an end of a connection, without its port and zone; None if it has none."""
    try:
        address = ipaddress.ip_address(str(endpoint[0]).partition("%")[0]) if endpoint else None
    except ValueError:
        return None
    address = getattr(address, "ipv4_mapped", None) or address
    return str(address) if address else None


def _names_of_this_machine() -> set[str]:
    """The machine's own name, with and without its domain."""
    name = socket.gethostname().lower()
    return {name, name.partition(".")[0]} - {""}


def _decoded_name(part: bytes) -> str:
    """The name in one `name=value` part of a query."""
    return unquote_plus(part.partition(b"=")[0].decode("latin-1"))


def _cookies(scope: Scope, name: str) -> Iterable[str]:
    """The values of all cookies with this name: browsers may send one for each of several paths."""
    for header in Headers(scope=scope).getlist("cookie"):
        for pair in header.split(";"):
            key, separator, value = pair.strip().partition("=")
            if separator and key == name:
                yield value.strip().strip('"')
