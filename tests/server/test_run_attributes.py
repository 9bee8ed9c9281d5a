"""What `data/run_attributes` says of runs: queries, hyperparameters, values, steps and names."""

from __future__ import annotations

import gzip
import http.client
import json
import math
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from calls import Watch
from common_fixtures import patient_tuning, until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tbcore.eventfiles.logdir import LogdirSpec
from tbcore.queries import attributes as attributes_module
from tbcore.queries.attributes import RunAttributes
from tbcore.queries.syntax import parse
from tbcore.store.board import Board
from tbcore.store.loader import Loader
from tbcore.store.multiplexer import Multiplexer
from tbcore_testing import EventFileWriter, write_run

NAN = float("nan")
VALUES = st.sampled_from([0.5, -2.0, 3.0, 2.0**99, NAN, math.inf, -math.inf])


class Server:
    """A server of the runs in a folder, which are loaded again before each request."""

    def __init__(self, logdir: Path, make_client: Callable[..., TestClient]) -> None:
        self.board = Board()
        self.multiplexer = Multiplexer(board=self.board)
        self.load = Loader(self.board, [LogdirSpec(None, str(logdir))]).load_once
        self.client = make_client(board=self.board)

    def ask(self, **fields: Any) -> dict[str, Any]:
        self.load()
        response = self.client.post("data/run_attributes", json=fields)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer


def values_of(answer: dict[str, Any]) -> list[list[Any]]:
    """The values of each column."""
    return [column["values"] for column in answer["columns"]]


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

    texts = ["lr", "model", "bias", "layers", "none", "step", "took"]
    texts += [f"loss:{stat}" for stat in ("last", "min", "MAX")]
    texts += [f"loss:at({step})" for step in (-1, 0, 19, 20, 10**15)]
    answer = server.ask(columns=texts, names=True)

    del answer["generation"]
    columns = answer.pop("columns")
    assert answer == {
        "is_delta": False,
        "runs": ["a", "b", "c"],
        "names": {"hparams": ["bias", "layers", "lr", "model", "LR"], "tags": ["loss", "Loss"]},
    }
    assert [column["values"] for column in columns] == [
        [0.5, 3, None], ["a", None, None], [True, None, None], ["[64,0.5]", None, None], [None] * 3,
        [30, 0, None], [6, 3, 0],
        [4, "NaN", None], [1, None, None], [4, None, None],
        [None, None, None], [3, "NaN", None], [2, "NaN", None], [4, "NaN", None], [4, "NaN", None],
    ]  # fmt: skip
    assert [column.get("steps") for column in columns] == [
        *[None] * 7,
        [20, 0, None], [10, None, None], [20, None, None],
        [None, None, None], [0, 0, None], [10, 0, None], [20, 0, None], [20, 0, None],
    ]  # fmt: skip
    assert columns[9].items() >= {"kind": "value", "name": "loss", "stat": "max"}.items()
    assert [column["text"] for column in columns] == [text.lower() for text in texts]
    assert server.ask().keys() == {"generation"}


def test_unknown_names_have_close_ones(tmp_path: Path, server: Server) -> None:
    """As texts of attributes, also if no run has changed since the generation of the request."""
    write_run(tmp_path, "a", hparams={"lr": 1, "my Batch": 2}, scalars={"val/loss": [1]})
    texts = ["lrr", "LR", "bacth", "val/los:at(3)", "Val/Loss:last", "zzz:min"]
    unknown = [["lr"], None, ['"my Batch"'], ["val/loss:at(3)"], None, []]
    answer = server.ask(columns=texts)
    assert [column.get("unknown") for column in answer["columns"]] == unknown
    answer = server.ask(columns=texts, since=answer["generation"])
    assert answer["runs"] == []
    assert [column.get("unknown") for column in answer["columns"]] == unknown


def test_a_text_that_names_no_attribute_leaves_the_others_alone(
    tmp_path: Path, server: Server
) -> None:
    write_run(tmp_path, "a", hparams={"lr": 1})
    answer = server.ask(columns=["loss:mean", "lr", "x>3", ""])
    assert [column.get("values") for column in answer["columns"]] == [None, [1], None, None]
    assert answer["columns"][0] == {
        "error": "unknown statistic 'mean'; expected last, min, max, nan, at(STEP) or change(STEPS)"
    }


