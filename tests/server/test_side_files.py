"""Files beside event files that a plugin claims: what it gets, and what no log makes it get."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from common_fixtures import until
from disk import Clock, Disk
from starlette.requests import Request
from starlette.routing import Route

from tbcore import Claim, Multiplexer, NotFoundError, PluginInfo, hookimpl
from tbcore.engine import load_plugins
from tbcore.eventfiles import local_disk
from tbcore.eventfiles.logdir import Logdir, LogdirSpec
from tbcore.eventfiles.other_files import matches
from tbcore.eventfiles.storage import Pacing
from tbcore.http import bytes_response, json_response, required
from tbcore_testing import TbcoreClient, make_client, write_run
from tbcore_testing.in_thread import Server

TRACES = "plugins/profile/*/*.xplane.pb"
CLAIMS = (Claim(files=TRACES), Claim(files="notes?.txt"))
MAX_BYTES = 1000


def plugin(claims: Sequence[Claim] = CLAIMS) -> Any:
    def routes(multiplexer: Multiplexer) -> list[Route]:
        def files(request: Request) -> Any:
            run = required(request, "run")
            found = [f for claim in claims for f in multiplexer.files(run, claim.files or "")]
            return json_response([{"name": f.name, "size": f.size, "etag": f.etag} for f in found])

        def content(request: Request) -> Any:
            run, name = required(request, "run", "name")
            for file in multiplexer.files(run, TRACES):
                if file.name == name:
                    return bytes_response(
                        file.read(MAX_BYTES), "text/plain", etag=file.etag, request=request
                    )
            raise NotFoundError(f"no file {name!r}")

        return [Route("/files", files), Route("/content", content)]

    info = PluginInfo(title="Profile", claims=claims, module=None)
    return SimpleNamespace(plugin_info=hookimpl(lambda: info), routes=hookimpl(routes))


def add(path: Path, content: bytes = b"trace") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The directory of a run, with a trace."""
    write_run(tmp_path / "logs", "train", scalars={"loss": [1.0]})
    add(tmp_path / "logs" / "train" / "plugins/profile/1/host.xplane.pb")
    return tmp_path / "logs" / "train"


@pytest.fixture
def client(run: Path) -> TbcoreClient:
    return make_client(run.parent, plugins={"profile": plugin()})


def names(client: Any, run: str = "train") -> list[str]:
    response = client.get(f"data/plugin/profile/files?run={run}")
    assert response.status_code == 200, response.text
    return [file["name"] for file in response.json()]


def content(client: Any, name: str) -> Any:
    return client.get("data/plugin/profile/content", params={"run": "train", "name": name})


NAME = "plugins/profile/1/host.xplane.pb"


def test_a_claimed_file_makes_the_plugin_active_and_is_shown(run: Path) -> None:
    """Without the claim, the page lists the file among the data that tbcore does not show."""
    bare = make_client(run.parent)
    [unshown] = bare.get("data/status").json()["other_files"]
    assert (unshown["kind"], unshown["num_files"]) == ("profile", 1)

    client = make_client(run.parent, plugins={"profile": plugin()})
    assert client.get("data/plugins_listing").json() == {"profile": True}
    assert client.get("data/status").json()["other_files"] == []
    assert names(client) == [NAME]
    assert content(client, NAME).content == b"trace"


def test_a_plugin_without_such_files_is_inactive(tmp_path: Path) -> None:
    """A file counts below the directory of a run, at the depth of the pattern, and nowhere else."""
    write_run(tmp_path, "a/b", scalars={"loss": [1.0]})
    for name in (
        "plugins/profile/1/host.xplane.pb",
        "a/plugins/profile/1/host.xplane.pb",
        "a/b/plugins/profile/host.xplane.pb",
        "a/b/plugins/profile/1/2/host.xplane.pb",
        "a/b/c/plugins/profile/1/host.xplane.pb",
        "a/b/plugins/profile/1/host.xplane.pbx",
        "a/b/notes.txt",
        "a/b/notes12.txt",
    ):
        add(tmp_path / name)
    client = make_client(tmp_path, plugins={"profile": plugin()})
    assert client.get("data/plugins_listing").json() == {"profile": False}
    assert names(client, "a/b") == []
    [unshown] = client.get("data/status").json()["other_files"]
    assert unshown["num_files"] == 6
    add(tmp_path / "a/b/notes1.txt")
    client.reload()
    assert client.get("data/plugins_listing").json() == {"profile": True}
    assert names(client, "a/b") == ["notes1.txt"]


