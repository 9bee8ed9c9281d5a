"""Notes in queries, in Python and in commands."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import forks
import pytest
from commands import lines, on_terminal, piped, received_by_terminal

import tbcore
from tbcore import BadRequestError, TbcoreError
from tbcore.engine import LogdirSpec, OptionError
from tbcore_notes.notes import RunNotes
from tbcore_testing import write_run

WALL_TIME = 1_700_000_000.0


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for run in ("sweep/a", "sweep/b", "."):
        write_run(tmp_path / "runs", run, scalars={"loss": [1.0]}, wall_time=WALL_TIME)
    return tmp_path / "runs"


def notes_of(**logdirs: Path) -> RunNotes:
    return RunNotes([LogdirSpec(name, str(path)) for name, path in logdirs.items()])


# -- Python ----------------------------------------------------------------------------------------


def test_notes_of_a_run_in_python(logdir: Path) -> None:
    """They are read when they are used, also those that another process has written."""
    logs = tbcore.open(logdir)
    run = logs["sweep/a"]
    assert (run.starred, run.archived, run.note, run.display_name, run.labels, run.color) == (
        False, False, "", "", (), "",
    )  # fmt: skip
    run.starred = True
    run.note = "best so far"
    run.labels = ["paper", "seed"]
    run.color = "#2a78d6"
    run.display_name = "baseline"
    other = tbcore.open(logdir)["sweep/a"]
    assert (other.starred, other.note, other.labels) == (True, "best so far", ("paper", "seed"))
    assert (other.color, other.display_name, other.name) == ("#2a78d6", "baseline", "sweep/a")
    other.starred = False
    logs.notes.change(["sweep/b", "."], {"archived": True})
    assert {r.name for r in logs.find("is:archived")} == {"sweep/b", "."}
    with pytest.warns(UserWarning, match="no run is found by"):
        assert logs.find("is:starred") == []
    with pytest.raises(BadRequestError, match="color must be such as"):
        run.color = "blue"


def test_notes_need_one_directory_or_names(logdir: Path, tmp_path: Path) -> None:
    """Else the name of a run would not say which run it is."""
    write_run(tmp_path / "more", "sweep/a", scalars={"loss": [1.0]})
    both = tbcore.open({"x": logdir, "y": tmp_path / "more"})
    both["y/sweep/a"].starred = True
    assert [run.name for run in both.find("is:starred")] == ["y/sweep/a"]
    assert tbcore.open(tmp_path / "more")["sweep/a"].starred
    assert not tbcore.open(logdir)["sweep/a"].starred
    for paths in ([logdir, tmp_path / "more"], next(logdir.glob("*tfevents*"))):
        [run, *_] = tbcore.open(paths).runs.values()
        with pytest.raises(OptionError, match="notes are kept for one log directory, or for"):
            run.starred = True
    with pytest.raises(OptionError, match="is in none of the log directories"):
        notes_of(x=logdir).change(["z/a"], {"starred": True})


# -- without tbcore-notes --------------------------------------------------------------------------

WITHOUT = """
import sys
from tbcore import extensions
found = extensions.declared
extensions.declared = lambda group, **options: [
    point for point in found(group, **options) if "tbcore_notes" not in point.value
]
from tbcore.cli import main
sys.exit(main())
"""
NEEDS = "needs another package: pip install tbcore-notes"


def without_notes(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The result of a command where tbcore-notes is not installed."""
    return forks.run(WITHOUT, [*map(str, arguments)], os.environ)


@pytest.mark.parametrize("query", ["is:starred", "is:archived", "#paper", 'note:"bug"', "a | #x"])
def test_without_the_extension_terms_are_errors(logdir: Path, query: str) -> None:
    """In one line, with what to install, and status 2."""
    result = without_notes("ls", logdir, "--where", query)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"--where: a note on runs {NEEDS}, at character" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["starred", "archived", "note", '"#paper"', '"is:starred"'])
def test_without_the_extension_words_are_names(logdir: Path, words: str) -> None:
    result = without_notes("ls", logdir, "--where", words)
    assert (result.returncode, result.stderr.count("pip")) == (1, 0)


def test_without_the_extension_its_command_is_missing(logdir: Path) -> None:
    result = without_notes("notes", "list", logdir)
    assert (result.returncode, NEEDS in result.stderr) == (2, True)


