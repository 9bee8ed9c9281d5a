"""`tbcore notes files` names what the user archived, and nothing else.

The rules are those of `deletion.py` and of docs/notes.md. Each is tried on the disk and on tmpfs.
"""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from commands import command, on_terminal, piped
from noted_servers import WRITE_TOKEN, own_folder, served, until_listed

import tbcore
from tbcore.engine import LogdirSpec
from tbcore_notes.access import TOKEN_HEADER
from tbcore_notes.files import author
from tbcore_notes.notes import RunNotes
from tbcore_notes.records import line_of
from tbcore_testing import write_run

CHANGED = "new, or changed, since you archived the run"
DAY = 86400
OLD = time.time() - 3 * DAY
OF_OWNER = {
    TOKEN_HEADER: WRITE_TOKEN,
    "sec-fetch-site": "same-origin",
    "origin": "http://localhost:6006",
}


@pytest.fixture
def logdir(logdir_of_each_system: Path) -> Path:
    return logdir_of_each_system


def log(logdir: Path, run: str, *, at: float = OLD, filename: str | None = None) -> Path:
    """An event file whose last event and last write were at a time."""
    path = write_run(logdir, run, scalars={"loss": [1.0]}, wall_time=at, filename=filename)
    os.utime(path, (at, at))
    return path


def notes_of(logdir: Path) -> RunNotes:
    return RunNotes([LogdirSpec(None, str(logdir))])


def archive(logdir: Path, *runs: str) -> None:
    notes_of(logdir).change(runs, {"archived": True})


def archive_as_told(logdir: Path, errors: str) -> None:
    """Runs the command that a line names."""
    [line] = [line for line in errors.splitlines() if "archive again: `" in line]
    words = shlex.split(line.partition("`")[2].partition("`")[0])
    assert words[:4] == ["tbcore", "notes", "set", str(logdir)]
    assert piped(*words[1:]).returncode == 0


def listed(logdir: Path, *options: str) -> tuple[set[Path], str]:
    """The files that the command names, and what it prints to stderr."""
    result = piped("notes", "files", logdir, "--format=names", *options)
    names = result.stdout.split("\0")
    assert names.pop() == ""
    assert result.returncode == (0 if names else 1), result.stderr
    assert len(names) == len(set(names))
    return set(map(Path, names)), result.stderr


def test_exactly_the_event_files_of_archived_runs(logdir: Path) -> None:
    """Of nested runs, the root run, and runs with blanks, newlines, dashes and quotes."""
    runs = [".", "a", "a/b", "a/b/c", "two words", "new\nline", "-rf", "q'\"$(x)", "größe", "tab\t"]
    paths = {run: log(logdir, run) for run in runs}
    second = log(logdir, "a", filename="events.out.tfevents.2")
    for run in runs:
        (logdir / run / "config.yaml").write_text("lr: 1")
        (logdir / run / "checkpoints").mkdir()
        (logdir / run / "checkpoints" / "model.pt").write_bytes(b"x")
        os.utime(logdir / run / "config.yaml", (OLD, OLD))
    names = piped("ls", logdir, "--format=names").stdout.split("\0")[:-1]
    assert set(names) == set(runs)
    for run in runs:
        notes_of(logdir).change(runs, {"archived": False})
        archive(logdir, run)
        expected = {paths[run], second} if run == "a" else {paths[run]}
        assert listed(logdir)[0] == expected
    archive(logdir, *runs)
    found, errors = listed(logdir)
    assert found == {*paths.values(), second}
    assert errors == ""
    assert listed(logdir, "--runs", "a,a/b")[0] == {paths["a"], second, paths["a/b"]}