def test_a_query_has_the_names_that_it_finds_or_the_others(tmp_path: Path, server: Server) -> None:
    """The shorter list of both."""
    for number in range(5):
        write_run(tmp_path, f"r{number}", hparams={"lr": number}, scalars={"loss": [number, NAN]})
    for query, expected in {
        "lr>2": {"count": 2, "found": ["r3", "r4"]},
        "lr>1": {"count": 3, "others": ["r0", "r1"]},
        "-lr>9": {"count": 5, "others": []},
        "loss:max<1 | re:[34]$ has:nan": {"count": 3, "others": ["r1", "r2"]},
        "lr>9": {"count": 0, "found": []},
    }.items():
        answer = server.ask(query=query)
        assert answer["query"] == {**expected, "note": "", "offers": []}, query
        assert answer.keys() == {"generation", "query", "query_version"}
    assert server.ask(query="")["query"]["others"] == []


def test_what_a_query_finds_is_sent_again_only_if_it_differs(
    tmp_path: Path, server: Server
) -> None:
    """Most commits change nothing of it, and it may be thousands of names."""
    for number in range(500):
        write_run(tmp_path, f"run{number:03}", hparams={"lr": number})
    first = server.ask(query="lr>99")
    assert len(first["query"]["others"]) == 100
    known = first["query_version"]
    with EventFileWriter(tmp_path / "run499" / "later.tfevents") as writer:
        writer.add_scalar("loss", 1.0, 0)
    server.load()
    response = server.client.post(
        "data/run_attributes", json={"query": "lr>99", "query_version": known}
    )
    assert len(response.content) < 100
    assert response.json().keys() == {"generation", "query_version"}
    assert response.json()["generation"] != first["generation"]
    write_run(tmp_path, "run500", hparams={"lr": 1})
    again = server.ask(query="lr>99", query_version=known)
    assert again["query"]["others"] == [*first["query"]["others"], "run500"]
    assert server.ask(query="lr>", query_version=known)["query"]["error"]


def test_a_mistake_in_a_query_has_a_place_and_what_may_be_meant(server: Server) -> None:
    """Characters are counted from 0, and each is one."""
    for query, message, at, offers in [
        ("😀 (lr", "unclosed (", 2, []),
        ("lr > 3", "write it without blanks: lr>3", 3, [("lr>3", "lr>3")]),
        ("v 1<lr<2 | a", "write lr>1 lr<2", 2, [("lr>1 lr<2", "v lr>1 lr<2 | a")]),
        ("😀 lr=>2", "write >= instead of =>", 4, [("lr>=2", "😀 lr>=2")]),
        ("re:((a?){200}){200}", "more than 1000 repetitions", 3, []),
        ("x" * 501, "longer than 500 characters", 500, []),
    ]:
        assert server.ask(query=query)["query"] == {
            "error": message,
            "at": at,
            "note": "",
            "offers": [{"label": label, "text": text} for label, text in offers],
        }


