"""Files of commands are whole or not there, whatever ends the command."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import command

from tbcore_logs.printing.files import opened_for_writing
from tbcore_logs.printing.writers import WRITERS
from tbcore_testing import write_run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_temporary_file(tmp_path: Path, number: signal.Signals) -> None:
    """Nor does it change the file; afterwards, signals do what they did before."""
    path = tmp_path / "x.csv"
    path.write_text("before")
    before = signal.getsignal(number)
    expected = KeyboardInterrupt if number == signal.SIGINT else SystemExit

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
