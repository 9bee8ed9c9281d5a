"""Files of commands are whole or not there, whatever ends the command."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import command

from tbcore_logs.printing.files import opened_for_writing
from tbcore_logs.printing.writers import WRITERS
from tbcore_testing import write_run


@pytest.fixture
def dispose() -> Iterator[Callable[[signal.Signals, Any], None]]:
    """`signal.signal` for one test: what this process does at signals depends on who started it."""
    before: dict[signal.Signals, Any] = {}

    def dispose(number: signal.Signals, handler: Any) -> None:
        before[number] = signal.signal(number, handler)

    yield dispose
    for number, handler in before.items():
        signal.signal(number, handler)


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_leaves_no_temporary_file(
    tmp_path: Path, number: signal.Signals, dispose: Callable[[signal.Signals, Any], None]
) -> None:
    """Nor does it change the file; afterwards, signals do what they did before."""
    path = tmp_path / "x.csv"
    path.write_text("before")
    is_interrupt = number == signal.SIGINT
    before = signal.default_int_handler if is_interrupt else signal.SIG_DFL
    dispose(number, before)
    expected = KeyboardInterrupt if is_interrupt else SystemExit

    def write() -> None:
        with opened_for_writing(path) as file:
            file.write(b"half")
            os.kill(os.getpid(), number)

    with pytest.raises(expected) as raised:
        write()
    assert raised.type is KeyboardInterrupt or raised.value.code == 128 + number
    assert signal.getsignal(number) is before
    assert [each.name for each in tmp_path.iterdir()] == ["x.csv"]
    assert path.read_text() == "before"


@pytest.mark.parametrize("number", SIGNALS)
def test_an_ignored_signal_stays_ignored(
    tmp_path: Path, number: signal.Signals, dispose: Callable[[signal.Signals, Any], None]
) -> None:
    """As those of `nohup` and of a shell's jobs in the background: the file is written."""
    dispose(number, signal.SIG_IGN)
    with opened_for_writing(tmp_path / "x.csv") as file:
        os.kill(os.getpid(), number)
        file.write(b"whole")
    assert signal.getsignal(number) is signal.SIG_IGN
    assert (tmp_path / "x.csv").read_bytes() == b"whole"


@pytest.mark.parametrize("ending", WRITERS)
def test_an_interrupted_table_is_closed_before_its_file(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pyarrow would otherwise print a traceback about the closed file."""
    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)

    def write() -> None:
        with opened_for_writing(tmp_path / "x") as file, WRITERS[ending](file) as writer:
            writer.begin(["run"], {"step": np.int64})
            writer.write(["a"], [np.arange(1000)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    gc.collect()
    assert printed == []
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_changes_no_drawing_and_is_named(tmp_path: Path) -> None:
    """The report names the drawing that it could not write."""
    for number in range(9):
        write_run(tmp_path / "logs", f"r{number}", scalars={"loss": [(s, s) for s in range(500)]})
    run = command("report", tmp_path / "logs", "-o", tmp_path / "r.md", "--tags", "loss")
    assert subprocess.run([*run, "--runs", "r0"], check=False).returncode == 0
    drawing = tmp_path / "r_files" / "loss-light.svg"
    before = drawing.read_bytes()

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 1000, -1))

    result = subprocess.run(
        [sys.executable, "-B", *run[1:]], preexec_fn=limit, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert result.stderr == f"tbcore: cannot write '{drawing}': File too large\n"
    assert drawing.read_bytes() == before
    assert len(list(drawing.parent.iterdir())) == 2
