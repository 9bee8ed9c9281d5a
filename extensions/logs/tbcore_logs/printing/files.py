"""Files: written whole or not at all, with names made from logged names."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import IO, NoReturn
from urllib.parse import quote

import click

_MAX_NAME_CHARS = 200
"""Maximum length of a name made from a logged name."""


@contextlib.contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns an OSError while a path is written into a ClickException with one line."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise click.ClickException(f"cannot write {os.fspath(path)!r}: {reason}") from None


@contextlib.contextmanager
def opened_for_writing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Opens a temporary file, and renames it to `path` if the `with` block raises no error.

    `-` is stdout. Raises ClickException with one line if the file cannot be written. Signals that
    end the process leave no temporary file.
    """
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if os.path.exists(path) and not os.path.isfile(path):
        raise click.ClickException(f"cannot write {os.fspath(path)!r}: it exists, and is no file")
    folder, name = os.path.split(os.path.realpath(path))
    temporary = os.path.join(folder, f".{name[:_MAX_NAME_CHARS]}.{os.getpid()}.tmp")
    with written(path), _signals_raised():
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, os.path.join(folder, name))
        finally:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


@contextlib.contextmanager
def _signals_raised() -> Iterator[None]:
    """Makes signals that end the process raise, so that temporary files are deleted."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: end}
    if hasattr(signal, "SIGHUP"):
        handlers[signal.SIGHUP] = end
    # An ignored signal, as under nohup, stays ignored.
    changed = [number for number in handlers if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, handlers[number])
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def safe_name(name: str) -> str:
    """A name for a file that no other logged name gets, and that cannot lead elsewhere."""
    quoted = quote(name, safe=" +,=@()[]", errors="surrogatepass")
    if quoted.startswith("."):
        quoted = f"%2E{quoted[1:]}"
    if len(quoted) > _MAX_NAME_CHARS:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        quoted = f"{quoted[: _MAX_NAME_CHARS - 17]}-{digest[:16]}"
    return quoted
