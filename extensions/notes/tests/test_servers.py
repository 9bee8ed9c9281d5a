"""Real servers: how a reader gets the write token, who changes notes, and who sees it at once."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from common_fixtures import WAIT_SECONDS, until

from tbcore_notes.access import TOKEN_HEADER
from tbcore_testing import write_run


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TBCORE_")}
    homes = {f"XDG_{kind}_HOME": str(tmp_path / kind.lower()) for kind in ("DATA", "STATE")}
    return {**kept, **homes, "TBCORE_PLUGINS": ""}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write_run(tmp_path / "runs", "a", scalars={"loss": [1.0]})
    return tmp_path / "runs"


class Served:
    """A process of `tbcore serve`."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self._log = log
        until(lambda: "Press CTRL+C" in self.output)
        address = re.search(r" at (http://[^/\s]+:\d+)/\S* \(Press", self.output)
        self.url = address[1] if address else ""

    @property
    def output(self) -> str:
        assert self.process.poll() is None, self._log.read_text()
        return self._log.read_text()

    @property
    def token(self) -> str:
        """The write token, in the file that the server has named."""
        found = re.search(r"^the address for changing notes is in (.*)$", self.output, re.MULTILINE)
        assert found, self.output
        path = Path(found[1])
        assert path.stat().st_mode & 0o777 == 0o600
        address = path.read_text().strip()
        assert address.startswith(f"{self.url}/#write=")
        return address.partition("#write=")[2]

    def change(self, values: Any, **headers: str) -> int:
        """The status of a request that changes notes."""
        body = json.dumps({"runs": ["a"], "set": values}).encode()
        names = {name.replace("_", "-"): text for name, text in headers.items()}
        request = urllib.request.Request(
            f"{self.url}/data/notes", body, {"content-type": "application/json", **names}
        )
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code

    def answer(self) -> Any:
        with urllib.request.urlopen(f"{self.url}/data/notes", timeout=WAIT_SECONDS) as response:
            return json.load(response)

    def notes(self) -> Any:
        return self.answer()["runs"].get("a", {})


@pytest.fixture
def start(
    tmp_path: Path, logdir: Path, environment: dict[str, str]
) -> Iterator[Callable[..., Served]]:
    processes: list[subprocess.Popen[bytes]] = []

    def start(*options: str, parent: str = "", **variables: str) -> Served:
        log = tmp_path / f"{len(processes)}.log"
        command = [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logdir), *options]
        if parent:  # The command line of the parent process has this word.
            call = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[2:]))"
            command = [sys.executable, "-c", call, parent, *command]
        with log.open("wb") as file:
            processes.append(
                subprocess.Popen(
                    command,
                    env={**environment, **variables},
                    stdout=file,
                    stderr=file,
                    start_new_session=True,
                )
            )
        until(lambda: "Press CTRL+C" in log.read_text() or processes[-1].poll() is not None)
        return Served(processes[-1], log)

    yield start
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    for process in processes:
        process.wait(WAIT_SECONDS)


def test_on_loopback_the_write_token_is_in_a_private_file(
    start: Callable[..., Served], tmp_path: Path
) -> None:
    """Not in what is printed, which may go to a log that others read. The file goes at the end."""
    server = start("--port", "0")
    token = server.token
    assert len(token) >= 32
    assert token not in server.output
    assert server.change({"starred": True}) == 403
    assert server.notes() == {}
    header = {TOKEN_HEADER: token}
    assert server.change({"starred": True}, **header, origin="http://localhost:1") == 403
    assert server.change({"starred": True}, **header, sec_fetch_site="same-site") == 403
    assert server.change({"starred": True}, **header, origin=server.url) == 200
    assert server.notes()["starred"]["is_own"] is True
    assert len(list((tmp_path / "state" / "tbcore").iterdir())) == 1
    server.process.terminate()
    server.process.wait(WAIT_SECONDS)
    assert list((tmp_path / "state" / "tbcore").iterdir()) == []


