"""What is logged after a directory was opened: refresh and follow."""

from __future__ import annotations

import shutil
import threading
import time
from pathlib import Path

import pytest
from common_fixtures import WAIT_SECONDS

import tbcore
from tbcore_logs import Logs
from tbcore_testing import EventFileWriter, summaries, write_run


def append(path: Path, step: int) -> None:
    with EventFileWriter(path) as writer:
        writer.add_summary(step, summaries.scalar("loss", float(step)))


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    for index, run in enumerate("ab"):
        write_run(
            tmp_path, run, scalars={"loss": [0.0]}, filename="tfevents", wall_time=1.0 + index
        )
    return tbcore.open(tmp_path)


def test_refresh_returns_the_runs_that_changed(tmp_path: Path, logs: Logs) -> None:
    """Whether they have been read or not; a second time they have not changed."""
    assert logs["a"]["loss"].value.tolist() == [0]
    assert logs.refresh() == set()

    append(tmp_path / "a" / "tfevents", 1)
    append(tmp_path / "b" / "tfevents", 1)

    assert logs.refresh() == {"a", "b"}
    assert logs.refresh() == set()
    assert logs["a"]["loss"].value.tolist() == [0, 1]
    assert logs["b"]["loss"].value.tolist() == [0, 1]
    assert logs.refresh() == set()


def test_what_was_asked_for_before_does_not_change(tmp_path: Path, logs: Logs) -> None:
    run, table, mapping = logs["a"], logs.scalars(), logs.runs
    series = run["loss"]
    append(tmp_path / "a" / "tfevents", 1)
    write_run(tmp_path, "c", scalars={"loss": [0.0]})

    assert logs.refresh() == {"a", "c"}

    assert len(series) == len(run["loss"]) == run.tags["loss"].count == 1
    assert len(table) == 2
    assert list(mapping) == ["a", "b"]
    assert mapping["a"] is run
    assert logs["a"] is not run
    assert logs["b"] is mapping["b"]
    assert len(logs.scalars()) == 4


def test_a_file_without_a_new_event_is_no_change(tmp_path: Path, logs: Logs) -> None:
    """Half a record is written, and nothing is there to see."""
    assert len(logs["a"]["loss"]) == 1
    path = tmp_path / "a" / "tfevents"
    before = path.read_bytes()
    append(path, 1)
    whole = path.read_bytes()

    path.write_bytes(whole[: len(before) + 10])
    assert logs.refresh() == set()
    path.write_bytes(whole)
    assert logs.refresh() == {"a"}
    assert logs["a"]["loss"].step.tolist() == [0, 1]


def test_a_replaced_file_is_read_again(tmp_path: Path, logs: Logs) -> None:
    run = logs["a"]
    assert len(run["loss"]) == 1
    (tmp_path / "a" / "tfevents").unlink()
    write_run(tmp_path, "a", scalars={"loss": [5.0, 6.0]}, filename="tfevents", wall_time=9.0)

    assert logs.refresh() == {"a"}
    assert logs["a"]["loss"].value.tolist() == [5, 6]
    assert run["loss"].value.tolist() == [0]


def test_runs_that_are_gone_are_left_out(tmp_path: Path, logs: Logs) -> None:
    """What was read of them stays readable; what was not is an error."""
    read, unread = logs["a"], logs["b"]
    assert len(read["loss"]) == 1
    shutil.rmtree(tmp_path / "a")
    shutil.rmtree(tmp_path / "b")

    assert logs.refresh() == {"a", "b"}
    assert list(logs.runs) == []
    assert len(read["loss"]) == 1
    with pytest.raises(tbcore.NotFoundError, match="run 'b' is gone"):
        _ = unread.tags
    with pytest.raises(KeyError, match="no run 'a'"):
        logs["a"]


def test_a_directory_that_vanishes_is_a_problem_until_it_is_back(
    tmp_path: Path, logs: Logs
) -> None:
    """Also if it was an event file."""
    file = tbcore.open(tmp_path / "a" / "tfevents")
    away = tmp_path.with_name(f"{tmp_path.name}-away")
    tmp_path.rename(away)

    assert logs.refresh() == {"a", "b"}
    assert logs.problems == [f"{tmp_path} does not exist"]
    assert file.refresh() == {"."}
    assert file.problems == [f"{tmp_path / 'a' / 'tfevents'} does not exist"]
    away.rename(tmp_path)
    assert logs.refresh() == {"a", "b"}
    assert logs.problems == []
    assert len(logs["a"]["loss"]) == 1
    assert file.refresh() == {"."}


class Following:
    """A thread that follows logs, and keeps what it gets."""

    def __init__(self, logs: Logs) -> None:
        self.got: list[tuple[float, set[str]]] = []
        self.has_begun = threading.Event()
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._follow, args=[logs], daemon=True)
        self._thread.start()

    def _follow(self, logs: Logs) -> None:
        for names in logs.follow(interval=0.2):
            with self._news:
                self.got.append((time.monotonic(), names))
                self._news.notify()
            if "end" in names:
                return

    def wait_for(self, name: str) -> float:
        """When the name was first among those that changed."""
        with self._news:
            assert self._news.wait_for(
                lambda: any(name in names for _, names in self.got), WAIT_SECONDS
            )
            return next(at for at, names in self.got if name in names)

    def end(self, tmp_path: Path) -> None:
        write_run(tmp_path, "end", scalars={"loss": [1]})
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()


def test_follow_yields_what_changed(tmp_path: Path, logs: Logs) -> None:
    """Each change once, with the data readable."""
    assert len(logs["a"]["loss"]) == 1
    following = Following(logs)
    append(tmp_path / "a" / "tfevents", 1)
    following.wait_for("a")
    assert len(logs["a"]["loss"]) == 2
    write_run(tmp_path, "new", scalars={"loss": [1]})
    following.wait_for("new")
    following.end(tmp_path)

    changed = [name for _, names in following.got for name in names]
    assert sorted(changed) == ["a", "end", "new"]


def test_follow_goes_on_when_the_directory_vanishes(tmp_path: Path) -> None:
    logdir = tmp_path / "runs"
    write_run(logdir, "a", scalars={"loss": [1]})
    following = Following(tbcore.open(logdir))
    shutil.rmtree(logdir)
    following.wait_for("a")
    write_run(logdir, "again", scalars={"loss": [1]})
    following.wait_for("again")
    following.end(logdir)


@pytest.mark.slow
def test_a_flushed_point_is_seen_within_three_tenths_of_a_second(
    tmp_path: Path, logs: Logs
) -> None:
    """The best of several: the machine may be busy."""
    assert len(logs["a"]["loss"]) == 1
    names = logs.follow(interval=1.0)
    path = tmp_path / "a" / "tfevents"
    delays = []
    for step in range(1, 8):
        written_at: list[float] = []

        def write(step: int = step, written_at: list[float] = written_at) -> None:
            append(path, step)
            written_at.append(time.monotonic())

        timer = threading.Timer(0.3, write)  # so that the next line waits already
        timer.start()
        assert next(names) == {"a"}
        seen_at = time.monotonic()
        timer.join()
        delays.append(seen_at - written_at[0])
        assert logs["a"]["loss"].step[-1] == step

    assert min(delays) < 0.3, delays
