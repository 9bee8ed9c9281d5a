"""P18: the server only reads, only in the log directory, and only this machine can connect.

Notes on runs are the exception: they change by HTTP, with a token, and lie elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hosted import write_trace

SECRET = b"what no response has"

ROOTS = [
    "", "/static/tbcore", "/static/tbcore/lib", "/static/plugins/scalars", "/static/plugins",
    "/static/plugins/..", "/static", "/data", "/data/plugin/scalars", "/data/plugin", "/legacy",
    "/legacy/data", "/data/plugin/images/individualImage", "/audio", "/nothing",
]  # fmt: skip
"""Starts of paths, each served by another part of the server."""

UPWARDS = [
    "..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "..%00", "..;", "....", "..%5c..", "\\..",
    "%c0%ae%c0%ae", "%uff0e%uff0e", "..%2f..", "..%252f..",
]  # fmt: skip
"""Spellings of a step to the parent directory that servers were vulnerable to."""

TARGETS = [
    "etc/passwd", "secret.txt", "logs/secret.txt", "tbcore/cli/serve.py", "__init__.py", "%2fetc",
    "train/link/secret.txt", "proc/self/environ",
]  # fmt: skip

HOSTED = {
    "tensorboard": "scalars/tags",
    "tb-projector": "projector/runs",
    "tb-profile": "profile/data?run=exp/2026_01_01&tag=overview_page&host=machine",
}
"""Addresses of code of TensorBoard, if that is installed."""

CONTENT = [SECRET, b"root:x:0", b"import annotations", b"PYTHONPATH="]
"""Parts of the content of the targets."""


def traversals(logdir: Path) -> list[str]:
    paths = [
        f"{root}/{'/'.join([step] * depth)}/{target}"
        for root, step, target in itertools.product(ROOTS, UPWARDS, TARGETS)
        for depth in (1, 7)
    ]
    paths += [
        f"{root}{separator}{target}"
        for root in ROOTS
        for separator in ("//", "/%2f", "/%5c", "/./", "/C:/", "/file:///")
        for target in ("etc/passwd", str(logdir / "secret.txt"), "secret.txt")
    ]
    queries = ["run", "tag", "tagname", "index", "path", "file", "name"]
    paths += [
        f"/data/plugin/{route}?run={value}&tag={value}&{name}={value}"
        for route in ("images/individualImage", "graphs/graph", "scalars/scalars")
        for name in queries
        for value in ("../secret.txt", "/etc/passwd", "..%2f..%2fetc%2fpasswd", "%00")
    ]
    return paths


def state(folder: Path) -> dict[str, tuple[object, ...]]:
    """All attributes and contents of the files in a folder, except for access times."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        stat = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = (content, stat.st_mode, stat.st_size, stat.st_ino, stat.st_mtime_ns,
                            stat.st_ctime_ns, stat.st_nlink)  # fmt: skip
    return found


