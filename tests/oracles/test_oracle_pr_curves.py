"""Every PR curve of real logs equals that of TensorBoard's plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

import tbcore_pr_curves
from tbcore_testing import make_client


def test_curves_are_what_tensorboard_makes_of_them(real_logs: Path) -> None:
    loader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_file_loader",
        reason="tensorboard is not installed, and it is what the curves are compared with",
    )
    from tensorboard.plugins.base_plugin import TBContext
    from tensorboard.plugins.pr_curve.pr_curves_plugin import PrCurvesPlugin
    from tensorboard.util.tensor_util import make_ndarray

    client = make_client(real_logs, plugins=[tbcore_pr_curves], samples_per_plugin={"pr_curves": 0})
    tags = client.get("data/plugin/pr_curves/tags").json()
    theirs = PrCurvesPlugin(TBContext())
    num_curves = 0
    for run, tag in ((name, tag) for name in tags for tag in tags[name]):
        expected = [
            theirs._make_pr_entry(event.step, event.wall_time, make_ndarray(value.tensor))
            for path in sorted((real_logs / run).glob("*tfevents*"))
            for event in loader.EventFileLoader(str(path)).Load()
            for value in event.summary.value
            if value.tag == tag
        ]
        response = client.get("data/plugin/pr_curves/pr_curves", params={"run": run, "tag": tag})
        assert response.json() == {run: expected}
        num_curves += len(expected)
    assert num_curves