@pytest.mark.parametrize(
    ("query", "note", "offers"),
    [
        (
            "😀 lrr>=3 | vit",
            "No hyperparameter lrr",
            [("lr", "😀 lr>=3 | vit"), ('Names with "lrr>=3"', '😀 "lrr>=3" | vit')],
        ),
        ("-los:max<1", "No tag los", [("val/loss:max", "-val/loss:max<1")]),
        ("has:VAL/LOS", "No tag VAL/LOS", [("has:val/loss", "has:val/loss")]),
        ("has:nna", "No tag nna", [("has:nan", "has:nan")]),
        ("has:Infinity", "No tag Infinity", [("has:nan", "has:nan")]),
        ("a has:diverged", "No tag diverged", [("has:nan", "a has:nan")]),
        ("has:q*", "", []),
        (
            "a | -val/loss<0.5",
            "No hyperparameter val/loss, but a tag",
            [
                ("val/loss:last<0.5", "a | -val/loss:last<0.5"),
                ("val/loss:min<0.5", "a | -val/loss:min<0.5"),
                ('Names with "val/loss<0.5"', 'a | -"val/loss<0.5"'),
            ],
        ),
        (
            "loss<0.5 vit",
            "No hyperparameter loss, but similar tags",
            [
                ("val/loss:last<0.5", "val/loss:last<0.5 vit"),
                ('Names with "loss<0.5"', '"loss<0.5" vit'),
            ],
        ),
        (
            "loss=small",
            "No hyperparameter loss; there are flag, lr, optimizer and 1 more",
            [('Names with "loss=small"', '"loss=small"')],
        ),
        (
            "zzz>1",
            "No hyperparameter zzz; there are flag, lr, optimizer and 1 more",
            [('Names with "zzz>1"', '"zzz>1"')],
        ),
        ("zz:last>1", "No tag zz; there are val/loss", []),
        (
            "vit optimizer=adm",
            "No run has optimizer=adm",
            [
                ("optimizer=adam", "vit optimizer=adam"),
                ("optimizer=sgd", "vit optimizer=sgd"),
                ('optimizer="Ada Delta"', 'vit optimizer="Ada Delta"'),
            ],
        ),
        ("seed=1e0 vit", "", []),
        ("optimizer=q*", "", []),
        ("seed=7", "No run has seed=7", [("seed=1", "seed=1"), ("seed=2", "seed=2")]),
        ("resnet OPTIMIZER:sgd", "", [("optimizer=sgd", "resnet optimizer=sgd")]),
        ("size:vit", "No hyperparameter size, so size:vit is searched for in run names", []),
        ("zz | a Sz:1", "", []),
        ("zz Sz:1", "No hyperparameter Sz, so Sz:1 is searched for in run names", []),
        *[
            (f"zz {words}", "", [])
            for words in (
                *('"size:vit"', '"x size:vit y"', "-size:vit", "re:size-1:2", "re:(x|size:vit)"),
                *("newest:1", "-newest:9", "-has:nan", "-has:val/loss"),
            )
        ],
        ("flag=true optimizer=adam", "", []),
    ],
)
def test_what_may_be_meant_by_a_query(
    query: str, note: str, offers: list[tuple[str, str]], tmp_path: Path, server: Server
) -> None:
    """If no run has a name, or if nothing is found."""
    for run, optimizer, seed in [("a", "adam", 1), ("b", "sgd", 2), ("c", "Ada Delta", 2)]:
        hparams = {"lr": 0.5, "optimizer": optimizer, "seed": seed}
        hparams |= {"flag": True} if run == "b" else {"flag": 1}
        write_run(tmp_path, run, hparams=hparams, scalars={"val/loss": [1]})
    found = server.ask(query=query)["query"]
    expected = [{"label": label, "text": text} for label, text in offers]
    assert (found["note"], found["offers"]) == (note, expected)


def test_a_pair_that_is_in_a_name_is_not_explained(tmp_path: Path, server: Server) -> None:
    """It is not why the query finds nothing."""
    write_run(tmp_path, "exp:1", hparams={"lr": 0.5})
    found = server.ask(query="exp:1 lr>5")["query"]
    assert (found["count"], found["note"]) == (0, "")


def test_names_that_no_query_can_have_are_not_listed(tmp_path: Path, server: Server) -> None:
    """A log may have names of a megabyte."""
    names = ["a", "b" * 500, "c" * 501]
    write_run(tmp_path, "a", hparams=dict.fromkeys(names, 1), scalars={name: [1] for name in names})
    assert server.ask(names=True)["names"] == {"hparams": names[:2], "tags": names[:2]}


def test_only_runs_that_changed_since_a_generation(tmp_path: Path, server: Server) -> None:
    """Those with new rows, and those that inherit other hyperparameters than before."""
    request = {"columns": ["lr", "x:max"]}
    for run in ("a", "exp", "exp/train", "exp/eval"):
        write_run(tmp_path, run, scalars={"x": [1]})
    first = server.ask(**request)
    assert first["is_delta"] is False
    same = server.ask(**request, since=first["generation"])
    assert (same["is_delta"], same["runs"]) == (True, [])

    write_run(tmp_path, "a", scalars={"x": [2]})
    second = server.ask(**request, since=first["generation"])
    assert (second["runs"], values_of(second)) == (["a"], [[None], [2]])

    write_run(tmp_path, "exp", hparams={"lr": 0.5})
    third = server.ask(**request, since=second["generation"])
    assert sorted(third["runs"]) == ["exp", "exp/eval", "exp/train"]
    assert values_of(third)[0] == [0.5] * 3
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
    answer = server.ask(columns=["lr"])
    found = zip(answer["runs"], values_of(answer)[0], strict=True)
    assert {run: value for run, value in found if value is not None} == expected


