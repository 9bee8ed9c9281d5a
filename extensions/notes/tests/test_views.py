"""Named views: what is kept, who may save them, and what a stranger's files can do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from commands import on_terminal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from noted_servers import WRITE_TOKEN as TOKEN
from noted_servers import own_folder, served

from tbcore import BadRequestError
from tbcore.engine import LogdirSpec
from tbcore_notes import records, store
from tbcore_notes.access import TOKEN_HEADER
from tbcore_notes.changes import NotesError
from tbcore_notes.notes import RunNotes
from tbcore_notes.store import Store
from tbcore_testing import write_run
from tbcore_testing.client import TbcoreClient

SAME = {"sec-fetch-site": "same-origin", "origin": "http://localhost:6006"}
ADDRESS = "#scalars&query=-has:nan&group=seeds&colors=a,2a78d6"


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write_run(tmp_path / "runs", "a", scalars={"loss": [1.0]})
    return tmp_path / "runs"


def opened(logdir: Path) -> Store:
    found = Store(str(logdir))
    found.refresh()
    return found


def addresses(found: Store) -> dict[str, Any]:
    return {name: view.value for name, view in found.views.items() if view.value}


def save(
    client: TbcoreClient, headers: Any = SAME, name: Any = "best", address: Any = ADDRESS
) -> Any:
    headers = {header: text for header, text in ({TOKEN_HEADER: TOKEN} | headers).items() if text}
    return client.post("data/views", json={"name": name, "address": address}, headers=headers)


def names(client: TbcoreClient, **headers: str) -> list[str]:
    return [view["name"] for view in client.get("data/views", headers=headers).json()["views"]]


# -- what is kept ----------------------------------------------------------------------------------


def test_a_view_is_kept_replaced_and_taken_away(logdir: Path) -> None:
    """Also in another process; the last one of a name counts, whatever the clocks say."""
    first = opened(logdir)
    first.save_view(" best  ", ADDRESS, is_own=True)
    first.save_view("of b", "#text", is_own=True)
    assert addresses(opened(logdir)) == {"best": ADDRESS, "of b": "#text"}
    ahead = records.line_of(
        first.views["best"].time + 3_600_000_000, "bob@far", "best", {"address": "#images"}
    )
    (own_folder(logdir) / "bob.jsonl").write_bytes(ahead)
    second = opened(logdir)
    assert second.views["best"].by == "bob@far"
    second.save_view("best", "#graphs", is_own=True)
    second.save_view("of b", "", is_own=True)
    assert addresses(opened(logdir)) == {"best": "#graphs"}
    assert not (logdir / ".tbcore").exists()


@pytest.mark.parametrize(
    "name",
    ["", " ", "a/b", "../x", "a  b", "a\nb", "<b>", "a&b", "\u202ea", "x" * 101, "a#b", 5, None,
     "\ud800", "a\0"],
)  # fmt: skip
def test_a_name_that_is_not_valid_is_refused(logdir: Path, name: Any) -> None:
    with pytest.raises(BadRequestError, match="the name of a view must have"):
        opened(logdir).save_view(name, ADDRESS, is_own=True)
    assert not own_folder(logdir).exists()


@pytest.mark.parametrize(
    "address",
    ["scalars", "#", "#a b", "#\u00e9", "https://x", "javascript:x", "#a\n", None, 5,
     "#scalars&write=x", "#write=x", "#scalars&%77rite=x", "#" + "x" * records.MAX_VIEW_BYTES],
)  # fmt: skip
def test_an_address_that_is_not_valid_is_refused(logdir: Path, address: Any) -> None:
    """So is one that would replace the secret for changing notes in the browser of who opens it."""
    with pytest.raises(BadRequestError):
        opened(logdir).save_view("best", address, is_own=True)


def test_letters_of_all_scripts_are_one_name_however_they_are_typed(logdir: Path) -> None:
    client = served(logdir)
    assert save(client, name="mod\u00e8le 2").status_code == 200
    found = client.get("data/views", params={"name": "mode\u0300le 2"})
    assert found.json()["address"] == ADDRESS


def test_views_have_a_limit_of_number(logdir: Path, limits: Callable[..., None]) -> None:
    """Others' views fill nobody's own, and one that is taken away frees its place."""
    limits(store, MAX_VIEWS=3)
    folder = logdir.joinpath(*store.SHARED)
    folder.mkdir(parents=True)
    lines = [records.line_of(n, "eve@x", f"v{n}", {"address": "#text"}) for n in range(5)]
    folder.joinpath("eve.jsonl").write_bytes(b"".join(lines))
    found = opened(logdir)
    assert len(found.views) == 3
    assert found.problems == ["2 views are left out: there are 3"]
    for number in range(3):
        found.save_view(f"own {number}", ADDRESS, is_own=True)
    found.save_view("own 1", "#text", is_own=True)
    with pytest.raises(NotesError, match="at most 3 views"):
        found.save_view("one more", ADDRESS, is_own=True)
    found.save_view("own 0", "", is_own=True)
    found.save_view("one more", ADDRESS, is_own=True)


def test_a_view_above_the_limit_is_refused_and_never_lost(
    logdir: Path, limits: Callable[..., None]
) -> None:
    """What others save through a server is left out from the limit on, so it is not confirmed."""
    limits(store, MAX_VIEWS=2)
    found = opened(logdir)
    for name in ("a", "b"):
        found.save_view(name, ADDRESS, is_own=False)
    with pytest.raises(NotesError, match=r"at most 2 views can be kept$"):
        found.save_view("c", ADDRESS, is_own=False)
    found.save_view("a", "#text", is_own=False)
    assert found.views["a"].value == "#text"
    found.save_view("mine", ADDRESS, is_own=True)
    assert found.views["mine"].value == ADDRESS


def test_views_are_shared_with_the_notes(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only this user's own; where they are shared, they are somebody else's."""
    found = opened(logdir)
    found.change(["a"], {"starred": True}, is_own=True)
    found.save_view("best", ADDRESS, is_own=True)
    found.save_view("served", ADDRESS, is_own=False)
    _, num_runs, num_views, _ = found.share()
    assert (num_runs, num_views) == (1, 1)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another"))
    other = opened(logdir)
    assert addresses(other) == {"best": ADDRESS}
    assert other.views["best"].is_own is False


