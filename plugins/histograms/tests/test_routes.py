"""The routes of histograms as a client sees them: shapes, errors, files that vanish."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tbcore_histograms
from tbcore.testing import TbcoreClient, write_run

MakeClient = Callable[..., TbcoreClient]
PATHS = ["data/plugin/histograms/histograms", "data/histograms", "legacy/data/histograms"]


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    """The runs of the API document, and one without histograms."""
    tags = {"foo_histogram": [[1.0, 2.0]], "bar_histogram": [[3.0]]}
    write_run(tbcore_logdir, "train_run", histograms=tags)
    write_run(tbcore_logdir, "eval", histograms=tags, as_tensors=True)
    write_run(tbcore_logdir, "numbers", scalars={"loss": [0.5]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_histograms])


def test_tags_name_every_run_and_keep_the_order_of_writing(client: TbcoreClient) -> None:
    """Runs without histograms have an empty list."""
    response = client.get("data/plugin/histograms/tags")

    assert response.headers["content-type"] == "application/json"
    assert response.json() == {
        "train_run": ["foo_histogram", "bar_histogram"],
        "eval": ["foo_histogram", "bar_histogram"],
        "numbers": [],
    }


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("run", ["train_run", "eval"])
def test_rows_have_the_shape_of_the_document(client: TbcoreClient, path: str, run: str) -> None:
    """Both forms, at the address of the plugin and at the earlier ones."""
    ((wall_time, step, value),) = client.get(f"{path}?run={run}&tag=foo_histogram").json()

    assert (type(wall_time), step) == (float, 0)
    least, greatest, num, _, _, limits, counts = value
    assert (least, greatest, num) == (1.0, 2.0, 2.0)
    assert len(limits) == len(counts) == 30
    assert sum(counts) == 2


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("query", "status", "part"),
    [
        ("tag=foo_histogram", 400, 'query parameter "run" is required'),
        ("run=eval", 400, 'query parameter "tag" is required'),
        ("run=evil&tag=foo_histogram", 404, "'eval'"),
        ("run=eval&tag=foo", 404, "'foo'"),
        ("run=numbers&tag=loss", 404, "'loss'"),
        ("run=%ff&tag=%00", 404, "no run"),
    ],
)
def test_errors_say_what_is_wrong(
    client: TbcoreClient, path: str, query: str, status: int, part: str
) -> None:
    """In one line of plain text."""
    response = client.get(f"{path}?{query}")

    assert response.status_code == status
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert part in response.text
    assert len(response.text.splitlines()) == 1


@pytest.mark.parametrize("change", ["deleted", "replaced", "overwritten"])
def test_bytes_that_are_gone_are_not_found(
    tbcore_logdir: Path, tbcore_client: MakeClient, change: str
) -> None:
    """Until the next look at the logdir; never other bytes than those that were logged."""
    path = write_run(tbcore_logdir, "run", histograms={"h": [[1.0], [2.0]]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_histograms])
    data = path.read_bytes()
    if change == "overwritten":
        path.write_bytes(bytes(len(data)))
    elif change == "replaced":
        other = path.with_name("other")
        other.write_bytes(data[::-1])
        other.replace(path)
    else:
        path.unlink()

    response = client.get("data/plugin/histograms/histograms?run=run&tag=h")

    assert response.status_code == 404
    assert len(response.text.splitlines()) == 1
    expected = "No such file" if change == "deleted" else "no longer what was logged"
    assert expected in response.text


def test_the_plugin_turns_active_when_the_first_histogram_arrives(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Its listing answers before, too."""
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_histograms])
    assert client.get("data/plugins_listing").json() == {"histograms": False}
    assert client.get("data/plugin/histograms/tags").json() == {}

    write_run(tbcore_logdir, "run", histograms={"h": [[1.0]]})
    client.reload()

    assert client.get("data/plugins_listing").json() == {"histograms": True}


def test_the_earlier_index_lists_histograms(client: TbcoreClient) -> None:
    """The tag type `histograms` of each run."""
    index = client.get("legacy/data/runs").json()

    assert index["eval"]["histograms"] == ["foo_histogram", "bar_histogram"]
    assert index["numbers"]["histograms"] == []


def test_a_page_draws_as_many_steps_as_it_wants(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Of the same rows as ever, and it learns of how many they are."""
    write_run(tbcore_logdir, "run", histograms={"h": [[float(step)] for step in range(80)]})
    plugins, few = [tbcore_histograms], {"histograms": 5}
    client = tbcore_client(tbcore_logdir, plugins=plugins, samples_per_plugin=few)
    rows = client.get("data/plugin/histograms/histograms?run=run&tag=h").json()
    path = "data/plugin/histograms/series?run=run&tag=h"

    assert client.get(path).json() == {"num_steps": 80, "rows": rows}
    for samples, expected in ((1, 1), (30, 30), (99, 80), (0, 80)):
        answer = client.get(f"{path}&samples={samples}").json()
        assert (answer["num_steps"], len(answer["rows"])) == (80, expected)
        assert answer["rows"][-1] == rows[-1]
    for samples in ("-1", "x", "1.5"):
        assert client.get(f"{path}&samples={samples}").status_code == 400


def test_a_series_that_did_not_change_is_not_read_again(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Whatever else the run logs; what could not be read is asked for again."""
    path = write_run(tbcore_logdir, "run", histograms={"h": [[1.0], [2.0]]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_histograms])
    address = "data/plugin/histograms/series?run=run&tag=h"
    etag = client.get(address).headers["etag"]

    def status() -> int:
        return client.get(address, headers={"If-None-Match": etag}).status_code

    write_run(tbcore_logdir, "run", scalars={"loss": [0.5]}, histograms={"other": [[3.0]]})
    client.reload()
    assert status() == 304
    assert client.get(f"{address}&samples=1", headers={"If-None-Match": etag}).status_code == 200
    write_run(tbcore_logdir, "run", histograms={"h": [(2, [4.0])]})
    client.reload()
    assert status() == 200
    data = path.read_bytes()
    path.write_bytes(data[:-20] + bytes(20))  # the end of a record that was read before
    answer = client.get(address)
    assert (answer.status_code, len(answer.json()["rows"])) == (200, 2)
    assert "etag" not in answer.headers
