"""P23: a host over SSH that has the name of another one gets no login, and shows no logs."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import storages

from tbcore_testing import write_run

pytest.importorskip("fsspec")
pytest.importorskip("paramiko")

pytestmark = pytest.mark.services


@pytest.fixture
def start_sshd(
    service: Callable[[str], str],
) -> Iterator[Callable[[Path, int], Callable[[], None]]]:
    """A function that starts an sshd in a folder, and returns one that stops it."""
    program = service("sshd")
    processes: list[subprocess.Popen[bytes]] = []

    def start(folder: Path, port: int) -> Callable[[], None]:
        process = storages.sshd(program, folder, port)
        processes.append(process)
        storages.wait_for_port(process, port)
        return lambda: stop(process)

    def stop(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is not None:
            return
        # Stopped first, so that no new connection outlives the others.
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        subprocess.run(["pkill", "-P", str(process.pid)], check=False)  # its connections
        process.kill()
        process.wait(10)

    yield start
    for process in processes:
        stop(process)


def test_p23_impostors_get_no_login(
    start_sshd: Callable[[Path, int], Callable[[], None]],
    start: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """While another host answers in place of the known one, what was read before stays shown.

    Neither the user's name nor their key or the password in the address is sent to it.
    """
    folders = [tmp_path / name for name in ("host", "impostor")]
    for folder, run in zip(folders, ("real", "forged"), strict=True):
        (folder / "logs").mkdir(parents=True)
        write_run(folder / "logs", run, scalars={"loss": [1.0]})
    host, impostor = folders
    port = storages.free_port()
    stop = start_sshd(host, port)
    environment = storages.sftp_environment(host)
    logs = tmp_path / "logs"
    logs.symlink_to(host / "logs")
    uri = f"sftp://{getpass.getuser()}:secret@127.0.0.1:{port}{logs}"
    server = start(uri, **environment)
    server.wait(lambda: server.request("/data/runs").json() == ["real"])

    stop()
    logs.unlink()
    logs.symlink_to(impostor / "logs")
    for name in ("user_key", "user_key.pub"):  # The impostor would let the user in.
        shutil.copy(host / name, impostor)
    start_sshd(impostor, port)
    known_hosts = host / "home" / ".ssh" / "known_hosts"
    line = f"differs from line 1 of {known_hosts}: this may be an impostor; "
    server.wait(lambda: line in server.log.read_text())
    known_hosts.write_text("")
    server.wait(lambda: "is not known: connect once with" in server.log.read_text())
    key = storages.make_key(impostor / "host_key")
    known_hosts.write_text(f"* {key}\n@revoked * {key}\n")
    server.wait(lambda: "is revoked (line 2 of" in server.log.read_text())
    assert server.request("/data/runs").json() == ["real"]
    seen = (impostor / "sshd.log").read_text()
    assert "remote software version paramiko" in seen
    assert "userauth" not in seen
    assert "secret" not in server.log.read_text()

    known_hosts.write_text(f"* {key}\n")
    server.wait(lambda: server.request("/data/runs").json() == ["forged"])
    assert "userauth" in (impostor / "sshd.log").read_text()
