"""Reporter prints a server's lines about starting and loading; LogHandler writes its log lines."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TextIO

from tbcore.plugins.stats import CURRENT_PLUGIN, PluginStats
from tbcore.store.board import Board
from tbcore.store.status import LoadStatus
from tbcore.text import plural, size

if TYPE_CHECKING:
    from tbcore.plugins.types import MountedPlugin

PROGRESS_INTERVAL_SECONDS = 0.2
"""Time between two updates of the progress line."""
MIN_SECONDS_TO_REPORT = 2.0
"""The duration of the loader's first pass is printed if it is longer than this."""

CLEAR_LINE = "\r\x1b[K"
"""Control characters that clear the current line of a terminal."""


def no_plugins_hint() -> str:
    """A line with the reason why there are no plugins, and how to install some."""
    from tbcore.plugins.loading import ONLY_VARIABLE

    if ONLY_VARIABLE in os.environ:
        return f"no plugins are loaded, because the variable {ONLY_VARIABLE} names none"
    return (
        "no plugins are installed, so the page has no tabs; "
        "`pip install 'tbcore-server[all]'` installs all plugins of tbcore"
    )


def plugins_summary(mounted: Sequence[MountedPlugin]) -> str:
    """A line with the names of the working and of the failed plugins, in the order of the tabs."""
    by_order = sorted(mounted, key=lambda m: (m.plugin.order, m.plugin.title))
    working = [m.plugin.name for m in by_order if m.error is None]
    starting = [m.plugin.name for m in by_order if m.is_starting]
    failed = [m.plugin.name for m in by_order if m.error and not m.is_starting]
    text = f"plugins: {', '.join(working)}" if working else "no plugins"
    if starting:
        text += f"; starting: {', '.join(starting)}"
    if failed:
        text += f"; failed: {', '.join(failed)}, see `tbcore plugins`"
    return text


def scan_summary(status: LoadStatus, logdir: str) -> str:
    """A line about the result of a scan, such as `3 runs in 4 files (12 MB) below runs/`."""
    where = logdir if "," in logdir or logdir.endswith("/") else f"{logdir}/"
    if status.num_files:
        return (
            f"{plural(status.num_runs, 'run')} in {plural(status.num_files, 'file')} "
            f"({size(status.bytes_total)}) below {where}"
        )
    scanned = plural(status.num_directories, "directory")
    names = ", ".join(status.looked_for)
    return f"no event files below {where} yet (scanned {scanned}; looked for {names})"


class Reporter:
    """Prints the result of the first scan and the progress of loading, from a thread of its own."""

    def __init__(
        self, board: Board, logdir: str, plugins_line: str, out: TextIO | None = sys.stdout
    ) -> None:
        """`plugins_line` is what `plugins_summary` returned."""
        self._board = board
        self._logdir = logdir
        self._plugins_line = plugins_line
        self._out = out
        self._is_on_terminal = out is not None and out.isatty()
        self._ended = threading.Event()
        self._has_progress = False
        """Whether the current line of the terminal is the progress line."""
        self._lock = threading.RLock()

    def start(self) -> None:
        threading.Thread(target=self._run, name="tbcore-report", daemon=True).start()

    def stop(self) -> None:
        self._ended.set()
        self.clear()

    def print_line(self, line: str) -> None:
        """Prints a line, in place of the progress line if there is one."""
        with self._lock:
            self.clear()
            self._print(f"{line}\n")

    def clear(self) -> None:
        """Clears the progress line, so that something else can be printed."""
        with self._lock:
            if self._has_progress:
                self._has_progress = False
                self._print(CLEAR_LINE)

    def _print(self, text: str) -> None:
        """Prints text. Ignores a full disk or a closed pipe, which must not end the server."""
        if self._out is not None:
            with contextlib.suppress(OSError, ValueError):
                self._out.write(text)
                self._out.flush()

    def _run(self) -> None:
        """Reports the first scan and the first pass. Runs in its own thread."""
        started = time.monotonic()
        while True:
            status = self._board.status
            if status.passes or status.num_directories or status.missing:
                break
            if self._ended.wait(0.02):
                return
        self.print_line(f"{scan_summary(status, self._logdir)}; {self._plugins_line}")
        while not self._board.status.passes:
            self._show_progress(self._board.status)
            if self._ended.wait(PROGRESS_INTERVAL_SECONDS):
                return
        self.clear()
        seconds = time.monotonic() - started
        if seconds > MIN_SECONDS_TO_REPORT:
            self.print_line(f"read {size(self._board.status.bytes_read)} in {seconds:.0f} s")

    def _show_progress(self, status: LoadStatus) -> None:
        if not self._is_on_terminal or not status.bytes_total:
            return
        percent = min(100, 100 * status.bytes_read // status.bytes_total)
        line = f"reading: {percent} % of {size(status.bytes_total)}"
        with self._lock:
            if self._ended.is_set():
                return
            self._has_progress = True
            width = shutil.get_terminal_size().columns - 1
            self._print(f"{CLEAR_LINE}{line[:width]}")


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes log lines to stderr after clearing the progress line; limits each plugin's lines.

    A line begins with the local time, with its offset, and `tbcore: warning: `, like messages of
    the command line. Messages contain names from event files, so control characters are replaced
    by escapes: they must not reach the terminal.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        """With `as_json`, each line is a JSON object."""
        super().__init__(sys.stderr)
        self.reporter: Reporter | None = None
        self.stats_by_package: Mapping[str, PluginStats] = {}
        """Maps the package of a plugin to the plugin's stats. In threads that a plugin started
        itself, `CURRENT_PLUGIN` is not set, so the logger's name determines the plugin."""
        self.setFormatter(logging.Formatter())
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        plugin = getattr(record, "tbcore_plugin", None)
        at = datetime.fromtimestamp(record.created).astimezone().isoformat(timespec="seconds")
        level, text = record.levelname.lower(), super().format(record)
        if self._as_json:
            line = {"time": at, "level": level, "message": text}
            return json.dumps(line | ({"plugin": plugin} if plugin else {}))
        text = f"{at} tbcore: {level}: {f'plugin {plugin!r}: ' if plugin else ''}{text}"
        return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)

    def emit(self, record: logging.LogRecord) -> None:
        stats = CURRENT_PLUGIN.get() or self.stats_by_package.get(record.name.partition(".")[0])
        if stats is not None:
            if not stats.may_log():
                return
            if record.name.partition(".")[0] != "tbcore":
                # A log line of the plugin. Log lines of the core name the plugin in their text.
                record.tbcore_plugin = stats.name
        if self.reporter is not None:
            self.reporter.clear()
        super().emit(record)


def set_up_logging(*, dev: bool, as_json: bool = False) -> LogHandler:
    """Sends log lines of all packages to stderr: warnings and errors, and infos with `dev`.

    The core's own infos are always among them. There are few.
    """
    for stream in (sys.stdout, sys.stderr):
        # Names of files may have characters that the terminal's encoding lacks.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    handler = LogHandler(as_json=as_json)
    logging.basicConfig(level=logging.INFO if dev else logging.WARNING, handlers=[handler])
    logging.getLogger("tbcore").setLevel(logging.INFO)
    # The application logs its own faults. uvicorn would also log clients that disconnect, or that
    # send something other than HTTP.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    logging.getLogger("asyncio").setLevel(logging.WARNING if dev else logging.ERROR)
    # With `dev`, watchfiles would log every write to an event file.
    logging.getLogger("watchfiles").setLevel(logging.WARNING)
    return handler
