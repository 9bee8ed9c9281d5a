"""`data/notes`: what it answers, and who may change notes."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from commands import piped

from tbcore.engine import LogdirSpec, Server
from tbcore_notes.http import TOKEN_HEADER
from tbcore_notes.notes import RunNotes
from tbcore_notes.records import line_of
from tbcore_testing import write_run
from tbcore_testing.client import TbcoreClient

TOKEN = "a-write-token"
SAME = {"sec-fetch-site": "same-origin", "origin": "http://localhost:6006"}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for run in ("a", "b/c"):
        write_run(tmp_path / "runs", run, scalars={"loss": [1.0]})
    return tmp_path / "runs"


def served(logdir: Path, **config: Any) -> TbcoreClient:
    """A client of a server with notes."""
    host = config.pop("host", None)
    server = Server(logdir, plugins=[], port=6006, **{"write_token": "", **config})
    if host is not None:
        object.__setattr__(server.config, "host", host)
    server.multiplexer._notes = RunNotes([LogdirSpec(None, str(logdir))])
    server.load_once()
    return TbcoreClient(server)


def change(client: TbcoreClient, headers: Any = SAME, runs: Any = ("a",), **values: Any) -> Any:
    body = {"runs": list(runs), "set": values or {"starred": True}}
    return client.post("data/notes", json=body, headers=headers)


# -- answers ---------------------------------------------------------------------------------------


def test_a_change_is_in_the_answer_and_in_later_ones(logdir: Path) -> None:
    """With its time and author; `since` leaves out what did not change."""
    client = served(logdir)
    first = client.get("data/notes").json()
    assert (first["runs"], first["is_delta"], first["problems"]) == ({}, False, [])
    assert (first["read_only"], first["needs_token"]) == (None, False)
    answer = change(client, runs=["a", "b/c"], starred=True, labels=["paper"]).json()
    assert answer["runs"].keys() == {"a", "b/c"}
    starred = answer["runs"]["a"]["starred"]
    assert (starred["value"], starred["is_own"]) == (True, True)
    assert starred["by"].count("@") == 1
    change(client, note="why")
    later = client.get("data/notes", params={"since": answer["generation"]}).json()
    assert later["is_delta"] is True
    assert later["runs"].keys() == {"a"}
    assert later["runs"]["a"]["note"]["value"] == "why"
    for since in ("", "x-1", "1", f"{answer['generation']}0x"):
        assert client.get("data/notes", params={"since": since}).json()["is_delta"] is False


def test_labels_are_added_and_removed_for_each_run(logdir: Path) -> None:
    """In one request, whatever labels the runs have, and with other fields."""
    client = served(logdir)
    change(client, labels=["old", "both"])

    def labels(**body: Any) -> Any:
        answer = client.post("data/notes", json={"runs": ["a", "b/c"], **body}, headers=SAME)
        assert answer.status_code == 200, answer.text
        return [answer.json()["runs"][run]["labels"]["value"] for run in ("a", "b/c")]

    assert labels(add_labels=["new", "both"]) == [["old", "both", "new"], ["new", "both"]]
    changed = labels(add_labels=["last"], remove_labels=["both", "none"], set={"starred": True})
    assert changed == [["old", "new", "last"], ["new", "last"]]
    assert client.get("data/notes").json()["runs"]["b/c"]["starred"]["value"] is True
    refused = {"runs": ["a", "b/c"], "add_labels": ["good", "two words"]}
    response = client.post("data/notes", json=refused, headers=SAME)
    assert response.status_code == 400
    assert labels(remove_labels=["x"]) == [["old", "new", "last"], ["new", "last"]]


def test_the_answer_counts_the_files_that_a_command_names(logdir: Path) -> None:
    """Those of `tbcore ls --files`, with the reasons for runs that are left out, and no names."""
    old = time.time() - 3 * 86400
    paths = {}
    for run in ("old", "two words", "taken"):
        paths[run] = write_run(logdir, run, scalars={"loss": [1.0]}, wall_time=old)
        os.utime(paths[run], (old, old))
    client = served(logdir)

    def files() -> Any:
        [answer] = client.get("data/notes", params={"files": "true"}).json()["files"]
        return answer

    assert files() == {
        "logdir": str(logdir), "is_remote": False, "num_runs": 0, "num_files": 0, "num_bytes": 0,
        "left_out": [],
    }  # fmt: skip
    change(client, runs=["old", "two words", "a"], archived=True)
    shared = logdir / ".tbcore" / "notes"
    shared.mkdir(parents=True)
    line = line_of(time.time_ns() // 1000, "bob@far", "taken", {"archived": True})
    (shared / "bob.jsonl").write_bytes(line)
    found = files()
    named = [paths["old"], paths["two words"]]
    assert (found["num_runs"], found["num_files"]) == (2, 2)
    assert found["num_bytes"] == sum(path.stat().st_size for path in named)
    assert {(each["reason"], each["num_runs"]) for each in found["left_out"]} == {
        ("a file was changed in the last 24 hours", 1),
        ("archived by bob@far, not by you", 1),
    }
    listed = piped("ls", logdir, "--where", "is:archived", "--files", "-0").stdout.split("\0")
    assert sorted(listed[:-1]) == sorted(map(str, named))
    assert all(path.exists() for path in paths.values())


def test_the_command_is_the_one_that_a_shell_can_run(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name only if that is this tbcore; other machines are not told its path."""

    def command(**config: Any) -> list[str]:
        client = served(logdir, **config)
        found: list[str] = client.get("data/notes", params={"files": "true"}).json()["command"]
        return found

    for folder in ("own bin", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tbcore").write_text("#!/bin/sh\n")
        (tmp_path / folder / "tbcore").chmod(0o755)
    script, python = tmp_path / "own bin" / "tbcore", tmp_path / "own bin" / "python"
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "tbcore").symlink_to(script)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "pytest")])
    monkeypatch.setattr(sys, "executable", str(python))
    for folder, words in (("link", ["tbcore"]), ("other", [str(script)]), ("none", [str(script)])):
        monkeypatch.setenv("PATH", str(tmp_path / folder))
        assert command() == words
    assert command(allowed_hosts=("example.org",)) == ["tbcore"]
    script.unlink()
    assert command() == [str(python), "-m", "tbcore"]


