"""What a hosted process and its pages may reach: each row fails without its guard."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hosted import INLINE
from running_servers import RunningServer

from tbcore_testing import TbcoreClient, write_run

Hosting = Callable[..., TbcoreClient]
FAKE = "tb-fake/data/plugin/fake"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock is a part of Linux")


def test_a_process_gets_no_secret(hosting: Hosting, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of the environment, nor of a request; its answers set no cookie and no policy."""
    for name in ("AWS_SECRET_ACCESS_KEY", "TBCORE_TOKEN", "WANDB_API_KEY", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "a-secret")
    client = hosting(token="a-secret")
    headers = {"authorization": "Bearer a-secret", "cookie": "b=a-secret", "x-other": "a-secret"}
    response = client.get(f"{FAKE}/raw?q=1", headers=headers)
    received = response.json()
    assert (received["QUERY_STRING"], received["REQUEST_METHOD"]) == ("q=1", "GET")
    assert not [name for name, value in received.items() if "a-secret" in value]
    assert "set-cookie" not in response.headers
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
    environment = client.get(f"{FAKE}/environment", headers=headers).json()
    assert "PATH" in environment
    assert not [name for name, value in environment.items() if "a-secret" in value]
    server = f"/proc/{os.getpid()}"
    assert client.get(
        f"{FAKE}/read", params={"path": f"{server}/environ"}, headers=headers
    ).text == ("PermissionError")


def test_a_process_leaves_no_core_and_is_ended_first_when_memory_runs_out(hosting: Hosting) -> None:
    client = hosting()

    def read(name: str) -> str:
        return str(client.get(f"{FAKE}/read", params={"path": f"/proc/self/{name}"}).json())

    assert read("oom_score_adj") == "1000\n"
    [core] = [line for line in read("limits").splitlines() if line.startswith("Max core file size")]
    assert core.split()[4:6] == ["0", "0"]


def test_the_sockets_are_those_of_the_user_alone(hosting: Hosting) -> None:
    modes = hosting().get(f"{FAKE}/modes").json()
    assert (modes["."], modes["http"]) == ("0o700", "0o600")


@pytest.mark.parametrize("place", ["logs", "temporary", "shared memory"])
def test_nothing_is_written_outside_of_the_folder_of_a_process(
    hosting: Hosting, tbcore_logdir: Path, tmp_path: Path, place: str
) -> None:
    """Also not by programs that it starts; the rights of the files would allow all of it."""
    write_run(tbcore_logdir, "train", scalars={"loss": [0.5]})
    folders = {"logs": tbcore_logdir / "train", "temporary": tmp_path}
    folder = folders.get(place, Path("/dev/shm"))
    name = f"tbcore-reach-{os.getpid()}"
    file = folder / name
    file.write_bytes(b"before")
    client = hosting()
    try:
        for deed in ("write", "remove", "rename", "truncate", "child"):
            path = f"{file}.new" if deed == "write" else str(file)
            answer = client.get(f"{FAKE}/{deed}", params={"path": path})
            assert answer.text in ("PermissionError", "OSError", "NotADirectoryError"), deed
            assert ([*folder.glob(f"{name}*")], file.read_bytes()) == ([file], b"before"), deed
    finally:
        for left in folder.glob(f"{name}*"):
            left.unlink()


def test_only_logs_and_programs_are_read(
    hosting: Hosting, tbcore_logdir: Path, tmp_path: Path
) -> None:
    """Not a file that a log names or links to."""
    write_run(tbcore_logdir, "train", scalars={"loss": [0.5]})
    secret = tmp_path / "secret"
    secret.write_text("a-secret")
    (tbcore_logdir / "train" / "link").symlink_to(secret)
    (tbcore_logdir / "train" / "sprite").write_text("a sprite")
    client = hosting()

    def read(path: Path) -> str:
        return client.get(f"{FAKE}/read", params={"path": str(path)}).text

    assert read(tbcore_logdir / "train" / "sprite") == '"a sprite"'
    assert read(Path(os.__file__)).startswith('"')
    for path in (secret, tbcore_logdir / "train" / "link", Path("/etc/passwd")):
        assert read(path) == "PermissionError", path


