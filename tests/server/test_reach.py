"""Who reaches a server that was started: tokens, sockets and secret paths."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from common_fixtures import AT_ONCE_SECONDS, WAIT_SECONDS, until
from running_servers import (
    PLUGIN,
    TIME,
    Make,
    raw,
    token_file_of,
)

from tbcore.errors import TbcoreError
from tbcore.server.listen import listen_at
from tbcore.server.login import secret_prefix


def test_off_loopback_a_token_is_required(start: Make, home: Path) -> None:
    """A file has the address with the token; opening this address is a login with a cookie."""
    server = start("--host", "0.0.0.0")
    file = token_file_of(server)
    assert file.parent == home / ".local/state/tbcore"
    assert file.name.startswith(f"{socket.gethostname()}-{server.port}-")
    address, token = file.read_text().removesuffix("\n").split("?token=")
    assert address == f"http://{socket.gethostname()}:{server.port}/"
    assert f"from other machines: {address}" in server.lines
    assert server.url == f"http://localhost:{server.port}/"

    assert len(token) >= 32
    assert "0.0.0.0" not in server.url
    assert server.get("/data/runs")[0] == 401
    status, headers, _ = server.get(f"/?token={token}", Host="any.example")
    assert (status, headers["location"]) == (303, "?_")
    cookie = headers["set-cookie"].partition(";")[0]
    assert token not in headers["set-cookie"]
    assert server.get("/data/runs", Cookie=cookie, Host="any.example")[0] == 200
    assert server.get("/data/runs", Authorization=f"Bearer {token}")[0] == 200
    assert server.get("/data/runs", Authorization="Bearer x")[0] == 401
    _, _, noise = server.end(signal.SIGTERM)
    assert token not in "".join(server.lines) + noise


def test_only_the_user_can_read_the_file_with_the_token(start: Make, home: Path) -> None:
    """It is removed when the server ends. The next server on the same port has another one."""
    old_umask = os.umask(0)
    try:
        first = start("--bind_all")
    finally:
        os.umask(old_umask)
    file = token_file_of(first)
    assert (stat.S_IMODE(file.stat().st_mode), file.stat().st_uid) == (0o600, os.geteuid())
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    first.process.kill()  # leaves the file
    first.process.wait()
    second = start("--bind_all", "--port", str(first.port))
    other = token_file_of(second)
    assert other.read_text() != file.read_text()
    second.end(signal.SIGINT)
    assert list(file.parent.iterdir()) == [file]


def test_the_file_with_the_token_may_be_elsewhere(start: Make, home: Path, tmp_path: Path) -> None:
    """XDG_STATE_HOME is used if it is an absolute path; if it cannot be, temporary files are."""
    (tmp_path / "state").mkdir()
    (tmp_path / "tmp").mkdir()
    state, temporary = str(tmp_path / "state"), str(tmp_path / "tmp")

    assert token_file_of(start("--bind_all", XDG_STATE_HOME=state)).parts[:-1] == (
        *Path(state).parts, "tbcore",
    )  # fmt: skip
    relative = token_file_of(start("--bind_all", XDG_STATE_HOME="state"))
    assert relative.is_relative_to(home)
    elsewhere = token_file_of(start("--bind_all", XDG_STATE_HOME="/dev/null/x", TMPDIR=temporary))
    assert elsewhere.is_relative_to(temporary)
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("temporary", "places"),
    [
        ("tempfile.tempdir = '/dev/null/x'", "/dev/null/x/tbcore or /dev/null/x"),
        # As in a container whose root is read-only.
        ("tempfile.gettempdir = lambda: open('')", "/dev/null/x/tbcore"),
    ],
)
def test_without_a_place_for_the_token_the_server_does_not_start(
    tmp_path: Path, environment: dict[str, str], temporary: str, places: str
) -> None:
    """The error is one line. With a given token it starts, since it writes none."""
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        f"import os, sys, tempfile; os.rmdir(os.getcwd()); {temporary};"
        "from tbcore.cli import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), "--bind_all", "--port", "0"],
        env={**environment, "XDG_STATE_HOME": "/dev/null/x"}, cwd=gone,
        capture_output=True, text=True, timeout=WAIT_SECONDS, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line == (
        f"tbcore: cannot write the token to a file in {places}; "
        "set TBCORE_TOKEN to a token of your own, or XDG_STATE_HOME to a directory"
    )


def test_a_terminal_gets_the_token(environment: dict[str, str], home: Path, tmp_path: Path) -> None:
    """On a terminal the printed addresses have the token, and no file is written."""
    terminal, end = os.openpty()
    server = subprocess.Popen(
        [sys.executable, "-m", "tbcore", str(tmp_path), "--bind_all", "--port", "0"],
        env=environment, stdout=end, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(end)
    try:
        text = b""
        while b"quit)\r\n" not in text:
            text += os.read(terminal, 1 << 16)
        address = rb"http://%s:\d+/\?token=\S{32,}"
        assert re.search(
            rb"^from other machines: %s\r\ntbcore \S+ at %s \(Press CTRL\+C to quit\)\r\n"
            % (address % socket.gethostname().encode(), address % b"localhost"),
            text, re.MULTILINE,
        )  # fmt: skip
        assert list(home.iterdir()) == []
    finally:
        server.kill()
        server.wait()
        os.close(terminal)


def test_a_file_gets_no_token_even_if_the_other_stream_is_a_terminal(
    environment: dict[str, str], home: Path, tmp_path: Path
) -> None:
    """Under the name `tensorboard` the addresses go to stderr, so only that stream counts."""
    program, log = tmp_path / "tensorboard", tmp_path / "log"
    program.write_text("import sys; from tbcore.cli import main; sys.exit(main())")
    terminal, end = os.openpty()
    with log.open("w") as stderr:
        server = subprocess.Popen(
            [sys.executable, str(program), str(tmp_path), "--bind_all", "--port", "0"],
            env=environment, stdout=end, stderr=stderr,
        )  # fmt: skip
    os.close(end)
    try:
        until(lambda: "to quit)" in log.read_text())
        assert "token=" not in log.read_text()
        assert any("?token=" in p.read_text() for p in home.rglob("*") if p.is_file())
    finally:
        server.kill()
        server.wait()
        os.close(terminal)


def test_without_a_token_off_loopback_names_are_checked(start: Make) -> None:
    """With --no_token, requests with foreign host names are refused, and a warning is logged."""
    server = start("--bind_all", "--no_token")

    server.line(
        rf"^{TIME} tbcore: warning: anyone who can reach this machine can read these logs",
        noise=True,
    )
    assert "token" not in server.url
    assert server.get("/data/runs")[0] == 200
    assert server.get("/data/runs", Host="evil.example")[0] == 403
    assert server.get("/data/runs", Host="localhost")[0] == 200


def test_a_closed_terminal_ends_a_server_as_a_signal_does(
    start: Make, tmp_path: Path, home: Path
) -> None:
    """It removes the file with its token, too."""
    server = start("--bind_all")
    assert [path for path in home.rglob("*") if path.is_file()]
    status, _, noise = server.end(signal.SIGHUP)
    assert (status, noise) == (129, "")
    assert not [path for path in home.rglob("*") if path.is_file()]


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_socket_and_no_secret_stays_if_the_start_is_interrupted(
    start: Make, tmp_path: Path, sig: int
) -> None:
    """While a plugin is imported, which may take long and may catch everything."""
    (tmp_path / "plugins").mkdir()
    slow = "import os, time\nopen('importing', 'x').close()\nwhile True:\n    time.sleep(1)\n"
    (tmp_path / "plugins" / "slow.py").write_text(slow)
    for option in ("--bind_all", f"--uds={tmp_path / 'socket'}"):
        server = start(option, "--plugins_dir", "plugins", waits=False, HOME=str(tmp_path / "home"))
        until((tmp_path / "importing").exists)
        if option != "--bind_all":
            assert (tmp_path / "socket").exists()
        else:
            assert [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
        status, _, noise = server.end(sig)
        assert (status, noise) == (128 + sig, "")
        (tmp_path / "importing").unlink()
        assert not (tmp_path / "socket").exists()
        assert not [path for path in (tmp_path / "home").rglob("*") if path.is_file()]


def test_a_second_interrupt_leaves_no_socket_and_no_secret(start: Make, tmp_path: Path) -> None:
    """It ends the process at once, while a connection that is not answered delays the end."""
    (tmp_path / "plugins").mkdir()
    closes = "\n\n@hookimpl\ndef close():\n    open('closing', 'x').close()\n    time.sleep(60)\n"
    (tmp_path / "plugins" / "mine.py").write_text(PLUGIN + closes)
    server = start("--bind_all", "--plugins_dir", "plugins", HOME=str(tmp_path / "home"))
    server.process.send_signal(signal.SIGINT)
    until((tmp_path / "closing").exists)
    status, seconds, _ = server.end(signal.SIGINT)
    assert status == 130
    assert seconds < AT_ONCE_SECONDS
    assert not [path for path in (tmp_path / "home").rglob("*") if path.is_file()]


def test_a_unix_socket_of_another_server_stays(start: Make, tmp_path: Path) -> None:
    """One that has taken the path of a server whose socket was removed; and requests are quiet."""
    path = tmp_path / "socket"
    first = start(f"--uds={path}", waits=False)
    first.line(r"^tbcore \S+ at unix:")
    path.unlink()
    second = start(f"--uds={path}", waits=False)
    second.line(r"^tbcore \S+ at unix:")
    assert first.end(signal.SIGTERM)[2] == ""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200")
    assert second.end(signal.SIGTERM)[2] == ""
    assert not path.exists()


def test_servers_that_start_at_once_share_a_secret_path(start: Make, tmp_path: Path) -> None:
    servers = [start("--secret_prefix", "secret", waits=False) for _ in range(4)]
    for server in servers:
        server.line(r"^tbcore \S+ at ")
    secret = (tmp_path / "secret").read_text().strip()
    assert len(secret) > 32
    for server in servers:
        assert server.end(signal.SIGTERM)[2] == ""


def test_a_misspelt_variable_is_a_warning(start: Make) -> None:
    """Not those of other purposes, such as Kubernetes' for a service with the name of tbcore."""
    others = ("TBCORE_SERVICE_HOST", "TBCORE_PORT_6006_TCP", "TBCORE_CHROMIUM", "TBCORE_SET_A_B")
    server = start(TBCORE_RELOAD="3", TBCORE_NO_TOKN="1", **dict.fromkeys(others, "x"))
    noise = server.end(signal.SIGTERM)[2]
    lines = [line for line in noise.splitlines() if "no such variable" in line]
    assert lines == [
        "tbcore: warning: no such variable TBCORE_NO_TOKN; did you mean TBCORE_NO_TOKEN?",
        "tbcore: warning: no such variable TBCORE_RELOAD; did you mean TBCORE_RELOAD_INTERVAL?",
    ]


