"""`data/notes`: what it answers, and who may change notes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tbcore.engine import LogdirSpec, Server
from tbcore_notes.access import TOKEN_HEADER
from tbcore_notes.notes import RunNotes
from tbcore_testing import write_run
from tbcore_testing.client import TbcoreClient

TOKEN = "a-write-token"
SAME = {"sec-fetch-site": "same-origin", "origin": "http://localhost:6006"}
OWN = {**SAME, TOKEN_HEADER: TOKEN}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for run in ("a", "b/c"):
        write_run(tmp_path / "runs", run, scalars={"loss": [1.0]})
    return tmp_path / "runs"


def served(logdir: Path, **config: Any) -> TbcoreClient:
    """A client of a server with notes."""
    server = Server(logdir, plugins=[], port=6006, **{"write_token": TOKEN, **config})
    server.multiplexer._notes = RunNotes([LogdirSpec(None, str(logdir))])
    server.load_once()
    return TbcoreClient(server)


def change(client: TbcoreClient, headers: Any = SAME, runs: Any = ("a",), **values: Any) -> Any:
    """The response to a change with the write token, unless the headers have another one or ""."""
    body = {"runs": list(runs), "set": values or {"starred": True}}
    headers = {name: text for name, text in ({TOKEN_HEADER: TOKEN} | headers).items() if text}
    return client.post("data/notes", json=body, headers=headers)


# -- answers ---------------------------------------------------------------------------------------


def test_a_change_is_in_the_answer_and_in_later_ones(logdir: Path) -> None:
    """With its time and author; `since` leaves out what did not change."""
    client = served(logdir)
    first = client.get("data/notes").json()
    assert (first["runs"], first["is_delta"], first["problems"]) == ({}, False, [])
    assert (first["read_only"], first["needs_token"]) == (None, True)
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
        answer = client.post("data/notes", json={"runs": ["a", "b/c"], **body}, headers=OWN)
        assert answer.status_code == 200, answer.text
        return [answer.json()["runs"][run]["labels"]["value"] for run in ("a", "b/c")]

    assert labels(add_labels=["new", "both"]) == [["old", "both", "new"], ["new", "both"]]
    changed = labels(add_labels=["last"], remove_labels=["both", "none"], set={"starred": True})
    assert changed == [["old", "new", "last"], ["new", "last"]]
    assert client.get("data/notes").json()["runs"]["b/c"]["starred"]["value"] is True
    refused = {"runs": ["a", "b/c"], "add_labels": ["good", "two words"]}
    response = client.post("data/notes", json=refused, headers=OWN)
    assert response.status_code == 400
    assert labels(remove_labels=["x"]) == [["old", "new", "last"], ["new", "last"]]


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
    response = client.post("data/notes", json=body, headers=OWN)
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
        ({TOKEN_HEADER: "", "authorization": f"Bearer {TOKEN}"}, 403),
        ({TOKEN_HEADER: "", "cookie": f"write={TOKEN}"}, 403),
    ],
)
def test_another_user_of_the_machine_needs_the_write_token(
    logdir: Path, headers: dict[str, str], status: int
) -> None:
    """A page without it reads notes, and its line says how to change them."""
    client = served(logdir)
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
        ({"reach": "network"}, "this server takes no notes, since it has no token"),
        ({"program": "tensorboard"}, "this server takes no notes, since it has no token"),
        ({"notes": "read"}, "this server was started to show notes, and not to change them"),
        ({"notes": "read", "token": None}, "this server was started to show notes"),
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
    client = served(logdir, token="secret", write_token="")
    assert client.get("data/notes").status_code == 401
    assert change(client).status_code == 401
    with_token = SAME | {"authorization": "Bearer secret"}
    assert change(client, with_token).status_code == 200
    hidden = served(logdir, path_prefix="/" + "s" * 32, has_secret_prefix=True)
    assert change(hidden).status_code == 200
    assert hidden.post("http://localhost:6006/data/notes", json={}).status_code == 404


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
