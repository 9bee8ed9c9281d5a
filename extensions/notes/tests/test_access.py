"""Who changes notes through a server, and whether they are the owner's own then."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from commands import piped
from noted_servers import WRITE_TOKEN, served, until_listed

from tbcore.engine import LogdirSpec
from tbcore_notes.access import TOKEN_HEADER, new_write_token
from tbcore_notes.notes import RunNotes
from tbcore_testing import write_run
from tbcore_testing.client import TbcoreClient
from tbcore_testing.in_thread import Server

TOKEN, READ = "a-token", "a-read-token"
SECRET = "/" + "s" * 32
PAGE = {"sec-fetch-site": "same-origin", "origin": "http://localhost:6006"}
OWN = {**PAGE, TOKEN_HEADER: WRITE_TOKEN}
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A log directory with a run of days ago."""
    old = time.time() - 3 * 86400
    path = write_run(tmp_path / "runs", "a", scalars={"loss": [1.0]}, wall_time=old)
    os.utime(path, (old, old))
    while time.time() - path.stat().st_ctime < 0.05:
        time.sleep(0.01)  # Else a later change could have the same time.
    return tmp_path / "runs"


def archive(client: TbcoreClient, headers: dict[str, str]) -> int:
    body = {"runs": ["a"], "set": {"archived": True}}
    status: int = client.post("data/notes", json=body, headers=headers).status_code
    return status


def test_the_owner_archives_through_the_page(logdir: Path) -> None:
    """With the write token, at an address of this machine; then the command names the files."""
    client = served(logdir)
    assert client.get("data/notes", headers=OWN).json()["owns"] is True
    assert archive(client, OWN) == 200
    until_listed(client)
    [record] = client.get("data/notes").json()["runs"]["a"].values()
    assert (record["is_own"], "(server)" in record["by"]) == (True, False)
    result = piped("notes", "files", logdir, "--format=names")
    assert (result.returncode, result.stdout.count("\0")) == (0, 1), result.stderr


SERVERS: dict[str, dict[str, Any]] = {
    "a token": {"token": TOKEN},
    "a token and a name": {"token": TOKEN, "allowed_hosts": ("logs.example.com",)},
    "a token for all machines": {"token": TOKEN, "reach": "network"},
    "a secret path": {"path_prefix": SECRET, "has_secret_prefix": True},
    "a socket": {"reach": "user"},
    "a socket for all names": {"reach": "user", "allowed_hosts": ("*",)},
    "a name of a proxy": {"allowed_hosts": ("logs.example.com",)},
    "all names": {"allowed_hosts": ("*",)},
    "no token, for all machines": {"reach": "network", "allowed_hosts": ("*",)},
    "a page for frames": {"embed_in": ("https://wiki.example",)},
    "the name tensorboard": {"program": "tensorboard"},
    "--notes read": {"notes": "read"},
}
"""The ways in which a server is started for others, or for programs."""


@pytest.mark.parametrize("config", SERVERS.values(), ids=SERVERS)
@pytest.mark.parametrize("headers", [PAGE, OWN, {}], ids=["page", "write token", "program"])
def test_what_comes_through_any_other_server_is_not_the_owners(
    logdir: Path, config: dict[str, Any], headers: dict[str, str]
) -> None:
    """Although each request looks like one of this machine, and some have the write token."""
    client = served(logdir, **config)
    status = archive(client, {**BEARER, **headers})
    assert status in (200, 403)
    answer = client.get("data/notes", headers={**BEARER, **headers}).json()
    assert (answer["owns"], answer["refusal"] is None) == (False, status == 200)
    assert bool(answer["runs"]) is (status == 200)
    until_listed(client)
    result = piped("notes", "files", logdir, "--format=names")
    assert (result.returncode, result.stdout) == (1, "")


def test_nothing_is_the_owners_once_pages_have_code_of_others(logdir: Path) -> None:
    """Such a page is of the same origin, and can send what the page of tbcore can."""
    client = served(logdir)
    client.multiplexer.distrust_pages()
    assert archive(client, OWN) == 200
    assert client.get("data/notes", headers=OWN).json()["owns"] is False
    view = {"name": "a", "address": "#scalars"}
    assert client.post("data/views", json=view, headers=OWN).json()["views"][0]["is_own"] is False
    until_listed(client)
    result = piped("notes", "files", logdir, "--format=names")
    assert (result.returncode, result.stdout) == (1, "")