def test_a_given_token_is_used(start: Make) -> None:
    """The token of --token, or else of TBCORE_TOKEN, is required on loopback, too.

    It is not printed. On the command line others can see it, which a warning says.
    """
    server = start("--token", "abc", TBCORE_TOKEN="other")
    assert server.get("/data/runs")[0] == 401
    assert server.get("/data/runs", Authorization="Bearer abc")[0] == 200
    assert server.end(signal.SIGTERM)[2] == (
        "tbcore: warning: other users can see --token in the list of processes; "
        "set TBCORE_TOKEN instead\n"
    )
    for option in ("--port=0", "--bind_all"):
        quiet = start(option, TBCORE_TOKEN="a+b/c==", TBCORE_READ_TOKEN="r+s")
        assert quiet.url.endswith(f":{quiet.port}/")
        assert quiet.lines[:2] == [
            "requests need the given token",
            "the read token shows everything, and changes no notes",
        ]
        assert quiet.get("/?token=a%2Bb%2Fc%3D%3D")[0] == 303
        assert quiet.end(signal.SIGTERM)[2] == ""
        assert not [token for token in ("a+b", "r+s") if token in "".join(quiet.lines)]


@pytest.mark.parametrize("variables", [{}, {"TBCORE_TOKEN": "a+b"}])
@pytest.mark.usefixtures("home")
def test_the_browser_opens_the_address_with_the_token(
    start: Make, tmp_path: Path, variables: dict[str, str]
) -> None:
    """--open needs the token, wherever the token is from."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    server = start("--bind_all", "--open", BROWSER=str(browser), **variables)

    until(lambda: opened.exists() and opened.read_text().endswith("\n"))
    file = Path(opened.read_text().strip().removeprefix("file://"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    [address] = re.findall(r'content="0; url=(.*?)"', file.read_text())
    assert address.startswith(f"{server.url}?token=")
    assert server.get(address.partition(f":{server.port}")[2])[0] == 303


def test_a_secret_path_is_in_a_file_only(start: Make, tmp_path: Path) -> None:
    """The server makes the file, and reads it at the next start. No output has the path."""
    file = tmp_path / "secret"
    first = start("--bind_all", "--secret_prefix", str(file))
    secret = file.read_text().strip()
    assert re.fullmatch(r"/[A-Za-z0-9_-]{32}", secret)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert first.get(f"{secret}/data/runs")[0] == 200
    assert first.get("/")[0] == first.get("/data/runs")[0] == 404
    _, _, noise = first.end(signal.SIGTERM)
    assert secret not in "".join(first.lines) + noise
    assert str(file) in first.lines[0]

    second = start("--secret_prefix", str(file))
    assert second.get(f"{secret}/readyz")[0] in (200, 503)


def test_a_secret_path_that_others_can_read_is_refused(tmp_path: Path, home: Path) -> None:
    del home
    file = tmp_path / "secret"
    for text, mode, part in (
        (f"/{'x' * 32}", 0o644, "can be read by others"),
        ("/short", 0o600, "contains no"),
    ):
        file.write_text(text)
        file.chmod(mode)
        with pytest.raises(TbcoreError, match=part):
            secret_prefix(str(file))
    with pytest.raises(TbcoreError, match="No such file"):
        secret_prefix(str(tmp_path / "none" / "secret"))


def test_a_unix_socket_is_for_this_user(tmp_path: Path) -> None:
    """It has mode 0600, and is removed at the end. One that a killed server left is replaced."""
    path = tmp_path / "socket"
    with pytest.raises(TbcoreError, match=r"--uds .*: "):
        listen_at(str(tmp_path / "none" / "socket"))
    listening = listen_at(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(TbcoreError, match="in use by another program"):
        listen_at(str(path))
    listening.sockets[0].close()  # as if the server was killed
    again = listen_at(str(path))
    assert again.url("/") == f"unix:{path}"
    again.close()
    assert not path.exists()


def test_wrong_tokens_are_logged(start: Make) -> None:
    """One line has the address, as fail2ban expects it; the other guesses wait for the next line.

    Requests without a token, and with the cookie of another server, are no guesses.
    """
    server = start("--bind_all", TBCORE_TOKEN="secret")

    assert server.get("/data/runs")[0] == 401
    assert server.get("/data/runs", Cookie="tbcore_01234567=1.2")[0] == 401
    assert server.get("/data/runs", Authorization="Bearer secret")[0] == 200
    for number in range(20):
        assert server.get(f"/data/runs?token=guess{number}")[0] == 401
        assert server.get("/data/runs", Authorization=f"Bearer guess{number}")[0] == 401

    server.line("wrong token", noise=True)
    _, _, noise = server.end(signal.SIGTERM)
    first, *others = noise.splitlines()
    assert first.partition(" ")[2] == "tbcore: warning: wrong token from 127.0.0.1: 1 request"
    assert len(others) <= (time.monotonic() - server.started) // 60


def test_a_cookie_is_valid_after_a_restart(start: Make) -> None:
    """The server stores no cookies: with the same token it accepts those that it made before."""
    first = start(TBCORE_TOKEN="secret")
    made = first.get("/?token=secret")[1]["set-cookie"].partition(";")[0]
    first.end(signal.SIGTERM)
    second, other = start(TBCORE_TOKEN="secret"), start(TBCORE_TOKEN="secret2")

    assert second.get("/data/runs", Cookie=made)[0] == 200
    assert other.get("/data/runs", Cookie=made)[0] == 401
    renamed = other.get("/?token=secret2")[1]["set-cookie"].partition("=")[0]
    assert other.get("/data/runs", Cookie=f"{renamed}={made.partition('=')[2]}")[0] == 401


def test_ipv6_addresses_are_in_brackets(start: Make) -> None:
    """IPv6 addresses are in brackets, in the printed address and in Host headers."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 on this machine: {error}")
    server = start("--host", "::1")

    assert re.fullmatch(r"http://\[::1\]:\d+/", server.url)
    request = b"GET /data/runs HTTP/1.1\r\nHost: [::1]:%d\r\nConnection: close\r\n\r\n"
    assert raw(server.port, request % server.port, "::1").startswith(b"HTTP/1.1 200 OK\r\n")