def printed_addresses(environment: dict[str, str], *options: str) -> list[str]:
    """What `tbcore notes address` prints."""
    line = [sys.executable, "-m", "tbcore", "notes", "address", *options]
    found = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == (0 if found.stdout else 1), found.stderr
    assert bool(found.stdout) != ("no server of yours" in found.stderr)
    return found.stdout.splitlines()


def test_a_command_prints_the_address_of_servers_that_run(
    start: Callable[..., Served], environment: dict[str, str], tmp_path: Path
) -> None:
    """Never one of a server that is gone, or of another one that has its port now."""
    assert printed_addresses(environment) == []
    servers = [start("--port", "0"), start("--port", "0"), start("--port", "0", "--notes", "read")]
    addresses = [f"{server.url}/#write={server.token}" for server in servers[:2]]
    assert printed_addresses(environment) == sorted(addresses)
    port = servers[0].url.rpartition(":")[2]
    assert f"--port {port}`" in servers[0].answer()["refusal"]
    assert printed_addresses(environment, "--port", port) == addresses[:1]
    servers[0].process.kill()
    servers[0].process.wait(WAIT_SECONDS)
    assert printed_addresses(environment) == addresses[1:]
    again = start("--port", port)
    assert len(list((tmp_path / "state" / "tbcore").iterdir())) == 3
    token = again.output.rpartition("notes is in ")[2].splitlines()[0]
    assert printed_addresses(environment, "--port", port) == [Path(token).read_text().strip()]
    assert printed_addresses(environment, "--port", port) != addresses[:1]


