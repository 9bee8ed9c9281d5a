"""Names and colours that a user gave to runs, in what commands and notebooks print and draw."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import lines, on_terminal, piped

import tbcore
from tbcore_notes.notes import RunNotes
from tbcore_testing import write_run

LABEL = "baseline"
HOSTILE = "<b>&|x"
COLOR = "#ff0080"


@pytest.fixture
def noted(logdir: Path) -> Path:
    """Three runs; `a` and `b` have display names."""
    for number, run in enumerate("abc"):
        write_run(
            logdir,
            run,
            scalars={"loss": [1.0, 0.5 + number]},
            hparams={"lr": 0.1 * number, "color": "red"},
            texts={"config": [f"lr: {number}"]},
        )
    logs = tbcore.open(logdir)
    logs["a"].display_name, logs["a"].color, logs["a"].labels = LABEL, COLOR, ["paper", "x"]
    logs["a"].note = "the best"
    logs["b"].display_name = HOSTILE
    return logdir


def test_a_list_on_a_terminal_has_a_column_of_display_names(noted: Path, logdir: Path) -> None:
    status, text = on_terminal("ls", noted, NO_COLOR="1", columns=120)
    assert status == 0
    heading, *rows = [re.split(r"  +", line) for line in text.splitlines()]
    assert heading[:4] == ["state", "run", "display name", "notes"]
    assert [row[1:3] for row in rows[:2]] == [["a", LABEL], ["b", HOSTILE]]
    assert "display name" not in on_terminal("ls", noted, "--runs", "c", NO_COLOR="1")[1]


def test_a_list_on_a_terminal_has_what_was_marked(noted: Path) -> None:
    """In the words of queries, and last how many runs the page would not show."""
    logs = tbcore.open(noted)
    logs["a"].archived = logs["b"].starred = True
    status, text = on_terminal("ls", noted, NO_COLOR="1", columns=120)
    heading, *rows, last = [re.split(r"  +", line) for line in text.splitlines()]
    assert heading[:5] == ["state", "run", "display name", "notes", "step"]
    assert [row[3] for row in rows[:2]] == ["archived #paper #x", "starred"]
    line = "tbcore: 1 of 3 runs is archived; without archived runs: --where -is:archived"
    assert last == [line]
    status, text = on_terminal("ls", noted, "--by", "color", NO_COLOR="1", columns=120)
    heading, row, last = [re.split(r"  +", line) for line in text.splitlines()]
    assert (heading[:2], row[:2]) == (["group", "runs"], ["color=red", "3 (1 archived)"])
    assert (status, last) == (0, [line])


@pytest.mark.parametrize(
    ("by", "where", "groups"),
    [
        ("color", "-is:archived", {"color=red": ("2 (+1 archived)", "2.00 ± 0.71")}),
        ("color", "IS:Archived", {"color=red": ("1 (1 archived)", "0.5")}),
        ("color", "lr>0 -is:archived", {"color=red": ("2", "2.00 ± 0.71")}),
        ("color", "(lr<0.15 | step>9) -is:archived", {"color=red": ("1 (+1 archived)", "1.5")}),
        ("lr", "-is:archived", {"lr=0.1": ("1", "1.5"), "lr=0.2": ("1", "2.5")}),
    ],
)
def test_groups_count_archived_runs_that_a_query_leaves_out(
    noted: Path, by: str, where: str, groups: dict[str, tuple[str, str]]
) -> None:
    """Those that it would find if they were not archived; they are in no mean. What programs get
    has the number of runs alone. A group without other runs has no row."""
    tbcore.open(noted)["a"].archived = True
    options = ("ls", noted, "--by", by, "--where", where)
    _, *rows = [re.split(r"  +", s) for s in on_terminal(*options, NO_COLOR="1")[1].splitlines()]
    assert {name: (runs, mean) for name, runs, mean in rows} == groups
    _, *cells = lines(*options)
    assert {row[0]: row[1] for row in cells} == {g: runs[0] for g, (runs, _) in groups.items()}
    _, *rows = piped("report", *options[1:], "--columns", "loss").stdout.split("| ---: | --- |\n")
    report = [line.split(" | ")[:3] for line in rows[0].splitlines()]
    assert {name.strip("| "): (runs, mean) for name, runs, mean in report} == groups


@pytest.mark.parametrize(
    "arguments",
    [
        ("ls",), ("ls", "--format=csv"), ("ls", "--json"), ("ls", "--format=names"),
        ("ls", "--by", "color", "--format=csv"),
        ("tags",), ("report",), ("report", "--by", "color"), ("export", "-o", "-"),
    ],
)  # fmt: skip
def test_what_programs_get_is_the_same_with_archived_runs(
    noted: Path, arguments: tuple[str, ...]
) -> None:
    """They are in the data, and one line on stderr has their number, unless the query is about
    them. In a report, which people read, each group has it too."""
    command, *options = arguments
    before = piped(command, noted, *options).stdout
    tbcore.open(noted)["c"].archived = True
    result = piped(command, noted, *options)
    line = "tbcore: 1 of 3 runs is archived; without archived runs: --where -is:archived\n"
    assert (result.returncode, result.stderr) == (0, line)
    if command == "report":
        before = before.replace("color=red | 3 |", "color=red | 3 (1 archived) |")
    assert result.stdout == before
    assert "archived" not in piped(command, noted, *options, "--where", "-is:archived").stderr
    assert "archived" not in piped(command, noted, *options, "--where", "is:archived").stderr
    if command in ("ls", "report"):
        assert "archived" not in piped(command, noted, *options, "--runs", "a,b").stderr


def test_a_run_on_a_terminal_has_its_whole_note(noted: Path) -> None:
    tbcore.open(noted)["a"].note = f"{'long ' * 40}\n- second\x1b[1m"
    text = on_terminal("show", noted, "a", NO_COLOR="1", columns=60)[1]
    assert f"\nnote\n{'long ' * 40}\n- second\\x1b[1m\n" in text


def test_lists_for_programs_have_notes_if_they_are_named(noted: Path) -> None:
    assert lines("ls", noted)[0] == ["state", "run", "step", "last_event", "took", "loss:last"]
    assert [row[1] for row in lines("ls", noted)[1:]] == ["a", "b", "c"]
    assert piped("ls", noted, "--format=names").stdout == "a\0b\0c\0"
    assert piped("ls", noted, "--format=csv").stdout.splitlines()[0].endswith(",loss:last")
    chosen = "display_name,labels,note,color,starred"
    a, b, c = json.loads(piped("ls", noted, "--json", "--columns", chosen).stdout)
    assert list(a) == ["run", *chosen.split(",")]
    assert [*a.values()] == ["a", LABEL, ["paper", "x"], "the best", "red", False]
    assert (b["display_name"], b["labels"], c["display_name"]) == (HOSTILE, [], "")
    assert lines("ls", noted, "--columns", "labels,archived")[1] == ["a", "paper x", "false"]


def test_a_run_a_chart_and_figures_have_the_name_and_the_colour(noted: Path) -> None:
    shown = dict(line.split("\t")[:2] for line in piped("show", noted, "a").stdout.splitlines()[:8])
    assert (shown["run"], shown["display_name"], shown["labels"]) == ("a", LABEL, "paper, x")
    about = json.loads(piped("show", noted, "a", "--json").stdout)
    assert (about["run"], about["display_name"]) == ("a", LABEL)
    assert about["labels"] == ["paper", "x"]
    assert f"{LABEL}: loss" in on_terminal("show", noted, "a", "loss", NO_COLOR="1")[1]
    assert "0.5" in piped("show", noted, "a", "loss").stdout
    svg = noted / "a.svg"
    assert piped("show", noted, "a", "loss", "-o", svg).returncode == 0
    assert f">{LABEL}</text>" in svg.read_text()
    assert f'stroke="{COLOR}"' in svg.read_text()


def test_a_png_has_the_colour(noted: Path) -> None:
    pytest.importorskip("matplotlib")
    png = noted / "a.png"
    assert piped("show", noted, "a", "loss", "-o", png).returncode == 0
    from matplotlib.image import imread

    pixels = (255 * imread(png)[..., :3]).round().astype(int)
    assert (pixels == [255, 0, 128]).all(axis=-1).any()


def test_differences_on_a_terminal_have_display_names(noted: Path) -> None:
    status, text = on_terminal("diff", noted, "a", "c", NO_COLOR="1")
    assert status == 1
    assert re.search(rf"^name +{LABEL} +c$", text, re.MULTILINE)
    assert f"--- {LABEL}" in text
    assert lines_of_diff(noted)[0] == ["name", "a", "c"]
    assert json.loads(piped("diff", noted, "a", "c", "--json").stdout)["runs"] == ["a", "c"]
    tbcore.open(noted)["b"].display_name = LABEL
    assert f"{LABEL} (a)" in on_terminal("diff", noted, "a", "b", NO_COLOR="1")[1]


def lines_of_diff(noted: Path) -> list[list[str]]:
    text = piped("diff", noted, "a", "c").stdout
    return [line.split("\t") for line in text.splitlines() if "\t" in line]


def test_a_report_has_names_and_colours(noted: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    assert piped("report", noted, "-o", path).returncode == 0
    rows = [line.split(" | ")[0] for line in path.read_text().splitlines() if line[:2] == "| "]
    assert rows[2:] == [f"| {LABEL}", r"| \<b>\&\|x", "| c"]
    for svg in path.with_name("report_files").glob("loss-*.svg"):
        picture = svg.read_text()
        assert f">{LABEL}</text>" in picture
        assert f'stroke="{COLOR}"' in picture
        assert "<b>" not in picture
    tbcore.open(noted)["b"].display_name = LABEL
    table = piped("report", noted).stdout
    assert f"| {LABEL} (a) |" in table
    assert f"| {LABEL} (b) |" in table


def test_following_several_runs_on_a_terminal_names_them(noted: Path) -> None:
    text = on_terminal("tail", noted, "--runs", "a,c", NO_COLOR="1")[1]
    assert LABEL in text
    assert LABEL not in piped("tail", noted, "--runs", "a,c").stdout


def test_tables_in_notebooks_have_display_names_and_data_frames_have_names(noted: Path) -> None:
    logs = tbcore.open(noted)
    table = logs._repr_html_()
    assert f"<td>a</td><td>{LABEL}</td>" in table
    assert "<b>" not in table
    assert f"<caption>{LABEL} (a): " in logs["a"]._repr_html_()
    assert logs.summary("loss").columns["run"].tolist() == ["a", "b", "c"]
    for run in "ab":
        logs[run].display_name = ""
    assert "display name" not in logs._repr_html_()


@pytest.mark.parametrize("error", [ValueError("bug"), OSError("disk"), KeyError("x")])
def test_notes_that_cannot_be_read_break_no_command(
    noted: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def values(self: Any, run: str) -> Any:
        raise error

    monkeypatch.setattr(RunNotes, "values", values)
    for arguments in (("ls", noted, "--json"), ("show", noted, "a"), ("report", noted)):
        result = piped(*arguments)
        assert result.returncode == 0
        assert "notes cannot be read" in result.stderr
        assert LABEL not in result.stdout


def test_files_and_directories_without_notes_have_no_warning(noted: Path) -> None:
    (file,) = (noted / "a").glob("*tfevents*")
    for arguments in (("ls", file, "--json"), ("show", noted / "a", "."), ("report", file)):
        result = piped(*arguments)
        assert (result.returncode, result.stderr) == (0, ""), arguments
