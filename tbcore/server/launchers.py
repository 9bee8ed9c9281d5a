"""Launchers: extensions for programs that start servers themselves, such as notebooks."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from tbcore.errors import TbcoreError
from tbcore.extensions import LAUNCHERS, available, guarded, loaded
from tbcore.plugins.config import Config
from tbcore.text import describe

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


def launches() -> tuple[list[Launch], list[str]]:
    """What each launcher does at this start, and the `frames` of all of these.

    Launchers that fail are logged and left out. Only for servers that only this machine can
    reach, and that have no secret path.
    """
    found: list[Launch] = []
    frames: list[str] = []
    for name in available(LAUNCHERS):
        try:
            with guarded(LAUNCHERS, name):
                launch: Launch | None = loaded(LAUNCHERS, name)(sys.argv[1:])
                if launch is not None:
                    frames += launch.frames
                    found.append(launch)
        except (OSError, SystemExit) as error:
            logger.warning("the launcher %r failed: %s", name, describe(error))
        except TbcoreError as error:
            logger.warning("%s", error)
    return found, frames


def call(launches: Iterable[Launch], method: str, *arguments: Config) -> None:
    """Calls a method of launches; a failure is logged, since it must not end the server."""
    for launch in launches:
        try:
            getattr(launch, method)(*arguments)
        except (Exception, SystemExit) as error:
            logger.warning("a launcher failed: %s", error, exc_info=error)
