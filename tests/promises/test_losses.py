"""P22: what could not be read is said by every command, by `tbcore.open` and by the exit status."""

from __future__ import annotations

import itertools
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commands import piped
from disk import Clock, Disk
from framed import records_of
from same_answers import update

import tbcore
from tbcore.errors import TbcoreError
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import summaries, write_run

reader = pytest.importorskip("tbcore_index.reader")
COLUMNS = pytest.importorskip("tbcore_index.tables").COLUMNS
DeltaTable = pytest.importorskip("deltalake").DeltaTable

COMMANDS = {
    "ls": ("ls", "LOGS", "--format=csv"),
    "tags": ("tags", "LOGS"),
    "show": ("show", "LOGS", "a0"),
    "show a tag": ("show", "LOGS", "a0", "loss"),
    "tail": ("tail", "LOGS", "--runs", "*", "-n", "99"),
    "diff": ("diff", "LOGS", "a0", "b1"),
    "export": ("export", "LOGS", "-o", "-"),
    "export --wide": ("export", "LOGS", "-o", "-", "--wide"),
    "report": ("report", "LOGS"),
}  # fmt: skip
"""Every command that prints logs, by a name for messages."""


class Found(NamedTuple):
    """What somebody got who asked for everything."""

    rows: object
    words: str
    """What they were told besides; empty if nothing."""
    status: int


Ask = Callable[[Path], Found]


def of_command(*arguments: str) -> Ask:
    """Asks by a command."""

    def ask(path: Path) -> Found:
        done = piped(*(str(path) if each == "LOGS" else each for each in arguments))
        return Found(done.stdout, done.stderr, done.returncode)

    return ask


def of_check(path: Path) -> Found:
    """Asks `tbcore check`, of which damage is the answer."""
    option = ["--index"] if (path / "runs" / "_delta_log").is_dir() else []
    done = piped("check", *option, str(path))
    words = "" if done.returncode == 0 else done.stdout + done.stderr
    return Found(done.returncode == 0, words, 3 if done.returncode == 1 else done.returncode)


def _points(source: Any, runs: list[str], tag: Callable[[str, str], Any]) -> object:
    return [(run, [getattr(tag(run, "loss"), n).tolist() for n in ("step", "value")])
            for run in runs]  # fmt: skip


def of_python(path: Path) -> Found:
    """Asks `tbcore.open`."""
    logs = None
    try:
        logs = tbcore.open(path)
        rows = _points(logs, list(logs), lambda run, tag: logs[run][tag])
    except TbcoreError as error:
        return Found(None, str(error), 3)
    return Found(rows, "\n".join(logs.problems), 3 if logs.problems else 0)


def of_server(path: Path) -> Found:
    """Asks what a server asks, twice, since a request may be what finds the damage."""
    board = Board()
    multiplexer = Multiplexer(board=board)
    rows = None
    is_index = (path / "runs" / "_delta_log").is_dir()
    try:
        index = reader.IndexReader(str(path)) if is_index else None
    except TbcoreError as error:
        return Found(None, str(error), 3)
    specs = [] if is_index else [LogdirSpec(None, str(path))]
    loader = Loader(board, specs, index=index)
    loader.load_once()
    try:
        rows = _points(multiplexer, multiplexer.runs(), multiplexer.scalars)
    except TbcoreError:
        loader.load_once()
    problems = board.status.problems
    return Found(rows, "\n".join(problems), 3 if problems else 0)


ASKS: dict[str, Ask] = {
    **{name: of_command(*arguments) for name, arguments in COMMANDS.items()},
    "check": of_check, "tbcore.open": of_python, "serve": of_server,
}  # fmt: skip


def write_logs(logdir: Path) -> None:
    """Six runs of two shapes; their files are old."""
    for name in ("a0", "a1", "a2", "b0", "b1", "b2"):
        number = float(name[1])
        tags = {"loss": [number + step for step in range(9)], "lr": [0.1]}
        write_run(logdir, name, scalars=tags, texts={"note": ["x"]}, wall_time=1.7e9 + number)
    for path in logdir.glob("*/*"):
        os.utime(path, (1.7e9, 1.7e9))


