"""Addresses: those of this user's servers on this machine whose pages may change notes.

A server keeps its own in a private file while it runs. One that was killed leaves it, so each is
tried: it is printed only if the server there takes its token.
"""

from __future__ import annotations

import glob
import json
import os
import re
import socket
from collections.abc import Iterator
from http.client import HTTPException
from urllib.request import ProxyHandler, Request, build_opener

import click

from tbcore.engine import private_folders, warn
from tbcore_notes.access import TOKEN_HEADER

_ADDRESS = re.compile(r"(http://\S+:(\d+)/\S*)#write=([\w-]+)\n")
_MAX_BYTES = 10_000
_TIMEOUT_SECONDS = 5


def print_addresses(port: int | None) -> int:
    """Prints the addresses of this user's servers, or that of the one at this port."""
    found = sorted(set(_addresses(port)))
    for address in found:
        click.echo(address)
    if not found:
        where = "" if port is None else f" at port {port}"
        warn(
            f"no server of yours{where} on {socket.gethostname()} has an address for changing notes"
        )
    return 0 if found else 1


def _addresses(port: int | None) -> Iterator[str]:
    name = f"{glob.escape(socket.gethostname())}-{'*' if port is None else port}-*"
    for folder in private_folders():
        for path in glob.glob(os.path.join(glob.escape(folder), name)):
            found = _ADDRESS.fullmatch(_own_text(path))
            if found and port in (None, int(found[2])) and _takes(found[1], found[3]):
                yield found[0].strip()


def _own_text(path: str) -> str:
    """The text of a file of this user; "" of another one, since others may write to the folder for
    temporary files."""

    def opener(path: str, flags: int) -> int:
        return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))

    try:
        with open(path, encoding="utf-8", opener=opener) as file:
            is_own = not hasattr(os, "getuid") or os.fstat(file.fileno()).st_uid == os.getuid()
            return file.read(_MAX_BYTES) if is_own else ""
    except (OSError, ValueError):
        return ""


def _takes(url: str, token: str) -> bool:
    """Whether the server at an address takes this token."""
    request = Request(f"{url}data/views", headers={TOKEN_HEADER: token})
    try:
        # Not through a proxy of the environment: the server is on this machine.
        with build_opener(ProxyHandler({})).open(request, timeout=_TIMEOUT_SECONDS) as response:
            return bool(json.load(response)["refusal"] is None)
    except (OSError, HTTPException, ValueError, LookupError, TypeError):
        return False
