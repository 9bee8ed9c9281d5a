"""Logs on other machines: over SSH by sshd, and over HTTP by nginx and by Python's own server."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import storages
from storages import FILE, SSH, Watched, events

pytest.importorskip("paramiko")
pytest.importorskip("aiohttp")


@pytest.fixture(autouse=True)
def without_connections() -> Iterator[None]:
    yield from storages.forget_storages()


@pytest.fixture
def http(folder: Path) -> Iterator[str]:
    """A server that ignores ranges: it always sends whole files."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_files_of_a_server_without_ranges_are_read(http: str, folder: Path) -> None:
    watched = Watched(http)
    events(folder / "a b" / FILE, 0, 1)
    assert watched.steps("a b") == [0, 1]
    for length in (3, 4, 9):
        events(folder / "a b" / FILE, *range(length))
        assert watched.steps("a b") == list(range(length))


def events_of(folder: Path, run: str, *steps: int) -> Path:
    events(folder / run / FILE, *steps)
    return folder / run / FILE


@pytest.mark.services
def test_files_over_ssh_are_read_and_read_on(ssh: SSH, folder: Path) -> None:
    """Links to files and to the log directory are followed, and circles of links end."""
    uri, _ = ssh
    path = events_of(folder, "a", 0, 1)
    os.symlink(path, folder / "a" / "linked.tfevents")
    (folder / "a" / "broken.tfevents").symlink_to("nowhere")
    (folder / "a" / "circle").symlink_to(folder)
    (folder.parent / "link").symlink_to(folder)
    watched = Watched(f"{uri}{folder}")
    assert watched.steps("a") == [0, 1, 0, 1]
    assert watched.multiplexer.runs() == ["a"]
    assert Watched(f"{uri}{folder.parent}/link").steps("a") == [0, 1, 0, 1]
    (folder / "a" / "linked.tfevents").unlink()
    events(path, *range(5))
    assert watched.steps("a") == list(range(5))
    assert watched.problems[1:] == ()


@pytest.mark.services
def test_clocks_of_other_machines_do_not_matter(ssh: SSH, folder: Path) -> None:
    """A file has no version there, and times in seconds: a change within a second is noticed."""
    uri, _ = ssh
    watched = Watched(f"{uri}{folder}")
    for hours in (-1, 0, 1):
        path = folder / f"r{hours}" / FILE
        events(path, 1, 2, 3)
        times = (1.7e9 + hours * 3600,) * 2
        os.utime(path, times)
        assert watched.steps(f"r{hours}") == [1, 2, 3]
        events(path, 4, 5, 6)
        os.utime(path, times)
        assert watched.steps(f"r{hours}") == [4, 5, 6]


@pytest.mark.services
def test_a_lost_connection_is_made_again(
    ssh: SSH, started: list[subprocess.Popen[bytes]], folder: Path
) -> None:
    """What is shown stays until then."""
    uri, start = ssh
    path = events_of(folder, "a", 0, 1)
    watched = Watched(f"{uri}{folder}")
    assert watched.steps("a") == [0, 1]
    subprocess.run(["pkill", "-P", str(started[-1].pid)], check=False)
    started[-1].terminate()
    started[-1].wait(10)
    events(path, 0, 1, 2)
    assert watched.steps("a") == [0, 1]
    assert watched.problems[0].startswith(f"cannot list {uri}{folder}: ")
    start()
    assert watched.steps("a") == [0, 1, 2]


@pytest.mark.services
def test_files_of_a_web_server_are_read_by_ranges(
    service: Callable[[str], str],
    tmp_path: Path,
    folder: Path,
    started: list[subprocess.Popen[bytes]],
) -> None:
    """Its listings have neither sizes nor times, which other requests find."""

    def servers(port: int) -> str:
        location = f"location / {{ root {folder}; autoindex on; }}"
        return f"server {{ listen 127.0.0.1:{port}; {location} }}"

    process, [port] = storages.nginx(service("nginx"), tmp_path, servers)
    started.append(process)
    events_of(folder, "a b/c%d", 0, 1)
    watched = Watched(f"http://127.0.0.1:{port}")
    assert watched.steps("a b/c%d") == [0, 1]
    events_of(folder, "a b/c%d", *range(500))
    assert watched.steps("a b/c%d") == list(range(500))
    assert watched.steps("e") == []
    events_of(folder, "e", 7)
    assert watched.steps("e") == [7]
    assert watched.problems == ()


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    """In one line, before anything is started."""
    blocker = "import sys\nfor name in sys.argv.pop(1).split(','): sys.modules[name] = None\n"
    code = f"{blocker}from tbcore.__main__ import main\nsys.exit(main())"
    for missing, uri, needed in (
        ("fsspec", "s3://b/runs", "pip install 'tbcore-remote[s3]'"),
        ("s3fs", "s3://b/runs", "pip install 'tbcore-remote[s3]'"),
        ("paramiko", "sftp://host/runs", "pip install 'tbcore-remote[sftp]'"),
        ("gcsfs", "gs://b/runs", "pip install 'tbcore-remote[gcs]'"),
        ("adlfs", "az://b/runs", "pip install 'tbcore-remote[azure]'"),
        ("huggingface_hub", "hf://datasets/me/runs", "pip install 'tbcore-remote[hf]'"),
        ("fsspec", "hdfs://b/runs", "import of fsspec halted"),
    ):
        result = subprocess.run(
            [sys.executable, "-c", code, missing, "serve", "--logdir", uri],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert result.returncode == 2
        scheme = uri.partition(":")[0]
        line = f"tbcore: {scheme}:// needs another package: {needed}"
        assert result.stderr.startswith(line), result.stderr
        assert result.stderr.count("\n") == 1


def test_a_local_directory_imports_none_of_the_packages(tmp_path: Path) -> None:
    pytest.importorskip("tbcore_logs")
    events_of(tmp_path, "a", 0, 1)
    code = (
        "import sys, tbcore; logs = tbcore.open(sys.argv[1]); assert len(logs['a']['loss']) == 2; "
        "print({'fsspec', 's3fs', 'tbcore_remote'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "set()\n"
