"""A fault of a hosted process stays its own: it has a card with the cause, and starts again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from common_fixtures import patient_tuning, until
from running_servers import RunningServer

from tbcore_tensorboard import process
from tbcore_testing import TbcoreClient

Hosting = Callable[..., TbcoreClient]
Limits = Callable[..., None]
FAKE = "tb-fake/data/plugin/fake"
BROWSER = {"accept": "text/html,*/*"}


@pytest.mark.parametrize(
    ("deed", "cause"),
    [
        ("signal?number=11", "its process was ended by SIGSEGV"),
        ("signal?number=6", "its process was ended by SIGABRT"),
        ("signal?number=9", "its process was ended by SIGKILL"),
        ("exit", "its process ended with status 3"),
        ("die", "its process was ended by SIGABRT; its last line was: a check failed: 1 == 2"),
    ],
)
def test_a_process_that_ends_has_a_card_and_starts_again(
    hosting: Hosting, deed: str, cause: str
) -> None:
    client = hosting()
    first = client.get(f"{FAKE}/pid").json()
    line = f"fake of fake 1: {cause}"

    response = client.get(f"{FAKE}/{deed}")

    assert (response.status_code, response.text.strip()) == (503, line)
    assert client.get("data/plugin/tb-fake/state").json()["fault"] == line
    card = client.get("tb-fake/tbcore-tab.html", headers=BROWSER)
    assert card.status_code == 503
    assert f'<p role="alert">{line}</p>' in card.text
    assert 'src="./tbcore-again.js"' in card.text
    assert 'src="../../../tbcore-again.js"' in client.get(f"{FAKE}/pid", headers=BROWSER).text
    assert "tbcore-start" in client.get("tb-fake/tbcore-again.js").text
    assert client.get("tb-fake/tbcore-start").status_code == 405
    assert client.post("tb-fake/tbcore-start").status_code == 204
    assert client.get("data/plugin/tb-fake/state").json()["fault"] == ""
    assert client.get(f"{FAKE}/pid").json() != first


def test_a_fault_waits_for_the_last_line(hosting: Hosting, limits: Limits) -> None:
    client = hosting()
    client.get(f"{FAKE}/pid")
    limits(process, printable_line=lambda line: time.sleep(0.3) or line)
    fault = client.get(f"{FAKE}/die").text
    assert fault.strip().endswith("; its last line was: a check failed: 1 == 2")


@pytest.mark.parametrize(
    ("plugin", "cause"),
    [
        ("broken", "RuntimeError: no &lt;b&gt;GPU&lt;/b&gt; here"),
        ("exits", "SystemExit: 5"),
        ("old", "TypeError: Descriptors cannot be created directly."),
        ("none", "RuntimeError: its loader returned no plugin; a package that it needs is missing"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_has_a_card(
    hosting: Hosting, installed: object, plugin: str, cause: str
) -> None:
    """Markup in the cause is text; the others work."""
    client = hosting()
    address = f"tb-{plugin}/tbcore-tab.html"
    first = client.get(address, headers=BROWSER)
    assert f'<p role="status">{plugin} of {plugin} 1: starting its process</p>' in first.text
    assert 'src="./tbcore-reload.js"' in first.text
    card = client.get(address, headers=BROWSER)
    assert card.status_code == 503
    assert f'<p role="alert">{plugin} of {plugin} 1: it cannot be loaded: {cause}</p>' in card.text
    assert client.post(f"tb-{plugin}/tbcore-start").status_code == 204
    assert client.get(address, headers=BROWSER).text == first.text
    assert client.get(address, headers=BROWSER).text == card.text
    assert client.get(f"{FAKE}/pid").status_code == 200


def test_the_start_for_a_page_is_no_slow_call(
    hosting: Hosting, limits: Limits, caplog: pytest.LogCaptureFixture
) -> None:
    """A page says that its process starts, and loads itself again. The request of a program waits
    for the start, and is logged if that takes long."""
    client = hosting(tuning=patient_tuning(slow_call_seconds=0))
    has_begun, may_go_on, new_folder = threading.Event(), threading.Event(), process._new_folder

    def held() -> object:
        has_begun.set()
        may_go_on.wait()
        return new_folder()

    def running() -> list[str]:
        [fake] = [p for p in client.get("data/plugins").json()["plugins"] if p["name"] == "tb-fake"]
        return [call["what"] for call in fake["running"]]

    limits(process, _new_folder=held)
    threads = []
    for address, headers, calls in (
        ("tb-fake/", BROWSER, []),
        (f"{FAKE}/pid", {}, ["route /{rest:path}"]),
    ):
        threads.append(
            threading.Thread(target=client.get, args=[address], kwargs={"headers": headers})
        )
        threads[-1].start()
        has_begun.wait()
        until(lambda calls=calls: running() == calls)  # type: ignore[misc]
    may_go_on.set()
    for thread in threads:
        thread.join()
    assert "plugin 'tb-fake': route /{rest:path} took" in caplog.text
    assert client.get(f"{FAKE}/pid", headers=BROWSER).json() == client.get(f"{FAKE}/pid").json()
    assert client.get("tb-fake/tbcore-reload.js").text == "location.reload();"


@pytest.mark.parametrize("name", ["mkdtemp", "open", "bind"])
def test_a_folder_that_cannot_be_made_has_a_card(
    hosting: Hosting, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Such as on a full disk. Nothing of it is left; *Start again* tries it again."""
    client = hosting()
    folders = Path(tempfile.mkdtemp(dir="/tmp"))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    class Socket(socket.socket):
        bind = full

    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folders))
        where, what = {
            "mkdtemp": (tempfile, full),
            "open": (process, full),
            "bind": (socket, Socket),
        }[name]
        patch.setattr(where, "socket" if name == "bind" else name, what, raising=name != "open")
        client.get(f"{FAKE}/pid", headers=BROWSER)
        card = client.get(f"{FAKE}/pid", headers=BROWSER)
    assert card.status_code == 503
    assert "the folder with its sockets cannot be made: [Errno 28] No space" in card.text
    folders.rmdir()
    assert client.post("tb-fake/tbcore-start").status_code == 204
    assert client.get(f"{FAKE}/pid").status_code == 200