def test_views_of_several_directories_are_of_just_these(logdir: Path, tmp_path: Path) -> None:
    both = [LogdirSpec("old", str(logdir)), LogdirSpec("new", str(tmp_path))]
    RunNotes(both).save_view("best", "#scalars&runs=old/a")
    assert [view.name for view in RunNotes(both).views()] == ["best"]
    assert RunNotes([LogdirSpec(None, str(logdir))]).views() == []
    assert RunNotes(both).generation == 0


def test_the_command_names_views(logdir: Path) -> None:
    RunNotes([LogdirSpec(None, str(logdir))]).save_view("best", ADDRESS)
    command = [sys.executable, "-m", "tbcore", "notes"]
    listed = subprocess.run([*command, "list", logdir], capture_output=True, text=True, timeout=60)
    assert (listed.returncode, listed.stdout) == (1, ""), "there are no notes"
    assert on_terminal("notes", "list", logdir)[1].startswith("view 'best', ")
    shared = subprocess.run([*command, "share", logdir], capture_output=True, text=True, timeout=60)
    assert "notes on 0 runs and 1 view are shared in" in shared.stdout


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    content=st.binary(max_size=300),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    ),
)
def test_properties_of_strangers_files(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, value: Any
) -> None:
    """Any bytes and any JSON in a downloaded `.tbcore` are left out; what is valid is found."""
    logdir = tmp_path_factory.mktemp("runs")
    folder = logdir.joinpath(*store.SHARED)
    folder.mkdir(parents=True)
    good = records.line_of(1, "bob@x", "good", {"address": ADDRESS})
    lines = [content, good]
    for field in ("view", "t", "by", "set"):
        lines.append(json.dumps({**json.loads(good), field: value}).replace(" ", "").encode())
    lines.append(json.dumps({"t": 2, "by": "e", "view": "x", "set": {"address": value}}).encode())
    folder.joinpath("eve.jsonl").write_bytes(b"\n".join([*lines, b""]))
    found = opened(logdir)
    assert found.views["good"].value in ("", ADDRESS)
    for name, view in found.views.items():
        assert records.checked_name(name) == name
        assert records.checked_fragment(view.value) == view.value
        assert view.is_own is False


# -- over HTTP -------------------------------------------------------------------------------------