# -- commands --------------------------------------------------------------------------------------


def test_notes_are_set_listed_and_shared(logdir: Path) -> None:
    """All that is printed can be read by programs."""
    names = ("sweep/a", "sweep/b")
    assert piped("notes", "set", logdir, *names, "--star", "--label", "paper", "--label", "x",
                 "--note", "two\nlines").returncode == 0  # fmt: skip
    assert piped("notes", "set", logdir, "sweep/a", "--no_label", "x", "--no_star", "--archive",
                 "--color", "#2A78D6", "--name", "best").returncode == 0  # fmt: skip
    header, *rows = lines("notes", "list", logdir)
    assert header == ["run", "starred", "archived", "gone", "labels", "color", "display_name",
                      "note", "time", "by"]  # fmt: skip
    assert rows[0][:8] == [
        "sweep/a",
        "false",
        "true",
        "false",
        "paper",
        "#2a78d6",
        "best",
        r"two\nlines",
    ]
    assert rows[1][:8] == ["sweep/b", "true", "false", "false", "paper x", "", "", r"two\nlines"]
    [found] = json.loads(piped("notes", "list", logdir, "--where", "#x", "--json").stdout)
    assert (found["run"], found["labels"], found["note"]) == (
        "sweep/b",
        ["paper", "x"],
        "two\nlines",
    )
    assert piped("ls", logdir, "--where", "is:starred", "--format=names").stdout == "sweep/b\0"
    result = piped("notes", "share", logdir)
    assert result.stdout.startswith(f"notes on 2 runs are shared in {logdir}/.tbcore/notes/")
    assert [run["run"] for run in json.loads(piped("ls", logdir, "--json").stdout)] != []


def test_every_label_that_is_kept_is_found(logdir: Path) -> None:
    """A sign that a query would not take for a part of the label is refused."""
    notes = RunNotes([LogdirSpec(None, str(logdir))])
    kept = []
    for sign in map(chr, [*range(33, 127), 0xA7, 0xE9, 0x3B1, 0x1F600]):
        try:
            notes.change(["."], {"labels": [f"a{sign}3", f"{sign}Bc"]})
        except BadRequestError:
            continue
        kept.append(sign)
        for label in (f"a{sign}3", f"{sign}Bc"):
            assert len(tbcore.open(logdir).find(f"#{label}")) == 1, label
    assert set("-_.:/!'@é") <= set(kept)


def test_a_label_to_remove_that_no_run_has_is_a_warning(logdir: Path) -> None:
    """With a close one, and all else is done."""
    assert piped("notes", "set", logdir, "sweep/a", "--label", "paper").returncode == 0
    result = piped("notes", "set", logdir, "sweep/a", "sweep/b", "--no_label", "papr", "--star")
    line = "none of these runs has the label 'papr'; did you mean 'paper'?"
    assert (result.returncode, result.stderr) == (0, f"tbcore: warning: {line}\n")
    assert [row[1] for row in lines("notes", "list", logdir)[1:]] == ["true", "true"]
    result = piped("notes", "set", logdir, "sweep/a", "sweep/b", "--no_label", "paper")
    assert (result.returncode, result.stderr) == (0, "")


def test_only_a_terminal_has_views_below_the_notes(logdir: Path) -> None:
    """Elsewhere each line is one of the table."""
    notes = RunNotes([LogdirSpec(None, str(logdir))])
    notes.save_view("best of sweep", "#scalars")
    assert piped("notes", "list", logdir).returncode == 1
    notes.change(["sweep/a"], {"starred": True})
    assert {len(row) for row in lines("notes", "list", logdir)} == {10}
    assert "\nview 'best of sweep', " in on_terminal("notes", "list", logdir)[1]


def test_what_was_undone_is_not_counted_when_notes_are_shared(logdir: Path) -> None:
    notes = RunNotes([LogdirSpec(None, str(logdir))])
    notes.change(["sweep/a", "sweep/b"], {"archived": True})
    notes.change(["sweep/b"], {"archived": False})
    assert piped("notes", "share", logdir).stdout.startswith("notes on 1 run are shared in ")