def test_each_of_several_log_directories_has_its_counts(logdir: Path, tmp_path: Path) -> None:
    """As `tbcore ls` finds with each of them; nothing is counted in a remote one."""
    old = time.time() - 3 * 86400
    path = write_run(tmp_path / "second", "x", scalars={"loss": [1.0]}, wall_time=old)
    os.utime(path, (old, old))
    specs = [LogdirSpec("one", str(logdir)), LogdirSpec("two", str(tmp_path / "second"))]
    notes = RunNotes([*specs, LogdirSpec("far", "s3://bucket/x")])
    spec = f"one:{logdir},two:{tmp_path / 'second'}"
    server = Server("", logdir_spec=spec, plugins=[], write_token="")
    server.multiplexer._notes = notes
    server.load_once()
    notes.change(["two/x"], {"archived": True})
    answers = TbcoreClient(server).get("data/notes", params={"files": "true"}).json()["files"]
    assert [each.get("num_files") for each in answers] == [0, 1, None]
    assert [each["is_remote"] for each in answers] == [False, False, True]
    listed = piped("ls", tmp_path / "second", "--files", "-0").stdout
    assert listed == f"{path}\0"


def test_the_stream_has_the_generation(logdir: Path) -> None:
    """It rises with a change by this server, and by another process, and open pages are woken."""
    client, woken = served(logdir), threading.Event()
    notes = client.multiplexer._notes
    assert isinstance(notes, RunNotes)
    before = client.get("data/status").json()["notes_generation"]
    change(client)
    after = client.get("data/status").json()["notes_generation"]
    assert after > before
    notes._changed = woken.set
    RunNotes([LogdirSpec(None, str(logdir))]).change(["a"], {"note": "elsewhere"})
    assert woken.wait(30)
    assert client.get("data/status").json()["notes_generation"] > after


