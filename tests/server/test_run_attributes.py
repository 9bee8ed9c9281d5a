"""The columns of `data/run_attributes`: hyperparameters, values, steps and names of runs."""

from __future__ import annotations

import gzip
import http.client
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from common_fixtures import until
from starlette.testclient import TestClient

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.queries import attributes as attributes_module
from tbcore.queries.attributes import RunAttributes
from tbcore.queries.syntax import parse
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import EventFileWriter, write_run

NAN = float("nan")


class Server:
    """A server of the runs in a folder, which are loaded again before each request."""

    def __init__(self, logdir: Path, make_client: Callable[..., TestClient]) -> None:
        self.multiplexer = Multiplexer()
        self._loader = Loader(self.multiplexer, [LogdirSpec(None, str(logdir))])
        self.client = make_client(multiplexer=self.multiplexer)

    def load(self) -> None:
        self._loader.load_once()

    def ask(self, **fields: Any) -> dict[str, Any]:
        self.load()
        response = self.client.post("data/run_attributes", json=fields)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer


@pytest.fixture
def server(tmp_path: Path, make_client: Callable[..., TestClient]) -> Server:
    return Server(tmp_path, make_client)


def test_columns_have_one_value_for_each_run(tmp_path: Path, server: Server) -> None:
    """Null for what a run lacks, strings for NaN, JSON for lists; names are found in any case."""
    hparams = {"lr": 0.5, "model": "a", "bias": True, "layers": [64, 0.5], "none": None}
    loss = [(0, 3.0), (10, 1.0), (10, 2.0), (30, NAN), (20, 4.0)]
    write_run(tmp_path, "a", hparams=hparams, scalars={"loss": loss})
    write_run(tmp_path, "b", hparams={"LR": 3}, scalars={"Loss": [NAN]}, texts={"note": ["x"]})
    write_run(tmp_path, "c")

    answer = server.ask(
        hparams=["lr", "model", "bias", "layers", "none"],
        values=[
            *({"tag": "loss", "stat": stat} for stat in ("last", "min", "max")),
            *({"tag": "loss", "stat": "at", "step": step} for step in (-1, 0, 19, 20, 10**15)),
        ],
        has=["loss", "n*", '"n*"', "note"],
        last_steps=True,
        names=True,
    )

    del answer["generation"]
    assert answer == {
        "is_delta": False,
        "runs": ["a", "b", "c"],
        "hparams": {
            "lr": [0.5, 3, None],
            "model": ["a", None, None],
            "bias": [True, None, None],
            "layers": ["[64,0.5]", None, None],
            "none": [None, None, None],
        },
        "values": [
            [4, "NaN", None], [1, None, None], [4, None, None],
            [None, None, None], [3, "NaN", None], [2, "NaN", None], [4, "NaN", None],
            [4, "NaN", None],
        ],
        "steps": [
            [20, 0, None], [10, None, None], [20, None, None],
            [None, None, None], [0, 0, None], [10, 0, None], [20, 0, None], [20, 0, None],
        ],
        "has": [
            [True, True, False], [False, True, False], [False] * 3, [False, True, False],
        ],
        "last_steps": [30, 0, None],
        "names": {"hparams": ["bias", "layers", "lr", "model", "LR"], "tags": ["loss", "Loss"]},
        "unknown": {"hparams": {"none": []}, "tags": {"n*": []}},
    }  # fmt: skip
    assert server.ask().keys() == {"generation", "is_delta", "runs", "unknown"}


