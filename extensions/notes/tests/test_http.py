"""`data/notes`: what it answers, and who may change notes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calls import Watch
from common_fixtures import until
from noted_servers import WRITE_TOKEN as TOKEN
from noted_servers import served

from tbcore import BadRequestError
from tbcore.engine import LogdirSpec
from tbcore.server.updates import Updates
from tbcore_notes import http
from tbcore_notes.access import TOKEN_HEADER
from tbcore_notes.changes import LabelChange, NotesError
from tbcore_notes.notes import RunNotes
from tbcore_testing import write_run
from tbcore_testing.client import TbcoreClient
from tbcore_testing.in_thread import Server

SAME = {"sec-fetch-site": "same-origin", "origin": "http://localhost:6006"}
OWN = {**SAME, TOKEN_HEADER: TOKEN}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for run in ("a", "b/c"):
        write_run(tmp_path / "runs", run, scalars={"loss": [1.0]})
    return tmp_path / "runs"


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


def test_a_look_that_waited_for_the_disk_delays_no_other_one(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What others note is seen soon, also on a loaded machine or a slow network directory."""
    refresh, looks = RunNotes.refresh, []

    def waiting(notes: RunNotes) -> None:
        looks.append(notes)
        time.sleep(0.3)
        refresh(notes)

    monkeypatch.setattr(RunNotes, "refresh", waiting)
    client = served(logdir)
    client.get("data/runs")  # Without requests, there are no looks.
    before = len(looks)
    until(lambda: len(looks) >= before + 3)


def test_a_name_that_is_another_run_by_now_is_refused(logdir: Path) -> None:
    """Of a page that has not heard of it. What programs say without `ids` is not checked."""
    pytest.importorskip("tbcore_formats")
    (logdir / "x").mkdir()
    (logdir / "x" / "log.csv").write_text("step,loss\n0,1\n")
    client = served(logdir)
    ids = ["", client.get("data/run_details").json()["sources"]["x"]["id"]]

    def status(**more: Any) -> Any:
        body = {"runs": ["a", "x"], "set": {"archived": True}, **more}
        return client.post("data/notes", json=body, headers=OWN).status_code

    assert status(ids=ids) == 200
    (logdir / "x" / "metrics.csv").write_text("step,loss\n0,1\n")
    client.reload()
    assert {*client.get("data/runs").json()} == {"a", "b/c", "x", "x/log"}
    body = {"runs": ["a", "x"], "set": {"starred": True}, "ids": ids}
    answer = client.post("data/notes", json=body, headers=OWN)
    line = "run 'x' is another run now than the one that was shown"
    assert (answer.status_code, answer.text.strip()) == (400, line)
    assert "starred" not in client.get("data/notes").json()["runs"]["a"]
    assert [status(), status(ids=["f", ""]), status(ids=ids[1:])] == [200, 400, 400]
    (logdir / "x" / "log.csv").unlink()
    (logdir / "x" / "metrics.csv").unlink()
    write_run(logdir, "x", scalars={"loss": [1.0]})
    client.reload()
    assert status(ids=ids) == 400


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


@pytest.mark.parametrize(
    ("note", "beginning"),
    [
        ("one line", "one line"),
        ("first\nsecond", "first"),
        ("first  \n\nsecond", "first"),
        ("first\r\nsecond", "first"),
        ("first\rsecond", "first"),
        ("é" * 200, "é" * 200),
        ("😀" * 201, "😀" * 200),
        ("x" * 10_000, "x" * 200),
        ("x" * 150 + "\n" + "y" * 150, "x" * 150),
    ],
)
def test_a_list_of_notes_has_the_first_lines_of_texts(
    logdir: Path, note: str, beginning: str
) -> None:
    """Also the answer to a change. A query finds what is in the rest, and `run` gets all of it."""
    client = served(logdir)
    answer = change(client, note=note, labels=["paper"]).json()
    found = answer["runs"]["a"]
    note = note.replace("\r\n", "\n").replace("\r", "\n")
    assert found["note"]["value"] == beginning
    assert found["note"].get("is_cut", False) is (beginning != note)
    assert "is_cut" not in found["labels"]
    assert client.get("data/notes").json()["runs"]["a"] == found
    assert RunNotes([LogdirSpec(None, str(logdir))]).values("a")["note"] == note
    whole = client.get("data/notes", params={"run": ["a", "b/c", "none"]}).json()
    expected = {**found["note"], "value": note}
    expected.pop("is_cut", None)
    assert whole == {"runs": {"a": {**found, "note": expected}, "b/c": {}, "none": {}}}
    query = {"query": f'note:"{note[-4:]}"'}
    assert client.post("data/run_attributes", json=query).json()["query"]["found"] == ["a"]
    assert client.get("data/notes", params={"run": ["a"] * 20}).json()["runs"].keys() == {"a"}
    refused = client.get("data/notes", params={"run": ["a"] * 21})
    assert (refused.status_code, refused.text) == (400, 'at most 20 times "run", got 21')


