"""`tbcore tail`: the last steps, and those that are logged while it follows."""

from __future__ import annotations

import json
import math
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from commands import command, environment, lines, on_terminal, piped

import tbcore
from tbcore_testing import EventFileWriter, record_bytes, summaries, write_run

WAIT_SECONDS = 30
MAX_DELAY_SECONDS = 0.3
"""Maximum time until a point that was flushed is printed, on an idle machine."""


class Follower:
    """A process with `tail -f` and the lines that it has printed."""

    def __init__(self, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            command("tail", "-f", *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding="utf-8", env=environment(),
        )  # fmt: skip
        self.lines = self._lines_of(self.process.stdout)
        self.errors = self._lines_of(self.process.stderr)

    @staticmethod
    def _lines_of(stream: IO[str] | None) -> queue.Queue[str]:
        found: queue.Queue[str] = queue.Queue()
        assert stream is not None
        threading.Thread(
            target=lambda: [found.put(line.rstrip("\n")) for line in stream], daemon=True
        ).start()
        return found

    def next(self) -> str:
        return self.lines.get(timeout=WAIT_SECONDS)


@pytest.fixture
def follow() -> Iterator[Callable[..., Follower]]:
    followers: list[Follower] = []

    def start(*arguments: str | Path) -> Follower:
        followers.append(Follower(*arguments))
        return followers[-1]

    yield start
    for follower in followers:
        follower.process.kill()
        follower.process.wait()


def test_a_line_has_what_was_logged_for_a_step(tmp_path: Path) -> None:
    """The tags are columns, which are empty at steps that lack them."""
    loss = [(step, step / 10) for step in range(20)]
    write_run(tmp_path, scalars={"loss": loss, "val": [(0, 5.0), (19, 4.0)]}, wall_time=1000)

    header, *rows = lines("tail", tmp_path, "-n", "2")

    assert header == ["run", "step", "wall_time", "loss", "val"]
    assert [(row[1], *row[3:]) for row in rows] == [("18", "1.8", ""), ("19", "1.9", "4.0")]
    assert len(lines("tail", tmp_path)) == 11
    assert len(lines("tail", tmp_path, "-n", "99")) == 21
    assert lines("tail", tmp_path, "--tags", "v*")[-1][3:] == ["4.0"]


def test_lines_are_objects_in_json(tmp_path: Path) -> None:
    write_run(tmp_path, "a", scalars={"loss": [1.0, float("inf")], "acc": [(1, 0.5)]})
    result = piped("tail", tmp_path, "--json")
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["run"], first["step"], first["loss"], "acc" in first) == ("a", 0, 1, False)
    assert (second["loss"], second["acc"]) == ("Infinity", 0.5)


@pytest.mark.parametrize("ending", ["whole", "large", "torn", "empty file", "alone"])
def test_the_run_is_the_one_with_the_last_event(tmp_path: Path, ending: str) -> None:
    """Whatever the times of the files are, which a copy does not keep; a terminal names it."""
    times, now = (1000, 1002, 1001), time.time()
    for number in range(3):
        run = f"run{number}"
        path = write_run(tmp_path, run, scalars={"loss": [1.0]}, wall_time=times[number])
        if ending == "large":
            text = {"t": ["x" * 100_000]}
            path = write_run(tmp_path, run, texts=text, wall_time=times[number])
        elif ending == "torn":
            path.write_bytes(path.read_bytes() + record_bytes(b"x" * 70_000)[: 60_000 + number])
        elif ending == "empty file":
            path.with_name("b.tfevents").touch()
        os.utime(path, (now, now - 90 + 9 * number))
    if ending == "alone":
        shutil.rmtree(tmp_path / "run1")
    newest = "run2" if ending == "alone" else "run1"
    assert [row[0] for row in lines("tail", tmp_path)[1:]] == [newest]
    assert lines("ls", tmp_path, "--where", "newest:1")[1][1] == newest
    assert lines("ls", tmp_path, "--sort", "age")[1][1] == newest
    assert tbcore.open(tmp_path).newest().name == newest
    assert on_terminal("tail", tmp_path, NO_COLOR="1")[1].splitlines()[0].strip() == newest


def test_several_runs_are_printed_in_the_order_of_time(tmp_path: Path) -> None:
    for number in range(2):
        write_run(
            tmp_path, f"run{number}", scalars={"loss": [1.0, 2.0]}, wall_time=1000 + number / 2
        )
    rows = lines("tail", tmp_path, "--runs", "*", "-n", "3")[1:]
    assert [row[:2] for row in rows] == [["run1", "0"], ["run0", "1"], ["run1", "1"]]


