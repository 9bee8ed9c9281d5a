"""`tbcore report`."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from tbcore.cli import cli
from tbcore_testing import write_run


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, one of them diverged, with names that Markdown would take for markup."""
    path = tmp_path_factory.mktemp("report") / "my_runs"
    for number in range(3):
        last = float("nan") if number == 2 else 0.1
        write_run(
            path,
            f"a|b_{number}",
            scalars={
                "train/loss": [3.0 - number, 1.0, last],
                "<acc>": [0.5],
                "nan": [float("nan")],
            },
            hparams={"lr": 10.0**-number, "model": "mlp"},
        )
    return path


def report(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["report", *map(str, arguments)], standalone_mode=False)


def rows(markdown: str) -> list[list[str]]:
    """The cells of the table."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [re.split(r" \| ", line.strip("| ")) for line in lines]


def test_a_table_has_what_differs_and_values(logdir: Path) -> None:
    output = report(logdir, "--tags", "train/loss").output

    assert output.startswith("# my_runs\n\n3 runs, 20")
    header, _, *found = rows(output)
    assert header == ["run", "step", "lr", "train/loss"]
    assert [row[:4] for row in found] == [
        ["a\\|b_0", "2", "1", "0.1"],
        ["a\\|b_1", "2", "0.1", "0.1"],
        ["a\\|b_2", "2", "0.01", "nan"],
    ]
    assert [row[4] for row in found] == ["█▃▁", "█▄▁", "▅▅!"]


def test_tags_and_steps_are_those_of_ls(tmp_path: Path) -> None:
    """Losses before what a writer logs first; the last step of all tags, not of those that are
    shown."""
    scalars = {"epoch": [(0, 1.0)], "grad_norm": [(7, 1.0)], "acc": [(0, 0.5)], "loss": [(0, 0.1)]}
    write_run(tmp_path, "a", scalars=scalars)
    [header, _, row] = rows(report(tmp_path).output)
    assert [name for name in header if name] == ["run", "step", "loss", "acc", "epoch"]
    assert row[1] == "7"
    write_run(tmp_path, "b", scalars={"other": [0.5]})
    line = ["ls", str(tmp_path), "--runs", "a"]
    names, values = CliRunner().invoke(cli, line).output.splitlines()
    assert names.split()[-3:] == ["loss:last", "acc:last", "epoch:last"]
    assert values.split()[2] == "7"
    names, _ = CliRunner().invoke(cli, [*line[:-1], "b"]).output.splitlines()
    assert names.split()[-1] == "other:last", "of the runs that are listed"


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "2023-11-14 22:13:20 to 2023-11-14 22:13:21 UTC"),
        ("Asia/Kolkata", "2023-11-15 03:43:20 to 2023-11-15 03:43:21 UTC+0530"),
    ],
)
def test_times_have_their_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, expected: str
) -> None:
    """A report is passed on to readers elsewhere. A single run is in the singular."""
    write_run(tmp_path / "runs", "a", scalars={"loss": [(0, 1.0, 1.7e9), (1, 0.5, 1.7e9 + 1)]})
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        result = report(tmp_path / "runs", "-o", tmp_path / "report.md")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert result.exit_code == 0
    text = (tmp_path / "report.md").read_text()
    assert f"# runs\n\n1 run, {expected}\n" in text
    assert 'alt="loss over steps, 1 run"' in text


def test_the_best_values_of_the_runs_that_a_query_finds(logdir: Path) -> None:
    output = report(logdir, "--columns", "lr,train/loss:min,<acc>:min", "--where", "lr<1").output

    header, _, *found = rows(output)
    assert header[:3] == ["run", "step", "lr"]
    assert "train/loss (min)" in header
    assert "\\<acc> (min)" in header
    assert [row[header.index("train/loss (min)")] for row in found] == ["0.1", "1"]


def test_drawings_stand_beside_a_file(logdir: Path, tmp_path: Path) -> None:
    """For light and dark pages, without scripts, with the names of the runs."""
    result = report(logdir, "-o", tmp_path / "report.md", "--tags", "*")

    assert (result.exit_code, result.output) == (0, "")
    text = (tmp_path / "report.md").read_text()
    names = re.findall(r'srcs?e?t?="([^"]*)"', text)
    assert len(names) == 4
    for name in names:
        drawing = ElementTree.parse(tmp_path / unquote(name)).getroot()
        texts = [each.text for each in drawing.findall(".//{*}text")]
        assert texts[:2] == ["a|b_0", "a|b_1"]
        assert not drawing.findall(".//{*}script")
    assert text.endswith("## nan\n\nNo value is a finite number.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tags", "trian/loss"], "no tag 'trian/loss'; close: 'train/loss'"),
        (["-o", "R.html"], "-o R.html: a report is Markdown; name a file that ends with .md"),
        (["-o", "missing/report.md"], "cannot write 'missing/report.md': No such file"),
    ],
)
def test_mistakes_are_reported_in_one_line(
    logdir: Path, arguments: list[str], message: str
) -> None:
    command = [sys.executable, "-m", "tbcore", "report", str(logdir), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, cwd=logdir, check=False)
    assert result.returncode != 0
    assert result.stderr.startswith(f"tbcore: {message}")
    assert result.stderr.count("\n") == 1
