"""What users see of the logs of other programs: on the page, in the terminal, and in the log."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import piped

import tbcore
from tbcore.cli import main
from tbcore_testing import read_columns

SAMPLES = Path(__file__).parent / "samples"
LIGHTNING = SAMPLES / "lightning-2.6" / "lightning_logs"


def test_check_names_what_it_does_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Runs of other programs, and those that are not shown, since event files are beside them."""
    logs = LIGHTNING
    assert main(["check", str(logs)]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [
        f"not shown: 1 file of the kind twin, for example {logs / 'both' / 'metrics.csv'}; "
        "shown by the event files beside them, which have the same numbers",
        "not checked, since they are no event files: 2 runs of other programs, for example "
        f"{logs / 'version_0' / 'metrics.csv'}",
    ]


def test_a_run_says_which_file_it_is_from(
    tbcore_client: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """To the page, to `ls`, and to Python; event files have no such line."""
    sources = tbcore_client(LIGHTNING).get("data/run_details").json()["sources"]
    csv = {"file": "metrics.csv", "has_times": False}
    assert sources == {"version_0": csv, "version_2": csv}
    command = ["ls", str(LIGHTNING), "--columns", "source", "--sort", "source"]
    assert main([*command, "--json"]) == 0
    names = ["version_0", "version_2", "both", "version_1"]
    found = {row["run"]: row["source"] for row in json.loads(capsys.readouterr().out)}
    assert found == dict(zip(names, ["metrics.csv", "metrics.csv", None, None], strict=True))
    assert {run.name: run.source for run in tbcore.open(LIGHTNING).values()} == found
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[1] == "version_0\tmetrics.csv"


def test_runs_without_times_are_on_no_axis_of_times(tbcore_client: Callable[..., Any]) -> None:
    """Not in lines, nor in averages of groups; the answer names them."""
    client = tbcore_client(LIGHTNING, plugins=["scalars"])
    runs = ["version_0", "version_1"]
    for axis, shown in {"step": runs, "relative": runs[1:], "wall": runs[1:]}.items():
        asked = {"tag": "train_loss_step", "x": axis, "pixels": 100}
        answer = client.post("data/plugin/scalars/window", json={**asked, "runs": runs})
        header, _ = read_columns(answer.content)
        assert (header["untimed"], [run["run"] for run in header["runs"]]) == (runs[:1], shown)
        asked["groups"] = {"all": runs}
        header, _ = read_columns(client.post("data/plugin/scalars/bands", json=asked).content)
        assert header["groups"][0]["num_runs"] == len(shown)


def test_a_shell_completes_names_of_runs_and_tags(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "ultralytics", tmp_path / "runs")

    def offered(*words: str) -> list[str]:
        done = piped("completion", "zsh", "--", *words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        return [line.removeprefix("=") for line in done.stdout.splitlines()]

    assert offered("ls", "runs", "--runs", "e") == ["exp", "exp2"]
    assert "metrics/mAP50(B)" in offered("export", "runs", "--tags", "metrics/")
