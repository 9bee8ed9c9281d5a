"""Report: what a server tells whoever started it, on a few lines."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from tbcore.health import CURRENT, Health
from tbcore.store.multiplexer import Multiplexer
from tbcore.store.status import LoadStatus

if TYPE_CHECKING:
    from tbcore.plugins import MountedPlugin

TICK_SECONDS = 0.2
LONG_SECONDS = 2.0
"""Loading that takes longer is told of when it is over."""

CLEAR_LINE = "\r\x1b[K"


def plural(count: int, noun: str) -> str:
    """`1 run`, `2 runs`, `2 directories`."""
    if count != 1:
        noun = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count} {noun}"


def size(num_bytes: int) -> str:
    """`950 B`, `12 kB`, `3.4 MB`: two digits at least, decimal units."""
    value, unit = float(num_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    digits = 1 if unit != "B" and value < 9.95 else 0
    return f"{value:.{digits}f} {unit}"


def no_plugins() -> str:
    """Why there is nothing to look at, where no plugin was found."""
    from tbcore.plugins import ONLY_VARIABLE

    if ONLY_VARIABLE in os.environ:
        return f"the variable {ONLY_VARIABLE} names no plugin, so none is loaded"
    return (
        "no plugins are installed, so there is nothing to look at; "
        "`pip install 'tbcore-server[all]'` brings all that belong to tbcore"
    )


def plugin_names(mounted: Sequence[MountedPlugin]) -> str:
    """The working plugins in the order of their tabs, and the others."""
    in_order = sorted(mounted, key=lambda m: (m.plugin.order, m.plugin.title))
    good = [m.plugin.name for m in in_order if m.error is None]
    failed = [m.plugin.name for m in in_order if m.error is not None]
    text = f"plugins: {', '.join(good)}" if good else "no plugins"
    if failed:
        text += f"; not working: {', '.join(failed)}, see `tbcore plugins`"
    return text


def found(status: LoadStatus, logdir: str) -> str:
    """What a look at the logdir found, such as `3 runs in 4 files (12 MB) below runs/`."""
    where = logdir if "," in logdir or logdir.endswith("/") else f"{logdir}/"
    if status.num_files:
        return (
            f"{plural(status.num_runs, 'run')} in {plural(status.num_files, 'file')} "
            f"({size(status.bytes_total)}) below {where}"
        )
    if status.missing and not status.num_directories:
        # The loader has said what it waits for.
        return "nothing to show yet"
    looked = plural(status.num_directories, "directory")
    return f"no event files below {where} yet (looked into {looked})"


class Reporter:
    """Prints what was found and how loading goes on, in a thread of its own."""

    def __init__(
        self, multiplexer: Multiplexer, logdir: str, plugins: str, out: TextIO | None = sys.stdout
    ) -> None:
        self._multiplexer = multiplexer
        self._logdir = logdir
        self._plugins = plugins
        self._out = out
        self._on_terminal = out is not None and out.isatty()
        self._ended = threading.Event()
        self._has_progress = False
        self._lock = threading.Lock()

    def start(self) -> None:
        threading.Thread(target=self._run, name="tbcore-report", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()
        self.clear()

    def say(self, line: str) -> None:
        """Prints a line of its own."""
        with self._lock:
            self._clear()
            self._print(f"{line}\n")

    def clear(self) -> None:
        """Takes the progress away, so that something else can be printed."""
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        if self._has_progress:
            self._has_progress = False
            self._print(CLEAR_LINE)

    def _print(self, text: str) -> None:
        """A disk that is full, or a reader that is gone, does not end the server."""
        if self._out is not None:
            with contextlib.suppress(OSError, ValueError):
                self._out.write(text)
                self._out.flush()

    def _run(self) -> None:
        started = time.monotonic()
        while not self._has_looked():
            if self._ended.wait(0.02):
                return
        self.say(f"{found(self._multiplexer.status, self._logdir)}; {self._plugins}")
        while not self._multiplexer.status.passes:
            self._show_progress(self._multiplexer.status)
            if self._ended.wait(TICK_SECONDS):
                return
        self.clear()
        seconds = time.monotonic() - started
        if seconds > LONG_SECONDS:
            self.say(f"read {size(self._multiplexer.status.bytes_read)} in {seconds:.0f} s")

    def _has_looked(self) -> bool:
        status = self._multiplexer.status
        return bool(status.passes or status.num_directories or status.missing)

    def _show_progress(self, status: LoadStatus) -> None:
        if not self._on_terminal or not status.bytes_total:
            return
        part = min(100, 100 * status.bytes_read // status.bytes_total)
        line = f"reading: {part} % of {size(status.bytes_total)}"
        with self._lock:
            if self._ended.is_set():
                return
            self._has_progress = True
            width = shutil.get_terminal_size().columns - 1
            self._print(f"{CLEAR_LINE}{line[:width]}")


class LineFormatter(logging.Formatter):
    """`tbcore: warning: ...`, as the command line itself speaks; then the traceback, if any.

    Names of a log are part of messages, and stand in no terminal as what controls it.
    """

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)

    def formatMessage(self, record: logging.LogRecord) -> str:
        plugin = getattr(record, "tbcore_plugin", None)
        where = f"plugin {plugin!r}: " if plugin else ""
        return f"tbcore: {record.levelname.lower()}: {where}{record.message}"


class LogHandler(logging.StreamHandler[TextIO]):
    """Log lines on stderr that do not get mixed with the progress, and only so many of a plugin."""

    def __init__(self) -> None:
        super().__init__(sys.stderr)
        self.reporter: Reporter | None = None
        self.healths: Mapping[str, Health] = {}
        """Of each plugin, by its package: threads of its own are known by their loggers."""
        self.setFormatter(LineFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        health = CURRENT.get() or self.healths.get(record.name.partition(".")[0])
        if health is not None:
            if not health.may_log():
                return
            if record.name.partition(".")[0] != "tbcore":
                # The plugin's own words; lines of the core name it themselves.
                record.tbcore_plugin = health.name
        if self.reporter is not None:
            self.reporter.clear()
        super().emit(record)


def set_up_logging(*, dev: bool) -> LogHandler:
    """Warnings of everything go to stderr, of which people see what they should act upon."""
    for stream in (sys.stdout, sys.stderr):
        # Names of files may hold what the terminal's encoding does not.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    handler = LogHandler()
    logging.basicConfig(level=logging.INFO if dev else logging.WARNING, handlers=[handler])
    # Faults of the application are logged by the application; what is left are clients that went
    # away, or spoke something else than HTTP.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.WARNING if dev else logging.ERROR)
    return handler