def test_a_socket_that_is_removed_is_a_fault(hosting: Hosting) -> None:
    """As by what cleans the directory for temporary files. The page is not loaded without end."""
    client = hosting()
    first = client.get(f"{FAKE}/pid").json()
    path = Path(client.get(f"{FAKE}/environment").json()["TMPDIR"]) / "http"
    path.unlink()
    card = client.get(f"{FAKE}/pid", headers=BROWSER)
    line = f"fake of fake 1: its socket was removed: {path}"
    assert (card.status_code, line in card.text) == (503, True)
    assert client.post("tb-fake/tbcore-start").status_code == 204
    assert client.get(f"{FAKE}/pid").json() != first


def test_memory_is_limited(hosting: Hosting, caplog: pytest.LogCaptureFixture) -> None:
    """By an option that the line of the log names, as it is set."""
    client = hosting(plugin_values={"tensorboard": {"memory": "1024"}})
    first = client.get(f"{FAKE}/pid").json()
    response = client.get(f"{FAKE}/memory")
    assert response.status_code == 500
    until(lambda: caplog.messages)
    line = "MemoryError; its memory is limited by --set tensorboard.memory=1024, in MB"
    assert caplog.messages[0].startswith("fake of fake 1: ")
    assert caplog.messages[0].endswith(line)
    assert client.get(f"{FAKE}/pid").json() == first


