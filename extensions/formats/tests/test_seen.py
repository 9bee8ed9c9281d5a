"""What users see of the logs of other programs: on the page, in the terminal, and in the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tbcore.cli import main

SAMPLES = Path(__file__).parent / "samples"


def test_check_names_what_it_does_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Runs of other programs, and those that are not shown, since event files are beside them."""
    logs = SAMPLES / "lightning-2.6" / "lightning_logs"
    assert main(["check", str(logs)]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [
        f"not shown: 1 file of the kind twin, for example {logs / 'both' / 'metrics.csv'}; "
        "shown by the event files beside them, which have the same numbers",
        "not checked, since they are no event files: 2 runs of other programs, for example "
        f"{logs / 'version_0' / 'metrics.csv'}",
    ]
