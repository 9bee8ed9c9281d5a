"""The documented HTTP API: shapes, order, errors and headers.

Most tests use a client without a socket; those that depend on the server's handling of HTTP start a
real one.
"""

from __future__ import annotations

import gzip
import http.client
import json
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

import tbcore_scalars
from tbcore_testing import EventFileWriter, RouteTests, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]

SEED_ROWS = [
    [1443856985.705543, 1448, 0.7461960315704346],
    [1443857105.704628, 3438, 0.5427092909812927],
    [1443857225.705133, 5417, 0.5457325577735901],
]
"""The rows in the example of the documentation."""


def write_seed_runs(logdir: Path) -> None:
    """Writes the two runs of the documentation, and one without scalars."""
    points = [(step, value, wall_time) for wall_time, step, value in SEED_ROWS]
    write_run(
        logdir, "train_run", wall_time=1.0,
        scalars={"xent": [0.5], "loss": points, "learning_rate": [0.1]},
    )  # fmt: skip
    write_run(logdir, "eval", scalars={"precision": [0.5], "recall": [0.25]}, wall_time=2.0)
    write_run(logdir, "empty", wall_time=3.0)


class TestRoutes(RouteTests):
    """The routes of the core. Those of plugins are in the plugins' tests."""

    plugin = tbcore_scalars
    routes: ClassVar = {
        "data/logdir": ["legacy/data/logdir"],
        "data/scalars": ["legacy/data/scalars"],
        **{
            address: []
            for address in (
                "data/runs", "data/plugins_listing", "data/environment", "data/frontends",
                "data/status", "legacy/data/runs",
            )
        },
    }  # fmt: skip

    def write_logs(self, logdir: Path) -> None:
        write_seed_runs(logdir)


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    write_seed_runs(tbcore_logdir)
    return tbcore_client(tbcore_logdir, plugins=[tbcore_scalars], dev=False)


def test_logdir_is_the_argument_as_given(tbcore_client: MakeClient) -> None:
    """Also if the directory does not exist."""
    client = tbcore_client("/foo/logdir/argument")

    assert client.get("data/logdir").json() == {"logdir": "/foo/logdir/argument"}
    assert client.get("data/runs").json() == []


def test_runs_is_an_array_of_names(client: TbcoreClient) -> None:
    """Runs that were found in one pass are sorted by their first event."""
    response = client.get("data/runs")

    assert response.headers["content-type"] == "application/json"
    assert response.json() == ["train_run", "eval", "empty"]


