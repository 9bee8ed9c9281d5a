"""Fixtures for logs that are not on a disk of this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from common_fixtures import *  # noqa: F403
from server_fixtures import *  # noqa: F403

pytest.importorskip("tbcore_remote")
pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

import storages
from storages import SSH

from tbcore_testing import write_run


@pytest.fixture(scope="session")
def s3_server() -> Iterator[storages.S3Server]:
    server = storages.S3Server()
    yield server
    server.close()


@pytest.fixture
def s3(
    s3_server: storages.S3Server, monkeypatch: pytest.MonkeyPatch
) -> Iterator[storages.S3Server]:
    """A server with an empty bucket."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    client = s3_server.client
    while found := client.list_objects_v2(Bucket=storages.BUCKET).get("Contents"):
        keys = [{"Key": each["Key"]} for each in found]
        client.delete_objects(Bucket=storages.BUCKET, Delete={"Objects": keys})
    yield from _recorded(s3_server)


def _recorded(server: storages.S3Server) -> Iterator[storages.S3Server]:
    for _ in storages.forget_storages():
        server.requests.clear()
        yield server
        server.answer = lambda request: None
        server.num_cut_bytes = 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose files a test uploads."""
    path = tmp_path / "logs"
    path.mkdir()
    return path


@pytest.fixture
def home(
    s3: storages.S3Server, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[storages.Home]:
    """A profile that reaches the bucket, in which are logs of one run."""
    write_run(folder, "a", scalars={"loss": [3.0, 2.0]})
    s3.upload(folder, "logs")
    found = storages.Home(tmp_path, s3, monkeypatch)
    for _ in storages.forget_connections():
        yield found


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that are stopped after the test."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.terminate()
        process.wait(10)


@pytest.fixture
def ssh(
    service: Callable[[str], str],
    tmp_path: Path,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> SSH:
    """The URI of this machine, and a function that starts its sshd, which runs already."""
    program, port = service("sshd"), storages.free_port()

    def start() -> subprocess.Popen[bytes]:
        process = storages.sshd(program, tmp_path, port)
        started.append(process)
        storages.wait_for_port(process, port)
        return process

    start()
    for name, value in storages.sftp_environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    for _ in storages.forget_storages():
        pass
    import fsspec.config

    fsspec.config.set_conf_env(fsspec.config.conf)
    return f"sftp://127.0.0.1:{port}", start