@pytest.fixture(scope="module")
def logs_and_index(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Logs, and an index of two segments with the same tags, after several commits."""
    root = tmp_path_factory.mktemp("losses")
    logdir, index = root / "logs", root / "index"
    write_logs(root / "all")
    for letter in "ab":
        for run in sorted((root / "all").glob(f"{letter}*")):
            shutil.copytree(run, logdir / run.name)
        assert update(logdir, index) == 0
    return logdir, index


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    """In a log in the name of an action, which Delta Lake then ignores; else in the middle."""
    at = content.find(b'"add"') + 1 or len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "removed": lambda content: None,
    "cut": cut,
    "emptied": lambda content: b"",
    "flipped": flipped,
}


def damaged(path: Path) -> Iterator[str]:
    """Damages a file in each way; yields the name of each, and then mends the file."""
    content = path.read_bytes()
    status = path.stat()
    for name, damage in DAMAGES.items():
        changed = damage(content)
        if changed is None:
            path.unlink()
        else:
            path.write_bytes(changed)
        yield name
        path.write_bytes(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


EVERY = pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.release)])
"""After each damage only every nth reader asks, in rotation; before a release, all do."""


def check_asks(source: Path, files: list[Path], every: int, first: int = 0) -> Counter[str]:
    """Fails if anybody gets other rows without a word; returns counts of what they got.

    `first` is the index of the reader that asks first.
    """
    expected = {name: ask(source) for name, ask in ASKS.items()}
    assert {found.status for name, found in expected.items() if name != "diff"} == {0}
    assert expected["diff"].status == 1, "the runs differ"
    counts = Counter[str]()
    turns = itertools.count(first)
    for path in files:
        for damage in damaged(path):
            for name, ask in [*ASKS.items()][next(turns) % every :: every]:
                found, what = ask(source), f"{name}: {path.relative_to(source)} {damage}"
                assert "Traceback" not in found.words, what
                if found.status == 3:
                    assert found.words, what
                    counts["words"] += 1
                else:
                    assert found == expected[name], what
                    counts["same"] += 1
    print(dict(counts))
    return counts


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("table", COLUMNS)
def test_a_lost_file_of_an_index_is_said(
    logs_and_index: tuple[Path, Path], table: str, every: int
) -> None:
    """Each Parquet file in use is removed, cut, emptied and flipped."""
    _, index = logs_and_index
    files = [Path(uri) for uri in DeltaTable(str(index / table)).file_uris()]
    assert len(files) == 2

    counts = check_asks(index, files, every, [*COLUMNS].index(table))

    assert counts["words"] > 20 // every


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("has_checkpoint", [False, True])
@pytest.mark.parametrize("table", ["runs", "series"])
def test_a_lost_file_of_a_delta_log_is_said(
    logs_and_index: tuple[Path, Path],
    tmp_path: Path,
    clock: Clock,
    table: str,
    has_checkpoint: bool,
    every: int,
) -> None:
    """Also that of the last commit, without which a table is what it was before."""
    clock.rules(reader)
    clock.sleep = lambda _: clock.advance(60)  # No commit takes as long.
    index = tmp_path / "index"
    shutil.copytree(logs_and_index[1], index)
    if has_checkpoint:
        DeltaTable(str(index / table)).create_checkpoint()
    files = sorted((index / table / "_delta_log").iterdir())

    counts = check_asks(index, files[-3:] if has_checkpoint else files, every)

    assert counts["words"] > 20 // every


@pytest.mark.parametrize("at", [3, 20])
def test_damage_in_an_event_file_is_said(tmp_path: Path, at: int) -> None:
    """In the length of a record, and in its payload."""
    write_logs(tmp_path)
    for path in sorted(tmp_path.glob("[ab][01]/*")):
        content = bytearray(path.read_bytes())
        content[records_of(content)[4][0] + at] ^= 1
        path.write_bytes(content)

        for name, ask in ASKS.items():
            found = ask(tmp_path)
            if name not in ("show", "show a tag", "diff"):
                assert (found.status, str(path) in found.words) == (3, True), name
    for name in ("show", "show a tag", "diff"):
        assert ASKS[name](tmp_path).status == 3, name


@pytest.mark.slow
def test_a_record_that_is_still_written_is_no_loss(tmp_path: Path) -> None:
    """A file may end anywhere: all whole records are there, and nothing is said. A file that is
    gone is gone."""
    write_logs(tmp_path)
    path = next((tmp_path / "a0").iterdir())
    content = path.read_bytes()
    for offset, _ in records_of(content)[2:]:
        path.write_bytes(content[: offset + 9])
        for name, ask in ASKS.items():
            found = ask(tmp_path)
            assert found.status == (1 if name == "diff" else 0), name
            assert found.words == "", name
    path.unlink()
    for name, ask in ASKS.items():
        if name not in ("show", "show a tag", "diff"):
            assert ask(tmp_path)[1:] == ("", 0), name


def test_what_could_be_read_is_written_and_the_rest_is_said(tmp_path: Path) -> None:
    """Of an index with a lost file of points, and of logs with a damaged image."""
    write_logs(tmp_path / "logs")
    update(tmp_path / "logs", tmp_path / "index")
    write_run(tmp_path / "logs", "c", scalars={"loss": [5.0]}, wall_time=1.8e9)
    shutil.copytree(tmp_path / "index", tmp_path / "before")
    update(tmp_path / "logs", tmp_path / "index")
    index = reader.IndexReader(str(tmp_path / "index"))
    (segment,) = (name for name, runs in index.segments.items() if len(runs) == 6)
    (tmp_path / "index" / "points" / f"{segment}.parquet").unlink()

    for options in ([], ["--wide"]):
        done = piped("export", tmp_path / "index", "-o", tmp_path / "x.csv", *options)
        assert done.returncode == 3
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.rstrip().endswith(f"{segment}.parquet; it has data of 6 runs")
        rows = (tmp_path / "x.csv").read_text().splitlines()
        assert [row.partition(",")[0] for row in rows[1:]] == ["c"]
    listed = piped("ls", tmp_path / "index", "--format=csv")
    assert len(listed.stdout.splitlines()) == 8, "what is known of the series is in another file"


def test_a_value_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """An index says where a picture is; its bytes have changed since."""
    logdir, index = tmp_path / "logs", tmp_path / "index"
    pictures = [(0, summaries.png()), (1, summaries.png(2, 2))]
    path = write_run(logdir, "a", images={"samples": pictures})
    update(logdir, index)
    content = bytearray(path.read_bytes())
    content[content.rindex(b"IDAT") + 2] ^= 1
    path.write_bytes(content)

    shown = piped("show", index, "a", "samples")
    exported = piped("export", index, "-o", f"{tmp_path}/media/")
    logs = tbcore.open(index)
    with pytest.raises(tbcore.DataLossError, match="payload checksum"):
        _ = logs["a"].images("samples")[1].value

    for words in (shown.stderr, exported.stderr, "\n".join(logs.problems)):
        assert "run 'a', tag 'samples': " in words
        assert str(path) in words
    assert (shown.returncode, exported.returncode) == (3, 3)
    assert [each.name for each in (tmp_path / "media").rglob("*.png")] == ["0.png"]


def test_a_directory_that_cannot_be_listed_is_said(tmp_path: Path, disk: Disk) -> None:
    write_logs(tmp_path)
    unlisted = tmp_path / "b1"
    disk.refuse(unlisted)
    for name, ask in ASKS.items():
        found = ask(tmp_path)
        expected = f"cannot list {unlisted}: Permission denied"
        if name != "diff":  # It has not found the run, and says that.
            assert (found.status, expected in found.words) == (3, True), name


@pytest.mark.parametrize("table", ["points", "items", "series"])
def test_a_lost_file_of_many_runs_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], start: Callable[..., Any], table: str
) -> None:
    """In commands, in a server, and when the index is made again."""
    for number in range(50):
        write_run(tmp_path / "logs", f"run{number}", scalars={"loss": [1.0]}, texts={"t": ["x"]})
    index = tmp_path / "index"
    update(tmp_path / "logs", index)
    (path,) = (index / table).glob("*.parquet")
    path.unlink()
    line = f"a segment of the index is gone: {path}; it has data of 50 runs"

    for command in (["ls"], ["tags"], ["export", "-o", "-"], ["report"]):
        done = piped(command[0], str(index), *command[1:])
        if table == "series" or (table, command) in (("points", ["export", "-o", "-"]),):
            assert done.returncode == 3
            assert line in done.stderr
        assert done.stderr.count("a segment of the index") <= 1
    server = start(tmp_path / "logs", "--index", str(index))
    server.get("/data/plugin/scalars/scalars", run="run7", tag="loss")
    if table != "items":  # Nobody has asked for an item.
        server.wait(lambda: server.get("/data/status").json()["problems"] == [line])

    capfd.readouterr()
    assert update(tmp_path / "logs", index) == 3
    told = [each for each in capfd.readouterr().err.splitlines() if "warning" in each]
    rest = "" if table == "series" else "; 50 runs are read from the logs again"
    assert told == [f"tbcore: warning: {line}{rest}"]
