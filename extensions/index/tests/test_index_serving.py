"""A loader with an index shows its runs, and reads on what has changed since."""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from disk import Clock
from same_answers import check_same, loaded, state_of, status_of, update

from tbcore.errors import DataLossError, NotFoundError, OptionError
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore_index import reader as reader_module
from tbcore_index.reader import IndexReader
from tbcore_index.tables import Place, Tables
from tbcore_testing import EventFileWriter


def values(multiplexer: Multiplexer, run: str) -> list[float]:
    return list(multiplexer.scalars(run, "loss").value)


def log(logdir: Path, run: str, *losses: float, wall_time: float = 1000.0) -> None:
    """Adds losses to a run, whose files seem to be old."""
    path = logdir / run / "1.tfevents"
    first = path.stat().st_size // 40 if path.exists() else 1
    with EventFileWriter(path, wall_time=wall_time) as writer:
        for step, loss in enumerate(losses, start=first):
            writer.add_scalar("loss", loss, step=step)
    age(path)


def age(path: Path) -> None:
    """Sets a file's time back by an hour and what was added later, so that it is settled."""
    os.utime(path, (1e9 + path.stat().st_size,) * 2)


@pytest.fixture
def indexed(tmp_path: Path) -> tuple[Path, Path]:
    """A log directory with the runs `a` and `b`, and its index."""
    logdir, index = tmp_path / "logs", tmp_path / "index"
    log(logdir, "a", 1.0)
    log(logdir, "b", 5.0, wall_time=2000.0)
    assert update(logdir, index) == 0
    return logdir, index


def loader_of(logdir: Path | None, index: Path) -> tuple[Multiplexer, Loader]:
    board = Board()
    multiplexer = Multiplexer(board=board)
    specs = [LogdirSpec(None, str(logdir))] if logdir else []
    loader = Loader(board, specs, index=IndexReader(str(index)))
    loader.load_once()
    return multiplexer, loader


def test_files_of_the_index_are_not_opened(
    indexed: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    logdir, index = indexed
    shutil.rmtree(logdir)

    multiplexer, _ = loader_of(None, index)

    assert multiplexer.runs() == ["a", "b"]
    assert values(multiplexer, "b") == [5.0]
    assert status_of(multiplexer).num_runs == 2
    assert status_of(multiplexer).num_files == 2


def test_an_index_that_was_empty_at_first_is_shown_when_it_has_runs(tmp_path: Path) -> None:
    logdir, index = tmp_path / "logs", tmp_path / "index"
    logdir.mkdir()
    update(logdir, index)
    multiplexer, loader = loader_of(None, index)
    assert multiplexer.runs() == []
    log(logdir, "a", 1.0)
    update(logdir, index)

    loader.load_once()

    assert multiplexer.runs() == ["a"]


def test_a_damaged_segment_is_no_problem_any_more_when_it_was_made_again(
    indexed: tuple[Path, Path],
) -> None:
    logdir, index = indexed
    (path,) = (index / "runs").glob("*.parquet")
    path.write_bytes(path.read_bytes()[:-100])
    reader = IndexReader(str(index))
    assert len(reader.problems) == 1

    update(logdir, index)
    reader.refresh()

    assert [*reader.problems] == []
    assert [*reader.runs] == ["a", "b"]


def test_damage_that_an_index_knows_of_has_a_line_when_it_is_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logdir, index = tmp_path / "logs", tmp_path / "index"
    log(logdir, "a", 1.0, 2.0)
    path = logdir / "a" / "1.tfevents"
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content + content[:40])
    age(path)
    update(logdir, index)

    caplog.clear()
    multiplexer, loader = loader_of(logdir, index)
    loader.load_once()

    [line] = status_of(multiplexer).problems
    assert "payload checksum wrong" in line
    assert [record.message for record in caplog.records].count(line) == 1