def test_a_process_neither_connects_nor_signals(hosting: Hosting) -> None:
    client = hosting()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        answer = client.get(f"{FAKE}/connect", params={"port": port})
    assert (answer.status_code, answer.text) == (500, "PermissionError")
    answer = client.get(f"{FAKE}/kill", params={"pid": os.getpid()})
    assert (answer.status_code, answer.text) == (500, "PermissionError")


@pytest.mark.parametrize("end", ["", "/", "//"])
def test_addresses_that_connect_elsewhere_are_refused(hosting: Hosting, end: str) -> None:
    client = hosting()
    for method in (client.get, client.post):
        assert method(f"{FAKE}/capture_profile{end}").status_code == 403  # type: ignore[operator]
    assert client.get(f"{FAKE}/capture%5Fprofile{end}").status_code == 403


def test_inline_scripts_are_files_of_the_installed_distribution_alone(hosting: Hosting) -> None:
    """By the digest of the page; what a plugin makes of a query or a log has none that runs."""
    client = hosting()
    page = client.get(f"{FAKE}/same.html")
    script = page.text.partition(" src=")[2].partition(">")[0]
    assert page.text == INLINE.replace(
        "<script>document.title = 1</script>", f"<script src={script}></script>"
    )
    assert client.get(f"{FAKE}/{script}").text == "document.title = 1"
    other = client.get(f"{FAKE}/other.html?<script>alert(1)</script>")
    assert other.text == f"{INLINE}!"
    for response in (page, other):
        sources = response.headers["content-security-policy"].partition("script-src ")[2]
        assert "inline" not in sources.partition(";")[0]
        assert "http" not in response.headers["content-security-policy"]


def test_no_note_is_the_users_own_once_a_process_runs(hosting: Hosting) -> None:
    client = hosting()
    assert client.multiplexer.distrusts_pages is False
    client.get("data/plugin/tb-fake/state")
    assert client.multiplexer.distrusts_pages is False
    client.get(f"{FAKE}/pid")
    assert client.multiplexer.distrusts_pages is True


WITHOUT_LANDLOCK = """
import ctypes, runpy, struct, sys
def step(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
# The system calls 444 to 446 respond that they do not exist, as on older kernels.
steps = [step(0x20, 0, 0, 0), step(0x35, 0, 2, 444), step(0x25, 1, 0, 446),
         step(0x06, 0, 0, 0x00050026), step(0x06, 0, 0, 0x7FFF0000)]
content = ctypes.create_string_buffer(b"".join(steps))
header = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(content))
program = ctypes.create_string_buffer(header)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) == 0
runpy.run_module("tbcore", run_name="__main__")
"""
"""A program that is `python -m tbcore` on a system without Landlock."""


@pytest.mark.parametrize("options", [(), ("--set", "tensorboard.unconfined=true")], ids=str)
def test_without_landlock_a_process_needs_a_word_of_the_user(
    installed: object, environment: dict[str, str], tmp_path: Path, options: tuple[str, ...]
) -> None:
    """The card has it; a process that starts nevertheless says what is not limited."""
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "TBCORE_PLUGINS": "tensorboard"}
    arguments = ["serve", "--logdir", str(tmp_path), "--port", "0", *options]
    program = ("-c", WITHOUT_LANDLOCK)
    server = RunningServer(arguments, environment, tmp_path, program).wait_until_started()
    try:
        server.get(f"/{FAKE}/pid", Accept="text/html")  # Its response says that it starts.
        status, _, body = server.get(f"/{FAKE}/pid", Accept="text/html")
        limits = "this system does not limit its files and connections"
        if options:
            assert status == 200
            state: Any = server.json("/data/plugin/tb-fake/state")
            assert state == {"fault": "", "warning": f"fake of fake 1: {limits}"}
            server.line(limits, noise=True)
        else:
            assert status == 503
            assert f"{limits}, so it was not started" in body.decode()
            assert "--set tensorboard.unconfined=true" in body.decode()
            assert "Start again" in body.decode()
    finally:
        server.end(15)
