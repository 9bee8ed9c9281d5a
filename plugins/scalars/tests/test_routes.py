"""The routes of scalars: JSON, CSV and errors as a client sees them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

import tbcore_scalars
from tbcore.http import csv_response, json_response
from tbcore.testing import TbcoreClient, write_run
from tbcore_scalars import reader
from tbcore_scalars.exports import PIECE_ROWS

MakeClient = Callable[..., TbcoreClient]

HOSTILE_NAMES = [
    "loss/über/\U0001f4c9",
    "a b+c%20d&e=f#g?h",
    "\"quoted\" 'twice' \\ back",
    "<script>alert(1)</script>",
    "%s %n %00 ../../etc/passwd",
    "tab\tnewline\nreturn\rnull\x00end",
    "long/" + "x" * 1000,
    " ",
    "/leading and trailing/",
    "\u202eright to left\u202c",
]


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    """Serves two runs with scalars and one without."""
    write_run(
        tbcore_logdir, "train_run",
        scalars={
            "xent": [(1448, 0.5, 1443856985.705543)], "loss": [0.5, 0.25], "learning_rate": [0.1],
        },
    )  # fmt: skip
    write_run(tbcore_logdir, "eval", scalars={"precision": [0.5], "recall": [0.75]})
    write_run(tbcore_logdir, "pictures", histograms={"weights": [[1.0, 2.0]]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])


def test_tags_list_every_run_with_tags_in_the_order_logged(client: TbcoreClient) -> None:
    """Runs without scalars have an empty list."""
    response = client.get("data/plugin/scalars/tags")

    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "train_run": ["xent", "loss", "learning_rate"],
        "eval": ["precision", "recall"],
        "pictures": [],
    }
    assert list(response.json()) == client.get("data/runs").json()


def test_csv_is_exact_to_the_byte(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """Rows end with CRLF, numbers have the shortest digits, `nan` and `inf` are lowercase."""
    points = [
        (1448, 0.7461960315704346, 1443856985.705543),
        (-3, 0.1, 0.5),
        (2**62, 1e-20, 1e22),
        (4, float("nan"), 1.0),
        (5, float("inf"), 1.0),
        (6, float("-inf"), 1.0),
        (7, 3.0, 1.0),
    ]
    write_run(tbcore_logdir, "foo", scalars={"bar": points})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])

    response = client.get("data/plugin/scalars/scalars?run=foo&tag=bar&format=csv")

    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.content == (
        b"Wall time,step,value\r\n"
        b"1443856985.705543,1448,0.7461960315704346\r\n"
        b"0.5,-3,0.10000000149011612\r\n"
        b"1e+22,4611686018427387904,9.999999682655225e-21\r\n"
        b"1.0,4,nan\r\n"
        b"1.0,5,inf\r\n"
        b"1.0,6,-inf\r\n"
        b"1.0,7,3.0\r\n"
    )


def test_a_series_sent_in_pieces_equals_one_sent_whole(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """A full series can have millions of rows. It is sent in pieces so as not to block others."""
    count = 2 * PIECE_ROWS + 1
    values = [math.nan if step % PIECE_ROWS == 0 else step / 8 for step in range(count)]
    write_run(tbcore_logdir, "run", scalars={"loss": values})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    series = client.multiplexer.scalars("run", "loss")
    path = "data/plugin/scalars/scalars?run=run&tag=loss"

    rows = reader.rows(series)
    assert client.get(f"{path}&samples=0").content == json_response(rows).body
    assert client.get(f"{path}&samples=0&format=csv").content == (
        csv_response(reader.COLUMNS, rows).body
    )
    assert len(client.get(path).json()) == 1000


@pytest.mark.parametrize("format_", ["json", "CSV", "", "xml"])
def test_any_other_format_is_json(client: TbcoreClient, format_: str) -> None:
    """As in TensorBoard."""
    response = client.get(
        "data/plugin/scalars/scalars", params={"run": "eval", "tag": "recall", "format": format_}
    )

    assert response.status_code == 200
    assert [row[1:] for row in response.json()] == [[0, 0.75]]


@pytest.mark.parametrize(
    ("query", "status", "parts"),
    [
        ("format=json&tag=loss", 400, ['query parameter "run" is required']),
        ("tag=loss", 400, ['query parameter "run" is required']),
        ("run=eval", 400, ['query parameter "tag" is required']),
        ("run=evil&tag=recall", 404, ["'evil'", "'eval'"]),
        ("run=eval&tag=recal", 404, ["'recal'", "'eval'", "'recall'"]),
        ("run=eval&tag=loss", 404, ["'loss'", "'eval'"]),
        ("run=pictures&tag=weights", 404, ["'weights'", "'pictures'"]),
        ("run=&tag=", 404, ["''"]),
        ("run=%ff&tag=%00", 404, []),
        ("run=eval&tag=recall%0d%0aX-Header:1", 404, []),
    ],
)
@pytest.mark.parametrize("path", ["data/plugin/scalars/scalars", "data/scalars"])
def test_errors_are_one_line(
    client: TbcoreClient, path: str, query: str, status: int, parts: list[str]
) -> None:
    """400 for a missing parameter, 404 with similar names for an unknown run or tag."""
    response = client.get(f"{path}?{query}")

    assert response.status_code == status
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert len(response.text.splitlines()) == 1
    for part in parts:
        assert part in response.text


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_any_tag_that_can_be_logged_can_be_requested(
    tbcore_logdir: Path, tbcore_client: MakeClient, name: str
) -> None:
    """The listing has the exact name, and so does the request."""
    write_run(tbcore_logdir, "run", scalars={name: [1.5], "other": [2.5]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])

    assert client.get("data/plugin/scalars/tags").json() == {"run": [name, "other"]}
    for format_ in ("json", "csv"):
        response = client.get(
            "data/plugin/scalars/scalars", params={"run": "run", "tag": name, "format": format_}
        )
        assert response.status_code == 200
        assert "1.5" in response.text


@pytest.mark.parametrize(
    "run", ["a b/c", "läuf/\U0001f40d", "q'uo\"te", "per%cent&amp", "<b>", "..hidden", "x" * 200]
)
def test_any_run_that_can_be_a_directory_can_be_requested(
    tbcore_logdir: Path, tbcore_client: MakeClient, run: str
) -> None:
    """Names of runs are paths, with slashes between directories."""
    write_run(tbcore_logdir, run, scalars={"a": [1.5]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])

    assert client.get("data/plugin/scalars/tags").json() == {run: ["a"]}
    response = client.get("data/plugin/scalars/scalars", params={"run": run, "tag": "a"})
    assert [row[1:] for row in response.json()] == [[0, 1.5]]


def test_new_points_are_served_after_a_reload(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """They were appended to the same file."""
    write_run(tbcore_logdir, "run", scalars={"a": [1.0]}, filename="a.tfevents")
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    write_run(tbcore_logdir, "run", scalars={"a": [(1, 2.0)]}, filename="a.tfevents")

    client.reload()

    rows = client.get("data/plugin/scalars/scalars?run=run&tag=a").json()
    assert [row[1:] for row in rows] == [[0, 1.0], [1, 2.0]]


def test_without_scalars_the_plugin_is_inactive(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Its listing is empty. It becomes active with the first scalar."""
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    assert client.get("data/plugins_listing").json() == {"scalars": False}
    assert client.get("data/plugin/scalars/tags").json() == {}

    write_run(tbcore_logdir, "run", scalars={"a": [1.0]})
    client.reload()

    assert client.get("data/plugins_listing").json() == {"scalars": True}