def test_a_request_that_hangs_fails_alone(hosting: Hosting, limits: Limits) -> None:
    """A thread that never ends its work; others of the plugin get their responses."""
    client = hosting()
    first = client.get(f"{FAKE}/pid").json()
    limits(process, HANG_SECONDS=2, PROBE_SECONDS=30)
    responses = []
    thread = threading.Thread(target=lambda: responses.append(client.get(f"{FAKE}/spin")))
    thread.start()
    while thread.is_alive():
        assert client.get(f"{FAKE}/logdir").status_code == 200
        assert client.get("data/runs").status_code == 200
    [response] = responses
    line = "fake of fake 1: it did not respond to this request for 2 seconds\n"
    assert (response.status_code, response.text.strip()) == (503, line.strip())
    limits(process, HANG_SECONDS=60)
    assert client.get("data/plugin/tb-fake/state").json()["fault"] == ""
    assert client.get(f"{FAKE}/pid").json() == first


@pytest.mark.parametrize("address", ["wait", "begin"])
def test_requests_that_hang_leave_threads_for_others(
    hosting: Hosting, limits: Limits, address: str
) -> None:
    """Also those in the middle of a response; *Start again* ends all."""
    client = hosting()
    first = client.get(f"{FAKE}/pid").json()
    limits(process, TURN_SECONDS=0.1)
    ended: list[object] = []

    def hang() -> None:
        try:
            ended.append(client.get(f"{FAKE}/{address}").status_code)
        except Exception as error:  # A response without its end.
            ended.append(error)

    threads: list[threading.Thread] = []
    line = "fake of fake 1: it has not responded to 12 requests yet"

    def is_full() -> bool:
        """Whether a request is refused. If not, it may have taken the place of one that hangs."""
        if client.get(f"{FAKE}/logdir").text.strip() == line:
            return True
        threads.append(threading.Thread(target=hang))
        threads[-1].start()
        return False

    until(is_full)
    until(lambda: client.get(f"{FAKE}/logdir", headers=BROWSER).status_code == 503)
    assert client.get("data/plugin/tb-fake/state").json()["fault"] == ""
    assert client.post("tb-fake/tbcore-start").status_code == 204
    for thread in threads:
        thread.join()
    assert len(ended) == len(threads) >= 12
    assert client.get(f"{FAKE}/pid").json() != first


def test_a_process_that_holds_the_gil_has_a_card(hosting: Hosting, limits: Limits) -> None:
    client = hosting()
    first = client.get(f"{FAKE}/pid").json()
    limits(process, HANG_SECONDS=1, PROBE_SECONDS=0.5)
    response = client.get(f"{FAKE}/gil")
    line = "fake of fake 1: it did not respond for 1 seconds"
    assert (response.status_code, response.text.strip()) == (503, line)
    assert client.get("data/plugin/tb-fake/state").json()["fault"] == line
    limits(process, HANG_SECONDS=60)
    assert client.post("tb-fake/tbcore-start").status_code == 204
    assert client.get(f"{FAKE}/pid").json() != first


@pytest.mark.parametrize(
    ("deed", "level", "logged"),
    [
        ("log?level=30&text=two%0Alines", "WARNING", "a.plugin:two lines"),
        ("log?level=40&text=no", "ERROR", "a.plugin:no"),
        ("raise?text=no", "ERROR", "werkzeug:Error on request: ValueError: no"),
        (
            "thread?text=x",
            "ERROR",
            "tbcore.tensorboard:a thread failed: "
            "ValueError: invalid literal for int() with base 10: 'x'",
        ),
        ("signal?number=9", "ERROR", " its process was ended by SIGKILL"),
        ("die", "ERROR", " its process was ended by SIGABRT; its last line was: a check failed"),
    ],
)
def test_a_problem_is_a_line_of_the_servers_log(
    hosting: Hosting, caplog: pytest.LogCaptureFixture, deed: str, level: str, logged: str
) -> None:
    """Also of a request that gets a response, and of an end that nobody has a page about."""
    client = hosting()
    client.get(f"{FAKE}/log?level=20&text=ignored")
    assert client.get(f"{FAKE}/nothing").status_code == 404
    client.get(f"{FAKE}/{deed}")
    until(lambda: caplog.records)
    client.app.close_plugins()  # type: ignore[attr-defined]
    [record] = caplog.records
    assert record.levelname == level
    assert record.getMessage().startswith(f"fake of fake 1: {logged}".replace(":  ", ": "))


