"""The routes of distributions as a client sees them: both forms, JSON, CSV, sampling, errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import tbcore_distributions
from tbcore_testing import EventFileWriter, SeriesResponseTests, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]

BASIS_POINTS = [0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000]
PATH = "data/plugin/distributions/distributions"
LEGACY_PATHS = ["data/compressedHistograms", "legacy/data/compressedHistograms"]


class TestRoutes(SeriesResponseTests):
    plugin = tbcore_distributions
    data_type = "histograms"
    tag_type = "compressedHistograms"
    samples = 500
    listing = f"{PATH}?run={{run}}&tag={{tag}}"
    series = "data/plugin/distributions/series?run={run}&tag={tag}"
    routes: ClassVar = {
        "data/plugin/distributions/tags": [],
        listing: LEGACY_PATHS,
        f"{listing}&format=csv": LEGACY_PATHS,
        series: [],
    }

    def value(self, step: int) -> list[float]:
        return [float(step)]


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    """Serves two runs with histograms, one in each form, and one without."""
    samples = [[0.0, 10.0], [(5, [1.0, 1.0], 1441154832.580509)]]
    write_run(tbcore_logdir, "train", histograms={"w/1": [samples[0]], "w/2": samples[1]})
    write_run(tbcore_logdir, "eval", histograms={"w/1": [samples[0]]}, as_tensors=True)
    write_run(tbcore_logdir, "numbers", scalars={"loss": [0.5]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_distributions])


def test_rows_are_wall_time_step_and_nine_pairs(client: TbcoreClient) -> None:
    """The pairs are basis points and values, in ascending order."""
    ((wall_time, step, pairs),) = client.get(f"{PATH}?run=train&tag=w%2F2").json()

    assert (wall_time, step) == (1441154832.580509, 5)
    assert [point for point, _ in pairs] == BASIS_POINTS
    # All samples are equal, and so are the nine values.
    assert [value for _, value in pairs] == [1.0] * 9
    ((_, _, pairs),) = client.get(f"{PATH}?run=train&tag=w/1").json()
    values = [value for _, value in pairs]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0.0, 10.0)


def test_both_forms_of_one_histogram_have_the_same_values(client: TbcoreClient) -> None:
    """The summary field and the tensor contain the same buckets."""
    rows = [client.get(f"{PATH}?run={run}&tag=w/1").json() for run in ("train", "eval")]

    assert [row[2] for row in rows[0]] == [row[2] for row in rows[1]]


def test_csv_has_the_header_of_the_legacy_api(client: TbcoreClient) -> None:
    """A column for each basis point and each value."""
    response = client.get(f"{PATH}?run=train&tag=w/2&format=csv")

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

    ((_, _, pairs),) = client.get(f"{PATH}?run=run&tag=h").json()

    assert pairs[-1] == [10000, "Infinity"]


@pytest.mark.parametrize("as_tensors", [False, True])
def test_charts_get_no_values_for_histograms_without_samples(
    tbcore_logdir: Path, tbcore_client: MakeClient, as_tensors: bool
) -> None:
    """Programs get zeros as in TensorBoard, which a chart would draw like weights of 0."""
    points = [[], [0.0, 0.0], []]
    write_run(tbcore_logdir, "run", histograms={"h": points}, as_tensors=as_tensors)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_distributions])

    zeros = [[point, 0.0] for point in BASIS_POINTS]
    rows = client.get(f"{PATH}?run=run&tag=h").json()
    drawn = client.get("data/plugin/distributions/series?run=run&tag=h").json()["rows"]

    assert [row[2] for row in rows[::2]] == [zeros, zeros]
    assert [row[:2] for row in drawn] == [row[:2] for row in rows]
    assert [len(row[2]) for row in drawn] == [0, 9, 0]