@pytest.mark.parametrize(
    "headers",
    [
        {"x-forwarded-for": "192.0.2.7"},
        {"x-forwarded-host": "localhost"},
        {"x-forwarded-proto": "http"},
        {"x-forwarded-prefix": "/logs"},
        {"forwarded": "for=127.0.0.1"},
        {"via": "1.1 proxy"},
        {"x-real-ip": "127.0.0.1"},
        {"cf-connecting-ip": "127.0.0.1"},
        {"true-client-ip": "127.0.0.1"},
        {"origin": "https://logs.example.com"},
        {"origin": "null"},
        {"host": "MACHINE:6006"},
        {"host": "127.0.0.2:6006"},
    ],
    ids=str,
)
def test_a_header_takes_away_that_a_note_is_the_owners(
    logdir: Path, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the right token: somebody forwards the requests of others."""
    monkeypatch.setattr("socket.gethostname", lambda: "machine")
    client = served(logdir, allowed_hosts=())
    status = archive(client, OWN | headers)
    assert status == (403 if headers.get("host") == "127.0.0.2:6006" else 200)
    assert piped("notes", "files", logdir, "--format=names").stdout == ""
    if status == 200:
        [record] = client.get("data/notes").json()["runs"]["a"].values()
        assert (record["is_own"], record["by"].endswith(" (server)")) == (False, True)


def test_a_server_makes_a_write_token_only_where_it_is_needed(logdir: Path) -> None:
    def token(**config: Any) -> str:
        return new_write_token(Server(logdir, plugins=[], **config).config)

    assert len({token(), token(), token(allowed_hosts=("logs.example.com",)), ""}) == 4
    without = [config for name, config in SERVERS.items() if name not in ("a name of a proxy",
               "all names")]  # fmt: skip
    assert {token(**config) for config in without} == {""}
    assert archive(served(logdir, write_token=""), OWN | {TOKEN_HEADER: ""}) == 403


# -- the token for reading -------------------------------------------------------------------------


def test_who_has_the_token_for_reading_reads_and_changes_nothing(logdir: Path) -> None:
    """By a header, by the address, and by the cookie that the address gives."""
    client = served(logdir, token=TOKEN, read_token=READ)
    RunNotes([LogdirSpec(None, str(logdir))]).change(["a"], {"note": "kept"})
    line = "the address that you opened lets you read, and change nothing"
    reader = {"authorization": f"Bearer {READ}"}
    for way in (reader, "query", "cookie"):
        headers, query = way if isinstance(way, dict) else {}, ""
        if way == "query":
            query = f"?token={READ}"
        if way == "cookie":
            welcome = client.get("", params={"token": READ}, follow_redirects=False)
            assert (welcome.status_code, welcome.headers["location"]) == (303, "?_")
            headers = {"cookie": welcome.headers["set-cookie"].partition(";")[0]}
            assert READ not in str(welcome.headers)
        if way != "query":
            assert client.get("data/runs", headers=headers).json() == ["a"]
            answer = client.get("data/notes", headers=headers).json()
            assert (answer["read_only"], answer["refusal"], answer["owns"]) == (line, line, False)
            assert answer["runs"]["a"]["note"]["value"] == "kept"
        for address, body in (
            ("data/notes", {"runs": ["a"], "set": {"starred": True}}),
            ("data/views", {"name": "best", "address": "#scalars"}),
        ):
            refused = client.post(f"{address}{query}", json=body, headers=PAGE | headers)
            assert (refused.status_code, refused.text.strip()) == (403, line)
        found = client.post(
            f"data/run_attributes{query}", json={"query": "a"}, headers=PAGE | headers
        )
        assert found.json()["query"]["count"] == 1
    assert client.get("data/notes", headers=BEARER).json()["read_only"] is None
    assert archive(client, PAGE | BEARER) == 200


def test_who_has_both_cookies_may_change_notes(logdir: Path) -> None:
    """Anyone who opens their own link for reading keeps what they may do."""
    client = served(logdir, token=TOKEN, read_token=READ)
    cookies = []
    for token in (READ, TOKEN):
        welcome = client.get("", params={"token": token}, follow_redirects=False)
        cookies.append(welcome.headers["set-cookie"].partition(";")[0])
    assert len({cookie.partition("=")[0] for cookie in cookies}) == 2
    assert archive(client, PAGE | {"cookie": "; ".join(cookies)}) == 200
    assert archive(client, PAGE | {"cookie": cookies[0]}) == 403