def test_a_saved_view_is_in_the_list_and_found_by_its_name(logdir: Path) -> None:
    client = served(logdir)
    empty = {"read_only": None, "needs_token": True, "has_defaults": False, "problems": []}
    empty |= {"refusal": ANY}
    assert client.get("data/views").json() == {**empty, "views": []}
    before = client.get("data/status").json()["notes_generation"]
    [view] = save(client).json()["views"]
    assert (view["name"], view["is_own"], view["by"].count("@")) == ("best", True, 1)
    assert client.get("data/status").json()["notes_generation"] > before
    found = client.get("data/views", params={"name": "best"}).json()
    assert found == {**view, "address": ADDRESS}
    missing = client.get("data/views", params={"name": "bset"})
    assert (missing.status_code, missing.text.strip()) == (404, "no view 'bset'; close: 'best'")
    assert save(client, address="").json()["views"] == []
    assert client.get("data/views", params={"name": "best"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ({"name": "a/b", "address": ADDRESS}, "the name of a view must have"),
        ({"name": "a", "address": "text"}, "address must be the fragment"),
        ({"name": "a", "address": "#write=x"}, "the address of a view must not contain write="),
        (
            {"name": "a", "address": "#" + "x" * 70_000},
            "this view has 68 KiB, and at most 64 are kept",
        ),
        ({"name": 5, "address": ADDRESS}, '"name" must be a string'),
        ({"name": "a" * 5000, "address": ADDRESS}, "the name of a view must have at most 100"),
        ({"name": "a"}, '"address" must be a string'),
        ([], "the body must be a JSON object"),
    ],
)
def test_a_view_that_is_not_valid_is_refused_in_a_line(logdir: Path, body: Any, line: str) -> None:
    client = served(logdir)
    response = client.post("data/views", json=body, headers={**SAME, TOKEN_HEADER: TOKEN})
    assert (response.status_code, response.text.startswith(line)) == (400, True), response.text
    assert names(client) == []


@pytest.mark.parametrize(
    ("headers", "is_admitted"),
    [
        (SAME, True),
        ({}, True),
        ({"origin": "http://localhost:8888"}, False),
        ({"sec-fetch-site": "same-site", "origin": "http://localhost:8888"}, False),
        ({"sec-fetch-site": "cross-site", "origin": "https://evil.example"}, False),
        ({"origin": "null"}, False),
        ({"content-type": "text/plain", **SAME}, False),
        ({"content-type": "application/x-www-form-urlencoded"}, False),
    ],
)
def test_only_pages_of_this_origin_save_views(
    logdir: Path, headers: dict[str, str], is_admitted: bool
) -> None:
    client = served(logdir)
    response = save(client, headers)
    assert response.status_code == (200 if is_admitted else 403)
    assert bool(names(client)) is is_admitted
    assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [({TOKEN_HEADER: TOKEN}, 200), ({TOKEN_HEADER: "wrong"}, 403), ({TOKEN_HEADER: ""}, 403)],
)
def test_another_user_of_the_machine_needs_the_write_token(
    logdir: Path, headers: dict[str, str], status: int
) -> None:
    client = served(logdir)
    assert save(client, SAME | headers).status_code == status
    answer = client.get("data/views").json()
    assert (answer["read_only"], answer["needs_token"]) == (None, True)
    assert TOKEN not in str(answer)


@pytest.mark.parametrize(
    "config",
    [
        {"embed_in": ("https://wiki.example",)},
        {"embed_in": ("http://127.0.0.1:*",)},
        {"reach": "network"},
        {"notes": "read"},
    ],
)
def test_a_server_that_takes_no_views(logdir: Path, config: Any) -> None:
    """One whose page others may show in a frame, or that everybody reaches; it still shows them."""
    RunNotes([LogdirSpec(None, str(logdir))]).save_view("best", ADDRESS)
    client = served(logdir, **config)
    response = save(client, SAME | {TOKEN_HEADER: TOKEN}, name="worse")
    assert response.status_code == 403
    assert client.get("data/views").json()["read_only"] == response.text.strip()
    assert names(client) == ["best"]


def test_a_token_is_checked_before(logdir: Path) -> None:
    client = served(logdir, token="secret")
    assert client.get("data/views").status_code == 401
    assert save(client).status_code == 401
    headers = {"authorization": "Bearer secret"}
    [view] = save(client, SAME | headers).json()["views"]
    assert (view["is_own"], view["by"].endswith(" (server)")) == (False, True)


def test_a_view_that_cannot_be_kept_is_an_error(logdir: Path, data: Path) -> None:
    client = served(logdir)
    data.write_text("no directory")
    assert save(client).status_code == 503
    assert names(client) == []
