"""Storages for tests, all of them real: S3 by moto's server, and directories by sshd and nginx."""

from __future__ import annotations

import getpass
import os
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from common_fixtures import WAIT_SECONDS, until

from tbcore.errors import NotFoundError
from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import EventFileWriter

BUCKET = "bucket"
URI = f"s3://{BUCKET}/runs"
FILE = "events.out.tfevents.1"
SSH = tuple[str, Callable[[], object]]
"""The URI of a machine, and a function that starts its sshd again."""
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_MAX_ATTEMPTS": "2",
}


class Request(NamedTuple):
    """A request that reached the server."""

    method: str
    path: str
    """The path of the address with the query, as it was sent."""
    range: str
    """The Range header; empty if there was none."""
    authorization: str = ""
    """The Authorization header, which names the key of the client."""

    @property
    def is_listing(self) -> bool:
        return self.method == "GET" and "list-type" in self.path


class S3Server:
    """moto's server in threads of this process, which records the requests."""

    def __init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import WSGIRequestHandler, make_server

        self.requests: list[Request] = []
        self.answer: Callable[[Request], tuple[str, bytes] | None] = lambda request: None
        """Answers a request in place of the storage, with a status line and a body, unless it
        returns None. Called before the request reaches the storage."""
        self.num_cut_bytes = 0
        """Number of bytes of each body of `answer` that are announced, but never sent."""
        self.app = DomainDispatcherApplication(create_backend_app)
        quiet = type("Quiet", (WSGIRequestHandler,), {"log_request": lambda *_: None})
        self.server = make_server("127.0.0.1", 0, self.handle, threaded=True, request_handler=quiet)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        self.environment = {**CREDENTIALS, "FSSPEC_S3_ENDPOINT_URL": self.endpoint}
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.client.create_bucket(Bucket=BUCKET)

    @cached_property
    def client(self) -> Any:
        """boto3's client of this server: another program than the one that reads."""
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def put(self, key: str, data: bytes) -> None:
        """Writes an object, whole, as object stores do."""
        self.client.put_object(Bucket=BUCKET, Key=key, Body=data)

    def upload(self, folder: Path, prefix: str) -> str:
        """Uploads the files of a folder; returns the URI of the prefix."""
        client = self.client
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                key = f"{prefix}/{path.relative_to(folder).as_posix()}"
                client.put_object(Bucket=BUCKET, Key=key, Body=path.read_bytes())
        return f"s3://{BUCKET}/{prefix}"

    def reads(self) -> list[Request]:
        """The requests for ranges and listings since the last call of this method."""
        found, self.requests = self.requests, []
        return [request for request in found if request.method in ("GET", "HEAD")]

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def handle(self, environ: dict[str, Any], start_response: Any) -> Any:
        path = environ.get("RAW_URI") or environ["PATH_INFO"]
        headers = environ.get("HTTP_RANGE", ""), environ.get("HTTP_AUTHORIZATION", "")
        request = Request(environ["REQUEST_METHOD"], path, *headers)
        self.requests.append(request)
        if (answer := self.answer(request)) is not None:
            status, body = answer
            length = len(body) + self.num_cut_bytes
            headers = [("content-length", str(length)), ("content-type", "application/xml")]
            start_response(status, headers)
            return [body]
        return self.app(environ, start_response)


class Home:
    """A home directory with a profile of AWS, and nothing about AWS in the environment."""

    def __init__(self, path: Path, s3: S3Server, monkeypatch: Any) -> None:
        self.folder = path / ".aws"
        self.folder.mkdir()
        for name in s3.environment:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(path))
        monkeypatch.setenv("AWS_PROFILE", "team")
        # Should anything look for the credentials of a machine in the cloud, it must not find any.
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        self.write_key("first")
        self.write_config(f"endpoint_url = {s3.endpoint}")

    def write_key(self, key: str) -> None:
        lines = f"aws_access_key_id = {key}\naws_secret_access_key = x\naws_session_token = y\n"
        (self.folder / "credentials").write_text(f"[team]\n{lines}")

    def write_config(self, lines: str) -> None:
        (self.folder / "config").write_text(f"[profile team]\nregion = eu-west-1\n{lines}\n")


def s3_error(status: str, code: str) -> tuple[str, bytes]:
    """An answer of S3 with an error."""
    return status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode()


SSHD_CONFIG = """
Port {port}
ListenAddress 127.0.0.1
{host_keys}
AuthorizedKeysFile {folder}/user_key.pub
PidFile none
StrictModes no
UsePAM no
LogLevel DEBUG
Subsystem sftp internal-sftp
"""

NGINX_CONFIG = """
daemon off; pid {folder}/pid; error_log stderr; {user}
events {{ }}
http {{ access_log off; {temporary}
{servers}
}}
"""