def test_a_pattern_for_any_directory_needs_no_run(run: Path) -> None:
    """If there is one log directory, on this machine: there the plugin finds such files itself.

    Other files of its kind beside such a file are its caches."""
    logs = run.parent
    add(logs / "a/b" / NAME)
    claims = (Claim(files=f"**/{TRACES}"),)
    client = make_client(logs, plugins={"profile": plugin(claims)})
    assert names(client) == [NAME]
    add(logs / "a/b" / NAME).with_suffix(".cache").touch()
    client.reload()
    assert client.get("data/status").json()["other_files"] == []
    generation = client.multiplexer.generation
    (run / NAME).unlink()
    client.reload()
    assert client.get("data/plugins_listing").json() == {"profile": True}
    (logs / "a/b" / NAME).unlink()
    client.reload()
    assert client.get("data/plugins_listing").json() == {"profile": False}
    assert client.multiplexer.generation == generation + 2

    add(logs / "a/b" / NAME)
    client = make_client("", logdir_spec=f"{logs},{logs}-2", plugins={"profile": plugin(claims)})
    assert client.get("data/plugins_listing").json() == {"profile": False}
    assert [each["num_files"] for each in client.get("data/status").json()["other_files"]] == [2]


def test_the_root_may_be_a_run(tmp_path: Path) -> None:
    write_run(tmp_path, ".", scalars={"loss": [1.0]})
    add(tmp_path / NAME)
    assert names(make_client(tmp_path, plugins={"profile": plugin()}), ".") == [NAME]


def test_a_run_that_is_found_twice_has_its_files_under_both_names(run: Path) -> None:
    client = make_client("", logdir_spec=f"{run.parent},b:{run}", plugins={"profile": plugin()})
    assert (names(client), names(client, "b/.")) == ([NAME], [NAME])


def test_files_follow_the_disk(client: TbcoreClient, run: Path) -> None:
    """New, changed and removed files begin a new generation of their run."""
    lists = client.multiplexer.runs_generation
    add(run / NAME, b"a longer trace")
    generations = [client.multiplexer.run_generations()["train"]]
    client.reload()
    assert content(client, NAME).content == b"a longer trace"
    assert client.multiplexer.runs_generation == lists
    add(run / "plugins/profile/0/host.xplane.pb", b"first")
    generations.append(client.multiplexer.run_generations()["train"])
    client.reload()
    assert names(client) == ["plugins/profile/0/host.xplane.pb", NAME]
    assert client.multiplexer.runs_generation == (lists := lists + 2)
    (run / NAME).unlink()
    generations.append(client.multiplexer.run_generations()["train"])
    client.reload()
    assert names(client) == ["plugins/profile/0/host.xplane.pb"]
    assert client.multiplexer.runs_generation == lists + 1
    generations.append(client.multiplexer.run_generations()["train"])
    client.reload()
    assert generations == sorted({*generations})
    assert client.multiplexer.run_generations()["train"] == generations[-1]


def test_the_etag_is_that_of_the_file(client: TbcoreClient, run: Path) -> None:
    first = client.multiplexer.files("train", TRACES)[0]
    add(run / NAME, b"other")
    os.utime(run / NAME, ns=(0, 1))
    client.reload()
    second = client.multiplexer.files("train", TRACES)[0]
    assert (second.size, second.modified) == (5, 1e-9)
    assert first.etag != second.etag


def secret(run: Path) -> Path:
    """A file outside of all log directories."""
    return add(run.parents[1] / "secret" / "1" / "id.xplane.pb", b"secret")


def link_file(run: Path) -> None:
    (run / "plugins/profile/1/link.xplane.pb").symlink_to(secret(run))


def link_session(run: Path) -> None:
    (run / "plugins/profile/2").symlink_to(secret(run).parent)


def link_profile(run: Path) -> None:
    (run / "plugins").rename(run / "moved")
    (run / "plugins").symlink_to(run / "moved")


@pytest.mark.parametrize("make", [link_file, link_session, link_profile])
def test_links_below_a_run_are_not_followed(run: Path, make: Any) -> None:
    """The status says why such a file is missing."""
    make(run)
    client = make_client(run.parent, plugins={"profile": plugin()})
    assert names(client) == ([] if make is link_profile else [NAME])
    assert content(client, "plugins/profile/2/id.xplane.pb").status_code == 404
    [problem] = client.get("data/status").json()["problems"]
    assert "links to logs and files that plugins read are not followed" in problem


def test_a_run_that_is_found_through_a_link_has_files(run: Path, tmp_path: Path) -> None:
    """As its event files are read: only what is below the run's directory must be no link."""
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "train").symlink_to(run)
    client = make_client(tmp_path / "linked", plugins={"profile": plugin()})
    assert names(client) == [NAME]
    assert content(client, NAME).content == b"trace"


