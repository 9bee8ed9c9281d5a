"""The rows of a histogram series: both logged forms, exact numbers, invalid values."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbcore_histograms
from tbcore_testing import EventFileWriter, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]
Get = Callable[..., Any]


@pytest.fixture
def histograms_of(tbcore_logdir: Path, tbcore_client: MakeClient) -> Get:
    """Returns the JSON of one series."""

    def get(run: str, tag: str, **options: Any) -> Any:
        client = tbcore_client(tbcore_logdir, plugins=[tbcore_histograms], **options)
        response = client.get("data/plugin/histograms/histograms", params={"run": run, "tag": tag})
        assert response.status_code == 200, response.text
        return response.json()

    return get


def histo(limits: list[float], counts: list[float], **fields: float) -> Any:
    """A value of the summary field with exactly these buckets."""
    value = summaries.histogram("h", [])
    value.histo.bucket_limit.extend(limits)
    value.histo.bucket.extend(counts)
    for name, number in fields.items():
        setattr(value.histo, name, number)
    return value


def rows_value(rows: list[list[float]], dtype: str = "float64", *, content: bool = True) -> Any:
    """A tensor value with exactly these rows."""
    return summaries.tensor(
        "h", np.array(rows, np.float64).reshape(-1, 3), dtype=dtype, as_bytes=content,
        plugin_name="histograms",
    )  # fmt: skip


def write(logdir: Path, *values: Any, metadata: Any = "first") -> None:
    with EventFileWriter(logdir / "run" / "a.tfevents", metadata=metadata) as writer:
        for step, value in enumerate(values):
            writer.add_summary(step, value)


def test_a_histogram_is_returned_as_logged(tbcore_logdir: Path, histograms_of: Get) -> None:
    """Bit for bit, including empty buckets at the ends and the largest double."""
    limits = [-0.68, -0.62, 0.1 + 0.2, 0.47, sys.float_info.max]
    counts = [0.0, 1.0, 5.5, 2.0, 0.0]
    write(
        tbcore_logdir,
        histo(limits, counts, min=-0.66, max=0.44, num=8.0, sum=-0.8, sum_squares=0.73),
    )

    ((wall_time, step, value),) = histograms_of("run", "h")

    assert (wall_time, step) == (1700000001.0, 0)
    assert value == [-0.66, 0.44, 8.0, -0.8, 0.73, limits, counts]


@pytest.mark.parametrize("metadata", ["first", "every"])
@pytest.mark.parametrize("content", [False, True], ids=["typed list", "tensor_content"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[0, 1, 2], [1, 2, 0], [2, 3, 5]], [0, 3, 7, 13.5, 31.75, [1, 2, 3], [2, 0, 5]]),
        ([], [0, 0, 0, 0, 0, [], []]),
        ([[5, 5, 0], [5, 5, 4]], [5, 5, 4, 20, 100, [5, 5], [0, 4]]),
    ],
    ids=["three buckets", "none", "one value throughout"],
)
def test_a_tensor_is_returned_in_the_same_form(
    tbcore_logdir: Path, histograms_of: Get, rows: list[list[float]], expected: list[Any],
    dtype: str, content: bool, metadata: Any,
) -> None:  # fmt: skip
    """Sums are estimated from the middles of the buckets."""
    value = rows_value(rows, dtype, content=content)
    write(tbcore_logdir, value, value, metadata=metadata)

    assert [row[1:] for row in histograms_of("run", "h")] == [[0, expected], [1, expected]]


def test_a_tag_logged_in_both_forms_is_one_series(tbcore_logdir: Path, histograms_of: Get) -> None:
    """An updated writer may continue with tensors where it logged the summary field."""
    write_run(tbcore_logdir, "run", histograms={"h": [[1.0], [2.0]]})
    write_run(tbcore_logdir, "run", histograms={"h": [(2, [3.0])]}, as_tensors=True)
    write_run(tbcore_logdir, "run", histograms={"h": [(3, [4.0])]})

    rows = histograms_of("run", "h")

    assert [(step, value[2]) for _, step, value in rows] == [(0, 1), (1, 1), (2, 1), (3, 1)]


def test_non_finite_numbers_are_strings(tbcore_logdir: Path, histograms_of: Get) -> None:
    """Also inside the lists of limits and counts."""
    write(tbcore_logdir, histo([1.0, math.inf], [math.nan, 1.0], min=-math.inf, max=2.0))

    ((_, _, value),) = histograms_of("run", "h")

    assert value == ["-Infinity", 2.0, 0.0, 0.0, 0.0, [1.0, "Infinity"], ["NaN", 1.0]]


def test_an_invalid_histogram_is_omitted(
    tbcore_logdir: Path, histograms_of: Get, caplog: pytest.LogCaptureFixture
) -> None:
    """Front ends fail on lists of different lengths. All other histograms are returned."""
    write(tbcore_logdir, histo([1.0], [1.0]), histo([1.0, 2.0], [1.0]), histo([2.0], [1.0]))

    assert [row[1] for row in histograms_of("run", "h")] == [0, 2]
    assert "1 of 3 items" in caplog.text
    assert "2 bucket limits, 1 counts" in caplog.text


def test_only_histograms_are_claimed(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """Tensors of other plugins, and scalars with the metadata of histograms, are not."""
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents") as writer:
        number = summaries.scalar("number", 1.0)
        number.metadata.CopyFrom(summaries.metadata("histograms"))
        table = summaries.tensor("theirs", [[0.0, 1.0, 1.0]], plugin_name="pr_curves")
        single = summaries.tensor("single", [[1.0]], plugin_name="histograms")
        writer.add_summary(0, number, table, single)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_histograms])

    assert client.get("data/plugin/histograms/tags").json() == {"run": []}
    assert client.get("data/plugins_listing").json() == {"histograms": False}


def test_the_chart_gets_the_rows_that_were_logged(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """With their left edges, where the buckets of programs have gaps or overlaps."""
    for_chart = {
        "even": [0.0, 3.0, 7.0, 13.5, 31.75, [1.0, 2.0, 3.0], [2.0, 0.0, 5.0]],
        "gap": [0.0, 4.0, 10.0, 20.0, 62.5, [1.0, 4.0], [5.0, 5.0], [0.0, 3.0]],
        "overlap": [0.0, 3.0, 10.0, 15.0, 25.0, [2.0, 3.0], [5.0, 5.0], [0.0, 1.0]],
        "out of order": [0.0, 2.0, 3.0, 2.5, 2.75, [1.0, 2.0], [2.0, 1.0], [0.0, 1.0]],
    }
    rows = [
        [[0, 1, 2], [1, 2, 0], [2, 3, 5]],
        [[0, 1, 5], [3, 4, 5]],
        [[0, 2, 5], [1, 3, 5]],
        [[1, 2, 1], [0, 1, 2]],
    ]
    write(tbcore_logdir, *map(rows_value, rows))
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_histograms])
    series = client.get("data/plugin/histograms/series?run=run&tag=h").json()["rows"]
    listed = client.get("data/plugin/histograms/histograms?run=run&tag=h").json()

    assert [value for _, _, value in series] == [*for_chart.values()]
    assert [value[5:] for _, _, value in listed] == [
        [[1.0, 2.0, 3.0], [2.0, 0.0, 5.0]],
        [[1.0, 3.0, 4.0], [5.0, 0.0, 5.0]],
        [[3.0], [10.0]],
        [[1.0, 2.0], [2.0, 1.0]],
    ]
