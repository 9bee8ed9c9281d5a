"""Runs the commands as processes: with pipes, or on a terminal of their own."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

TIMEOUT_SECONDS = 60


def environment(**variables: str) -> dict[str, str]:
    """The environment without variables that change what commands print, and with these."""
    ignored = {"NO_COLOR", "TBCORE_LOGDIR", "COLUMNS", "LINES", "TERM"}
    inherited = {name: value for name, value in os.environ.items() if name not in ignored}
    return {**inherited, "TERM": "xterm", "PYTHONIOENCODING": "utf-8", **variables}


def command(*arguments: str | Path) -> list[str]:
    """The command line of `tbcore` with these arguments."""
    return [sys.executable, "-m", "tbcore", *map(str, arguments)]


def piped(
    *arguments: str | Path, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """The result of a command whose output is a pipe."""
    return subprocess.run(
        command(*arguments), cwd=cwd, env=environment(**variables), stdin=subprocess.DEVNULL,
        capture_output=True, encoding="utf-8", timeout=TIMEOUT_SECONDS, check=False,
    )  # fmt: skip


def lines(*arguments: str | Path) -> list[list[str]]:
    """The fields of the lines that a command without errors prints to a pipe."""
    result = piped(*arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return [line.split("\t") for line in result.stdout.splitlines()]


def on_terminal(
    *arguments: str | Path, columns: int = 80, rows: int = 24, **variables: str
) -> tuple[int, str]:
    """The exit status of a command on a terminal of this size, and what the terminal received."""
    return received_by_terminal(command(*arguments), columns, rows, **variables)


def received_by_terminal(
    argv: list[str], columns: int = 80, rows: int = 24, **variables: str
) -> tuple[int, str]:
    """The exit status of a program on a terminal of this size, and what the terminal received."""
    control, terminal = pty.openpty()
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        process = subprocess.Popen(
            argv, stdin=terminal, stdout=terminal, stderr=terminal,
            env=environment(**variables),
        )  # fmt: skip
    finally:
        os.close(terminal)
    received = b""
    with os.fdopen(control, "rb", buffering=0) as stream:
        try:
            while part := stream.read(1 << 16):
                received += part
        except OSError:
            pass  # The other end is closed.
    return process.wait(TIMEOUT_SECONDS), received.decode().replace("\r\n", "\n")