def test_unknown_names_have_close_ones(tmp_path: Path, server: Server) -> None:
    """Also if no run has changed since the generation of the request; globs have none."""
    write_run(tmp_path, "a", hparams={"lr": 1, "Batch": 2}, scalars={"val/loss": [1], "Acc": [1]})
    request = {
        "hparams": ["lrr", "BATCH", "bacth"],
        "values": [{"tag": "val/los", "stat": "last"}, {"tag": "acc", "stat": "last"}],
        "has": ["VAL/LOSSES", "val/l*", "zzz"],
    }
    unknown = {
        "hparams": {"lrr": ["lr"], "bacth": ["Batch"]},
        "tags": {"val/los": ["val/loss"], "val/losses": ["val/loss"], "zzz": []},
    }
    answer = server.ask(**request)
    assert answer["unknown"] == unknown
    answer = server.ask(**request, since=answer["generation"])
    assert (answer["runs"], answer["unknown"]) == ([], unknown)


def test_names_that_no_query_can_have_are_not_listed(tmp_path: Path, server: Server) -> None:
    """A log may have names of a megabyte."""
    names = ["a", "b" * 500, "c" * 501]
    write_run(tmp_path, "a", hparams=dict.fromkeys(names, 1), scalars={name: [1] for name in names})
    assert server.ask(names=True)["names"] == {"hparams": names[:2], "tags": names[:2]}


def test_only_runs_that_changed_since_a_generation(tmp_path: Path, server: Server) -> None:
    """Those with new rows, and those that inherit other hyperparameters than before."""
    request = {"hparams": ["lr"], "values": [{"tag": "x", "stat": "max"}]}
    for run in ("a", "exp", "exp/train", "exp/eval"):
        write_run(tmp_path, run, scalars={"x": [1]})
    first = server.ask(**request)
    assert first["is_delta"] is False
    same = server.ask(**request, since=first["generation"])
    assert (same["is_delta"], same["runs"]) == (True, [])

    write_run(tmp_path, "a", scalars={"x": [2]})
    second = server.ask(**request, since=first["generation"])
    assert (second["runs"], second["hparams"], second["values"]) == (["a"], {"lr": [None]}, [[2]])

    write_run(tmp_path, "exp", hparams={"lr": 0.5})
    third = server.ask(**request, since=second["generation"])
    assert sorted(third["runs"]) == ["exp", "exp/eval", "exp/train"]
    assert third["hparams"] == {"lr": [0.5] * 3}
    assert server.ask(**request, since=first["generation"])["runs"][0] == "a"

    for other in ("", "x", f"{first['generation']}0x", "0-1", "-1"):
        assert server.ask(**request, since=other)["is_delta"] is False


@pytest.mark.parametrize(
    ("logged", "expected"),
    [
        ({"exp": 1}, {".": 1, "exp": 1, "exp/train": 1, "exp/a/b": 1}),
        ({".": 1, "exp": 2}, {".": 1, "exp": 2, "exp/train": 2, "exp/a/b": 2, "x": 1}),
        ({"exp/a/b": 3}, {".": 3, "exp": 3, "exp/a/b": 3}),
        ({"exp/a/b": 3, "exp/train": 4}, {"exp/a/b": 3, "exp/train": 4}),
        ({"exp/a/b": 3, "x": 4}, {"exp": 3, "exp/a/b": 3, "x": 4}),
    ],
)
def test_hyperparameters_are_those_of_a_run_nearby(
    logged: dict[str, int], expected: dict[str, int], tmp_path: Path, server: Server
) -> None:
    """Its own, else those of the nearest run above it, else those of the only run below it."""
    for run in (".", "exp", "exp/train", "exp/a/b", "x"):
        hparams = {"lr": logged[run]} if run in logged else {}
        write_run(tmp_path, run, hparams=hparams, scalars={"x": [1]})
    answer = server.ask(hparams=["lr"])
    found = zip(answer["runs"], answer["hparams"]["lr"], strict=True)
    assert {run: value for run, value in found if value is not None} == expected