@pytest.mark.parametrize("step", ["plugins", "plugins/profile", "plugins/profile/1", NAME])
def test_a_step_that_becomes_a_link_after_the_scan_is_not_followed(
    client: TbcoreClient, run: Path, step: str
) -> None:
    """Anyone who writes logs could replace a directory between the scan and the request."""
    target = run.parents[1] / "elsewhere"
    (run / step).rename(target)
    (run / step).symlink_to(target)
    response = content(client, NAME)
    assert response.status_code == 404
    assert f"cannot read '{NAME}'" in response.text
    assert str(run) not in response.text


def test_what_is_no_regular_file_is_left_out(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a FIFO would wait for its writer."""
    monkeypatch.chdir(run / "plugins/profile/1")  # The path of a socket must be short.
    os.mkfifo(run / "plugins/profile/1/fifo.xplane.pb")
    (run / "plugins/profile/1/folder.xplane.pb").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.xplane.pb")
    client = make_client(run.parent, plugins={"profile": plugin()})
    assert names(client) == [NAME]


def test_a_file_that_becomes_a_fifo_is_not_waited_for(client: TbcoreClient, run: Path) -> None:
    (run / NAME).unlink()
    os.mkfifo(run / NAME)
    response = content(client, NAME)
    assert (response.status_code, "is not a regular file" in response.text) == (404, True)


def test_a_large_file_is_refused_before_it_is_read(client: TbcoreClient, run: Path) -> None:
    """A sparse file of 8 TB takes no space on the disk."""
    os.truncate(run / NAME, 1 << 43)
    client.reload()
    response = content(client, NAME)
    assert response.status_code == 404
    assert response.text == f"'{NAME}' has {1 << 43} bytes, more than the {MAX_BYTES} allowed"
    [file] = client.multiplexer.files("train", TRACES)
    assert file.read_part((1 << 43) - 5, 100) == bytes(5)
    assert file.read_part(1 << 43, 100) == file.read_part(1 << 50, 1) == b""
    with pytest.raises(NotFoundError, match="Invalid argument"):
        file.read_part(-1, 1)


def test_a_file_that_becomes_shorter_is_an_error(client: TbcoreClient, run: Path) -> None:
    [file] = client.multiplexer.files("train", TRACES)
    add(run / NAME, b"")
    with pytest.raises(NotFoundError, match="changed while it was read"):
        file.read(MAX_BYTES)


def test_a_file_that_grows_is_read_as_it_was_found(client: TbcoreClient, run: Path) -> None:
    """Its bytes are those that the ETag is for."""
    [file] = client.multiplexer.files("train", TRACES)
    add(run / NAME, b"trace and more")
    assert (file.read(MAX_BYTES), file.read_part(3, 100)) == (b"trace", b"ce")


def test_names_are_never_patterns(run: Path) -> None:
    """A name with `*`, and one in Latin-1, are names; so are those of a run."""
    for name in ("*.xplane.pb", "[a-z].xplane.pb", "..xplane.pb", "%2e%2e.xplane.pb"):
        add(run / "plugins/profile/1" / name, name.encode())
    with open(os.fsencode(run) + b"/plugins/profile/1/\xe9.xplane.pb", "wb") as file:
        file.write(b"latin")
    write_run(run.parent, "*", scalars={"loss": [1.0]})
    client = make_client(run.parent, plugins={"profile": plugin()})
    assert len(names(client)) == 6
    assert names(client, "%2A") == []
    assert content(client, "plugins/profile/1/*.xplane.pb").content == b"*.xplane.pb"
    assert content(client, "plugins/profile/1/../1/host.xplane.pb").status_code == 404
    [latin] = [
        f
        for f in client.multiplexer.files("train", TRACES)
        if f.size == 5 and f.read(5) == b"latin"
    ]
    json_response(latin.name)


def test_a_pattern_with_many_stars_takes_no_time() -> None:
    """An engine that tries all ways to match would not end."""
    assert matches("run/" + "ab" * 120, "*a*b" * 60)
    assert not matches("run/" + "ab" * 120, "*a*b" * 60 + "c")


def test_only_patterns_that_a_plugin_claims_are_found(client: TbcoreClient) -> None:
    """Also if a plugin passes text from a request as the pattern."""
    for pattern in ("*", "../*", "plugins/profile/1/*.xplane.pb", "/etc/passwd", ""):
        with pytest.raises(ValueError, match=r"no plugin claims the files .*Claim\(files="):
            client.multiplexer.files("train", pattern)
    with pytest.raises(NotFoundError, match="no run 'trian'; close: 'train'"):
        client.multiplexer.files("trian", TRACES)


@pytest.mark.parametrize(
    "files",
    [
        *("", "/etc/passwd", "../*", "a/../b", "./a", "a//b", "a/", ".", "..", "**", "a/**/b"),
        *("a\\b", "[ab].txt", "a\0", 5, b"a"),
    ],
)
def test_a_pattern_that_may_lead_elsewhere_fails_the_plugin(files: Any) -> None:
    [loaded] = load_plugins(only=(), extra={"profile": plugin([Claim(files=files)])})
    assert loaded.error is not None
    assert "PluginInfo.claims must have files such as 'plugins/mine/*.json'" in loaded.error


def test_a_claim_is_of_series_or_of_files() -> None:
    [loaded] = load_plugins(only=(), extra={"a": plugin([Claim("tensor", files="a.txt")])})
    assert loaded.error is not None
    assert "no other attribute" in loaded.error


def test_a_claim_of_files_matches_no_series(client: TbcoreClient) -> None:
    assert client.multiplexer.tags(CLAIMS) == {"train": []}
    with pytest.raises(NotFoundError):
        client.multiplexer.scalars("train", "loss", claims=CLAIMS)


def test_a_failed_plugin_claims_no_files(run: Path) -> None:
    broken = plugin()
    broken.routes = hookimpl(lambda: 1 / 0)
    client = make_client(run.parent, plugins={"profile": broken}, dev=False)
    assert client.get("data/status").json()["other_files"] != []


def test_claimed_files_are_examined_again_without_listing_directories(
    tmp_path: Path, disk: Disk, clock: Clock
) -> None:
    """A scan lists nothing again, also where plugins claim files, whose changes it finds."""
    for index in range(20):
        write_run(tmp_path, f"run{index}", scalars={"loss": [1.0]})
    add(tmp_path / "run3" / NAME)
    for path in [tmp_path, *tmp_path.rglob("*")]:
        os.utime(path, (1e9, 1e9))
    patterns = {"now": frozenset[str]()}
    logdir = Logdir([LogdirSpec(None, str(tmp_path))], Pacing(patterns=lambda: patterns["now"]))
    clock.rules(local_disk)

    def listed() -> list[str]:
        """The directories that are listed once those that can be known are known."""
        for _ in range(5):
            clock.advance(4)
            disk.listed.clear()
            logdir.scan()
        return [os.path.relpath(path, tmp_path) for path in disk.listed]

    assert listed() == []
    patterns["now"] = frozenset({TRACES})
    assert logdir.scan().side_files.keys() == {"run3"}
    assert listed() == []
    size = os.path.getsize(tmp_path / "run3" / NAME)
    with open(tmp_path / "run3" / NAME, "ab") as file:
        file.write(b"more")
    (found,) = logdir.scan().side_files["run3"][TRACES]
    assert found.size == size + 4
    patterns["now"] = frozenset()
    assert listed() == []


@pytest.fixture
def served(run: Path) -> Iterator[httpx.Client]:
    plugins = load_plugins(only=(), extra={"profile": plugin()})
    server = Server(run.parent, plugins=plugins, reload_interval=0.1)
    with server, httpx.Client(base_url=server.url) as client:
        yield client


def test_over_http(served: httpx.Client, run: Path) -> None:
    """A file that is added while the server runs, with an ETag."""
    while names(served) != [NAME]:
        pass
    response = content(served, NAME)
    etag = {"If-None-Match": response.headers["etag"]}
    params = {"run": "train", "name": NAME}
    again = served.get("data/plugin/profile/content", params=params, headers=etag)
    assert (response.content, again.status_code) == (b"trace", 304)
    add(run / "notes1.txt")
    while len(names(served)) < 2:
        pass


PLUGIN_FILE = """
from tbcore import Claim, PluginInfo, hookimpl
@hookimpl
def plugin_info():
    return PluginInfo(title="T", claims=[Claim(files="notes?.txt")], module=None)
"""


def test_a_server_that_reads_once_finds_files_as_well(
    serve: Any, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its plugins are imported while it reads."""
    monkeypatch.setenv("TBCORE_PLUGINS", "")
    add(run / "notes1.txt")
    add(tmp_path / "plugins" / "texts.py", PLUGIN_FILE.encode())
    plugins = str(tmp_path / "plugins")
    address = serve(run.parent, "--plugins_dir", plugins, "--reload_interval", "0")
    until(lambda: httpx.get(f"{address}/data/plugins_listing").json()["texts"])