def test_notes_on_runs_that_are_gone_are_listed(logdir: Path) -> None:
    notes_of_logdir = RunNotes([LogdirSpec(None, str(logdir))])
    notes_of_logdir.change(["gone"], {"note": "kept"})
    piped("notes", "set", logdir, "sweep/a", "--star")
    rows = {row[0]: row[3] for row in lines("notes", "list", logdir)[1:]}
    assert rows == {"gone": "true", "sweep/a": "false"}
    result = piped("notes", "set", logdir, "gone", "--note", "")
    assert (result.returncode, result.stdout) == (0, f"noted on gone below {logdir}: no note\n")
    assert f"warning: there is no run 'gone' below '{logdir}' any more" in result.stderr


def test_what_was_set_is_a_line(logdir: Path) -> None:
    """With the log directory that has it: one above does not show it, which is said once."""
    options = ["--star", "--archive", "--name", "x", "--note", "abc", "--color", "", "--label", "l"]
    table = {
        ("sweep/a", "sweep/b", *options): "2 runs below {}: starred, archived, name x, "
        "a note of 3 characters, no color, label l",
        ("sweep/a", "--no_star", "--no_archive", "--name", "", "--note", "", "--no_label", "l"): (
            "sweep/a below {}: not starred, brought back, no name, no note, no label l"
        ),
    }
    for arguments, line in table.items():
        result = piped("notes", "set", logdir, *arguments)
        assert result.stdout == f"noted on {line.format(logdir)}\n"
        assert result.stderr == ""
    line = f"there are also notes on {str(logdir)!r}, which does not show these; there, the run is"
    for warning in (f"tbcore: warning: {line} 'sweep/a'\n", ""):
        result = piped("notes", "set", logdir / "sweep", "a", "--star")
        assert (result.returncode, result.stderr) == (0, warning)


@pytest.mark.parametrize("name", ["new\nline", "\x1b[2J", "-rf", "a,b", 'q"\\n'])
def test_a_run_is_named_as_it_is_printed(logdir: Path, name: str) -> None:
    """With escapes, which `notes set`, `show` and `--runs` take; exactly in forms for programs."""
    write_run(logdir, name, scalars={"loss": [1.0]})
    [printed] = {row[1] for row in lines("ls", logdir)[1:]} - {".", "sweep/a", "sweep/b"}
    assert piped("notes", "set", logdir, "--star", "--", printed).returncode == 0
    for shown in (printed, name):
        assert piped("ls", logdir, f"--runs={shown}", "--format=names").stdout == f"{name}\0"
        assert piped("show", logdir, "--", shown).returncode == 0
    rows = csv.reader(
        io.StringIO(piped("notes", "list", logdir, "--format=csv").stdout, newline="")
    )
    assert [row[0] for row in rows] == ["run", name]
    assert [row[0] for row in lines("notes", "list", logdir)] == ["run", printed]


def test_share_says_what_it_leaves_out(logdir: Path) -> None:
    """And writes no file without notes; a later copy without them replaces one that is there."""
    notes = RunNotes([LogdirSpec(None, str(logdir))])
    notes.change(["sweep/b"], {"starred": True}, is_own=False)
    for status, line in ((1, "there is nothing to share: you have no notes of your own"), (0, "")):
        result = piped("notes", "share", logdir)
        assert result.returncode == status
        assert "notes on 1 run that came through a server and are not your own" in result.stderr
        assert line in result.stderr
        assert (logdir / ".tbcore").exists() is (status == 0)
        notes.change(["sweep/a"], {"starred": True})