def test_the_line_of_the_documentation_deletes_them(logdir: Path) -> None:
    """With `xargs -0 -r rm --`: nothing else goes, and a second time nothing happens."""
    gone = [log(logdir, run) for run in ("a", "new\nline", "-x")]
    stays = [log(logdir, run) for run in ("a/b", "other")]
    (logdir / "a" / "notes.txt").write_text("x")
    os.utime(logdir / "a" / "notes.txt", (OLD, OLD))
    archive(logdir, "a", "new\nline", "-x")
    for _ in range(2):
        listing = subprocess.run(
            command("notes", "files", logdir.name, "--format=names"),
            cwd=logdir.parent, stdout=subprocess.PIPE, check=False,
        )  # fmt: skip
        subprocess.run(
            ["xargs", "-0", "-r", "rm", "--"], input=listing.stdout, cwd=logdir.parent, check=True
        )
        assert [path.exists() for path in [*gone, *stays]] == [False] * 3 + [True] * 2
        assert (logdir / "a" / "notes.txt").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("event", "an event in the last 24 hours"),
        ("future event", "an event in the last 24 hours"),
        ("event file", "a file was changed in the last 24 hours"),
        ("other file", "a file was changed in the last 24 hours"),
        ("event, other file", "an event in the last 24 hours"),
        ("event, another run", "an event in the last 24 hours"),
    ],
)
def test_a_run_that_may_be_in_use_is_left_out(logdir: Path, change: str, reason: str) -> None:
    """And one line says which, and why."""
    kept = log(logdir, "old")
    path = log(logdir, "run")
    recent = time.time() - DAY + 600
    if change in ("event", "event, other file", "event, another run"):
        path = log(logdir, "run", at=recent, filename=path.name)
        os.utime(path, (OLD, OLD))
    elif change == "future event":
        path = log(logdir, "run", at=time.time() + 9 * DAY, filename=path.name)
        os.utime(path, (OLD, OLD))
    elif change == "event file":
        os.utime(path, (recent, recent))
    if "other file" in change:
        (path.parent / "model.pt").write_bytes(b"x")
    if change == "event, another run":
        log(logdir, "absurd", at=1e18)
    archive(logdir, *(path.parent.name for path in logdir.glob("*/*")))
    found, errors = listed(logdir)
    assert found == {kept}
    absurd = f"tbcore: warning: all files of absurd are left out: {reason}\n"
    assert (absurd in errors) == (change == "event, another run")
    errors = errors.replace(absurd, "")
    ends_at = time.time() + 10 * DAY if change == "future event" else recent + DAY
    if "other file" in change:
        ends_at = (path.parent / "model.pt").stat().st_mtime + DAY
    line, _, end = errors.partition("; they may be named from ")
    assert line == f"tbcore: warning: all files of run are left out: {reason}"
    assert end.endswith(" on\n")
    named = datetime.fromisoformat(end.removesuffix(" on\n")).timestamp()
    assert named == pytest.approx(ends_at, abs=60)


def test_a_file_that_only_has_such_a_name_stays(logdir: Path) -> None:
    """A backup of event files, for example, or an empty file, which may be a mark of somebody."""
    real = log(logdir, "run")
    empty = logdir / "run" / "events.out.tfevents.empty"
    empty.touch()
    others = [logdir / "run" / "tfevents.tar.gz", logdir / "other" / "events.out.tfevents.csv"]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"step,value\n" * 20)
    for path in (empty, *others):
        os.utime(path, (OLD, OLD))
    archive(logdir, "run", "other")
    found, errors = listed(logdir)
    assert found == {real}
    which = "run/tfevents.tar.gz, run/events.out.tfevents.empty, other/events.out.tfevents.csv"
    assert "3 files of 2 runs are left out: " in errors
    assert errors.endswith(": not an event file\n")
    assert all(name in errors for name in which.split(", "))


def test_never_a_link_and_nothing_outside(logdir: Path, tmp_path: Path) -> None:
    """Neither files that are links, nor files in directories that a link leads to."""
    outside = log(tmp_path / "outside", "x")
    real = log(logdir, "mixed")
    (logdir / "mixed" / "events.out.tfevents.link").symlink_to(outside)
    (logdir / "linked").mkdir()
    (logdir / "linked" / outside.name).symlink_to(outside)
    (logdir / "directory").symlink_to(outside.parent)
    (logdir / "up").symlink_to(logdir / "mixed")
    (logdir / "mixed" / "tfevents-folder").mkdir()
    archive(logdir, "mixed", "linked", "directory", "up")
    found, errors = listed(logdir)
    assert found == {real}
    assert {line.partition("warning: ")[2] for line in errors.splitlines()} == {
        f"2 files of 2 runs are left out: linked/{outside.name}, mixed/events.out.tfevents.link: "
        "a link",
        f"all files of directory are left out: {logdir / 'directory'} is a link",
        f"all files of up are left out: {logdir / 'up'} is a link",
    }


