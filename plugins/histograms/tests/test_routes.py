"""The routes of histograms as a client sees them: rows, errors, deleted files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest

import tbcore_histograms
from tbcore_testing import SeriesResponseTests, TbcoreClient, write_run

MakeClient = Callable[..., TbcoreClient]


class TestRoutes(SeriesResponseTests):
    plugin = tbcore_histograms
    data_type = tag_type = "histograms"
    samples = 50
    listing = "data/plugin/histograms/histograms?run={run}&tag={tag}"
    series = "data/plugin/histograms/series?run={run}&tag={tag}"
    routes: ClassVar = {
        "data/plugin/histograms/tags": [],
        listing: ["data/histograms", "legacy/data/histograms"],
        series: [],
    }

    def value(self, step: int) -> list[float]:
        return [float(step)]


@pytest.mark.parametrize("as_tensors", [False, True])
def test_rows_are_wall_time_step_and_histogram(
    tbcore_logdir: Path, tbcore_client: MakeClient, as_tensors: bool
) -> None:
    """In both forms."""
    write_run(tbcore_logdir, "run", histograms={"h": [[1.0, 2.0]]}, as_tensors=as_tensors)
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_histograms])

    ((wall_time, step, value),) = client.get(
        "data/plugin/histograms/histograms?run=run&tag=h"
    ).json()

    assert (type(wall_time), step) == (float, 0)
    minimum, maximum, num, _, _, limits, counts = value
    assert (minimum, maximum, num) == (1.0, 2.0, 2.0)
    assert len(limits) == len(counts) == 30
    assert sum(counts) == 2