def test_values_are_computed_again_only_for_runs_that_changed(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for runs that were removed and came back; and the cache is bounded."""
    computed = []
    point_of = attributes_module._point_of

    def counted(view: Any, tag: str, stat: str, step: int | None) -> Any:
        point = point_of(view, tag, stat, step)
        computed.append(point)
        return point

    monkeypatch.setattr(attributes_module, "_point_of", counted)
    files = [write_run(tmp_path, run, scalars={"x": [1, 5, 3]}) for run in "abc"]
    request = {"values": [{"tag": "x", "stat": "max"}, {"tag": "x", "stat": "last"}]}
    for _ in range(2):
        assert server.ask(**request)["values"] == [[5, 5, 5], [3, 3, 3]]
    assert len(computed) == 3

    write_run(tmp_path, "b", filename=files[1].name, file_version=None, scalars={"x": [7]})
    files[2].unlink()
    assert server.ask(**request)["values"] == [[5, 7], [3, 7]]
    assert len(computed) == 4
    write_run(tmp_path, "c", scalars={"x": [9]})
    assert server.ask(**request)["values"][0] == [5, 7, 9]
    assert len(computed) == 5

    for step in range(100):
        server.ask(values=[{"tag": "x", "stat": "at", "step": step}])
    assert len(computed) == 305
    assert server.ask(**request)["values"][0] == [5, 7, 9]
    assert len(computed) == 308

    monkeypatch.setattr(attributes_module, "_MAX_CACHED_POINTS", 5)
    other = {"values": [{"tag": "x", "stat": "min"}]}
    for ask, num_computed in [(request, 308), (other, 311), (other, 311), (request, 314)]:
        server.ask(**ask)
        assert len(computed) == num_computed


def test_min_max_and_at_are_those_of_all_points(tmp_path: Path, server: Server) -> None:
    """Of all kinds of scalars that a tag has, in the order written."""
    with EventFileWriter(tmp_path / "run" / "x.tfevents") as writer:
        writer.add_scalar("x", 2.0, 0)
        writer.add_scalar("x", 0.1, 1, dtype="float64")
        writer.add_scalar("x", 3.0, 2)
        writer.add_scalar("x", math.inf, 3, dtype="float64")
        writer.add_histogram("h", [1.0], 7)
    stats = [{"tag": "x", "stat": stat} for stat in ("last", "min", "max")]
    answer = server.ask(
        values=[*stats, {"tag": "x", "stat": "at", "step": 2}, {"tag": "h", "stat": "min"}],
        last_steps=True,
    )
    assert answer["values"] == [["Infinity"], [0.1], [3], [3], [None]]
    assert answer["steps"] == [[3], [1], [2], [2], [None]]
    assert answer["last_steps"] == [7]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "the body must be JSON: "),
        ("[]", "the body must be a JSON object"),
        ('{"hparams": "lr"}', '"hparams" must be an array of strings, got "lr"'),
        ('{"has": [1]}', '"has" must be an array of strings, got [1]'),
        ('{"since": 3}', '"since" must be a string, got 3'),
        ('{"values": {}}', '"values" must be an array of objects'),
        ('{"values": ["x"]}', '"values" must be an array of objects'),
        ('{"values": [{"stat": "last"}]}', '"tag" must be a string, got null'),
        ('{"values": [{"tag": "x"}]}', '"stat" must be a string, got null'),
        (
            '{"values": [{"tag": "x", "stat": "best"}]}',
            "\"stat\" must be last, min, max or at, got 'best'",
        ),
        ('{"values": [{"tag": "x", "stat": "at"}]}', '"step" must be an integer from -9007199'),
        ('{"values": [{"tag": "x", "stat": "at", "step": true}]}', '"step" must be an integer'),
        ('{"values": [{"tag": "x", "stat": "at", "step": 1.5}]}', '"step" must be an integer'),
        ('{"values": [{"tag": "x", "stat": "at", "step": 1e99}]}', '"step" must be an integer'),
        ('{"names": 1}', '"names" must be true or false'),
        ('{"last_steps": "yes"}', '"last_steps" must be true or false'),
        (json.dumps({"has": ["*a" * 251]}), '"has" has a name longer than 500 characters'),
        (json.dumps({"has": ["x"] * 101}), '"has" must have at most 100 elements, got 101'),
    ],
)
def test_wrong_requests_have_an_error_of_one_line(body: str, message: str, server: Server) -> None:
    """As with other routes."""
    response = server.client.post("data/run_attributes", content=body)
    assert response.status_code == 400
    assert response.text.startswith(message)
    assert "\n" not in response.text.strip()


def test_only_small_bodies_of_post_requests_are_read(server: Server) -> None:
    """A body may be compressed."""
    response = server.client.get("data/run_attributes")
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    response = server.client.post("data/run_attributes", content=b"x" * ((1 << 20) + 1))
    assert response.status_code == 413
    body = gzip.compress(b'{"names": true}')
    headers = {"content-encoding": "gzip"}
    response = server.client.post("data/run_attributes", content=body, headers=headers)
    assert response.json()["names"] == {"hparams": [], "tags": []}


def test_a_server_of_its_own_answers(serve: Callable[..., str], tmp_path: Path) -> None:
    """Over HTTP, compressed, on one connection that is used again after an error."""
    write_run(tmp_path / "logs", "a", hparams={"lr": 0.5}, scalars={"x": [1.0, NAN]})
    address = urlsplit(serve(tmp_path / "logs")).netloc
    connection = http.client.HTTPConnection(address, timeout=30)

    def post(body: bytes) -> tuple[int, bytes]:
        headers = {"content-encoding": "gzip"}
        connection.request("POST", "/data/run_attributes", gzip.compress(body), headers)
        response = connection.getresponse()
        return response.status, response.read()

    request = b'{"hparams": ["lr"], "values": [{"tag": "x", "stat": "last"}]}'
    until(lambda: b'"a"' in post(request)[1])
    assert post(b'{"hparams": 3}') == (400, b'"hparams" must be an array of strings, got 3')
    status, content = post(request)
    answer = json.loads(content)
    assert (status, answer["hparams"], answer["values"]) == (200, {"lr": [0.5]}, [["NaN"]])
    connection.close()


def test_hyperparameters_that_other_programs_logged(tmp_path: Path, server: Server) -> None:
    """Keras logs them above the run of the training; PyTorch below, in a run of their own."""
    logs = Path(__file__).resolve().parents[3] / "shared" / "data" / "frameworks"
    if not logs.is_dir():
        pytest.skip(f"no logs of other programs at {logs}")
    shutil.copytree(logs / "tfhparams" / "run-1", tmp_path / "keras" / "run-1")
    [pytorch] = (logs / "torch213" / "hp").glob("179*")
    shutil.copytree(pytorch, tmp_path / "pytorch" / pytorch.name)
    write_run(tmp_path, "pytorch", scalars={"loss": [1]})

    server.load()

    columns = RunAttributes(server.multiplexer).columns()
    assert sorted(columns.runs_found(parse("opt=SGD"))) == [
        "keras/run-1", "keras/run-1/train", "keras/run-1/validation",
    ]  # fmt: skip
    assert sorted(columns.runs_found(parse("lr=.5"))) == ["pytorch", f"pytorch/{pytorch.name}"]


def test_queries_in_python(tmp_path: Path, server: Server) -> None:
    """What finds runs in the page finds them without a server, too."""
    write_run(tmp_path, "exp/train", scalars={"loss": [2.0, 0.5]}, wall_time=1.0)
    write_run(tmp_path, "exp/eval", scalars={"loss": [2.0]}, wall_time=1.0)
    write_run(tmp_path, "exp", hparams={"lr": 0.1}, wall_time=1.0)
    server.load()
    columns = RunAttributes(server.multiplexer).columns()
    for query, found in {
        "lr=0.1": ["exp", "exp/eval", "exp/train"],
        "loss:last<1 | step=0 -has:loss": ["exp", "exp/train"],
        "age<1w | live": [],
        "re:/t loss:min<1 quiet": ["exp/train"],
    }.items():
        assert sorted(columns.runs_found(parse(query))) == found, query