@pytest.mark.parametrize("change", ["moved", "copied", "above", "made later"])
def test_another_directory_of_that_name_is_left_out(logdir: Path, change: str) -> None:
    """Although all that is in it is older than the note: the note was about another one."""
    log(logdir, "sweep/a")
    log(logdir, "good/a")
    archive(logdir, "sweep/a", *(["gone"] if change == "made later" else []))
    name = "sweep/a"
    if change == "moved":
        shutil.rmtree(logdir / "sweep/a")
        (logdir / "good/a").rename(logdir / "sweep/a")
    elif change == "copied":
        (logdir / "sweep/a").rename(logdir / "before")
        shutil.copytree(logdir / "good/a", logdir / "sweep/a")
    elif change == "above":
        (logdir / "sweep").rename(logdir / "before")
        (logdir / "good").rename(logdir / "sweep")
    else:
        name = "gone"
        shutil.rmtree(logdir / "sweep")
        (logdir / "good/a").rename(logdir / "gone")
    result = piped("notes", "files", logdir, "--format=names")
    assert (result.returncode, result.stdout) == (1, "")
    reason = "it is not known which files there were when you archived"
    if change != "made later":
        reason = "not the directory that you archived"
    assert f"all files of {name} are left out: {reason}" in result.stderr
    archive_as_told(logdir, result.stderr)
    assert len(listed(logdir)[0]) == 1


def test_a_log_directory_that_is_a_link_itself_is_the_users_choice(
    logdir: Path, tmp_path: Path
) -> None:
    """Paths are printed without the link, which may be another one when they are deleted."""
    path = log(logdir, "a")
    archive(logdir, "a")
    (tmp_path / "link").symlink_to(logdir)
    assert listed(tmp_path / "link")[0] == {path}


def test_a_name_with_other_bytes_is_not_trusted(logdir: Path) -> None:
    r"""`\xff` in a name may stand for a byte, or for these characters."""
    try:
        path = log(logdir, os.fsdecode(b"x\xff"))
    except OSError:
        pytest.skip("names must be UTF-8 here")
    archive(logdir, r"x\xff")
    found, errors = listed(logdir)
    assert found == set()
    assert "left out: the directory's name is not UTF-8\n" in errors
    assert path.exists()


# -- what came or changed later --------------------------------------------------------------------


def replace_directory(logdir: Path, path: Path) -> None:
    """A directory that is made again, which may get the same inode, with old times."""
    shutil.rmtree(path.parent)
    log(logdir, "a", filename=path.name)


def write_in_place(logdir: Path, path: Path) -> None:
    content = bytearray(path.read_bytes())
    with path.open("r+b") as file:
        file.write(content)


