"""The routes of histograms as a client sees them: rows, errors, deleted files."""

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
    """Serves two runs with histograms, one in each form, and one without."""
    tags = {"foo_histogram": [[1.0, 2.0]], "bar_histogram": [[3.0]]}
    write_run(tbcore_logdir, "train_run", histograms=tags)
    write_run(tbcore_logdir, "eval", histograms=tags, as_tensors=True)
    write_run(tbcore_logdir, "numbers", scalars={"loss": [0.5]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_histograms])


def test_tags_list_every_run_with_tags_in_the_order_logged(client: TbcoreClient) -> None:
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
def test_rows_are_wall_time_step_and_histogram(client: TbcoreClient, path: str, run: str) -> None:
    """In both forms, on the plugin's route and on the legacy routes."""
    ((wall_time, step, value),) = client.get(f"{path}?run={run}&tag=foo_histogram").json()

    assert (type(wall_time), step) == (float, 0)
    minimum, maximum, num, _, _, limits, counts = value
    assert (minimum, maximum, num) == (1.0, 2.0, 2.0)
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
def test_errors_are_one_line(
    client: TbcoreClient, path: str, query: str, status: int, part: str
) -> None:
    """As plain text."""
    response = client.get(f"{path}?{query}")

    assert response.status_code == status
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert part in response.text
    assert len(response.text.splitlines()) == 1


@pytest.mark.parametrize("change", ["deleted", "replaced", "overwritten"])
def test_deleted_and_replaced_files_are_404(
    tbcore_logdir: Path, tbcore_client: MakeClient, change: str
) -> None:
    """Until the next scan. Bytes that differ from those that were logged are never served."""
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


def test_the_plugin_becomes_active_with_the_first_histogram(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Before that, its listing is empty."""
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_histograms])
    assert client.get("data/plugins_listing").json() == {"histograms": False}
    assert client.get("data/plugin/histograms/tags").json() == {}

    write_run(tbcore_logdir, "run", histograms={"h": [[1.0]]})
    client.reload()

    assert client.get("data/plugins_listing").json() == {"histograms": True}


def test_the_legacy_index_lists_histograms(client: TbcoreClient) -> None:
    """Each run has the tag type `histograms`."""
    index = client.get("legacy/data/runs").json()

    assert index["eval"]["histograms"] == ["foo_histogram", "bar_histogram"]
    assert index["numbers"]["histograms"] == []


def test_a_request_can_set_the_number_of_steps(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """The response also has the total number of steps."""
    write_run(tbcore_logdir, "run", histograms={"h": [[float(step)] for step in range(80)]})
    plugins, few_samples = [tbcore_histograms], {"histograms": 5}
    client = tbcore_client(tbcore_logdir, plugins=plugins, samples_per_plugin=few_samples)
    rows = client.get("data/plugin/histograms/histograms?run=run&tag=h").json()
    path = "data/plugin/histograms/series?run=run&tag=h"

    assert client.get(path).json() == {"num_steps": 80, "rows": rows}
    for samples, expected in ((1, 1), (30, 30), (99, 80), (0, 80)):
        response = client.get(f"{path}&samples={samples}").json()
        assert (response["num_steps"], len(response["rows"])) == (80, expected)
        assert response["rows"][-1] == rows[-1]
    for samples in ("-1", "x", "1.5"):
        assert client.get(f"{path}&samples={samples}").status_code == 400


def test_an_unchanged_series_is_not_read_again(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Other tags of the run do not matter. A response with unreadable steps has no ETag."""
    path = write_run(tbcore_logdir, "run", histograms={"h": [[1.0], [2.0]]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_histograms])
    url = "data/plugin/histograms/series?run=run&tag=h"
    etag = client.get(url).headers["etag"]

    def status() -> int:
        return client.get(url, headers={"If-None-Match": etag}).status_code

    write_run(tbcore_logdir, "run", scalars={"loss": [0.5]}, histograms={"other": [[3.0]]})
    client.reload()
    assert status() == 304
    assert client.get(f"{url}&samples=1", headers={"If-None-Match": etag}).status_code == 200
    write_run(tbcore_logdir, "run", histograms={"h": [(2, [4.0])]})
    client.reload()
    assert status() == 200
    data = path.read_bytes()
    path.write_bytes(data[:-20] + bytes(20))  # Destroy the end of the last record.
    response = client.get(url)
    assert (response.status_code, len(response.json()["rows"])) == (200, 2)
    assert "etag" not in response.headers