def test_the_rate_and_the_time_left_are_computed(tmp_path: Path) -> None:
    """Events are a second apart; after a restart, only what was logged since counts."""
    write_run(tmp_path, scalars={"loss": [(10 * step, 1.0) for step in range(5)]}, wall_time=1000)
    rows = lines("tail", tmp_path, "--total", "100")
    assert rows[0][3:5] == ["rate", "eta"]
    assert rows[1][3:5] == ["", ""]
    assert rows[-1][3:5] == ["10.0", "6.0"]
    assert lines("tail", tmp_path, "--total", "30")[-1][4] == "0.0"
    _, text = on_terminal("tail", tmp_path, "--total", "100000", NO_COLOR="1")
    assert "10/s" in text
    assert "2h 46m" in text

    write_run(tmp_path, scalars={"loss": [(0, 1.0), (5, 1.0)]}, wall_time=2000)
    assert lines("tail", tmp_path, "--total", "100")[-1][3:5] == ["5.0", "19.0"]


def test_a_tag_with_several_points_at_a_step_has_several_lines(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"loss": [(1, 1.0), (1, 2.0), (2, 3.0)]})
    assert [row[3] for row in lines("tail", tmp_path)[1:]] == ["1.0", "2.0", "3.0"]


def test_lines_fit_on_a_terminal(tmp_path: Path) -> None:
    """The header is repeated. The run is above all if it is the only one."""
    values = {f"group/a tag with a long name {n}": [float(n)] * 50 for n in range(9)}
    write_run(tmp_path, "run", scalars=values)
    _, text = on_terminal("tail", tmp_path, "-n", "50", columns=60, NO_COLOR="1")
    heading, *printed = text.splitlines()
    assert (heading, len(printed)) == ("run", 54)
    assert max(len(line) for line in printed) <= 60
    assert [line.split()[0] for line in printed[:3]] == ["step", "not", "0"]
    assert printed[1].startswith("not shown: group/a tag with a long name 2, ")
    assert printed[42:44] == printed[:2]


def test_a_flushed_point_is_printed_at_once(
    tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    """As it is for a reader of the pipe. The best of five counts, since machines are busy."""
    path = write_run(tmp_path, "a", scalars={"loss": [0.0]}, filename="tfevents")
    follower = follow(tmp_path)
    assert follower.next() == "run\tstep\twall_time\tloss"
    assert follower.next().startswith("a\t0\t")
    delays = []
    for step in range(1, 6):
        with EventFileWriter(path) as writer:
            writer.add_summary(step, summaries.scalar("loss", step / 10))
        flushed = time.monotonic()
        assert follower.next().split("\t")[1::2] == [str(step), str(step / 10)]
        delays.append(time.monotonic() - flushed)
    assert min(delays) < MAX_DELAY_SECONDS


def test_new_tags_and_runs_are_followed(tmp_path: Path, follow: Callable[..., Follower]) -> None:
    """A new tag has a column at the end, and no second header. What is logged later for a step is a
    line of its own."""
    path = write_run(tmp_path, "a", scalars={"loss": [1.0]}, filename="tfevents")
    follower = follow(tmp_path, "--runs", "*")
    follower.next()
    assert follower.next().endswith("\t1.0")

    with EventFileWriter(path) as writer:
        writer.add_summary(0, summaries.scalar("val", 5.0))
    assert follower.next().split("\t")[3:] == ["", "5.0"]
    line = "tbcore: warning: new tag 'val': column 5, which the header lacks"
    assert follower.errors.get(timeout=WAIT_SECONDS) == line

    write_run(tmp_path, "b", scalars={"loss": [(7, 2.0)]})
    assert follower.next().split("\t")[:2] == ["b", "7"]


def test_a_directory_that_vanishes_is_reported_and_followed(
    tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    logdir = tmp_path / "logs"
    write_run(logdir, "a", scalars={"loss": [1.0]})
    follower = follow(logdir)
    follower.next()
    follower.next()

    shutil.rmtree(logdir)
    assert "'a' is gone" in follower.errors.get(timeout=WAIT_SECONDS)

    write_run(logdir, "a", scalars={"loss": [(3, 2.0)]})
    assert follower.next().split("\t")[1] == "3"


def test_it_waits_for_a_directory_and_its_first_run(
    tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    """As `serve --logdir` does. Without -f, both are errors."""
    logdir = tmp_path / "logs"
    assert piped("tail", logdir).returncode == 2
    follower = follow(logdir)
    line = f"tbcore: warning: '{logdir}' does not exist; waiting for it"
    assert follower.errors.get(timeout=WAIT_SECONDS) == line
    logdir.mkdir()
    line = f"tbcore: warning: no event files below '{logdir}' yet; waiting for the first"
    assert follower.errors.get(timeout=WAIT_SECONDS) == line
    assert piped("tail", logdir).returncode == 1

    path = write_run(logdir, "a", scalars={}, filename="tfevents")
    with EventFileWriter(path) as writer:
        writer.add_summary(7, summaries.scalar("loss", 0.5))
    assert follower.next().startswith("run\tstep\twall_time")
    assert follower.next().split("\t")[:2] == ["a", "7"]
    assert follower.errors.empty()


def test_a_run_without_the_tags_yet_is_followed(
    tmp_path: Path, follow: Callable[..., Follower]
) -> None:
    path = write_run(tmp_path, "a", texts={"config": ["x"]}, filename="tfevents")
    assert "no tag 'loss'" in piped("tail", tmp_path, "--tags", "loss").stderr
    follower = follow(tmp_path, "--tags", "loss")
    with EventFileWriter(path) as writer:
        writer.add_summary(7, summaries.scalar("loss", 0.5))
    assert follower.next() == "run\tstep\twall_time\tloss"
    assert follower.next().split("\t")[1::2] == ["7", "0.5"]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_wait_ends_when_its_reader_is_gone(tmp_path: Path, is_there: bool) -> None:
    path = tmp_path if is_there else tmp_path / "logs"
    script = (
        f"{shlex.join(command('tail', '-f', path))} 2>errors |"
        "(until grep -q waiting errors; do sleep 0.01; done)"
    )
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script], timeout=WAIT_SECONDS, cwd=tmp_path, check=False
    )
    assert done.returncode == 128 + signal.SIGPIPE


def test_an_interrupt_ends_it_quietly(tmp_path: Path, follow: Callable[..., Follower]) -> None:
    write_run(tmp_path, scalars={"loss": [1.0]})
    follower = follow(tmp_path)
    follower.next()
    follower.next()
    follower.process.send_signal(signal.SIGINT)
    assert follower.process.wait(WAIT_SECONDS) == -signal.SIGINT
    assert follower.errors.empty()


@pytest.mark.parametrize("reader", ["head -n 2", "head -n 1", "grep -m 1 0.25"])
def test_it_ends_when_its_reader_is_gone(tmp_path: Path, reader: str) -> None:
    """Also while nothing is logged. "Wait until the loss is below X" would never end."""
    write_run(tmp_path, "a", scalars={"loss": [0.5, 0.25]})
    script = f"{shlex.join(command('tail', '-f', '-n', '9', tmp_path))} | {reader}"
    for _ in range(2):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", script], timeout=WAIT_SECONDS,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")
        assert done.stdout