def replace_file(logdir: Path, path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


def copy_back(logdir: Path, path: Path) -> None:
    """As from a backup, with all times."""
    subprocess.run(["tar", "-cf", "runs.tar", "a"], cwd=logdir, check=True)
    path.unlink()
    subprocess.run(["tar", "-xf", "runs.tar"], cwd=logdir, check=True)
    (logdir / "runs.tar").unlink()


def move_in(logdir: Path, path: Path) -> None:
    """An older event file of another run, over the one that was archived."""
    log(logdir, "b", filename="events.out.tfevents.b").rename(path)


@pytest.mark.parametrize(
    "change", [replace_directory, write_in_place, replace_file, copy_back, move_in]
)
def test_a_file_that_is_another_one_is_left_out(logdir: Path, change: Any) -> None:
    """Although its name, its size and its time of writing are those of the archived one."""
    path, kept = log(logdir, "a"), log(logdir, "kept")
    archive(logdir, "a", "kept")
    status = path.stat()
    change(logdir, path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    found, errors = listed(logdir)
    assert found == {kept}
    assert f"left out: {path.name}: {CHANGED}\n" in errors or "not the directory" in errors
    archive_as_told(logdir, errors)
    assert listed(logdir)[0] == {path, kept}


def test_a_file_that_came_later_is_left_out_alone(logdir: Path) -> None:
    """By a move, a copy, an archive or a hard link; the others are named, also after a deletion
    that was interrupted."""
    paths = [log(logdir, "a", filename=f"events.out.tfevents.{i}") for i in range(3)]
    other = log(logdir, "b")
    archive(logdir, "a")
    moved = other.rename(logdir / "a" / "events.out.tfevents.moved")
    copied = logdir / "a" / "events.out.tfevents.copied"
    shutil.copy2(moved, copied)
    os.link(moved, logdir / "a" / "events.out.tfevents.linked")
    found, errors = listed(logdir)
    assert found == set(paths)
    names = "copied", "linked", "moved"
    assert "3 files of a are left out: " in errors
    assert all(f"events.out.tfevents.{name}" in errors for name in names)
    assert f": {CHANGED}\n" in errors
    paths[0].unlink()
    assert listed(logdir)[0] == set(paths[1:])


def test_a_change_of_its_mode_costs_a_repetition(logdir: Path) -> None:
    path = log(logdir, "a")
    archive(logdir, "a")
    path.chmod(0o600)
    found, errors = listed(logdir)
    assert found == set()
    archive_as_told(logdir, errors)
    assert listed(logdir)[0] == {path}


def test_a_file_that_was_just_written_is_in_the_inventory(logdir: Path) -> None:
    """Its time of change may be that of a later change. So the command waits for the next tick."""
    for i in range(20):
        log(logdir, f"run{i}")
        archive(logdir, f"run{i}")
    assert len(listed(logdir)[0]) == 20


def test_notes_without_an_inventory_name_nothing(logdir: Path) -> None:
    """Such as those that were written before there were inventories."""
    path = log(logdir, "a")
    archive(logdir, "a")
    [file] = own_folder(logdir).iterdir()
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(line for line in lines if b"inventory" not in line))
    found, errors = listed(logdir)
    assert found == set()
    assert "all files of a are left out: it is not known which files there were" in errors
    archive_as_told(logdir, errors)
    assert listed(logdir)[0] == {path}


def test_what_an_access_control_list_lets_others_replace_is_left_out(logdir: Path) -> None:
    """The mode shows its rights as those of the group, which may be this user's own."""
    path = log(logdir, "a")
    archive(logdir, "a")
    # The owner, user 65534, the group, the mask and all others, each with its rights.
    entries = [(1, 7, 2**32 - 1), (2, 7, 65534), (4, 5, 2**32 - 1), (16, 7, 2**32 - 1)]
    rights = struct.pack("<I", 2)
    rights += b"".join(struct.pack("<HHI", *each) for each in (*entries, (32, 5, 2**32 - 1)))
    try:
        os.setxattr(path.parent, "system.posix_acl_access", rights)
    except OSError:
        pytest.skip("this file system has no access control lists")
    assert path.parent.stat().st_mode & 0o070 == 0o070
    found, errors = listed(logdir)
    assert found == set()
    assert f"1 file of a is left out: {path.name}: others can write to the directory" in errors


@pytest.mark.parametrize("place", ["run", "above", "group", "sticky", "owner"])
def test_what_others_can_replace_is_left_out(logdir: Path, place: str) -> None:
    """Between the list and its deletion, they could lead the path elsewhere."""
    if os.getuid() != 0:
        pytest.skip("needs root, to make directories of others")
    path = log(logdir, "sweep/a")
    folder = path.parent if place == "run" else path.parent.parent
    archive(logdir, "sweep/a")
    assert listed(logdir)[0] == {path}
    if place == "group":
        os.chown(folder, 0, 65534)
    if place == "owner":
        os.chown(folder, 65534, 0)
    else:
        folder.chmod({"run": 0o777, "above": 0o777, "group": 0o775, "sticky": 0o1777}[place])
    found, errors = listed(logdir)
    # In a sticky directory others can replace only what is their own.
    assert found == ({path} if place == "sticky" else set())
    reason = f"others can replace what is in {folder}"
    if place == "run":
        reason = "others can write to the directory"
    line = f"1 file of sweep/a is left out: {path.name}: {reason}"
    assert (line in errors) is (place != "sticky")
    if place == "sticky":
        os.chown(path.parent, 65534, 0)
        assert listed(logdir)[0] == set()


# -- notes of others -------------------------------------------------------------------------------


def hostile(
    logdir: Path, *runs: str, by: str | None = None, is_archived: bool = True, later: int = 0
) -> None:
    """Notes in the log directory itself that carry this user's name, `later` microseconds ahead."""
    folder = logdir / ".tbcore" / "notes"
    folder.mkdir(parents=True, exist_ok=True)
    now, values = time.time_ns() // 1000 + later, {"archived": is_archived}
    lines = (line_of(now, by or author(), run, values) for run in runs)
    (folder / f"{author()}-00000000-1-ab.jsonl").write_bytes(b"".join(lines))


def test_no_note_in_the_log_directory_makes_the_command_name_anything(logdir: Path) -> None:
    """Not even one with this user's name; what this user archived is named all the same."""
    mine, theirs = log(logdir, "mine"), log(logdir, "theirs")
    hostile(logdir, "theirs", "mine")
    found, errors = listed(logdir)
    assert found == set()
    assert "all files of 2 runs are left out: " in errors
    assert f": archived by {author()}, not by you\n" in errors
    archive(logdir, "mine")
    assert listed(logdir)[0] == {mine}
    result = piped("notes", "files", logdir, "--format=names")
    assert result.stdout == f"{mine}\0"
    assert theirs.exists()


def test_what_came_through_a_server_for_others_is_not_this_users_own(logdir: Path) -> None:
    log(logdir, "a")
    notes_of(logdir).change(["a"], {"archived": True}, is_own=False)
    found, errors = listed(logdir)
    assert found == set()
    assert "all files of a are left out: archived by " in errors
    assert " (server), not by you\n" in errors


def test_what_somebody_took_back_is_left_out(logdir: Path) -> None:
    log(logdir, "a")
    archive(logdir, "a")
    hostile(logdir, "a", by="bob@far", is_archived=False, later=1)
    found, errors = listed(logdir)
    assert found == set()
    assert "all files of a are left out: brought back by bob@far\n" in errors


def test_what_this_user_took_back_is_left_out(logdir: Path) -> None:
    """And it is not archived for a query, as in the page, whatever others note."""
    log(logdir, "a")
    archive(logdir, "a")
    notes_of(logdir).change(["a"], {"archived": False})
    hostile(logdir, "a", by="bob@far")
    assert piped("ls", logdir, "--where", "is:archived").returncode == 1
    result = piped("notes", "files", logdir, "--format=names")
    assert (result.returncode, result.stdout) == (1, "")
    assert "left out: archived by bob@far, brought back by you\n" in result.stderr


@pytest.mark.parametrize("again", ["shared", "server"])
def test_a_run_that_was_brought_back_is_not_archived_again_by_others(
    logdir: Path, again: str
) -> None:
    """Neither by a file of a stranger, whatever its time is, nor through a server; also after the
    files of notes were compacted."""
    path = log(logdir, "a")
    archive(logdir, "a")
    notes_of(logdir).change(["a"], {"archived": False}, is_own=False)
    if again == "shared":
        hostile(logdir, "a", by="m@x", later=3600 * 10**6)
    else:
        notes_of(logdir).change(["a"], {"archived": True}, is_own=False)
    for _ in range(2):
        found, errors = listed(logdir)
        assert found == set()
        assert " (server)\n" in errors
        assert "all files of a are left out: brought back by " in errors
        assert piped("notes", "compact", logdir).returncode == 0
    archive(logdir, "a")
    assert listed(logdir)[0] == {path}


def test_nothing_is_named_while_notes_cannot_be_read(logdir: Path) -> None:
    """What is missing may be that the run was brought back."""
    log(logdir, "a")
    archive(logdir, "a")
    notes_of(logdir).change(["a"], {"archived": False})
    for file in own_folder(logdir).iterdir():
        file.write_bytes(file.read_bytes().replace(b'"archived":false', b'"archived":fals?'))
    result = piped("notes", "files", logdir, "--format=names")
    assert (result.returncode, result.stdout) == (3, "")
    assert "no file is named, since some notes could not be read" in result.stderr


@pytest.mark.parametrize("part", [".tbcore", ".tbcore/notes"])
def test_notes_behind_a_link_are_not_read(logdir: Path, tmp_path: Path, part: str) -> None:
    """It may lead to private notes of the user who starts the server."""
    log(logdir, "a")
    (tmp_path / "private" / "notes").mkdir(parents=True)
    line = line_of(time.time_ns() // 1000, "a@b", "a", {"note": "private"})
    for folder in ("private", "private/notes"):
        (tmp_path / folder / "a.jsonl").write_bytes(line)
    (logdir / part).parent.mkdir(exist_ok=True)
    (logdir / part).symlink_to(tmp_path / "private")
    notes = notes_of(logdir)
    assert notes.values("a") == {}
    assert notes.left_out == [f"{logdir / part} is left out: it is a link"]
    # No answer lacks anything. But somebody may have brought the run back before the link.
    for arguments in (["ls"], ["notes", "list"]):
        result = piped(*arguments, logdir, "--where", "#x")
        assert (result.returncode, result.stdout) == (1, ""), arguments
        assert result.stderr.endswith("it is a link\ntbcore: none of 1 runs matches\n")
    assert piped("notes", "set", logdir, "a", "--archive").returncode == 0
    result = piped("notes", "files", logdir)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.endswith("no file is named, since some notes are left out\n")


# -- forms and errors ------------------------------------------------------------------------------


def test_other_forms_have_the_sizes(logdir: Path) -> None:
    path = log(logdir, "a")
    archive(logdir, "a")
    lines = piped("notes", "files", logdir).stdout.splitlines()
    assert lines == ["file\tbytes\trun", f"{path}\t{path.stat().st_size}\ta"]
    assert f'"bytes":{path.stat().st_size}' in piped("notes", "files", logdir, "--json").stdout


def test_a_terminal_has_whole_paths(tmp_path: Path) -> None:
    """However narrow it is: this is the look before deleting."""
    logdir = tmp_path / ("long" * 20)
    path = log(logdir, "rate-too-high/eval")
    archive(logdir, "rate-too-high/eval")
    status, text = on_terminal("notes", "files", logdir, columns=60, NO_COLOR="1")
    heading, row = text.splitlines()
    assert (status, heading.split()) == (0, ["bytes", "run", "file"])
    assert row.split() == [str(path.stat().st_size), "rate-too-high/eval", str(path)]


@pytest.mark.parametrize("command", ["files", "list", "set", "share", "compact"])
def test_a_single_file_has_no_notes(logdir: Path, command: str) -> None:
    path = log(logdir, "a")
    options = [".", "--star"] if command == "set" else []
    result = piped("notes", command, path, *options)
    assert result.returncode == 2
    assert " is a file; give the log directory, whose runs the notes are about" in result.stderr


def test_what_is_left_out_is_readable_however_much_it_is(logdir: Path) -> None:
    """A line has ten names and the number of others, and of many lines there are ten."""
    for i in range(12):
        log(logdir, f"run{i:02}")
    many = [log(logdir, "many", filename=f"events.out.tfevents.{i:05}") for i in range(300)]
    kept = log(logdir, "kept")
    archive(logdir, "kept", "many", *(f"run{i:02}" for i in range(12)))
    for path in many:
        path.chmod(0o600)
    hostile(logdir, *(f"run{i:02}" for i in range(12)), by="b@c", is_archived=False, later=1)
    found, errors = listed(logdir)
    assert found == {kept}
    lines = errors.splitlines()
    assert lines[0].startswith("tbcore: warning: 300 files of many are left out: events.out.tf")
    assert lines[0].endswith(f".00009 and 290 more: {CHANGED}")
    assert lines[1].endswith("run09 and 2 more: brought back by b@c")
    assert lines[2] == "tbcore: warning: with --verbose, nothing of these lines is cut"
    assert len(lines) == 4
    assert "archive again: `tbcore notes set" in lines[3]
    errors = listed(logdir, "-v")[1]
    assert all(path.name in errors for path in many)
    assert len(errors.splitlines()) == 3
    for i in range(12):
        folder = logdir / ".tbcore" / "notes"
        line = line_of(time.time_ns() // 1000 + 9, f"b{i}@c", f"run{i:02}", {"archived": False})
        (folder / f"b{i}@c-00000000-1-ab.jsonl").write_bytes(line)
    lines = listed(logdir)[1].splitlines()
    assert len(lines) == 12
    assert lines[10].endswith(
        "there are 3 more reasons; with --verbose, nothing of these lines is cut"
    )


def test_files_of_other_formats_are_never_named(logdir: Path) -> None:
    """Whatever they contain, and although their run is archived: alone, beside event files, in
    place of the event files that were archived, and hidden by their name."""
    pytest.importorskip("tbcore_formats")
    state = '{"a": "brain.Event:2", "log_history": [{"step": 1, "loss": 1}]}'
    files = {
        "out/trainer_state.json": state,
        "out/checkpoint-1/trainer_state.json": state,
        "csv/metrics.csv": "step,brain.Event:2\n0,1\n",
        "both/metrics.csv": "step,loss,word\n0,1,brain.Event:2\n",
        "was/trainer_state.json": state,
    }
    events = {run: log(logdir, run) for run in ("both", "was", "linked")}

    def write(*names: str) -> None:
        for path in map(logdir.joinpath, names):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[str(path.relative_to(logdir))])
            os.utime(path, (OLD, OLD))

    write(*(name for name in files if not name.startswith("was")))
    runs = ["out", "csv", "both", "was", "linked"]
    archive(logdir, *runs)
    write("was/trainer_state.json")
    events["was"].unlink()
    os.replace(logdir / "csv" / "metrics.csv", events["linked"])
    write("csv/metrics.csv")
    shown = piped("ls", logdir, "--format=names").stdout.split("\0")[:-1]
    assert set(shown) == set(runs)
    found, errors = listed(logdir, "--verbose")
    assert found == {events["both"]}
    line = "they are not event files, and may have other runs as well"
    assert f"all files of 3 runs are left out: csv, out, was: {line}" in errors


@pytest.mark.parametrize("view", ["server", "python"])
def test_a_run_of_another_program_never_names_files(logdir: Path, view: str) -> None:
    """Nor do event files that get its name later: they have it after a restart as before it."""
    pytest.importorskip("tbcore_formats")
    samples = Path(__file__).parents[2] / "formats" / "tests" / "wandb_samples"
    folder = logdir / "wandb" / "offline-run-20261126_202147-a"
    folder.mkdir(parents=True)
    shutil.copy(samples / "header-only" / "run-new.wandb", folder / "run-a.wandb")
    server, logs = served(logdir), tbcore.open(logdir)
    events = log(logdir, "a")
    log(logdir, "a_2")
    if view == "server":
        body = {"runs": ["a"], "set": {"archived": True}}
        assert server.post("data/notes", json=body, headers=OF_OWNER).status_code == 200
        until_listed(server)
    else:
        logs["a"].archived = True
    names = {"a": None, "a_2": None, "a_3": f"wandb/{folder.name}/run-a.wandb"}
    assert {run.name: run.source for run in tbcore.open(logdir).values()} == names
    server.reload()
    sources = server.get("data/run_details").json()["sources"]
    assert {run: details["file"] for run, details in sources.items()} == {"a_3": names["a_3"]}
    archive(logdir, "a_3")
    found, errors = listed(logdir)
    assert (found, "not known which files" in errors) == (set(), True)
    archive_as_told(logdir, errors)
    assert listed(logdir)[0] == {events}
