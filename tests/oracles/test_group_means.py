"""The mean of a group is the same in Scalars, in Compare, in Python and in the shell."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tbcore
import tbcore_compare
import tbcore_scalars
from tbcore_testing import TbcoreClient, read_columns, write_run

NAN = math.nan
GROUPS = {
    "restarted": {
        # A second file of PyTorch's writer goes back without an event that says so.
        "back": [(0, 0), (10, 1), (20, 100), (30, 100), (15, 1.5), (25, 2.5), (35, 3.5)],
        "plain": [(0, 0), (10, 1), (20, 2), (30, 3)],
        "twice": [(0, 5), (10, 5), (20, 5), (30, 5), (20, 6), (30, 6), (10, 7), (20, 7)],
    },
    "odd": {
        "nan": [(0, 1), (10, NAN), (20, 3), (40, 4)],
        "repeated": [(0, 9), (0, 1), (10, 9), (10, 2), (20, 3)],
        "missing": [(5, 1), (35, 4)],
        "infinite": [(0, 1), (10, math.inf), (20, -math.inf)],
    },
    "interleaved": {
        "writers": [(step + back, step) for step in range(0, 200, 10) for back in (5, 0)],
        "plain": [(step, 1) for step in range(0, 300, 20)],
    },
}
"""Groups of runs with their points."""


def test_a_group_has_one_mean(
    tbcore_logdir: Path, tbcore_client: Callable[..., TbcoreClient]
) -> None:
    for group, runs in GROUPS.items():
        for run, points in runs.items():
            write_run(tbcore_logdir, f"{group}/{run}", scalars={"loss": points})
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars, tbcore_compare])
    names = {group: [f"{group}/{run}" for run in runs] for group, runs in GROUPS.items()}
    response = client.post("data/plugin/scalars/bands", json={"tag": "loss", "groups": names})
    scalars = read_columns(response.content)[1]
    body = {"tag": "loss", "average": "mean", "groups": list(names.values())}
    compare = read_columns(client.post("data/plugin/compare/bands", json=body).content)[1]
    logs = tbcore.open(tbcore_logdir)
    for group, band, other in zip(names, scalars, compare, strict=True):
        python = logs.mean("loss", runs=f"{group}/*").columns
        assert band["x"].tolist() == other["step"].tolist() == python["step"].tolist(), group
        np.testing.assert_allclose(other["mean"], band["average"], rtol=1e-12, err_msg=group)
        np.testing.assert_allclose(python["mean"], band["average"], rtol=1e-12, err_msg=group)
        for name, own in (("count", "n"), ("nonfinite", "nonfinite")):
            assert band[name].tolist() == other[name].tolist() == python[own].tolist(), group
    assert scalars[0]["average"][scalars[0]["x"] == 20] == pytest.approx((2 + 2 + 7) / 3)
