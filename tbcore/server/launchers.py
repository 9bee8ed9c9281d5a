"""Launchers: extensions for programs that start servers themselves, such as notebooks."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from tbcore.errors import TbcoreError
from tbcore.extensions import LAUNCHERS, available, guarded, loaded
from tbcore.plugins.config import Config

logger = logging.getLogger(__name__)


class Launch(Protocol):
    """What a launcher does at one start of a server."""

    frames: Sequence[str]
    """Origins whose pages may show the server's page in a frame, in the form of a
    Content-Security-Policy, such as `http://localhost:*`."""

    def started(self, config: Config) -> object:
        """Called when the server accepts requests. `config.port` is the port that it listens on."""

    def ended(self) -> object:
        """Called when a server that has started ends."""


Launcher = Callable[[Sequence[str]], Launch | None]
"""Called with the arguments of the program; None if the launcher has nothing to do with it."""


def launches() -> list[Launch]:
    """What each launcher does at this start. Launchers that fail are logged and left out.

    Only for servers that only this machine can reach, and that have no secret path.
    """
    found: list[Launch] = []
    for name in available(LAUNCHERS):
        try:
            launcher: Launcher = loaded(LAUNCHERS, name)
            with guarded(LAUNCHERS, name):
                launch = launcher(sys.argv[1:])
            found += [launch] if launch is not None else []
        except TbcoreError as error:
            logger.warning("%s", error)
    return found


def call(methods: Iterable[Callable[..., object]], *arguments: Config) -> None:
    """Calls methods of launches; a failure is logged, since it must not end the server."""
    for method in methods:
        try:
            method(*arguments)
        except Exception as error:
            logger.warning("a launcher failed: %s", error, exc_info=error)
