"""A server in a thread: for notebooks, programs and tests."""

from __future__ import annotations

import json
import os
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urljoin

import pytest
from common_fixtures import until

from tbcore import PluginInfo, hookimpl
from tbcore.engine import load_plugins
from tbcore.errors import OptionError, TbcoreError
from tbcore.eventfiles.local_disk import LocalDisk, LocalRoot
from tbcore.eventfiles.storage import Pacing
from tbcore.store.board import Board
from tbcore_testing import Server, write_run


def get(server: Server, path: str) -> Any:
    """The JSON of a response."""
    with urllib.request.urlopen(f"{server.url}{path}", timeout=30) as response:
        return json.load(response)


def test_it_serves_the_logs_and_their_changes_until_it_ends(tmp_path: Path) -> None:
    """What the directory has is there at once; what is written later is read."""
    write_run(tmp_path, "train", scalars={"loss": [0.5]})
    threads = set(threading.enumerate())

    with Server(tmp_path, plugins=(), reload_interval=0.1, path_prefix="/a b") as server:
        assert server.url.endswith("/a%20b/")
        assert get(server, "data/runs") == ["train"]
        write_run(tmp_path, "eval", scalars={"loss": [0.5]})
        until(lambda: sorted(get(server, "data/runs")) == ["eval", "train"])

    with pytest.raises(OSError, match="refused"):
        get(server, "data/runs")
    until(lambda: set(threading.enumerate()) <= threads)


@pytest.mark.parametrize("is_started", [True, False])
def test_plugins_are_closed_once(tmp_path: Path, is_started: bool) -> None:
    """Also those of a server that was only called without a socket."""
    closed: list[str] = []
    info = PluginInfo(title="Mine", module=None)
    close = hookimpl(lambda: closed.append("mine"))
    mine = SimpleNamespace(plugin_info=hookimpl(lambda: info), close=close)
    server = Server(tmp_path, plugins=load_plugins(only=(), extra={"mine": mine}))
    server.stop()
    assert closed == []
    assert [m.plugin.name for m in server.app.mounted] == ["mine"]
    if is_started:
        server.start()
    for _ in range(2):
        server.stop()
        assert closed == ["mine"]


def test_two_servers_have_two_ports_and_a_port_that_is_taken_is_one_line(tmp_path: Path) -> None:
    with Server(tmp_path, plugins=()) as first, Server(tmp_path, plugins=()) as second:
        assert first.config.port != second.config.port
        third = Server(tmp_path, plugins=(), port=first.config.port)
        with pytest.raises(TbcoreError, match="is in use by another program"):
            third.start()


@pytest.mark.parametrize("form", ["file://{}/runs", "~/runs", "runs"])
@pytest.mark.parametrize("option", ["logdir", "logdir_spec"])
def test_a_directory_is_found_in_each_form_that_the_command_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, option: str
) -> None:
    """Also after the program has changed its working directory."""
    write_run(tmp_path / "runs", "train", scalars={"loss": [0.5]})
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    text = form.format(tmp_path)

    server = Server("", logdir_spec=text) if option == "logdir_spec" else Server(text)
    monkeypatch.chdir(os.sep)
    server.load_once()

    assert server.multiplexer.runs() == ["train"]


def test_folders_of_plugins_stay_where_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    server = Server("runs", plugins_dirs=("mine",))
    assert server.config.plugins_dirs == (str(tmp_path / "mine"),)


def test_an_address_is_checked_and_no_password_is_shown(mount: Callable[..., None]) -> None:
    """Its storage gets it as it gets that of a command."""
    scanned = []

    class Bucket(LocalDisk):
        def checked_address(self, address: str) -> str:
            return address.replace(":secret@", "@")

        def root(self, address: str, pacing: Pacing) -> LocalRoot:
            scanned.append(address)
            return super().root(address, pacing)

    mount("ftp", Bucket())

    server = Server("FTP://me:secret@host/x/")

    assert scanned == ["ftp://me@host/x"]
    assert server.config.logdir == "FTP://me@host/x/"
    server = Server("ftp://me:secret@host/x", board=Board())
    assert server.config.logdir == "ftp://me@host/x"


@pytest.mark.parametrize(
    ("logdir", "logdir_spec", "message"),
    [
        ("file", None, "'file' is a file; expected the directory that contains it, '.'"),
        ("", "a:file", "is a file; expected the directory that contains it"),
        ("a\0b", None, "is not a valid path"),
        ("file://host/x", None, "did you mean 'file:///host/x'?"),
        ("s3:/x", None, "expected two slashes"),
        ("", None, "no log directory in ''"),
        ("runs", ",", "no log directory in ','"),
    ],
)
def test_what_can_be_no_directory_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    logdir: str,
    logdir_spec: str | None,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OptionError) as info:
        Server(logdir, logdir_spec=logdir_spec)
    assert message in str(info.value)


def test_an_option_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="no option 'host': it serves this machine only"):
        Server("runs", host="0.0.0.0")
    with pytest.raises(TypeError, match="prot"):
        Server("runs", prot=1)


def test_the_address_has_the_token(tmp_path: Path) -> None:
    """Like that which the command prints. A path is joined to it."""
    write_run(tmp_path, "train", scalars={"loss": [0.5]})
    with Server(tmp_path, plugins=(), token="a+b", path_prefix="/x") as server:
        assert server.url.endswith("/x/?token=a%2Bb")
        request = urllib.request.Request(urljoin(server.url, "data/runs"))
        request.add_header("Authorization", "Bearer a+b")
        with urllib.request.urlopen(request, timeout=30) as response:
            assert json.load(response) == ["train"]
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(server.url, timeout=30) as response:
            assert response.status == 200


def test_a_server_has_an_address_only_when_it_has_started_and_starts_once(tmp_path: Path) -> None:
    server = Server(tmp_path, plugins=())
    with pytest.raises(TbcoreError, match="has an address only when it has started"):
        server.url  # noqa: B018
    with server:
        with pytest.raises(TbcoreError, match="a Server starts once; make another one"):
            server.start()
        assert get(server, "data/runs") == []
    with pytest.raises(TbcoreError, match="a Server starts once; make another one"):
        server.start()


def fail(*args: object, **options: object) -> Any:
    """Stands in for a part of the server that does not work."""
    raise RuntimeError("no luck")


async def fail_later(*args: object, **options: object) -> None:
    """The same, on the event loop."""
    fail()


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        ("tbcore_testing.in_thread.create_app", fail),
        ("wrap", fail),
        ("tbcore.server.http_server.HttpServer.startup", fail_later),
        ("tbcore_testing.in_thread.Loader.start", fail),
    ],
)
def test_a_start_that_fails_raises_its_error_and_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    fault: Callable[..., Any],
) -> None:
    """The port is free again, and no thread is left."""
    threads = set(threading.enumerate())
    wrap = fault if part == "wrap" else None
    server = Server(tmp_path, plugins=(), reload_interval=0.1, wrap=wrap)
    with monkeypatch.context() as patch:
        if not wrap:
            patch.setattr(part, fault)
        with pytest.raises(RuntimeError, match="no luck"):
            server.start()

    until(lambda: set(threading.enumerate()) <= threads)
    with Server(tmp_path, plugins=(), port=server.config.port) as second:
        assert get(second, "data/runs") == []