def test_a_flood_of_problems_is_a_few_lines(
    hosting: Hosting, caplog: pytest.LogCaptureFixture, limits: Limits
) -> None:
    limits(process, LOG_WINDOW_SECONDS=0.1)
    hosting().get(f"{FAKE}/log?level=30&text=again&count=20000")
    until(lambda: "more of its log lines" in caplog.text)
    assert len(caplog.records) < 2000


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended may not have been waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=str)
def test_a_process_ends_with_its_server(
    installed: object,
    environment: dict[str, str],
    tmp_path: Path,
    number: signal.Signals,
    request: pytest.FixtureRequest,
) -> None:
    """Also while it holds the GIL. A killed server leaves a folder, which the next one removes."""
    request.addfinalizer(lambda: shutil.rmtree(folder))
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # The path of a socket must be short.
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "TBCORE_PLUGINS": "tensorboard"}
    environment["TMPDIR"] = str(folder)
    arguments = ["serve", "--logdir", str(tmp_path), "--port", "0"]

    def serving() -> RunningServer:
        return RunningServer(arguments, environment, tmp_path).wait_until_started()

    def folders() -> list[str]:
        return sorted(path.name for path in folder.glob(f"{process.PREFIX}*"))

    server = serving()
    pid = server.json(f"/{FAKE}/pid")
    [own] = folders()
    server.end(number)
    until(lambda: not is_running(pid))
    assert folders() == ([own] if number == signal.SIGKILL else [])
    first, second = serving(), serving()
    try:
        first.json(f"/{FAKE}/pid")
        assert own not in folders()
        second.json(f"/{FAKE}/pid")
        assert len(folders()) == 2
        first.json(f"/{FAKE}/pid")
    finally:
        first.end(signal.SIGTERM)
        second.end(signal.SIGTERM)
    assert folders() == []


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root has files of others")
def test_a_folder_of_somebody_else_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a directory for temporary files that all users write to."""
    where = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(where))
    try:
        for name, owner in (("mine", os.getuid()), ("other", 12_345)):
            (where / f"{process.PREFIX}{name}").mkdir()
            (where / f"{process.PREFIX}{name}" / "lock").touch()
            os.chown(where / f"{process.PREFIX}{name}", owner, -1)
        folder, lock = process._new_folder()
        lock.close()
        assert folder.stat().st_mode & 0o777 == 0o700
        other = where / f"{process.PREFIX}other"
        assert sorted(where.iterdir()) == sorted([folder, other])
    finally:
        shutil.rmtree(where)


def test_a_server_with_the_extension_imports_nothing_of_tensorboard(
    installed: object, environment: dict[str, str], tmp_path: Path
) -> None:
    environment |= {"PYTHONPATH": os.pathsep.join(sys.path), "TBCORE_PLUGINS": "tensorboard"}
    environment["PYTHONPROFILEIMPORTTIME"] = "1"
    arguments = ["serve", "--logdir", str(tmp_path), "--port", "0"]
    server = RunningServer(arguments, environment, tmp_path).wait_until_started()
    assert [p["name"] for p in server.json("/data/plugins")["plugins"] if p["state"] == "active"]
    _, _, noise = server.end(signal.SIGTERM)
    imported = {line.rpartition("|")[2].strip() for line in noise.splitlines() if "|" in line}
    assert "tbcore_tensorboard.process" in imported
    names = {name.partition(".")[0] for name in imported}
    assert not names & {"tensorboard", "werkzeug", "xprof", "fake", "broken", "tensorflow"}
