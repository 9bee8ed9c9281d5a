"""The routes of scalars: JSON, CSV and errors as a client sees them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

import tbcore_scalars
from tbcore.http import csv_response, json_response
from tbcore_scalars import reader
from tbcore_scalars.exports import PIECE_ROWS
from tbcore_testing import EventFileWriter, SeriesTests, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]


class TestRoutes(SeriesTests):
    plugin = tbcore_scalars
    data_type = tag_type = "scalars"
    samples = 1000
    listing = "data/plugin/scalars/scalars?run={run}&tag={tag}"
    routes: ClassVar = {
        "data/plugin/scalars/tags": [],
        listing: ["data/scalars", "legacy/data/scalars"],
        f"{listing}&format=csv": ["data/scalars", "legacy/data/scalars"],
    }
    other_data: ClassVar = {"histograms": {"loss": [[0.5]]}}
    test_values_whose_file_changed_are_not_found = None  # Scalars are kept in memory.


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


def test_a_tensor_of_one_number_is_a_scalar(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """As `SummaryWriter.add_tensor` of PyTorch logs it. Tensors of more numbers are left out."""
    with EventFileWriter(tbcore_logdir / "train" / "a.tfevents") as writer:
        for step in range(2):
            for tag, value in (("one", 0.5 + step), ("many", [1.0, 2.0])):
                tensor = summaries.tensor(tag, value, dtype="float32", plugin_name="tensor")
                writer.add_summary(step, tensor)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])
    assert client.get("data/plugin/scalars/tags").json() == {"train": ["one"]}
    points = client.get("data/plugin/scalars/scalars?run=train&tag=one").json()
    assert [point[1:] for point in points] == [[0, 0.5], [1, 1.5]]