def test_runs_of_one_pass_are_sorted_by_first_event_then_name(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Runs without events are last."""
    for run, wall_time in (("train", 99.5), (".", 70.0), ("eval", 50.0), ("also", 70.0)):
        write_run(tbcore_logdir, run, wall_time=wall_time)
    for run in ("b_empty", "a_empty"):
        (tbcore_logdir / run).mkdir()
        (tbcore_logdir / run / "x.tfevents").touch()

    runs = tbcore_client(tbcore_logdir).get("data/runs").json()

    assert runs == ["eval", ".", "also", "train", "a_empty", "b_empty"]


def test_runs_only_grows_at_its_end(client: TbcoreClient, tbcore_logdir: Path) -> None:
    """A run that is added later is at the end, even if its events are older."""
    before = client.get("data/runs").json()
    write_run(tbcore_logdir, "aaa", scalars={"x": [1.0]}, wall_time=0.5)
    client.reload()
    after = client.get("data/runs").json()
    write_run(tbcore_logdir, "empty", scalars={"x": [1.0]}, wall_time=0.1)
    client.reload()

    assert after == [*before, "aaa"]
    assert client.get("data/runs").json() == after


def test_a_deleted_run_that_is_restored_is_at_the_end(
    client: TbcoreClient, tbcore_logdir: Path
) -> None:
    """The order of the others does not change."""
    shutil.rmtree(tbcore_logdir / "train_run")
    client.reload()
    assert client.get("data/runs").json() == ["eval", "empty"]
    assert client.get("data/plugin/scalars/scalars?run=train_run&tag=loss").status_code == 404

    write_seed_runs(tbcore_logdir)
    client.reload()

    assert client.get("data/runs").json() == ["eval", "empty", "train_run"]


def test_plugins_listing_has_a_boolean_for_each_plugin(
    client: TbcoreClient, tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """The value is true for plugins with data."""
    assert client.get("data/plugins_listing").json() == {"scalars": True}
    assert tbcore_client(tbcore_logdir / "empty", plugins=[tbcore_scalars]).get(
        "data/plugins_listing"
    ).json() == {"scalars": False}
    assert tbcore_client(tbcore_logdir).get("data/plugins_listing").json() == {}


def test_tags_is_as_documented(client: TbcoreClient) -> None:
    """Runs without scalars have an empty array."""
    assert client.get("data/plugin/scalars/tags").json() == {
        "train_run": ["xent", "loss", "learning_rate"],
        "eval": ["precision", "recall"],
        "empty": [],
    }


def test_scalars_is_as_documented(client: TbcoreClient) -> None:
    """All digits are as in the documentation."""
    path = "data/plugin/scalars/scalars?run=train_run&tag=loss"

    assert client.get(path).json() == SEED_ROWS
    assert client.get(f"{path}&format=csv").text.replace("\r\n", "\n") == (
        "Wall time,step,value\n"
        "1443856985.705543,1448,0.7461960315704346\n"
        "1443857105.704628,3438,0.5427092909812927\n"
        "1443857225.705133,5417,0.5457325577735901\n"
    )


def test_related_tags_are_sampled_at_the_same_positions(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """`D(A)[i] ~ D(B)[i]`, in both forms and across runs; the newest item is always included."""
    tags = {"A": list(range(3000)), "B": [2 * i for i in range(3000)]}
    write_run(tbcore_logdir, "one", scalars=tags)
    write_run(tbcore_logdir, "two", scalars=tags, dtype="float64")
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])

    steps = []
    for run in ("one", "two"):
        for tag in ("A", "B"):
            rows = client.get(f"data/plugin/scalars/scalars?run={run}&tag={tag}").json()
            assert len(rows) == 1000
            assert rows[-1][1] == 2999
            steps.append([row[1] for row in rows])

    assert steps[0] == steps[1] == steps[2] == steps[3]


def test_the_legacy_index_has_all_types(client: TbcoreClient) -> None:
    """Old pages need every key, also those of plugins that are not installed."""
    index = client.get("legacy/data/runs").json()

    assert list(index) == ["train_run", "eval", "empty"]
    for entry in index.values():
        kinds = ("images", "audio", "histograms", "scalars", "compressedHistograms", "run_metadata")
        assert all(isinstance(entry[kind], list) for kind in kinds)
        assert entry["graph"] is False
    assert index["eval"]["scalars"] == ["precision", "recall"]
    assert index["train_run"]["firstEventTimestamp"] == 1.0


def test_the_legacy_api_at_the_root(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """With `--api legacy` data/runs is the object; everything else stays the same."""
    write_seed_runs(tbcore_logdir)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars], api="legacy")

    assert client.get("data/runs").json() == client.get("legacy/data/runs").json()
    assert client.get("data/runs").json()["eval"]["scalars"] == ["precision", "recall"]
    assert client.get("data/plugin/scalars/tags").status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "data/nothing", "data/plugin/scalars/nothing", "data/plugin/nothing/tags", "data/plugin",
        "data/plugin/scalars", "data", "static/nothing.js", "nothing", "data/runs/x",
        "data/plugin/scalars/tags%2f..", "data/%72uns%00",
    ],
)  # fmt: skip
def test_an_address_that_does_not_exist_is_404_in_one_line(client: TbcoreClient, path: str) -> None:
    """The error is plain text, with all headers."""
    response = client.get(path)

    assert response.status_code == 404
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert len(response.text.splitlines()) == 1
    assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("prefix", ["/foo", "/foo/bar"])
def test_everything_works_below_a_prefix(
    tbcore_logdir: Path, tbcore_client: MakeClient, prefix: str
) -> None:
    """Addresses outside of the prefix do not exist."""
    write_seed_runs(tbcore_logdir)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars], path_prefix=prefix)
    root = str(client.base_url).removesuffix(f"{prefix}/")

    assert client.get("data/plugin/scalars/scalars?run=train_run&tag=loss").json() == SEED_ROWS
    assert client.get("data/runs").json() == ["train_run", "eval", "empty"]
    for outside in ("/data/runs", f"{prefix}x/data/runs", "/"):
        assert client.get(f"{root}{outside}").status_code == 404
    redirect = client.get(f"{root}{prefix}", follow_redirects=False)
    assert redirect.status_code in (301, 307, 308)
    assert (
        urllib.parse.urljoin(f"{root}{prefix}", redirect.headers["location"]) == f"{root}{prefix}/"
    )


# A real server: for what depends on sockets and on HTTP.


def fetch(address: str, headers: dict[str, str] | None = None) -> tuple[int, Any, bytes]:
    request = urllib.request.Request(address, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def wait_for(condition: Callable[[], bool]) -> None:
    """Waits until the condition holds; the server scans for new data several times a second."""
    import time

    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "the server did not show it in time"
        time.sleep(0.05)


def test_a_real_server_has_the_same_responses(tmp_path: Path, serve: Callable[..., str]) -> None:
    """The examples of the documentation, over a socket, with data that is still being written."""
    logdir = tmp_path / "logs"
    write_seed_runs(logdir)
    server = serve(logdir, "--samples_per_plugin", "scalars=0")
    path = f"{server}/data/plugin/scalars/scalars?run=train_run&tag=loss"
    wait_for(lambda: json.loads(fetch(f"{server}/data/plugins_listing")[2]).get("scalars", False))

    assert json.loads(fetch(path)[2]) == SEED_ROWS
    assert json.loads(fetch(f"{server}/data/logdir")[2]) == {"logdir": str(logdir)}
    assert json.loads(fetch(f"{server}/data/runs")[2]) == ["train_run", "eval", "empty"]
    status, headers, body = fetch(f"{path}&format=csv")
    assert (status, headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert body.startswith(b"Wall time,step,value\r\n1443856985.705543,1448,0.7461960315704346\r\n")

    write_run(logdir, "eval", scalars={"recall": [(1, 0.75)]})
    recall = f"{server}/data/plugin/scalars/scalars?run=eval&tag=recall"
    wait_for(lambda: len(json.loads(fetch(recall)[2])) == 2)


def test_a_real_server_compresses_text_on_request(
    tmp_path: Path, serve: Callable[..., str]
) -> None:
    """It compresses only then, and the length is always correct."""
    logdir = tmp_path / "logs"
    write_run(logdir, "run", scalars={"a": list(range(500))})
    path = f"{serve(logdir)}/data/plugin/scalars/scalars?run=run&tag=a"
    wait_for(lambda: fetch(path)[0] == 200)

    _, headers, plain = fetch(path)
    assert "content-encoding" not in headers
    assert "accept-encoding" in headers["vary"].lower()
    for accepted in ("gzip", "deflate, gzip", "gzip;q=1.0, *;q=0.5"):
        _, headers, body = fetch(path, {"Accept-Encoding": accepted})
        assert headers["content-encoding"] == "gzip"
        assert int(headers["content-length"]) == len(body)
        assert gzip.decompress(body) == plain
    for refused in ("identity", "gzip;q=0", "br"):
        _, headers, body = fetch(path, {"Accept-Encoding": refused})
        assert "content-encoding" not in headers
        assert body == plain


def test_a_real_server_complies_with_http(tmp_path: Path, serve: Callable[..., str]) -> None:
    """HEAD has no body, a connection serves several requests, and other hosts are rejected."""
    logdir = tmp_path / "logs"
    write_seed_runs(logdir)
    server = urllib.parse.urlsplit(serve(logdir))
    assert server.hostname is not None
    connection = http.client.HTTPConnection(server.hostname, server.port, timeout=60)
    for method, path, expected in (
        ("HEAD", "/data/runs", 200),
        ("GET", "/data/runs/", 200),
        ("POST", "/data/runs", 405),
        ("GET", "/data/nothing", 404),
        ("GET", "/data/plugin/scalars/../../runs", 404),
        ("GET", "//data/runs", 404),
        ("GET", "/data/logdir", 200),
    ):
        connection.request(method, path)
        response = connection.getresponse()
        body = response.read()
        assert response.status == expected, (method, path, body)
        if method == "HEAD":
            assert body == b""
    connection.close()

    status, headers, body = fetch(f"{server.geturl()}/data/runs", {"Host": "evil.example"})
    assert status == 403
    assert b"allowed_host" in body
    assert headers["x-content-type-options"] == "nosniff"


def test_a_real_server_below_a_prefix(tmp_path: Path, serve: Callable[..., str]) -> None:
    """For example behind a proxy that forwards the whole path."""
    logdir = tmp_path / "logs"
    write_seed_runs(logdir)
    server = serve(logdir, "--path_prefix", "/foo", prefix="/foo")

    wait_for(lambda: json.loads(fetch(f"{server}/data/runs")[2]) == ["train_run", "eval", "empty"])
    assert fetch(f"{server.removesuffix('/foo')}/data/runs")[0] == 404


# Restarts: responses for runs that were restarted from a checkpoint.


def points_of(client: TbcoreClient, tag: str) -> list[tuple[int, float]]:
    rows = client.get("data/plugin/scalars/scalars", params={"run": "run", "tag": tag}).json()
    return [(step, value) for _, step, value in rows]


def write_script(path: Path, script: str, *, file_version: str | None) -> None:
    """Writes `a0 b3 S@3 a3'`: values of tags at steps, START at a step.

    The value is the step, with a prime 100 more.
    """
    with EventFileWriter(path, file_version=file_version) as writer:
        for word in script.split():
            if word.startswith("S@"):
                writer.add_session_log("START", int(word[2:]))
            else:
                step = int(word[1:].rstrip("'"))
                writer.add_summary(step, summaries.scalar(word[0], step + 100 * word.count("'")))


V2 = "brain.Event:2"
RESTARTS = [
    pytest.param(
        V2, ["S@0 a0 a1 a2 a3 a4 a5 b3", "S@3 a3' a4'"], {"a": "0 1 2 3' 4'", "b": ""},
        id="a START in a later file drops what is at or above its step, in all tags",
    ),
    pytest.param(
        V2, ["a0 a1 a2 a3 a4 a5", "S@3 a3' a4'"], {"a": "0 1 2 3' 4'"},
        id="also when it is the first START of the run",
    ),
    pytest.param(
        V2, ["a0 a1 a2 a3 a4 a5 S@3 a6"], {"a": "0 1 2 3 4 5 6"},
        id="but not the first START of the first file",
    ),
    pytest.param(
        V2, ["S@0 a1 a2 S@2 a3"], {"a": "1 3"}, id="a second START in one file drops",
    ),
    pytest.param(
        V2, ["a0 a1 a2 a3 a4 a5 a2'"], {"a": "0 1 2 3 4 5 2'"},
        id="without a START nothing is dropped in version 2",
    ),
    pytest.param(
        None, ["a0 a1 a2 a3 a4 a5 b5 a2' b2' a3'"], {"a": "0 1 2' 3'", "b": "2'"},
        id="without a version a step that goes back drops from the tags of its event",
    ),
    pytest.param(
        "brain.Event:1", ["a0 a1 a2 a3 a4 a5 b5 a2' b2' a3'"], {"a": "0 1 2' 3'", "b": "2'"},
        id="version 1, the same rule",
    ),
    pytest.param(
        "brain.Event:x", ["a0 a1 a2 a3 a4 a5 b5 a2' b2' a3'"], {"a": "0 1 2' 3'", "b": "2'"},
        id="and a version that is no number",
    ),
]  # fmt: skip


@pytest.mark.parametrize("live", [False, True], ids=["at once", "file by file"])
@pytest.mark.parametrize(("version", "files", "expected"), RESTARTS)
def test_restarts_drop_superseded_steps(
    tbcore_logdir: Path,
    tbcore_client: MakeClient,
    version: str | None,
    files: list[str],
    expected: dict[str, str],
    live: bool,
) -> None:
    """Rows are the same whether the files exist at the start or are written later."""
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars]) if live else None
    for index, script in enumerate(files):
        write_script(tbcore_logdir / "run" / f"{index}.tfevents", script, file_version=version)
        if client:
            client.reload()
    client = client or tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])

    # A tag whose rows were all dropped stays in the listing.
    assert client.get("data/plugin/scalars/tags").json() == {"run": list(expected)}
    for tag, words in expected.items():
        points = [
            (int(w.rstrip("'")), int(w.rstrip("'")) + 100.0 * w.count("'")) for w in words.split()
        ]
        assert points_of(client, tag) == points


def test_purging_can_be_turned_off(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """With `--purge_orphaned_data=false` all rows are served."""
    for index, script in enumerate(["a0 a1 a2", "S@1 a1'"]):
        write_script(tbcore_logdir / "run" / f"{index}.tfevents", script, file_version=V2)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars], purge_orphaned_data=False)

    assert points_of(client, "a") == [(0, 0.0), (1, 1.0), (2, 2.0), (1, 101.0)]


def append_script(path: Path, script: str) -> None:
    """Appends to a file."""
    write_script(path, script, file_version=V2)


def test_files_of_one_run_grow_together(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """Distributed jobs write several files; new rows are appended in the order of arrival."""
    first, second = (tbcore_logdir / "run" / f"{index}.tfevents" for index in range(2))
    append_script(first, "a0 a1")
    append_script(second, "a10 a11")
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    assert [step for step, _ in points_of(client, "a")] == [0, 1, 10, 11]

    for path, script in ((first, "a2"), (second, "a12 b0"), (first, "a3 b1")):
        append_script(path, script)
        client.reload()
    assert [step for step, _ in points_of(client, "a")] == [0, 1, 10, 11, 2, 12, 3]
    assert [step for step, _ in points_of(client, "b")] == [0, 1]

    append_script(second, "S@2 a2'")
    client.reload()
    assert points_of(client, "a") == [(0, 0.0), (1, 1.0), (2, 102.0)]
    append_script(first, "a4")
    client.reload()
    assert points_of(client, "a") == [(0, 0.0), (1, 1.0), (2, 102.0), (4, 4.0)]


@pytest.mark.parametrize("change", ["replaced", "rewritten", "shortened", "deleted and recreated"])
def test_the_disk_is_the_truth(tbcore_logdir: Path, tbcore_client: MakeClient, change: str) -> None:
    """Nothing remains of a file that was replaced; the rows of the other file stay."""
    path = tbcore_logdir / "run" / "0.tfevents"
    append_script(path, "a0 a1 a2 b0")
    append_script(tbcore_logdir / "run" / "1.tfevents", "a10")
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    assert [step for step, _ in points_of(client, "a")] == [0, 1, 2, 10]

    other = tbcore_logdir / "new"
    with EventFileWriter(other, wall_time=5.0) as writer:
        writer.add_scalar("a", 7.0, 7)
    content = other.read_bytes()
    if change == "replaced":
        other.rename(path)
    elif change == "rewritten":
        path.write_bytes(content)
    elif change == "shortened":
        content = path.read_bytes()[: len(content)]
        path.write_bytes(content)
    else:
        path.unlink()
        client.reload()
        assert [step for step, _ in points_of(client, "a")] == [10]
        path.write_bytes(content)
    client.reload()

    # The rows of a file that is found later are appended, whatever its name is.
    expected = {"shortened": [0, 10], "deleted and recreated": [10, 7]}.get(change, [7, 10])
    assert [step for step, _ in points_of(client, "a")] == expected
    assert client.get("data/plugin/scalars/tags").json() == {"run": ["a"]}