def test_values_are_computed_again_only_for_runs_that_changed(
    tmp_path: Path, server: Server, limits: Callable[..., None], calls_of: Watch
) -> None:
    """Also for runs that were removed and came back; and the cache is bounded."""
    calls = calls_of(attributes_module._points_of)

    def num_computed() -> int:
        return sum(len(call.result) for call in calls)

    files = [write_run(tmp_path, run, scalars={"x": [1, 5, 3]}) for run in "abc"]
    request = {"columns": ["x:max"]}
    for _ in range(2):
        assert values_of(server.ask(**request)) == [[5, 5, 5]]
    assert num_computed() == 3

    write_run(tmp_path, "b", filename=files[1].name, file_version=None, scalars={"x": [7]})
    files[2].unlink()
    assert values_of(server.ask(**request)) == [[5, 7]]
    assert num_computed() == 4
    write_run(tmp_path, "c", scalars={"x": [9]})
    assert values_of(server.ask(**request))[0] == [5, 7, 9]
    assert num_computed() == 5

    for step in range(100):
        server.ask(columns=[f"x:at({step})"])
    assert num_computed() == 305
    assert values_of(server.ask(**request))[0] == [5, 7, 9]
    assert num_computed() == 308

    limits(attributes_module, _MAX_CACHED_POINTS=5)
    other = {"columns": ["x:min"]}
    for ask, num in [(request, 308), (other, 311), (other, 311), (request, 314)]:
        server.ask(**ask)
        assert num_computed() == num


def test_min_max_and_at_are_those_of_all_points(tmp_path: Path, server: Server) -> None:
    """Of all kinds of scalars that a tag has, in the order written."""
    with EventFileWriter(tmp_path / "run" / "x.tfevents") as writer:
        writer.add_scalar("x", 2.0, 0)
        writer.add_scalar("x", 0.1, 1, dtype="float64")
        writer.add_scalar("x", 3.0, 2)
        writer.add_scalar("x", math.inf, 3, dtype="float64")
        writer.add_histogram("h", [1.0], 7)
    answer = server.ask(columns=["x:last", "x:min", "x:max", "x:at(2)", "h:min", "step"])
    assert values_of(answer) == [["Infinity"], [0.1], [3], [3], [None], [7]]
    assert [each.get("steps") for each in answer["columns"]] == [[3], [1], [2], [2], [None], None]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    runs=st.lists(
        st.lists(st.tuples(st.integers(-9, 30) | st.just(1 << 62), VALUES), max_size=8), max_size=4
    ),
    evenly=st.booleans(),
    back=st.integers(1, 40) | st.just((1 << 53) - 1),
)
def test_properties_values_at_a_step_and_changes_are_those_of_the_points_as_written(
    runs: list[list[tuple[int, float]]], evenly: bool, back: int
) -> None:
    """Whether steps are stored as a range or one by one, and for several runs at once."""
    with tempfile.TemporaryDirectory() as path:
        for number, points in enumerate(runs):
            with EventFileWriter(Path(path) / f"{number}" / "x.tfevents") as writer:
                for row, (step, value) in enumerate(points):
                    writer.add_scalar("x", value, 3 * row if evenly else step)
        board = Board()
        multiplexer = Multiplexer(board=board)
        specs = [LogdirSpec(None, path)]
        Loader(board, specs, purge_orphaned_data=False).load_once()
        columns = RunAttributes(multiplexer).columns()
        at, change = (columns.points("x", stat, back) for stat in ("at", "change"))
        for run, found, changed in zip(columns.runs, at, change, strict=True):
            points = runs[int(run)]
            rows = [(3 * i if evenly else s, v) for i, (s, v) in enumerate(points)]
            until = [row for row in rows if row[0] <= back]
            assert repr(found) == repr(until[-1] if until else None)
            earlier = [value for step, value in rows if step <= rows[-1][0] - back]
            expected = (rows[-1][0], rows[-1][1] - earlier[-1]) if earlier else None
            assert repr(changed) == repr(expected)


def test_the_closest_of_many_values_are_offered(tmp_path: Path, server: Server) -> None:
    for number in range(400):
        write_run(tmp_path, f"r{number:03}", hparams={"model": f"m{number}"})
    write_run(tmp_path, "z", hparams={"model": "resnet50"})
    offers = server.ask(query="model=resnet5")["query"]["offers"]
    assert offers[0]["text"] == "model=resnet50"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "the body must be JSON: "),
        ("[]", "the body must be a JSON object"),
        ('{"columns": "lr"}', '"columns" must be an array of strings, got "lr"'),
        (
            '{"columns": [1]}',
            '"columns" must be an array of strings, got [1]',
        ),
        ('{"query": 1}', '"query" must be a string, got 1'),
        ('{"query": "", "query_version": 1}', '"query_version" must be a string, got 1'),
        ('{"since": 3}', '"since" must be a string, got 3'),
        ('{"names": 1}', '"names" must be true or false'),
        (json.dumps({"columns": ["x"] * 101}), '"columns" must have at most 100 elements, got 101'),
        ('{"columns": ["a", "lr", "b", "lr"]}', "\"columns\" has 'lr' more than once"),
    ],
)
def test_wrong_requests_have_an_error_of_one_line(body: str, message: str, server: Server) -> None:
    """As with other routes."""
    response = server.client.post("data/run_attributes", content=body)
    assert response.status_code == 400
    assert response.text.startswith(message)
    assert "\n" not in response.text.strip()