def test_without_notes_the_core_is_read_only(logdir: Path) -> None:
    server = Server(logdir, plugins=[], port=6006)
    client = TbcoreClient(server)
    assert client.get("data/notes").status_code == 404
    assert change(client).status_code == 404
    assert "notes_generation" not in client.get("data/status").json()


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ({"runs": ["nope"], "set": {"starred": True}}, "no run 'nope'"),
        ({"runs": "a", "set": {"starred": True}}, '"runs" must be an array of strings, got "a"'),
        ({"runs": ["a"]}, '"set" must be an object with some of starred, archived,'),
        ({"runs": ["a"], "set": {}}, '"set" must be an object'),
        ({"runs": ["a"], "set": {"stars": 5}}, "'stars' is not a field of notes"),
        ({"runs": ["a"], "set": {"note": "x" * 10_001}}, "note must have at most 10000 characters"),
        ([], "the body must be a JSON object"),
    ],
)
def test_a_change_that_is_not_valid_is_refused_in_a_line(
    logdir: Path, body: Any, line: str
) -> None:
    client = served(logdir)
    response = client.post("data/notes", json=body, headers=SAME)
    assert response.status_code == 400
    assert response.text.startswith(line)
    assert client.get("data/notes").json()["runs"] == {}


def test_a_note_that_cannot_be_kept_is_an_error(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = served(logdir)
    notes = client.multiplexer._notes
    assert isinstance(notes, RunNotes)
    monkeypatch.setattr(notes._stores[0][1]._own, "path", "/dev/null/x")
    response = change(client)
    assert response.status_code == 503
    assert response.text.startswith("the note cannot be kept: Not a directory")


def test_other_methods_are_refused(logdir: Path) -> None:
    client = served(logdir)
    assert client.head("data/notes").status_code == 200
    response = client.put("data/notes", json={}, headers=SAME)
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD, POST")


def test_queries_find_notes(logdir: Path) -> None:
    """Without a new generation of runs."""
    client = served(logdir)
    change(client, note="a Bug in the loader", labels=["Paper"], archived=True)

    def found(query: str) -> Any:
        answer = client.post("data/run_attributes", json={"query": query}).json()["query"]
        return answer.get("found") or answer["error"]

    for query in ('note:"bug in"', "note:BUG", "note:*loader", "#paper", "#pa*", "is:archived",
                  "-(-is:ARCHIVED)", "#paper a -is:starred"):  # fmt: skip
        assert found(query) == ["a"], query
    assert found("-#paper") == ["b/c"]
    assert found("is:read") == "expected starred or archived after is:"
    assert found("is:starred | a #") == "nothing after #"


# -- who may change notes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "is_admitted"),
    [
        (SAME, True),
        ({}, True),  # no browser
        ({"origin": "http://localhost:6006"}, True),  # plain http to a name: no Sec-Fetch-Site
        ({"sec-fetch-site": "same-origin", "origin": "https://hub.example"}, True),  # a proxy
        ({"origin": "http://localhost:8888"}, False),  # another port of this host
        ({"sec-fetch-site": "same-site", "origin": "http://localhost:8888"}, False),
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, False),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "null"}, False),  # a sandboxed frame, or a file
        ({"sec-fetch-site": "none"}, False),  # a bookmarklet or an extension
        ({"origin": "http://logs.example:8080"}, False),  # a port of a name that is allowed
        ({"origin": "http://logs.example"}, True),
        ({"origin": "ftp://localhost:6006"}, False),
        ({"content-type": "text/plain", **SAME}, False),
        ({"content-type": "application/x-www-form-urlencoded"}, False),  # a form
    ],
)
def test_only_pages_of_this_origin_change_notes(
    logdir: Path, headers: dict[str, str], is_admitted: bool
) -> None:
    client = served(logdir, allowed_hosts=("logs.example",))
    response = change(client, headers)
    assert response.status_code == (200 if is_admitted else 403)
    assert bool(client.get("data/notes").json()["runs"]) is is_admitted
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({TOKEN_HEADER: TOKEN}, 200),
        ({TOKEN_HEADER: "wrong"}, 403),
        ({TOKEN_HEADER: ""}, 403),
        ({}, 403),
        ({"authorization": f"Bearer {TOKEN}"}, 403),
        ({"cookie": f"write={TOKEN}"}, 403),
    ],
)
def test_another_user_of_the_machine_needs_the_write_token(
    logdir: Path, headers: dict[str, str], status: int
) -> None:
    """A page without it reads notes, and its line says how to change them."""
    client = served(logdir, write_token=TOKEN)
    response = change(client, SAME | headers)
    assert response.status_code == status
    if status == 403:
        assert response.text.startswith("to change notes, open the address that tbcore printed")
    answer = client.get("data/notes", headers=headers).json()
    assert (answer["read_only"], answer["needs_token"]) == (None, True)
    assert answer["refusal"] == (None if status == 200 else response.text.rstrip("\n"))
    assert TOKEN not in str(answer)


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({"embed_in": ("https://wiki.example",)}, "pages of other origins may show this server"),
        ({"embed_in": ("http://localhost:*",)}, "pages of other origins may show this server"),
        ({"embed_in": ("http://127.0.0.1:*",), "write_token": TOKEN}, "pages of other origins"),
        ({"write_token": None}, "this server takes no notes, since it has no token"),
    ],
)
def test_a_server_that_takes_no_notes(logdir: Path, config: Any, line: str) -> None:
    """One whose page others may show in a frame, or that everybody on the network reaches."""
    client = served(logdir, **config)
    response = change(client, SAME | {TOKEN_HEADER: TOKEN})
    assert response.status_code == 403
    assert response.text.startswith(line)
    answer = client.get("data/notes", headers={TOKEN_HEADER: TOKEN}).json()
    assert answer["read_only"] == answer["refusal"] == response.text.rstrip("\n")