def test_the_help_names_what_deletes_files() -> None:
    for arguments in (["--help"], ["notes", "--help"]):
        text = " ".join(piped(*arguments).stdout.split())
        assert "archive runs" in text
        assert "files of archived" in text


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nope", "--star"], "no run 'nope' below"),
        (["sweep/aa", "--star"], "did you mean 'sweep/a'?"),
        (["sweep/a"], "nothing to change; give --star or another option"),
        (["sweep", "--star"], "but a folder with 2 runs; for all of them: `tbcore ls "),
        (["sweep/*", "--star"], " --runs 'sweep/*' --format names | xargs -0 -r tbcore notes set "),
        (["sweep/?", "--star"], "but a pattern of 2 runs"),
        (["sweep/a", "--label", "two words"], "a label must be a word without"),
        (["sweep/a", "--label", "lr>3"], "which have a meaning in queries; got 'lr>3'"),
        (["sweep/a", "--color", "blue"], "color must be such as #2a78d6"),
        (["sweep/a", "--stars"], "no such option '--stars'"),
        (["--star"], "missing argument"),
        (["-rf", "--star"], "a name that begins with a dash must stand after `--`"),
    ],
)
def test_a_change_that_is_not_valid_is_an_error(
    logdir: Path, arguments: list[str], line: str
) -> None:
    result = piped("notes", "set", logdir, *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert line in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_change_that_cannot_be_kept_is_an_error(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/dev/null/x")
    result = piped("notes", "set", logdir, "sweep/a", "--star")
    assert result.returncode == 1
    assert result.stderr.startswith("tbcore: the note cannot be kept: Not a directory")
    with pytest.raises(TbcoreError, match=r"^the view cannot be kept: Not a directory"):
        RunNotes([LogdirSpec(None, str(logdir))]).save_view("best", "#scalars")
    result = piped("notes", "list", logdir)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)


def test_a_command_without_a_subcommand_prints_help(logdir: Path) -> None:
    result: Any = piped("notes")
    assert result.returncode == 2
    assert "share" in result.stdout


# -- several log directories -----------------------------------------------------------------------


def test_generations_of_several_directories_rise(logdir: Path, tmp_path: Path) -> None:
    """A change in any of them is seen, and what did not change may be left out."""
    (tmp_path / "more").mkdir()
    both = notes_of(x=logdir, y=tmp_path / "more")
    seen = both.generation
    notes_of(y=tmp_path / "more").change(["y/b"], {"starred": True})
    both.refresh()
    assert both.generation > seen
    assert {run for run, _, changed in both.all() if changed > seen} == {"y/b"}
    seen = both.generation
    both.change(["x/sweep/a", "y/b"], {"note": "n"})
    assert {run for run, _, changed in both.all() if changed > seen} == {"x/sweep/a", "y/b"}


# -- notes that cannot be read ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("notes", "list"),
        ("notes", "list", "--json"),
        ("ls", "--where", "is:starred"),
        ("ls", "--where", "-is:starred"),
        ("export", "--where", "-#paper", "-o", "-"),
        ("notes", "files"),
    ],
)
def test_what_notes_could_not_be_read_is_status_3(
    logdir: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Of commands whose answer depends on them, with a line on stderr; other commands go on."""
    notes_of_logdir = RunNotes([LogdirSpec(None, str(logdir))])
    notes_of_logdir.change(["sweep/a"], {"starred": True})
    [file] = (tmp_path / "data").rglob("*.jsonl")
    # A link to itself cannot be read, not even by root.
    file.parent.rename(file.parent.with_name("kept"))
    file.parent.symlink_to(file.parent.name)
    command, *options = arguments
    options = [*options[:1], logdir, *options[1:]] if command == "notes" else [logdir, *options]
    result = piped(command, *options)
    assert result.returncode == 3
    assert f"{file.parent}: " in result.stderr
    assert "there are no notes" not in result.stderr
    assert piped("ls", logdir).returncode == 0
    assert piped("ls", logdir, "--where", "sweep").returncode == 0


@pytest.mark.parametrize("command", [("notes", "list"), ("notes", "files"), ("ls",), ("tags",)])
@pytest.mark.parametrize(
    ("forms", "both"),
    [("--json --format csv", "json and csv"), ("--format names --format csv", "names and csv")],
)
def test_forms_cannot_be_combined(
    logdir: Path, command: tuple[str, ...], forms: str, both: str
) -> None:
    result = piped(*command, logdir, *forms.split())
    assert (result.returncode, result.stdout) == (2, "")
    assert f" cannot be combined; see `tbcore {' '.join(command)} --help`" in result.stderr
    assert all(name in result.stderr for name in both.split(" and "))
    assert piped(*command, logdir, "--json", "--max_bytes", "5000").returncode in (0, 1)


def test_a_terminal_shows_that_a_directory_is_scanned(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for `tbcore notes files` in a directory that is no log directory at all."""
    for i in range(200):
        (logdir / f"{i:03}" / "a" / "b" / "c").mkdir(parents=True)
    script = (
        "import sys; from tbcore_logs.printing import access; access._PROGRESS_AFTER_SECONDS = 0\n"
        "from tbcore.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    argv = [sys.executable, "-c", script, "notes", "files", str(logdir)]
    _, text = received_by_terminal(argv)
    assert f"tbcore: looking for event files below {logdir}" in text