def test_the_legacy_api_returns_one_series(client: TbcoreClient) -> None:
    """The rows are the same, both at the root and below legacy/."""
    expected = client.get("data/plugin/scalars/scalars?run=train_run&tag=loss").json()

    for path in ("data/scalars", "legacy/data/scalars"):
        assert client.get(f"{path}?run=train_run&tag=loss").json() == expected
        csv = client.get(f"{path}?run=train_run&tag=loss&format=csv")
        assert csv.text.splitlines()[0] == "Wall time,step,value"


def test_the_legacy_api_returns_an_overview(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """Without run and tag: ten points of each tag of each run, including the first and the last."""
    write_run(tbcore_logdir, "train", scalars={"a": list(range(100)), "b": [1.0]})
    write_run(tbcore_logdir, "other")
    client = tbcore_client(
        tbcore_logdir, plugins=[tbcore_scalars], samples_per_plugin={"scalars": 5}
    )

    overview = client.get("data/scalars").json()

    # The option for the number of samples does not apply to the overview.
    assert [row[1] for row in overview["train"]["a"]] == [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]
    assert [row[1:] for row in overview["train"]["b"]] == [[0, 1.0]]
    assert overview["other"] == {}
    assert list(overview) == client.get("data/runs").json()
    three = client.get("data/scalars?sample_count=3").json()["train"]["a"]
    assert [row[1] for row in three] == [0, 49, 99]


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("sample_count=1", "sample_count"),
        ("sample_count=-5", "sample_count"),
        ("sample_count=ten", "sample_count"),
        ("format=csv", "Scalar sample values only supports JSON output"),
        ("run=eval", 'query parameter "tag" is required'),
        ("tag=recall&sample_count=3", 'query parameter "run" is required'),
    ],
)
def test_errors_of_the_overview(client: TbcoreClient, query: str, part: str) -> None:
    """The status is 400, with one line of text."""
    response = client.get(f"data/scalars?{query}")

    assert response.status_code == 400
    assert part in response.text


def test_the_legacy_index_lists_scalars(client: TbcoreClient) -> None:
    """Each run has the tag type `scalars`."""
    index = client.get("legacy/data/runs").json()

    assert index["train_run"]["scalars"] == ["xent", "loss", "learning_rate"]
    assert index["pictures"]["scalars"] == []
