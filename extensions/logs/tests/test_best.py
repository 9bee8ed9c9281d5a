"""Which groups cannot be told from the best one, compared with scipy's tests."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tbcore_logs.best import differences_from_best

GIVEN = json.loads(Path(__file__).parents[3].joinpath("tests/comparisons.json").read_text())


@pytest.mark.parametrize("case", GIVEN["cases"], ids=lambda case: case["about"])
def test_corrected_p_values_are_those_of_scipy(case: dict[str, list[dict[str, object]]]) -> None:
    groups = [{seed: float(str(x)) for seed, x in group.items()} for group in case["groups"]]
    found = differences_from_best(groups, "min" if case["goal"] == "min" else "max")  # type: ignore[comparison-overlap]
    assert found == pytest.approx(np.array(case["p"], float), rel=1e-9, abs=1e-12, nan_ok=True)


def test_of_no_values_none_is_the_best() -> None:
    assert np.isnan(differences_from_best([{}, {"s0": float("nan")}], "min")).all()
