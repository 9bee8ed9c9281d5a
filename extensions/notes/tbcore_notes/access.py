"""Access: who may change notes through a server, and whether they are the owner's own then.

A page of any web site can make its reader's browser send requests to this machine, and every user
of this machine can. So a change needs a secret, and a request of a browser must come from a page of
this server itself, not of another port or site.

| a server                                           | a change needs  | it is the owner's own   |
| -------------------------------------------------- | --------------- | ----------------------- |
| with `--notes read`                                | is refused      |                         |
| whose page others may show in a frame              | is refused      |                         |
| with a token, a secret path, or on a unix socket   | that            | never                   |
| for other machines, without any of these           | is refused      |                         |
| under the name `tensorboard`, without any of these | is refused      |                         |
| for this machine, with `--allowed_host`            | the write token | never                   |
| for this machine                                   | the write token | unless a header says no |

The owner is the user who started the server. What is the owner's own decides which files
`tbcore notes files` names for deletion. Only the owner is given the write token of this start.
Headers are chosen by those who send the request, and a proxy may send none. So they can only take
away: with a header of a proxy, or of another host, a note is not the owner's own. None is
any more once a plugin serves pages with code of others, as TensorBoard's are.
"""

from __future__ import annotations

import hmac
import re
import secrets
from typing import NamedTuple

from starlette.requests import Request

from tbcore.engine import Config
from tbcore.http import is_reader

TOKEN_HEADER = "x-tbcore-write-token"
_OWN_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
_PROXY_HEADER = re.compile(r"forwarded|via|x-forwarded.*|x-real-ip|.*-(client|connecting)-ip")


class Access(NamedTuple):
    """The rights of a request."""

    read_only: str | None
    """Why nobody may change notes here; None if somebody may."""
    needs_token: bool
    """Whether changes need the write token."""
    refusal: str | None
    """Why this request may not change notes, or one with its headers could not; None if it may."""
    is_own: bool
    """Whether what it changes is the owner's own."""


def access(config: Config, request: Request, fault: str | None, *, distrusts_pages: bool) -> Access:
    """The rights of a request to a server with this `Config`.

    `fault` is why notes cannot be written on this machine, or None. `distrusts_pages` is that of
    the multiplexer: a page with code of others could have sent the request.
    """
    read_only = _read_only(config) or fault
    if read_only is None and is_reader(request):
        read_only = "the address that you opened lets you read, and change nothing"
    needs_token = read_only is None and not _has_secret(config)
    refusal = read_only
    if refusal is None and request.method == "POST" and not _is_of_this_server(config, request):
        refusal = "only pages of this server itself may change notes"
    elif needs_token and not _has_write_token(config, request):
        command = f"tbcore notes address --port {config.port}"
        refusal = f"to change notes, open the address that `{command}` prints"
        if request.headers.get(TOKEN_HEADER):
            refusal = f"the token that was sent is not that of this start of the server: {refusal}"
    is_own = needs_token and refusal is None and not config.allowed_hosts and not distrusts_pages
    return Access(read_only, needs_token, refusal, is_own and not _is_from_elsewhere(request))


def new_write_token(config: Config) -> str:
    """See `tbcore.store.notes.Notes`."""
    needs_token = _read_only(config) is None and not _has_secret(config)
    return secrets.token_urlsafe(24) if needs_token else ""


def _read_only(config: Config) -> str | None:
    """Why nobody may change notes; None if somebody may."""
    if config.notes == "read":
        return "this server was started to show notes, and not to change them (--notes read)"
    if config.embed_in:
        # Who sees the page in a frame of another page cannot see what a click does.
        return "pages of other origins may show this server in a frame, so it takes no notes"
    # Programs that expect TensorBoard expect its address, without a token.
    is_private = config.reach == "machine" and config.program == "tbcore"
    if _has_secret(config) or is_private:
        return None
    return "this server takes no notes, since it has no token and no secret path"


def _has_secret(config: Config) -> bool:
    """Whether all who can send requests were let in by a secret, or by a socket's mode."""
    return config.token is not None or config.has_secret_prefix or config.reach == "user"


def _has_write_token(config: Config, request: Request) -> bool:
    """Compares in constant time."""
    given = [text.encode("utf-8", "replace") for text in request.headers.getlist(TOKEN_HEADER)]
    token = config.write_token.encode()
    return len(given) == 1 and token != b"" and hmac.compare_digest(given[0], token)


def _is_of_this_server(config: Config, request: Request) -> bool:
    """Whether a request comes from a page of the server's own origin, or from no page.

    A name of `--allowed_host` stands for itself, not for all of its ports.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return False  # A form can send other types without a browser's question.
    sites = [site.lower() for site in request.headers.getlist("sec-fetch-site")]
    if sites:
        return sites == ["same-origin"]
    own = {_host(request), *(name.lower() for name in config.allowed_hosts)} - {"*"}
    return all(_host_of(origin) in own for origin in request.headers.getlist("origin"))


def _is_from_elsewhere(request: Request) -> bool:
    """Whether a header says that a request came through a proxy, or to another name."""
    origins = map(_host_of, request.headers.getlist("origin"))
    return (
        any(_PROXY_HEADER.fullmatch(name.lower()) for name in request.headers)
        or not _OWN_HOST.fullmatch(_host(request))
        or any(origin is None or not _OWN_HOST.fullmatch(origin) for origin in origins)
    )


def _host(request: Request) -> str:
    """The host and the port that a request is for."""
    return request.headers.get("host", "").lower()


def _host_of(origin: str) -> str | None:
    """The host and the port of an Origin header; None for any other value, such as `null`."""
    scheme, separator, host = origin.lower().partition("://")
    return host if separator and scheme in ("http", "https") else None
