"""Storages that are slow or fail for a while: nothing else is delayed, and nothing is lost."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path

import pytest
from disk import Clock
from storages import (
    CREDENTIALS,
    FILE,
    SSH,
    URI,
    Home,
    Request,
    S3Server,
    Watched,
    events,
    forget_storages,
    s3_error,
)

import tbcore
from tbcore.eventfiles.addresses import fetch_ahead
from tbcore.eventfiles.logdir import Logdir, LogdirSpec
from tbcore.eventfiles.storage import EventFile
from tbcore_remote import connection

pytestmark = pytest.mark.services


def test_a_slow_listing_does_not_delay_a_disk(s3: S3Server, folder: Path, tmp_path: Path) -> None:
    """It is shown when it has come, and what it showed before stays until then."""
    s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 1))
    events(folder / "b" / FILE, 5)
    may_answer = threading.Event()

    def wait(request: Request) -> None:
        if request.is_listing:
            may_answer.wait(60)

    s3.answer = wait
    watched = Watched(URI, str(folder), reload_interval=None)
    for number in (1, 2):
        assert watched.steps("b") == [5, 6][:number]
        assert (watched.multiplexer.runs() == ["b"]) == (number == 1)
        may_answer.set()
        assert watched.wake.wait(60), "the listing ends the pause"
        assert watched.steps("a") == [1, 2][:number]
        watched.wake.clear()
        may_answer.clear()
        events(folder / "b" / FILE, 5, 6)
        s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 1, 2))
        watched.board.scan_soon()
        watched.wake.clear()
    may_answer.set()


def test_changes_on_a_disk_cause_no_listings(s3: S3Server, folder: Path) -> None:
    """An interval that was given is kept, however often the disk is scanned."""
    s3.put(f"runs/a/{FILE}", events(folder / "b" / FILE, 5))
    watched = Watched(URI, str(folder), reload_interval=3600)
    watched.steps("b")
    assert watched.wake.wait(60)
    for number in range(6, 10):
        events(folder / "b" / FILE, *range(5, number))
        assert watched.steps("b") == list(range(5, number))
    assert [request.is_listing for request in s3.reads()].count(True) == 1


def test_a_run_stays_while_its_replaced_file_cannot_be_read(s3: S3Server, tmp_path: Path) -> None:
    """The server and Python show what was there before, until all of the new file is read."""
    s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 1, 2, 3))
    watched, logs = Watched(), tbcore.open(URI)
    assert watched.steps("a") == logs["a"]["loss"].step.tolist() == [1, 2, 3]
    s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 7, 8, 9, 10, start=1.8e9))
    denied = s3_error("403 Forbidden", "AccessDenied")
    s3.answer = lambda request: denied if request.range.startswith("bytes=0-") else None
    for _ in range(2):
        assert watched.steps("a") == [1, 2, 3]
        logs.refresh()
        assert logs["a"]["loss"].step.tolist() == [1, 2, 3]
    assert [line for line in watched.problems if "AccessDenied" not in line] == []
    s3.answer = lambda request: None
    assert watched.steps("a") == [7, 8, 9, 10]
    logs.refresh()
    assert logs["a"]["loss"].step.tolist() == [7, 8, 9, 10]

    s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 7, 8, 9, 10, 11, start=1.8e9))
    s3.put(f"runs/a/{FILE}.2", events(tmp_path / FILE, 12))
    s3.answer = lambda request: denied if request.path.endswith(".2") else None
    assert watched.steps("a") == [7, 8, 9, 10, 11], "what was added is shown"
    logs.refresh()
    assert logs["a"]["loss"].step.tolist() == [7, 8, 9, 10, 11]


def test_the_rest_of_files_is_fetched_many_at_a_time(s3: S3Server, tmp_path: Path) -> None:
    """Also if only their beginnings were fetched, to find out when runs began."""
    for number in range(8):
        s3.put(f"runs/r{number}/{FILE}", events(tmp_path / FILE, *range(20 + number)))
    watched = Watched()
    runs = Logdir([LogdirSpec(None, URI)]).scan().runs
    files = [file for each in runs.values() for file in each]
    heads: list[tuple[EventFile, int]] = [(file, 0) for file in files]
    fetch_ahead(heads, 100)
    s3.reads()
    together = threading.Barrier(8)

    def wait(request: Request) -> None:
        if not request.is_listing:
            together.wait(60)

    s3.answer = wait
    for number in range(8):
        assert watched.steps(f"r{number}") == list(range(20 + number))


def test_requests_are_repeated_a_few_times_only(s3: S3Server, tmp_path: Path) -> None:
    """Otherwise it takes many minutes until a line says that a server does not answer."""
    s3.put(f"runs/a/{FILE}", events(tmp_path / FILE, 1))
    watched = Watched()
    assert watched.steps("a") == [1]
    s3.answer = lambda request: s3_error("503 Slow Down", "SlowDown")
    s3.reads()
    assert watched.steps("a") == [1]
    assert len(s3.reads()) == 2 * int(CREDENTIALS["AWS_MAX_ATTEMPTS"])


def test_other_credentials_are_found_when_the_old_ones_are_refused(
    s3: S3Server, home: Home, folder: Path, clock: Clock
) -> None:
    """Somebody writes new ones into a file each day, while a server runs."""
    clock.rules(connection)
    watched = Watched("s3://bucket/logs")
    assert watched.steps("a") == [0, 1]
    clock.advance(31)
    s3.put(f"logs/b/{FILE}", events(folder / FILE, 5))
    expired = s3_error("400 Bad Request", "ExpiredToken")
    s3.answer = lambda request: expired if "=first/" in request.authorization else None
    assert (watched.steps("a"), watched.steps("b")) == ([0, 1], [])
    home.write_key("second")
    clock.advance(31)
    watched.loader.load_once()
    assert (watched.steps("a"), watched.steps("b")) == ([0, 1], [5])


def test_a_connection_that_stalls_is_given_up(
    ssh: SSH, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What is shown stays, and the next scan connects again."""
    pytest.importorskip("paramiko")
    monkeypatch.setattr("tbcore_remote.connection._STALL_SECONDS", 1.0)
    relay = Relay(int(ssh[0].rpartition(":")[2]))
    events(folder / "a" / FILE, 1)
    watched = Watched(f"sftp://127.0.0.1:{relay.port}{folder}")
    assert watched.steps("a") == [1]
    events(folder / "a" / FILE, 1, 2)
    relay.may_send.clear()
    assert watched.steps("a") == [1]
    assert {record.name for record in caplog.records} == {"tbcore.store.status"}
    root = f"sftp://127.0.0.1:{relay.port}{folder}"
    for line in watched.problems:
        assert line.startswith((f"cannot list {root}: ", f"{root}/a/{FILE} cannot be read: "))
    relay.may_send.set()
    assert watched.steps("a") == [1, 2]


def test_a_missing_key_is_not_a_missing_directory(
    ssh: SSH, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FSSPEC_SFTP_KEY_FILENAME", str(folder / "key"))
    for _ in forget_storages():
        watched = Watched(f"{ssh[0]}{folder}")
        assert watched.steps("a") == []
        [line] = watched.problems
        assert line.startswith(f"cannot list {ssh[0]}{folder}: cannot connect: ")
        assert str(folder / "key") in line
        assert watched.board.status.missing == ()


class Relay:
    """Connects clients to a port of this machine, and stops sending when a test says so."""

    def __init__(self, target: int) -> None:
        self.may_send = threading.Event()
        self.may_send.set()
        self.target = target
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self.accept_all, daemon=True).start()

    def accept_all(self) -> None:
        while True:
            client = self.listening.accept()[0]
            if not self.may_send.is_set():
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.target))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self.send, args=ends, daemon=True).start()

    def send(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.may_send.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