def free_port() -> int:
    """A port on which nothing listens at this moment; another program may take it later."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def wait_for_port(process: subprocess.Popen[bytes], port: int) -> None:
    """Returns when the process accepts connections at the port."""

    def accepts() -> bool:
        assert process.poll() is None, f"{process.args} ended with status {process.returncode}"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS).close()
        except OSError:
            return False
        return True

    until(accepts)


def make_key(path: Path, key_type: str = "ed25519", passphrase: str = "") -> str:
    """Makes a pair of keys unless there is one. The public key, as known_hosts files have it."""
    if not path.exists():
        command = ["ssh-keygen", "-q", "-t", key_type, "-N", passphrase, "-f", str(path)]
        subprocess.run(command, check=True)
    return " ".join(path.with_name(f"{path.name}.pub").read_text().split()[:2])


def sshd(
    program: str, folder: Path, port: int, host_keys: Iterable[str] = ("host_key",)
) -> subprocess.Popen[bytes]:
    """Starts an sshd with keys in the folder, of which `user_key` may log in.

    The folder `home` there has a known_hosts file with the keys of the host, and `sshd.log` is
    what sshd logs.
    """
    make_key(folder / "user_key")
    known = [f"127.0.0.1 {make_key(folder / name)}\n" for name in host_keys]
    (folder / "home" / ".ssh").mkdir(parents=True, exist_ok=True)
    (folder / "home" / ".ssh" / "known_hosts").write_text("".join(known))
    lines = "\n".join(f"HostKey {folder}/{name}" for name in host_keys)
    config = SSHD_CONFIG.format(folder=folder, port=port, host_keys=lines)
    (folder / "sshd_config").write_text(config)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd of root requires it
    return subprocess.Popen(
        [program, "-D", "-E", str(folder / "sshd.log"), "-f", str(folder / "sshd_config")]
    )


def sftp_environment(folder: Path) -> dict[str, str]:
    """The variables by which tbcore finds the keys of `sshd`, and fsspec that of the user."""
    return {
        "HOME": str(folder / "home"),
        "FSSPEC_SFTP_KEY_FILENAME": str(folder / "user_key"),
        "FSSPEC_SFTP_USERNAME": getpass.getuser(),
        "FSSPEC_SFTP_LOOK_FOR_KEYS": "",
        "FSSPEC_SFTP_ALLOW_AGENT": "",
    }


def nginx(
    program: str, folder: Path, servers: Callable[..., str], num_ports: int = 1
) -> tuple[subprocess.Popen[bytes], Sequence[int]]:
    """An nginx with the `server` blocks that `servers(port, ...)` returns, and these ports.

    It accepts connections. Its own files are in the folder. If another program takes a port before
    nginx does, it is started again with other ones.
    """
    for _ in range(5):
        probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(num_ports)]
        ports = [int(probe.getsockname()[1]) for probe in probes]
        for probe in probes:
            probe.close()
        process = _start_nginx(program, folder, servers(*ports))
        # nginx writes this file when it listens.
        until(lambda p=process: (folder / "pid").exists() or p.poll() is not None)
        if process.poll() is None:
            return process, ports
    raise AssertionError(f"nginx ended with status {process.returncode}")


def _start_nginx(program: str, folder: Path, servers: str) -> subprocess.Popen[bytes]:
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {folder}/{name}; " for name in names)
    user = "user root;" if os.geteuid() == 0 else ""  # who may read the files of the test
    config = NGINX_CONFIG.format(folder=folder, servers=servers, temporary=temporary, user=user)
    (folder / "nginx.conf").write_text(config)
    return subprocess.Popen([program, "-p", str(folder), "-c", "nginx.conf", "-e", "stderr"])


def forget_storages() -> Iterator[None]:
    """A test begins and ends without connections, configuration and bytes fetched ahead."""
    import fsspec.config

    from tbcore_remote import connection

    before = dict(fsspec.config.conf)
    connection._connections.clear()
    fsspec.config.conf.clear()
    fsspec.config.set_conf_env(fsspec.config.conf)
    yield
    connection._connections.clear()
    fsspec.config.conf.clear()
    fsspec.config.conf.update(before)


def forget_connections() -> Iterator[None]:
    """A test finds credentials and endpoints by itself, as another process does."""
    from s3fs import S3FileSystem

    S3FileSystem.clear_instance_cache()
    yield from forget_storages()
    S3FileSystem.clear_instance_cache()


def range_size(request: Request) -> int:
    """Number of bytes that a request asks for."""
    begin, end = re.fullmatch(r"bytes=(\d+)-(\d+)", request.range).groups()  # type: ignore[union-attr]
    return int(end) - int(begin) + 1


class Watched:
    """A loader of the bucket, which loads when a test says so."""

    def __init__(self, *uris: str, reload_interval: float | None = 0) -> None:
        self.board = Board()
        self.multiplexer = Multiplexer(board=self.board)
        specs = [LogdirSpec(None, uri) for uri in uris or (URI,)]
        self.loader = Loader(self.board, specs, reload_interval=reload_interval)
        self.wake = self.loader.pauses.wake
        """Set when the loader's pause would end."""

    def steps(self, run: str, tag: str = "loss") -> list[int]:
        """Loads once; the steps of a tag, or none if there is no such run."""
        self.loader.load_once()
        try:
            return self.multiplexer.scalars(run, tag).step.tolist()
        except NotFoundError:
            return []

    @property
    def problems(self) -> tuple[str, ...]:
        return self.board.status.problems


def events(path: Path, *steps: int, start: float = 1.7e9, tag: str = "loss") -> bytes:
    """The bytes of an event file with a number for each step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with EventFileWriter(path, wall_time=start) as writer:
        for step in steps:
            writer.add_scalar(tag, float(step), step)
    return path.read_bytes()