def test_a_lost_file_is_no_problem_any_more_when_it_is_back(indexed: tuple[Path, Path]) -> None:
    """For a server: a command has left its rows out."""
    _, index = indexed
    (path,) = (index / "points").glob("*.parquet")
    for is_server in (True, False):
        away = path.rename(index / "away")
        reader = IndexReader(str(index), is_server=is_server)
        with pytest.raises(DataLossError, match="it has data of 2 runs"):
            reader.runs["b"].series("loss")
        reader.refresh()
        assert len(reader.problems) == 1

        away.rename(path)
        reader.refresh()

        assert len(reader.problems) == (0 if is_server else 1)
        assert len(reader.runs["b"].series("loss")[0]) == 1


def test_threads_may_find_lost_files_at_any_time(indexed: tuple[Path, Path]) -> None:
    """While the loader lists them, and while it refreshes."""
    _, index = indexed
    reader = IndexReader(str(index), is_server=True)
    names = [f"segment{number}" for number in range(1000)]
    interval = sys.getswitchinterval()

    def ask() -> None:
        raise DataLossError("gone")

    def lose_all() -> None:
        for name in names:
            reader.lose(name, DataLossError("gone"), ask)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            tasks = [pool.submit(lose_all) for _ in range(4)]
            while not all(task.done() for task in tasks):
                assert len(reader.problems) <= len(names)
                reader.refresh()
        assert len(reader.problems) == len(names)
        assert [task.result() for task in tasks] == [None] * 4
    finally:
        sys.setswitchinterval(interval)


class SlowCommit:
    """An index to which somebody commits, table by table, and a clock that the reader waits by."""

    def __init__(self, indexed: tuple[Path, Path], tmp_path: Path, clock: Clock) -> None:
        self.index, self.after = tmp_path / "slow", tmp_path / "after"
        logdir, before = indexed
        shutil.copytree(before, self.index)
        log(logdir, "c", 7.0, wall_time=3000.0)
        update(logdir, before)
        shutil.copytree(before, self.after)
        self.clock = clock
        clock.rules(reader_module)
        clock.ahead = 3600  # The clock of the machine that commits is an hour behind.
        clock.sleep = self.sleep
        self.left = ["items", "points", "runs"]

    def commit(self, table: str) -> None:
        shutil.copytree(self.after / table, self.index / table, dirs_exist_ok=True)

    def sleep(self, seconds: float) -> None:
        """Time passes, and the commit goes on in small steps."""
        self.clock.advance(4)
        if self.left:
            self.commit(self.left.pop(0))


@pytest.fixture
def slow_commit(indexed: tuple[Path, Path], tmp_path: Path, clock: Clock) -> SlowCommit:
    return SlowCommit(indexed, tmp_path, clock)


def test_a_command_waits_for_a_commit_to_end(slow_commit: SlowCommit) -> None:
    slow_commit.left = ["runs"]
    slow_commit.commit("series")

    reader = IndexReader(str(slow_commit.index))

    assert [*reader.problems] == []
    assert [*reader.runs] == ["a", "b", "c"]


def test_a_command_says_when_a_commit_does_not_end(slow_commit: SlowCommit) -> None:
    slow_commit.left = []
    slow_commit.commit("series")

    reader = IndexReader(str(slow_commit.index))

    (line,) = reader.problems
    assert line.startswith(
        f"the tables `runs` and `series` of the index {slow_commit.index} differ"
    )
    assert slow_commit.clock.now < 10


def test_a_server_says_that_tables_differ_when_that_has_held_for_a_while(
    slow_commit: SlowCommit,
) -> None:
    """It never sleeps, and reads the runs again only if there are others."""
    slow_commit.commit("series")
    reader = IndexReader(str(slow_commit.index), is_server=True)
    runs = reader.runs
    for slow_commit.clock.now in (0.0, 29.0):
        reader.refresh()
        assert [*reader.problems] == []
    slow_commit.clock.now = 31.0
    reader.refresh()
    (line,) = reader.problems
    assert "differ" in line
    reader.refresh()
    assert reader.runs is runs
    assert slow_commit.left == ["items", "points", "runs"]

    slow_commit.commit("runs")
    reader.refresh()

    assert [*reader.problems] == []
    assert [*reader.runs] == ["a", "b", "c"]