def test_a_terminal_gets_the_write_token(
    logdir: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """In the fragment of the address, which browsers do not send, and from the command."""
    terminal, end = os.openpty()
    server = subprocess.Popen(
        [sys.executable, "-m", "tbcore", str(logdir), "--port", "0"],
        env=environment, stdout=end, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(end)
    try:
        text = b""
        while b"quit)\r\n" not in text:
            text += os.read(terminal, 1 << 16)
        assert re.search(rb" at http://localhost:\d+/#write=[\w-]{32,} \(Press CTRL", text)
        address = re.search(rb"http://\S+", text)
        assert address
        assert printed_addresses(environment) == [address[0].decode()]
    finally:
        server.kill()
        server.wait()
        os.close(terminal)


def test_a_server_for_other_machines_takes_notes_with_its_token_alone(
    start: Callable[..., Served],
) -> None:
    """And they are not this user's own. Without a token it takes none."""
    server = start("--port", "0", "--host", "0.0.0.0", TBCORE_TOKEN="secret")
    assert server.change({"starred": True}) == 401
    assert server.change({"starred": True}, authorization="Bearer secret") == 200
    assert "changing notes" not in server.output
    server = start("--port", "0", "--host", "0.0.0.0", "--no_token")
    assert server.change({"starred": False}) == 403
    assert server.change({"starred": False}, **{TOKEN_HEADER: ""}) == 403
    assert server.notes()["starred"]["value"] is True
    assert server.notes()["starred"]["is_own"] is False


def test_a_server_whose_data_directory_cannot_be_written_says_so(
    start: Callable[..., Served], tmp_path: Path
) -> None:
    """As in a container with a root that is read-only: at the start, and in the page, which offers
    no stars that would fail. Nothing is made there to find out."""
    (tmp_path / "file").touch()
    home = tmp_path / "file" / "data"
    server = start("--port", "0", XDG_DATA_HOME=str(home))
    reason = f"notes cannot be kept in {home}/tbcore/notes/"
    assert server.output.count(reason) == 1
    assert "the address for changing notes" not in server.output
    answer = server.answer()
    assert answer["read_only"] == answer["refusal"]
    assert answer["read_only"].startswith(reason)
    assert server.change({"starred": True}) == 403


def test_notes_are_turned_off_and_shown_only(
    start: Callable[..., Served], logdir: Path, environment: dict[str, str]
) -> None:
    line = [sys.executable, "-m", "tbcore", "notes", "set", str(logdir), "a", "--star"]
    subprocess.run(line, env=environment, check=True)
    server = start("--port", "0", "--notes", "read")
    assert "the address for changing notes" not in server.output
    assert "--notes read: the page changes no notes\n" in server.output
    assert server.notes()["starred"]["value"] is True
    assert "(--notes read)" in server.answer()["read_only"]
    assert server.change({"starred": False}) == 403
    server = start("--port", "0", TBCORE_NOTES="off")
    assert server.change({"starred": False}) == 404
    with pytest.raises(urllib.error.HTTPError, match="404"):
        server.answer()


def test_the_token_for_reading_needs_another_one(logdir: Path, environment: dict[str, str]) -> None:
    line = [sys.executable, "-m", "tbcore", "serve", "--logdir", str(logdir), "--port", "0"]
    for token, error in (
        ({}, "TBCORE_READ_TOKEN needs a token beside it; set TBCORE_TOKEN to one"),
        (
            {"TBCORE_TOKEN": "same"},
            "TBCORE_READ_TOKEN is the token itself; set TBCORE_READ_TOKEN to another",
        ),
        (
            {"TBCORE_TOKEN": "same", "TBCORE_READ_TOKEN": ""},
            "TBCORE_READ_TOKEN is empty; set it to a token, or unset it",
        ),
    ):
        variables = {**environment, "TBCORE_READ_TOKEN": "same", **token}
        result = subprocess.run(line, env=variables, capture_output=True, text=True, check=False)
        assert result.returncode == 2
        assert error in result.stderr
        assert result.stderr.count("\n") == 1


DOCUMENTED: dict[str, tuple[str, ...]] = {
    "a container": ("--host", "0.0.0.0"),
    "a container behind a proxy": ("--host", "0.0.0.0", "--no_token", "--allowed_host", "*"),
    "a tab of a hub": ("--uds", "SOCKET", "--allowed_host", "*", "--no_token"),
    "a service of a user": ("--uds", "SOCKET", "--exit_when_idle", "8h"),
    "a node of a portal": ("--host", "0.0.0.0", "--path_prefix", "/node/x/1"),
}
"""Ways to start a server for others, of docs/containers.md, notebooks.md, operations.md and
proxies.md, which is tried with each nginx in `tests/promises/test_proxies.py`."""


@pytest.mark.parametrize("options", DOCUMENTED.values(), ids=DOCUMENTED)
def test_p28_what_visitors_archive_is_not_named_for_deletion(
    start: Callable[..., Served], logdir: Path, environment: dict[str, str], tmp_path: Path,
    options: tuple[str, ...],
) -> None:  # fmt: skip
    """Anyone who is let in, with requests like those of the owner's own browser."""
    old = time.time() - 3 * 86400
    path = write_run(logdir, "a", scalars={"loss": [1.0]}, wall_time=old)
    os.utime(path, (old, old))
    place = str(tmp_path / "socket") if "--uds" in options else "--port"
    given = [place if option == "SOCKET" else option for option in options]
    given += [] if "--uds" in options else ["--port", "0"]
    server = start(*given, **({} if "--no_token" in options else {"TBCORE_TOKEN": "secret"}))
    prefix = "/node/x/1" if "--path_prefix" in options else ""
    connection: http.client.HTTPConnection = http.client.HTTPConnection(
        "localhost", int(server.url.rpartition(":")[2] or 0) if "--uds" not in options else None
    )
    if "--uds" in options:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(place)
    body = json.dumps({"runs": ["a"], "set": {"archived": True}})
    headers = {
        "host": "localhost", "authorization": "Bearer secret", "content-type": "application/json",
        "origin": "http://localhost", "sec-fetch-site": "same-origin", TOKEN_HEADER: "guessed",
    }  # fmt: skip
    connection.request("POST", f"{prefix}/data/notes", body, headers)
    response = connection.getresponse()
    assert response.status == (403 if options[-1] == "*" else 200), response.read()
    assert response.status == 403 or json.load(response)["owns"] is False
    connection.close()
    line = [sys.executable, "-m", "tbcore", "notes", "files", str(logdir), "--format=names"]
    listed = subprocess.run(line, env=environment, capture_output=True, check=False)
    assert (listed.returncode, listed.stdout) == (1, b""), listed.stderr


def test_a_server_that_may_be_framed_takes_none(
    start: Callable[..., Served], tmp_path: Path
) -> None:
    """Neither with --embed_in, nor for a notebook, with a secret path or without."""
    secret = str(tmp_path / "secret")
    framed = start("--port", "0", "--embed_in", "https://wiki.example", "--secret_prefix", secret)
    framed.url += Path(secret).read_text().strip()
    assert framed.change({"starred": True}, sec_fetch_site="same-origin") == 403
    framed = start("--port", "0", "--embed_in", "http://localhost:8888", "--secret_prefix", secret)
    framed.url += Path(secret).read_text().strip()
    assert framed.change({"starred": True}, sec_fetch_site="same-origin") == 403
    hidden = start("--port", "0", "--secret_prefix", secret)
    hidden.url += Path(secret).read_text().strip()
    assert hidden.change({"starred": True}, sec_fetch_site="same-origin") == 200
    pytest.importorskip("tbcore_jupyter")
    binary = tmp_path / "tensorboard"
    variables = {"TENSORBOARD_BINARY": str(binary), "TMPDIR": str(tmp_path)}
    server = start("--port", "0", parent="ipykernel", **variables)
    assert "changing notes" not in server.output
    assert server.change({"starred": True}, sec_fetch_site="same-origin") == 403


def test_a_unix_socket_needs_no_token(
    logdir: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """No other user can open it. But who is behind a proxy there is not known."""
    path = tmp_path / "s"
    command = [sys.executable, "-m", "tbcore", str(logdir), "--uds", str(path)]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        until(lambda: "Press CTRL" in (tmp_path / "log").read_text())
        body = b'{"runs":["a"],"set":{"starred":true}}'
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(
                b"POST /data/notes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (len(body), body)
            )
            answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
        assert answer.startswith(b"HTTP/1.1 200")
        assert b'"is_own":false' in answer
    finally:
        server.terminate()
        server.wait(WAIT_SECONDS)


def test_two_browsers_see_a_change_at_once(start: Callable[..., Served]) -> None:
    """One at the same server, and one at another server of the same log directory."""
    servers = [start("--port", "0") for _ in range(2)]
    streams = [Stream(server) for server in servers]
    before = [stream.generation() for stream in streams]
    began_at = time.monotonic()
    header = {TOKEN_HEADER: servers[0].token}
    assert servers[0].change({"note": "new"}, **header) == 200
    for stream, seen in zip(streams, before, strict=True):
        while stream.generation() <= seen:
            pass
        print(f"seen after {time.monotonic() - began_at:.2f} s")
    assert [server.notes()["note"]["value"] for server in servers] == ["new", "new"]
    for stream in streams:
        stream.close()


class Stream:
    """The messages of `data/updates`."""

    def __init__(self, server: Served) -> None:
        self._response = urllib.request.urlopen(f"{server.url}/data/updates", timeout=WAIT_SECONDS)
        self.close = self._response.close

    def generation(self) -> int:
        """That of the notes in the next message."""
        for line in self._response:
            if line.startswith(b"data: "):
                return int(json.loads(line[6:])["notes_generation"])
        raise AssertionError("the stream has ended")


def test_a_query_says_that_notes_are_off(start: Callable[..., Served]) -> None:
    """And not that there are several log directories, or that a package is missing."""
    server = start("--notes", "off")
    for query in ("is:archived", "#x", "note:y"):
        request = urllib.request.Request(
            f"{server.url}/data/run_attributes",
            json.dumps({"query": query}).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as response:
            answer = json.load(response)
        assert answer["query"]["error"].startswith("notes are off on this server (--notes off)")