@pytest.fixture(scope="module")
def confined(
    start_server: Callable[..., Any], logdir: Path, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """A server whose log directory has a file that is not a log, and a link to a file outside."""
    folder = tmp_path_factory.mktemp("confined")
    shutil.copytree(logdir, folder / "logs")
    (folder / "outside").mkdir()
    for place in (folder, folder / "logs", folder / "outside"):
        (place / "secret.txt").write_bytes(SECRET)
    (folder / "logs" / "train" / "link").symlink_to(folder / "outside")
    server = start_server(folder / "logs")
    server.logdir = folder / "logs"
    server.wait_until_loaded()
    return server


def test_p18_no_path_leads_outside(confined: Any) -> None:
    """More than 1,525 paths, sent byte by byte, which a browser would normalize."""
    paths = traversals(confined.logdir)
    assert len(paths) >= 1525
    print(f"{len(paths)} paths")
    connection = confined.connect()
    for path in paths:
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1")
        response = connection.send(request)
        assert response.status in (200, 302, 400, 404), path
        assert not [text for text in CONTENT if text in response.body], path
        if response.status != 200:
            assert response.headers["content-type"].startswith("text/plain") or not response.body
    connection.close()
    assert confined.stderr == ""


def test_p18_the_log_directory_is_not_changed(
    start_server: Callable[..., Any],
    logdir: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A start, requests to every route and an end change no byte, and write no other files.

    Neither does code of TensorBoard, such as xprof, which keeps caches beside traces. Of notes,
    only those who have the server's token write any, into the user's data directory.
    """
    logdir = shutil.copytree(logdir, tmp_path_factory.mktemp("copied") / "logs")
    write_trace(logdir)
    before = state(logdir)
    data = tmp_path / "data"
    variables = {"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "XDG_DATA_HOME": str(data)}
    server = start_server(logdir, **variables)
    folder = Path(os.readlink(f"/proc/{server.process.pid}/cwd"))
    server.wait_until_loaded()
    for plugin, routes in {
        "scalars": ["tags", "scalars?run=train&tag=loss", "scalars?run=train&tag=loss&format=csv"],
        "images": ["images?run=media&tag=i", "individualImage?run=media&tag=i&index=0"],
        "audio": ["audio?run=media&tag=a", "individualAudio?run=media&tag=a&index=0"],
        "histograms": ["histograms?run=media&tag=h"],
        "distributions": ["distributions?run=media&tag=h"],
        "graphs": ["graph?run=media", "run_metadata?run=media&tag=r"],
        "hparams": ["table"],
        "text": ["tags", "text?run=media&tag=t", "step?run=media&tag=t"],
        "pr_curves": ["tags", "pr_curves?run=media&tag=p"],
        "custom_scalars": ["layout"],
    }.items():
        for route in routes:
            assert server.request(f"/data/plugin/{plugin}/{route}").status == 200, route
    listed = server.request("/data/plugins").json()["plugins"]
    for plugin in {each["name"] for each in listed} & {*HOSTED}:
        assert server.request(f"/{plugin}/data/plugin/{HOSTED[plugin]}").status == 200, plugin
    for method in ("PUT", "DELETE", "PATCH", "POST", "MKCOL", "MOVE"):
        for path in ("/data/runs", "/train/events", "/static/tbcore/index.html"):
            assert server.request(path, method=method, body=b"x").status in (404, 405)
    note = b'{"runs": ["train"], "set": {"starred": true}}'
    headers = ["Content-Type: application/json", "Sec-Fetch-Site: same-origin"]
    installed = bool(entry_points(group="tbcore.notes"))
    response = server.request("/data/notes", *headers, method="POST", body=note)
    assert response.status == (403 if installed else 404)
    assert not data.exists()
    if installed:
        [place] = re.findall("for changing notes is in (.*)", (folder / "stdout.txt").read_text())
        token = Path(place).read_text().partition("#write=")[2].strip()
        headers.append(f"X-Tbcore-Write-Token: {token}")
        response = server.request("/data/notes", *headers, method="POST", body=note)
        assert response.status == 200
    server.end()
    assert state(logdir) == before
    written = [path for path in tmp_path.rglob("*") if not path.is_dir()]
    assert [path.is_relative_to(data / "tbcore" / "notes") for path in written] == [
        True
    ] * installed
    assert sorted(path.name for path in folder.iterdir()) == ["stderr.txt", "stdout.txt"]


def test_p18_only_this_machine_can_connect(server: Any) -> None:
    """The server listens on loopback, and on no other address of the machine."""
    hexadecimal = f":{server.port:04X}"
    listening = [
        line.split()[1]
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for line in Path(table).read_text().splitlines()[1:]
        if line.split()[1].endswith(hexadecimal) and line.split()[3] == "0A"
    ]
    assert listening
    loopback = {"0100007F", "00000000000000000000000001000000"}
    assert {address.partition(":")[0] for address in listening} <= loopback
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError as error:
            pytest.skip(f"this machine has no other address: {error}")
        own_address = probe.getsockname()[0]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((own_address, server.port), timeout=5)


OTHER_USER = 65534


def connects_as_another_user(path: Path) -> bool:
    """Whether another user of the machine can connect to a unix socket."""
    child = os.fork()
    if not child:
        status = 2
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setgid(OTHER_USER)
            os.setuid(OTHER_USER)
            try:
                socket.socket(socket.AF_UNIX).connect(str(path))
                status = 0
            except PermissionError:
                status = 1
        os._exit(status)
    return {0: True, 1: False}[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]


def test_p18_no_other_user_can_connect_to_a_unix_socket(
    start_server: Callable[..., Any], logdir: Path
) -> None:
    """Even in a directory that all can enter, and write to."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o1777)
        server = start_server(logdir, "--uds", f"{folder}/socket")
        path = Path(server.port)
        assert path.stat().st_mode & 0o777 == 0o600
        assert len(server.request("/data/runs").json()) == 3
        assert not connects_as_another_user(path)
        path.chmod(0o666)
        assert connects_as_another_user(path)  # the mode, and nothing else, keeps it out
        server.end()
        assert not path.exists()
