"""Login: the token of a server, and its cookie. WrongTokens logs requests with a wrong token.

`secret_prefix` reads the secret path that can take the token's place; `private_file` makes a file
for an address with a secret.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import os
import re
import secrets
import socket
import time
from collections import Counter
from collections.abc import Iterable

from starlette.types import Message, Send

from tbcore.errors import TbcoreError
from tbcore.plugins.config import user_directory
from tbcore.text import plural

logger = logging.getLogger(__name__)

MAX_AGE_SECONDS = 7 * 86400
"""How long a cookie is valid."""
RENEWAL_SECONDS = 6 * 86400
"""A cookie that is valid for less than this is renewed when it is used."""
SECRET_PATH = re.compile(r"/[A-Za-z0-9_-]{32,200}")
MAX_ADDRESSES = 1000
"""Maximum number of addresses whose wrong tokens are counted; others are counted together."""


def secret_prefix(path: str) -> str:
    """The secret path in a file: `/` and at least 32 characters. Makes the file if it is missing.

    Raises TbcoreError if the file cannot be made or read, if others can read it, or if it contains
    something else.
    """
    try:
        try:
            with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as new:
                new.write(f"/{secrets.token_urlsafe(24)}\n")
        except FileExistsError:
            pass
        for _ in range(100):
            with open(path, encoding="utf-8", errors="replace") as file:
                mode, text = os.fstat(file.fileno()).st_mode, file.read(1000).strip()
            if text:
                break
            time.sleep(0.01)  # Another server has just made it.
    except OSError as error:
        raise TbcoreError(f"--secret_prefix {path}: {error.strerror or error}") from error
    fault = "" if SECRET_PATH.fullmatch(text) else f"contains no {SECRET_PATH.pattern}"
    if os.name == "posix" and mode & 0o077:
        fault = "can be read by others, so it is no secret"
    if fault:
        raise TbcoreError(
            f"--secret_prefix {path}: the file {fault}; remove it, and the server makes a new one"
        )
    return text


def private_file(text: str, middle: str, suffix: str = "") -> str:
    """Makes a file that only this user can read, and returns its path.

    It is in the user's directory for state, which the machines of a cluster share, or else in that
    for temporary files. Raises TbcoreError if neither can be written to.
    """
    import tempfile

    folders = private_folders()
    for folder in folders:
        with contextlib.suppress(OSError):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            descriptor, path = tempfile.mkstemp(suffix, f"{socket.gethostname()}{middle}", folder)
            try:
                with open(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
            except OSError:
                os.unlink(path)  # The disk is full.
                raise
            return path
    raise TbcoreError(
        f"cannot write the token to a file in {' or '.join(folders)}; "
        f"set TBCORE_TOKEN to a token of your own, or XDG_STATE_HOME to a directory"
    )


def private_folders() -> list[str]:
    """Where files of `private_file` are: names begin with that of the machine and `-PORT-`.

    Other users may have files in the last one, so what is there may not be one of them.
    """
    import tempfile

    folders = [os.path.join(user_directory("XDG_STATE_HOME", "~/.local/state"), "tbcore")]
    with contextlib.suppress(OSError):  # There is none in a container whose root is read-only.
        folders.append(tempfile.gettempdir())
    return folders


class Login:
    """Checks the token and makes cookies. It stores nothing: cookies stay valid after a restart.

    Browsers send a cookie to every port of a host, so servers of other users may see it. It does
    not contain the token, and expires. The server's port is not in its name, since two servers on
    different machines may have the same port, and one browser may reach both through tunnels. The
    name is derived from the token instead, so that the two do not overwrite each other's cookies.

    A value is `EXPIRY.SIGNATURE`: seconds since the epoch, and an HMAC of them.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self.cookie_name = f"tbcore_{self._signature('name')[:8]}"

    def is_token(self, text: str) -> bool:
        return equals(text, self._token)

    def cookie_value(self, expiry: int) -> str:
        """The value that is valid until `expiry`, in seconds since the epoch."""
        return f"{expiry}.{self._signature(str(expiry))}"

    def set_cookie(self, path: str) -> str:
        """A Set-Cookie header for `path` and the paths below, with a value that is valid now."""
        value = self.cookie_value(int(time.time()) + MAX_AGE_SECONDS)
        attributes = f"Max-Age={MAX_AGE_SECONDS}; Path={path}; HttpOnly; SameSite=Lax"
        return f"{self.cookie_name}={value}; {attributes}"

    def seconds_left(self, values: Iterable[str]) -> float:
        """How long the best of these values of the cookie is valid; 0 or less if none is."""
        expiries = [0]
        for value in values:
            expiry, _, signature = value.partition(".")
            if expiry.isdecimal() and equals(signature, self._signature(expiry)):
                expiries.append(int(expiry))
        return max(expiries) - time.time()

    def renewing(self, send: Send, path: str) -> Send:
        """A `send` that adds a new cookie for `path` to the response."""

        async def send_with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                cookie = (b"set-cookie", self.set_cookie(path).encode())
                message["headers"] = [*message["headers"], cookie]
            await send(message)

        return send_with_cookie

    def _signature(self, text: str) -> str:
        message = f"tbcore cookie {text}".encode()
        return hmac.digest(self._token.encode(), message, "sha256").hex()


class WrongTokens:
    """Counts requests with a wrong token, and logs one line per interval at most.

    The first one is logged at once; those of an interval together at its end.
    """

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self._counts: Counter[str] = Counter()
        """Maps each address to its number of requests that have not been logged."""
        self._is_waiting = False
        """Whether `_log` will be called at the end of an interval."""

    def add(self, address: str) -> None:
        """Counts a request from an address. Called on the event loop."""
        is_counted = address in self._counts or len(self._counts) < MAX_ADDRESSES
        self._counts[address if is_counted else "many addresses"] += 1
        if not self._is_waiting:
            self._log()

    def _log(self) -> None:
        """Logs and resets the counts. If there are any, starts an interval."""
        self._is_waiting = bool(self._counts)
        if not self._is_waiting:
            return
        [(address, count)] = self._counts.most_common(1)
        num_others = self._counts.total() - count
        others = f", and {num_others:,} from other addresses" if num_others else ""
        logger.warning("wrong token from %s: %s%s", address, plural(count, "request"), others)
        self._counts.clear()
        asyncio.get_running_loop().call_later(self._interval_seconds, self._log)


def equals(given: str, secret: str) -> bool:
    """Compares in constant time: the duration must not reveal how much of the secret is right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())