def test_a_change_is_measured_before_it_is_made(logdir: Path, limits: Callable[..., None]) -> None:
    """As it would be written, for each run: 413 with a line, and nothing changes."""
    limits(http, MAX_CHANGE_BYTES=2000)
    client = served(logdir)
    runs = ["a", "b/c"]
    for values in ({"note": "x" * 1000}, {"note": "\x01" * 170}, {"note": "é" * 500}):
        refused = change(client, runs=runs, **values)
        assert refused.status_code == 413
        assert refused.text.startswith("this change has 2.")
        assert refused.text.endswith(
            " kB, 1.0 kB for each of 2 runs, and at most 2.0 kB are taken at once; change fewer "
            "runs at a time, or note less about each"
        )
        assert change(client, runs=runs[:1], **values).status_code == 200
    assert client.get("data/notes").json()["runs"].keys() == {"a"}
    long = [f"label{n}" * 6 for n in range(20)]
    assert change(client, runs=runs, labels=long).status_code == 200
    body = {"runs": runs, "remove_labels": long[:1], "add_labels": ["b"]}
    assert client.post("data/notes", json=body, headers=OWN).status_code == 200
    limits(http, MAX_CHANGE_BYTES=1000)
    body = {"runs": runs, "remove_labels": ["b"], "add_labels": ["c"]}
    assert client.post("data/notes", json=body, headers=OWN).status_code == 413
    labels = client.get("data/notes").json()["runs"]["b/c"]["labels"]["value"]
    assert labels == [*long[1:], "b"]


def test_a_change_in_several_directories_is_made_in_all_or_in_none(tmp_path: Path) -> None:
    """If what is refused is in the second one, the first one does not change."""
    for name in ("x", "y"):
        write_run(tmp_path / name, "run", scalars={"loss": [1.0]})
    notes = RunNotes([LogdirSpec(name, str(tmp_path / name)) for name in ("x", "y")])
    notes.change(["y/run"], {"labels": [f"l{n}" for n in range(20)]})
    with pytest.raises(BadRequestError, match="at most 20 labels"):
        notes.change(["x/run", "y/run"], {}, labels=LabelChange(["new"]))
    with pytest.raises(NotesError, match="this change has"):
        notes.change(["x/run", "y/run"], {"note": "x" * 600}, max_bytes=1000)
    assert notes.values("x/run") == {}


def test_a_line_of_an_error_is_short_whatever_was_sent(logdir: Path) -> None:
    """What a client sends is not sent back whole."""
    client = served(logdir)
    long = "\u202e" * 50_000
    bodies: list[Any] = [
        {"runs": [long], "set": {"starred": True}},
        {"runs": ["a"], "set": {long: True}},
        {"runs": ["a"], "set": {"labels": [long]}},
        {"runs": ["a"], "set": {"color": long}},
        {"runs": ["a"], "set": {"note": long}},
        {"runs": ["a"], "set": {}, "add_labels": [long]},
        {"runs": ["a"], "set": long},
    ]
    for body in bodies:
        response = client.post("data/notes", json=body, headers=OWN)
        assert response.status_code == 400
        assert len(response.text) < 3000
    for levels in (300, 900, 5000):
        nested = b'{"runs":["a"],"set":{"note":' + b"[" * levels + b"]" * levels + b"}}"
        headers = {**OWN, "content-type": "application/json"}
        assert client.post("data/notes", content=nested, headers=headers).status_code == 400
    for response in (
        client.get("data/views", params={"name": long[:5000]}),
        client.post("data/views", json={"name": long, "address": "#a"}, headers=OWN),
        client.post("data/views", json={"name": "a", "address": f"#{long}"}, headers=OWN),
    ):
        assert response.status_code in (400, 404)
        assert len(response.text) < 3000


def test_the_stream_has_the_generation(logdir: Path, calls_of: Watch) -> None:
    """It rises with a change by this server, and by another process, and open pages are woken."""
    wakings, client = calls_of(Updates.wake), served(logdir)
    before = client.get("data/status").json()["notes_generation"]
    change(client)
    after = client.get("data/status").json()["notes_generation"]
    assert after > before
    num_before = len(wakings)
    RunNotes([LogdirSpec(None, str(logdir))]).change(["a"], {"note": "elsewhere"})
    until(lambda: len(wakings) > num_before)
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
        ({"runs": ["a"], "remove_labels": ["x"] * 100_000}, "at most 20 labels can be added or"),
        ({"runs": ["a"], "add_labels": ["x"] * 100_000}, "at most 20 labels can be added or"),
        ({"runs": ["a"], "set": {"labels": ["x"] * 100_000}}, "a run can have at most 20 labels"),
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


def test_a_note_that_cannot_be_kept_is_an_error(logdir: Path, data: Path) -> None:
    client = served(logdir)
    data.write_text("no directory")
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
    assert found("is:read") == "expected starred, archived, failed or finished after is:"
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
        wrong = "the token that was sent is not that of this start of the server: "
        assert response.text.startswith(
            wrong * bool(headers.get(TOKEN_HEADER))
            + "to change notes, open the address that `tbcore notes address"
        )
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