def test_what_somebody_views_is_read_on(indexed: tuple[Path, Path]) -> None:
    logdir, index = indexed
    multiplexer, loader = loader_of(None, index)
    log(logdir, "a", 2.0)
    log(logdir, "b", 6.0)
    values(multiplexer, "a")

    loader.load_once()

    assert state_of(multiplexer).run("a").last_point("loss") == (2, 2.0)
    assert state_of(multiplexer).run("b").last_point("loss") == (1, 5.0), "nobody viewed it"
    assert multiplexer.runs() == ["a", "b"]


def test_a_new_file_of_a_viewed_run_is_read(indexed: tuple[Path, Path]) -> None:
    logdir, index = indexed
    multiplexer, loader = loader_of(None, index)
    with EventFileWriter(logdir / "a" / "2.tfevents") as writer:
        writer.add_scalar("loss", 3.0, step=9)
    values(multiplexer, "a")

    loader.load_once()

    assert values(multiplexer, "a") == [1.0, 3.0]


def test_with_a_log_directory_everything_is_live(indexed: tuple[Path, Path]) -> None:
    logdir, index = indexed
    multiplexer, loader = loader_of(logdir, index)
    log(logdir, "b", 6.0)
    log(logdir, "c", 7.0)
    shutil.rmtree(logdir / "a")

    loader.load_once()

    assert multiplexer.runs() == ["b", "c"]
    assert values(multiplexer, "b") == [5.0, 6.0]
    check_same(loaded(logdir), multiplexer, order=False)


def test_a_run_that_was_replaced_is_read_again(indexed: tuple[Path, Path]) -> None:
    logdir, index = indexed
    (logdir / "a" / "1.tfevents").unlink()
    log(logdir, "a", 8.0, 9.0, wall_time=3000.0)

    multiplexer, _ = loader_of(logdir, index)

    assert values(multiplexer, "a") == [8.0, 9.0]


def test_what_the_index_has_by_now_is_not_kept_in_memory(indexed: tuple[Path, Path]) -> None:
    logdir, index = indexed
    multiplexer, loader = loader_of(logdir, index)
    log(logdir, "a", 2.0)
    loader.load_once()
    generation = multiplexer.run_generations()["b"]
    assert [*loader.runs] == ["a"]

    update(logdir, index)
    loader.load_once()

    assert not loader.runs
    assert values(multiplexer, "a") == [1.0, 2.0]
    assert multiplexer.runs() == ["a", "b"]
    assert multiplexer.run_generations()["b"] == generation, "its segment is another one"


def test_a_server_goes_on_when_the_files_it_knows_are_deleted(
    indexed: tuple[Path, Path],
) -> None:
    logdir, index = indexed
    multiplexer, loader = loader_of(None, index)
    old = state_of(multiplexer).run("b")
    log(logdir, "a", 2.0)
    update(logdir, index)
    assert Tables(Place(str(index))).vacuum(0) == 4, "one file in each table"

    # Of an old view of a run that has not changed, too.
    assert list(old.series("loss")[0].column("value")) == [5.0]
    with pytest.raises(NotFoundError, match=r"^run .a. was indexed again; ask again$"):
        multiplexer.scalars("a", "loss")
    loader.load_once()
    assert values(multiplexer, "a") == [1.0, 2.0]


@pytest.mark.parametrize("has_logdir", [True, False])
def test_runs_that_are_gone_from_index_and_logs_are_gone(
    indexed: tuple[Path, Path], has_logdir: bool
) -> None:
    logdir, index = indexed
    multiplexer, loader = loader_of(logdir if has_logdir else None, index)
    shutil.rmtree(logdir / "a")
    update(logdir, index)

    loader.load_once()

    assert multiplexer.runs() == ["b"]


def test_real_logs_are_the_same(real_logs: Path, tmp_path: Path) -> None:
    update(real_logs, tmp_path / "index")

    expected = loaded(real_logs)

    check_same(expected, loaded(None, tmp_path / "index"))
    check_same(expected, loaded(real_logs, tmp_path / "index"))


def test_no_index(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"^no index at .*; make one with `tbcore index`$"):
        IndexReader(str(tmp_path))