def test_what_takes_too_long_has_an_error_and_is_computed_by_the_next_request(
    tmp_path: Path, make_client: Callable[..., TestClient]
) -> None:
    """The time is for all columns and the query together. What is left out is not lost for `since`:
    the generation stays that of the request."""
    write_run(tmp_path, "a", hparams={"lr": 1}, scalars={"loss": [1]})
    late = Server(tmp_path, partial(make_client, tuning=patient_tuning(max_query_seconds=0.0)))
    error = "the request takes too long"
    columns = ["lr", "loss:at(0)", "los:last", "step", "x:mean"]
    for query in ("a", "lr=2 | loss:min<1 | re:a", "los:min<1"):
        answer = late.ask(columns=columns, query=query, names=True)
        assert answer["columns"] == [{"error": error, "is_late": True}] * 5
        assert answer["query"] == {"error": error, "at": 0, "note": "", "offers": []}
        assert answer["names"] == {"hparams": ["lr"], "tags": ["loss"]}
    generation = answer["generation"]
    write_run(tmp_path, "b", hparams={"lr": 1}, scalars={"loss": [1]})
    delta = late.ask(columns=columns, since=generation)
    assert (delta["is_delta"], delta["runs"], delta["generation"]) == (True, ["b"], generation)
    assert late.ask(since=generation)["generation"] != generation


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

    request = b'{"columns": ["lr", "x:last"]}'
    until(lambda: b'"a"' in post(request)[1])
    assert post(b'{"columns": 3}') == (400, b'"columns" must be an array of strings, got 3')
    status, content = post(request)
    answer = json.loads(content)
    assert (status, values_of(answer)) == (200, [[0.5], ["NaN"]])
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


DEEP = "[" * 900 + "]" * 900


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (f'{{"columns": {DEEP}}}', '"columns" must be an array of strings, got arrays in arrays'),
        (f'{{"query": {DEEP}}}', '"query" must be a string, got arrays in arrays'),
        (f'{{"columns": [{",".join([DEEP] * 500)}]}}', "the body has more than 300000 arrays"),
        ('{"columns": ["' + "x" * 501 + '"]}', "a column has more than 500 characters"),
    ],
    ids=["deep", "deep query", "many", "long"],
)
def test_a_deep_or_wide_body_is_refused_in_a_line(
    tmp_path: Path, make_client: Callable[..., TestClient], body: str, line: str
) -> None:
    """Before it takes 60 times its size in memory, and whatever is wrong with it."""
    server = Server(tmp_path, make_client)
    headers = {"content-type": "application/json"}
    response = server.client.post("data/run_attributes", content=body, headers=headers)
    assert (response.status_code, response.text.startswith(line)) == (400, True), response.text[:99]


def test_plugins_get_the_hyperparameters_of_many_runs_at_once(
    tmp_path: Path, server: Server
) -> None:
    write_run(tmp_path, "exp", hparams={"b": [1], "a": None, "c": 1})
    for name in ("exp/train", "hf", "two", "none"):
        write_run(tmp_path, name, scalars={"loss": [1.0]})
    for name in ("hf/170", "two/1", "two/2"):
        write_run(tmp_path, name, hparams={"lr": 0.5})
    server.load()
    found = server.multiplexer.hyperparameters()
    assert {run: own.source for run, own in found.items()} == {
        "exp": "exp", "exp/train": "exp", "hf": "hf/170", "hf/170": "hf/170", "two/1": "two/1",
        "two/2": "two/2",
    }  # fmt: skip
    assert list(found["exp/train"].values.items()) == [("b", "[1]"), ("c", 1.0)]
    some = server.multiplexer.hyperparameters(["two", "exp", "unknown"])
    assert some == {"exp": found["exp"]}
    write_run(tmp_path, "exp/train", hparams={"c": 2})
    server.load()
    assert server.multiplexer.hyperparameters(["exp/train"])["exp/train"].values == {"c": 2.0}
