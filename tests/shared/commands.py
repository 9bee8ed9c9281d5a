"""Runs the commands: in this process, or as processes on terminals of their own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from click.testing import CliRunner
from forks import TBCORE, Fork

from tbcore.cli import main

TIMEOUT_SECONDS = 60


IGNORED_VARIABLES = ("NO_COLOR", "TBCORE_LOGDIR", "COLUMNS", "LINES", "TERM")
"""Variables that change what commands print."""


def environment(**variables: str) -> dict[str, str]:
    """The environment without variables that change what commands print, and with these."""
    inherited = {name: text for name, text in os.environ.items() if name not in IGNORED_VARIABLES}
    return {**inherited, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", **variables}


def command(*arguments: str | Path) -> list[str]:
    """The command line of `tbcore` with these arguments."""
    return [sys.executable, "-m", "tbcore", *map(str, arguments)]


def piped(
    *arguments: str | Path, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """The result of a command whose output is a pipe. It runs in this process."""
    changed = dict.fromkeys(IGNORED_VARIABLES) | {"TERM": "xterm"} | variables
    argv = list(map(str, arguments))
    with contextlib.chdir(cwd or "."), CliRunner().isolation(env=changed) as (output, errors, _):
        status = main(argv)
        sys.stdout.flush()
        # Some versions of click close the streams at the end of the block.
        texts = [stream.getvalue().decode() for stream in (output, errors)]
    return subprocess.CompletedProcess(argv, status, *texts)


def lines(*arguments: str | Path) -> list[list[str]]:
    """The fields of the lines that a command without errors prints to a pipe."""
    result = piped(*arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return [line.split("\t") for line in result.stdout.splitlines()]


def on_terminal(
    *arguments: str | Path, columns: int = 80, rows: int = 24, **variables: str
) -> tuple[int, str]:
    """The exit status of a command on a terminal of this size, and what the terminal received."""

    def start(terminal: int) -> Fork:
        output = Path(os.ttyname(terminal))
        return Fork(TBCORE, list(map(str, arguments)), output, environment(**variables))

    status, received = _received(start, columns, rows)
    return status, without_progress(received)


def without_progress(received: str) -> str:
    """What stays on a terminal when the lines of progress are gone, which slow commands show."""
    return re.sub(r"\r\x1b\[K(?:tbcore: looking for [^\r]*)?", "", received)


def received_by_terminal(argv: list[str], **variables: str) -> tuple[int, str]:
    """The exit status of a program on a terminal, and what the terminal received."""

    def start(terminal: int) -> subprocess.Popen[bytes]:
        env = environment(**variables)
        return subprocess.Popen(argv, stdin=terminal, stdout=terminal, stderr=terminal, env=env)

    return _received(start, 80, 24)


def _received(
    start: Callable[[int], Fork | subprocess.Popen[bytes]], columns: int, rows: int
) -> tuple[int, str]:
    """The exit status of what is started on a new terminal, and what the terminal received."""
    control, terminal = pty.openpty()
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(_read, control)
        try:
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            process = start(terminal)
            try:
                status = process.wait(TIMEOUT_SECONDS)
            finally:
                process.kill()  # Does nothing after its end; otherwise it keeps the terminal open.
        finally:
            os.close(terminal)
    return status, received.result().decode().replace("\r\n", "\n")


def _read(control: int) -> bytes:
    """What a terminal receives until it is closed."""
    received = b""
    with os.fdopen(control, "rb", buffering=0) as stream, contextlib.suppress(OSError):
        while part := stream.read(1 << 16):
            received += part
    return received