@pytest.mark.parametrize(
    ("goal", "last"), [("loss<0.3", 8), ("LOSS<=0.3", 7), ("loss=nan", 10), ("step>=4", 4)]
)
def test_it_ends_with_the_line_that_was_waited_for(tmp_path: Path, goal: str, last: int) -> None:
    """Among those that were logged before; numbers are compared as they are printed."""
    loss = [(step, 1 - step / 10) for step in range(10)] + [(10, math.nan), (11, 0.0)]
    write_run(tmp_path, scalars={"loss": loss})
    waiting = command("tail", tmp_path, "--until", goal, "-n", "2")
    result = subprocess.run(waiting, stdout=subprocess.PIPE, encoding="utf-8", env=environment())
    steps = [line.split("\t")[1] for line in result.stdout.splitlines()]
    assert (result.returncode, steps) == (0, ["step", str(last - 1), str(last)])


def test_it_waits_for_a_line(tmp_path: Path, follow: Callable[..., Follower]) -> None:
    path = write_run(tmp_path, "a", scalars={"loss": [1.0]}, filename="tfevents")
    follower = follow(tmp_path, "--until", "acc>0.5")
    line = "tbcore: warning: no run has the tag 'acc' of --until yet; there are: 'loss'"
    assert follower.errors.get(timeout=WAIT_SECONDS) == line
    follower.next()
    assert follower.next().startswith("a\t0\t")
    for step, value in enumerate((0.5, 0.75), 1):
        with EventFileWriter(path) as writer:
            writer.add_summary(step, summaries.scalar("acc", value))
        assert follower.next().endswith(f"\t{value}")
    assert follower.process.wait(WAIT_SECONDS) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--until", "loss"], "--until 'loss': expected one tag and a number, as in"),
        (["--until", "loss:min<3"], "--until 'loss:min<3': expected one tag and a number"),
        (["--until", "loss<"], "--until: "),
        (["--until", "loss<3", "--tags", "acc"], "--until: 'loss' is not one of --tags"),
    ],
)
def test_what_cannot_be_waited_for_is_refused(
    tmp_path: Path, options: list[str], message: str
) -> None:
    result = piped("tail", tmp_path, *options)
    assert result.returncode == 2
    assert message in result.stderr
