"""The routes of distributions as a client sees them: both forms, JSON, CSV, sampling, errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tbcore_distributions
from tbcore.testing import EventFileWriter, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]

BASIS_POINTS = [0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000]
PATHS = ["data/plugin/distributions/distributions", "data/compressedHistograms"]


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    """Serves two runs with histograms, one in each form, and one without."""
    samples = [[0.0, 10.0], [(5, [1.0, 1.0], 1441154832.580509)]]
    write_run(tbcore_logdir, "train", histograms={"w/1": [samples[0]], "w/2": samples[1]})
    write_run(tbcore_logdir, "eval", histograms={"w/1": [samples[0]]}, as_tensors=True)
    write_run(tbcore_logdir, "numbers", scalars={"loss": [0.5]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_distributions])


def test_tags_list_every_run(client: TbcoreClient) -> None:
    """Runs without histograms have an empty list."""
    assert client.get("data/plugin/distributions/tags").json() == {
        "train": ["w/1", "w/2"],
        "eval": ["w/1"],
        "numbers": [],
    }
    assert client.get("data/plugins_listing").json() == {"distributions": True}


@pytest.mark.parametrize("path", PATHS)
def test_rows_are_wall_time_step_and_nine_pairs(client: TbcoreClient, path: str) -> None:
    """The plugin's route and the legacy route return the same."""
    ((wall_time, step, pairs),) = client.get(f"{path}?run=train&tag=w%2F2").json()

    assert (wall_time, step) == (1441154832.580509, 5)
    assert [point for point, _ in pairs] == BASIS_POINTS
    # All samples are equal, and so are the nine values.
    assert [value for _, value in pairs] == [1.0] * 9
    ((_, _, pairs),) = client.get(f"{path}?run=train&tag=w/1").json()
    values = [value for _, value in pairs]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0.0, 10.0)


def test_both_forms_of_one_histogram_have_the_same_values(client: TbcoreClient) -> None:
    """The summary field and the tensor contain the same buckets."""
    rows = [client.get(f"{PATHS[0]}?run={run}&tag=w/1").json() for run in ("train", "eval")]

    assert [row[2] for row in rows[0]] == [row[2] for row in rows[1]]


@pytest.mark.parametrize("path", PATHS)
def test_csv_has_the_header_of_the_legacy_api(client: TbcoreClient, path: str) -> None:
    """A column for each basis point and each value."""
    response = client.get(f"{path}?run=train&tag=w/2&format=csv")

    header, row, end = response.text.split("\r\n")
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert header.startswith("Wall time,Step,Edge 0 basis points,Edge 0 value,Edge 1 basis points,")
    assert header.endswith(",Edge 8 basis points,Edge 8 value")
    assert row.startswith("1441154832.580509,5,0,1.0,668,1.0,")
    assert end == ""


def test_non_finite_numbers_are_strings(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """As in a histogram of values that include infinity."""
    value = summaries.histogram("h", [1.0, 2.0], num_buckets=1)
    value.histo.max = np.inf
    value.histo.bucket_limit[0] = np.inf
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents") as writer:
        writer.add_summary(0, value)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_distributions])

    ((_, _, pairs),) = client.get(f"{PATHS[0]}?run=run&tag=h").json()

    assert pairs[-1] == [10000, "Infinity"]


def test_long_series_are_sampled_to_five_hundred(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """In order, with the last step, and the same steps in both forms. The number is an option."""
    points = [[float(step)] for step in range(600)]
    write_run(tbcore_logdir, "a", histograms={"h": points})
    write_run(tbcore_logdir, "b", histograms={"h": points}, as_tensors=True)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_distributions])

    steps = [
        [row[1] for row in client.get(f"{PATHS[0]}?run={run}&tag=h").json()] for run in ("a", "b")
    ]

    assert len(steps[0]) == 500
    assert steps[0] == steps[1] == sorted(set(steps[0]))
    assert steps[0][-1] == 599
    for samples, expected in ((0, 600), (7, 7)):
        client = tbcore_client(
            tbcore_logdir, plugins=[tbcore_distributions],
            samples_per_plugin={"distributions": samples, "histograms": 3},
        )  # fmt: skip
        for path in PATHS:
            assert len(client.get(f"{path}?run=a&tag=h").json()) == expected


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("query", "status", "part"),
    [
        ("tag=w/1", 400, 'query parameter "run" is required'),
        ("run=train", 400, 'query parameter "tag" is required'),
        ("run=trian&tag=w/1", 404, "'train'"),
        ("run=train&tag=w/3", 404, "'w/1'"),
        ("run=numbers&tag=loss", 404, "'loss'"),
    ],
)
def test_errors_are_one_line(
    client: TbcoreClient, path: str, query: str, status: int, part: str
) -> None:
    """With similar names for an unknown run or tag."""
    response = client.get(f"{path}?{query}")

    assert response.status_code == status
    assert part in response.text
    assert len(response.text.splitlines()) == 1


def test_the_legacy_index_lists_compressed_histograms(client: TbcoreClient) -> None:
    """As a tag type of its own; the tag type `histograms` belongs to the histograms plugin."""
    index = client.get("legacy/data/runs").json()

    assert index["train"]["compressedHistograms"] == ["w/1", "w/2"]
    assert index["numbers"]["compressedHistograms"] == []
    assert index["train"]["histograms"] == []


def test_a_request_can_set_the_number_of_steps(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """The response also has the total number of steps."""
    write_run(tbcore_logdir, "run", histograms={"h": [[float(step)] for step in range(80)]})
    plugins, few_samples = [tbcore_distributions], {"distributions": 5}
    client = tbcore_client(tbcore_logdir, plugins=plugins, samples_per_plugin=few_samples)
    rows = client.get("data/plugin/distributions/distributions?run=run&tag=h").json()
    path = "data/plugin/distributions/series?run=run&tag=h"

    assert client.get(path).json() == {"num_steps": 80, "rows": rows}
    for samples, expected in ((1, 1), (30, 30), (99, 80), (0, 80)):
        response = client.get(f"{path}&samples={samples}").json()
        assert (response["num_steps"], len(response["rows"])) == (80, expected)
        assert response["rows"][-1] == rows[-1]
    for samples in ("-1", "x", "1.5"):
        assert client.get(f"{path}&samples={samples}").status_code == 400


@pytest.mark.parametrize("as_tensors", [False, True])
def test_charts_get_no_values_for_histograms_without_samples(
    tbcore_logdir: Path, tbcore_client: MakeClient, as_tensors: bool
) -> None:
    """Programs get zeros as in TensorBoard, which a chart would draw like weights of 0."""
    points = [[], [0.0, 0.0], []]
    write_run(tbcore_logdir, "run", histograms={"h": points}, as_tensors=as_tensors)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_distributions])

    zeros = [[point, 0.0] for point in BASIS_POINTS]
    rows = client.get(f"{PATHS[0]}?run=run&tag=h").json()
    drawn = client.get("data/plugin/distributions/series?run=run&tag=h").json()["rows"]

    assert [row[2] for row in rows[::2]] == [zeros, zeros]
    assert [row[:2] for row in drawn] == [row[:2] for row in rows]
    assert [len(row[2]) for row in drawn] == [0, 9, 0]


def test_an_unchanged_series_is_not_read_again(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """Other tags of the run do not matter. A response with unreadable steps has no ETag."""
    path = write_run(tbcore_logdir, "run", histograms={"h": [[1.0], [2.0]]})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_distributions])
    url = "data/plugin/distributions/series?run=run&tag=h"
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