def test_a_token_and_a_secret_path_are_checked_before(logdir: Path) -> None:
    """A request without them does not reach the notes, neither to read nor to write."""
    client = served(logdir, token="secret")
    assert client.get("data/notes").status_code == 401
    assert change(client).status_code == 401
    with_token = SAME | {"authorization": "Bearer secret"}
    assert change(client, with_token).status_code == 200
    hidden = served(logdir, path_prefix="/" + "s" * 32, has_secret_prefix=True)
    assert change(hidden).status_code == 200
    assert hidden.post("http://localhost:6006/data/notes", json={}).status_code == 404


@pytest.mark.parametrize(
    ("config", "is_own"),
    [
        ({"host": "localhost"}, True),
        ({"host": "127.0.0.1"}, True),
        ({"host": "[::1]"}, True),
        ({"host": "node17"}, False),
        ({"host": "localhost", "allowed_hosts": ("logs.example.com",)}, False),
        ({"host": "localhost", "allowed_hosts": ("*",)}, False),
        ({"host": "localhost", "allowed_hosts": ("*",), "token": None}, True),
    ],
)
def test_what_other_machines_wrote_is_not_this_users_own(
    logdir: Path, config: dict[str, Any], is_own: bool
) -> None:
    """Only own notes decide which files a command names. A name of `--allowed_host` is that of a
    proxy; with a socket, `*` is for a notebook server."""
    client = served(logdir, **{"token": "secret", **config})
    headers = SAME | {"authorization": "Bearer secret"}
    answer = change(client, headers, archived=True).json()
    assert answer["runs"]["a"]["archived"]["is_own"] is is_own
    assert answer["runs"]["a"]["archived"]["by"].endswith("(server)") is not is_own
    own, last = RunNotes([LogdirSpec(None, str(logdir))]).archived("a")
    assert (own is not None, last is not None) == (is_own, True)


def test_nothing_below_the_log_directory_changes(logdir: Path) -> None:
    """Neither bytes nor times nor names."""

    def state() -> list[tuple[str, int, float]]:
        paths = sorted(logdir.rglob("*"))
        return [(str(p), p.stat().st_size, p.stat().st_mtime) for p in [logdir, *paths]]

    before = state()
    client = served(logdir)
    for field in ({"starred": True}, {"note": "x"}, {"archived": True}):
        assert change(client, **field).status_code == 200
    assert state() == before
