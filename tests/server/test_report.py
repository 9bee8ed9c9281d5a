"""The lines that a server prints when it starts and while it loads."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import time
from datetime import datetime
from types import SimpleNamespace

import pytest
from common_fixtures import WAIT_SECONDS, until

from tbcore import PluginInfo
from tbcore.plugins.types import LoadedPlugin, MountedPlugin
from tbcore.server.report import LogHandler, Reporter, plugins_summary, scan_summary
from tbcore.store.status import LoadStatus
from tbcore.text import plural, size


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9949, "9.9 kB"),
        (9950, "10 kB"),
        (12_345_678, "12 MB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (3_400_000_000, "3.4 GB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_sizes_have_decimal_units(num_bytes: int, text: str) -> None:
    """Sizes have decimal units, and one decimal place below 10 kB, 10 MB and so on."""
    assert size(num_bytes) == text


def test_nouns_are_in_the_plural_unless_the_count_is_1() -> None:
    """A noun is in the plural unless the count is 1."""
    assert [plural(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert plural(2, "directory") == "2 directories"


@pytest.mark.parametrize(
    ("status", "logdir", "text"),
    [
        (
            LoadStatus(num_runs=3, num_files=4, num_directories=9, bytes_total=12_000_000),
            "runs",
            "3 runs in 4 files (12 MB) below runs/",
        ),
        (
            LoadStatus(num_runs=1, num_files=1, num_directories=1, bytes_total=10),
            "/runs/",
            "1 run in 1 file (10 B) below /runs/",
        ),
        (
            LoadStatus(num_runs=1, num_files=1, bytes_total=10),
            "a:x,b:y",
            "1 run in 1 file (10 B) below a:x,b:y",
        ),
        (
            LoadStatus(num_directories=12, looked_for=("*tfevents*", "metrics.csv")),
            "runs",
            "no event files below runs/ yet "
            "(scanned 12 directories; looked for *tfevents*, metrics.csv)",
        ),
    ],
)
def test_the_summary_of_a_scan(status: LoadStatus, logdir: str, text: str) -> None:
    """A scan without logs is summarized by the number of directories, and what was looked for."""
    assert scan_summary(status, logdir) == text


def test_the_summary_of_plugins() -> None:
    """Working plugins are listed in the order of the tabs, then failed ones."""

    def mounted(name: str, order: int, error: str | None = None) -> MountedPlugin:
        info = PluginInfo(title=name, order=order)
        return MountedPlugin(LoadedPlugin(name, "", info=info), error=error)

    assert plugins_summary([]) == "no plugins"
    assert plugins_summary([mounted("a", 5), mounted("b", 1)]) == "plugins: b, a"
    assert plugins_summary([mounted("a", 5), mounted("b", 1, "broken")]) == (
        "plugins: a; failed: b, see `tbcore plugins`"
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def wait_for(out: io.StringIO, text: str) -> None:
    until(lambda: text in out.getvalue())


LOADING = LoadStatus(
    loading=True, num_runs=1, num_files=1, num_directories=1, bytes_read=450, bytes_total=1000
)


def test_progress_is_shown_on_terminals() -> None:
    """The progress line is cleared when loading is complete, and before any other line."""
    store = SimpleNamespace(status=LoadStatus(loading=True))
    terminal = Terminal()
    reporter = Reporter(store, "runs", "no plugins", terminal)  # type: ignore[arg-type]
    reporter.start()

    store.status = LOADING
    wait_for(terminal, "reading: 45 % of 1.0 kB")
    reporter.print_line("something else")
    wait_for(terminal, "\r\x1b[Ksomething else\n")
    store.status = LoadStatus(passes=1, num_files=1, num_directories=1)
    reporter.stop()

    lines = terminal.getvalue().split("\n")
    assert lines[0] == "1 run in 1 file (1.0 kB) below runs/; no plugins"
    assert lines[-1] == "" or lines[-1].endswith("\r\x1b[K")
    before = terminal.getvalue()
    reporter._show_progress(LOADING)  # The thread may call it after `stop`.
    assert terminal.getvalue() == before


def test_progress_is_not_written_to_files() -> None:
    """Only whole lines are written to a file."""
    store = SimpleNamespace(status=LOADING)
    out = io.StringIO()
    reporter = Reporter(store, "runs", "no plugins", out)  # type: ignore[arg-type]
    reporter.start()
    wait_for(out, "no plugins")
    time.sleep(0.3)
    reporter.stop()

    assert out.getvalue() == "1 run in 1 file (1.0 kB) below runs/; no plugins\n"


def test_control_characters_of_log_lines_are_escaped() -> None:
    """Control characters in messages and tracebacks become escapes, except for \\n and \\t."""
    handler, out = LogHandler(), io.StringIO()
    handler.setStream(out)
    try:
        raise ValueError("a\x1b[2Jb\r\u202ec\n\td")
    except ValueError as error:
        exc_info = (ValueError, error, None)
    handler.handle(logging.LogRecord("x", logging.ERROR, "", 0, "tag %s", ("\x9b31m",), exc_info))

    time_of_line, _, line = out.getvalue().partition(" ")
    assert abs(datetime.fromisoformat(time_of_line).timestamp() - time.time()) < WAIT_SECONDS
    assert line == ("tbcore: error: tag \\x9b31m\nValueError: a\\x1b[2Jb\\r\\u202ec\n\td\n")


def test_writes_to_event_files_are_not_logged() -> None:
    """With `dev` the infos of other packages are logged, but not that of each change of a file."""
    code = (
        "import logging; from tbcore.server.report import set_up_logging; set_up_logging(dev=True);"
        "logging.getLogger('watchfiles.main').info('1 change detected');"
        "logging.getLogger('other').info('shown')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "shown" in done.stderr
    assert "change" not in done.stderr
