"""The rows of a scalar series: both logged forms, all types, sampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbcore_scalars
from tbcore import ScalarSeries
from tbcore_scalars import reader
from tbcore_testing import EventFileWriter, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]


@pytest.fixture
def scalars_of(tbcore_client: MakeClient) -> Callable[[Path, str, str], Any]:
    """Returns the JSON of one series."""

    def get(logdir: Path, run: str, tag: str) -> Any:
        client = tbcore_client(logdir, plugins=[tbcore_scalars])
        response = client.get("data/plugin/scalars/scalars", params={"run": run, "tag": tag})
        assert response.status_code == 200, response.text
        return response.json()

    return get


def make_series(num_points: int) -> ScalarSeries:
    numbers = np.arange(num_points)
    return ScalarSeries(
        ordinal=numbers, step=numbers, wall_time=numbers.astype(np.float64),
        value=numbers.astype(np.float32),
    )  # fmt: skip


def test_rows_are_wall_time_step_value_in_the_order_logged(
    tbcore_logdir: Path, scalars_of: Callable[..., Any]
) -> None:
    """They are not sorted, and a step may occur twice."""
    points = [(7, 0.5, 100.25), (3, 0.25, 99.5), (3, 0.125, 99.5), (-1, 1.0, 1.0)]
    write_run(tbcore_logdir, "train", scalars={"loss": points})

    assert scalars_of(tbcore_logdir, "train", "loss") == [
        [100.25, 7, 0.5],
        [99.5, 3, 0.25],
        [99.5, 3, 0.125],
        [1.0, -1, 1.0],
    ]


@pytest.mark.parametrize("metadata", ["first", "every"])
@pytest.mark.parametrize("content", [False, True], ids=["typed list", "tensor_content"])
@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        (None, [0.1, -2.0], [0.10000000149011612, -2.0]),
        ("float32", [0.1, -2.0], [0.10000000149011612, -2.0]),
        ("float64", [0.1, 1e300], [0.1, 1e300]),
        ("float16", [0.1, 65504.0], [0.0999755859375, 65504.0]),
        ("bfloat16", [0.1, 3e38], [205 * 2.0**-11, 226 * 2.0**120]),
        ("int8", [-128, 127], [-128, 127]),
        ("int16", [-32768, 5], [-32768, 5]),
        ("int32", [-(2**31), 16777217], [-(2**31), 16777217]),
        ("int64", [2**53, -(2**53)], [2**53, -(2**53)]),
        ("uint8", [0, 255], [0, 255]),
        ("uint16", [0, 65535], [0, 65535]),
        ("uint32", [0, 2**32 - 1], [0, 2**32 - 1]),
        ("uint64", [0, 2**53], [0, 2**53]),
    ],
)
def test_a_number_of_each_type_is_exact(
    tbcore_logdir: Path,
    scalars_of: Callable[..., Any],
    dtype: str | None,
    values: list[float],
    expected: list[float],
    content: bool,
    metadata: Any,
) -> None:
    """In `simple_value` and in tensors, with metadata on the first record or on all records."""
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents", metadata=metadata) as writer:
        for step, value in enumerate(values):
            writer.add_scalar("a", value, step, dtype=dtype, as_bytes=content)

    rows = scalars_of(tbcore_logdir, "run", "a")

    assert [row[2] for row in rows] == expected
    assert [row[1] for row in rows] == [0, 1]


@pytest.mark.parametrize("dtype", [None, "float32", "float64", "float16", "bfloat16"])
def test_non_finite_numbers_are_strings(
    tbcore_logdir: Path, scalars_of: Callable[..., Any], dtype: str | None
) -> None:
    """NaN and infinity, in each float type."""
    values = [math.nan, math.inf, -math.inf, 1.0]
    write_run(tbcore_logdir, "run", scalars={"a": values}, dtype=dtype)

    rows = scalars_of(tbcore_logdir, "run", "a")

    assert [row[2] for row in rows] == ["NaN", "Infinity", "-Infinity", 1.0]


def test_a_non_finite_wall_time_is_a_string(
    tbcore_logdir: Path, scalars_of: Callable[..., Any]
) -> None:
    """Like any other non-finite number in the response."""
    write_run(tbcore_logdir, "run", scalars={"a": [(0, 1.0, math.nan), (1, 2.0, 5.0)]})

    assert scalars_of(tbcore_logdir, "run", "a") == [["NaN", 0, 1.0], [5.0, 1, 2.0]]


def test_steps_are_exact_int64(tbcore_logdir: Path, scalars_of: Callable[..., Any]) -> None:
    """Even where float64 is not exact."""
    steps = [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1]
    write_run(tbcore_logdir, "run", scalars={"a": [(step, 1.0) for step in steps]})

    assert [row[1] for row in scalars_of(tbcore_logdir, "run", "a")] == steps


def test_several_values_in_one_event(tbcore_logdir: Path, scalars_of: Callable[..., Any]) -> None:
    """An event may contain several tags, and the same tag twice."""
    with EventFileWriter(tbcore_logdir / "a.tfevents") as writer:
        for step in range(3):
            writer.add_summary(
                step,
                summaries.scalar("a", step),
                summaries.image("picture", summaries.png()),
                summaries.scalar("b", -step, dtype="int32"),
                summaries.scalar("a", step + 0.5),
            )

    assert [row[1:] for row in scalars_of(tbcore_logdir, ".", "a")] == [
        [0, 0.0], [0, 0.5], [1, 1.0], [1, 1.5], [2, 2.0], [2, 2.5],
    ]  # fmt: skip
    assert [row[1:] for row in scalars_of(tbcore_logdir, ".", "b")] == [[0, 0], [1, -1], [2, -2]]


def test_a_tag_logged_in_both_forms_is_one_curve(
    tbcore_logdir: Path, scalars_of: Callable[..., Any]
) -> None:
    """An updated writer may continue with tensors where it logged `simple_value`."""
    write_run(tbcore_logdir, "run", scalars={"a": [1.0, 2.0]})
    write_run(tbcore_logdir, "run", scalars={"a": [(2, 3.0)]}, dtype="float64")
    write_run(tbcore_logdir, "run", scalars={"a": [(3, 4.0)]})

    assert [row[1:] for row in scalars_of(tbcore_logdir, "run", "a")] == [
        [0, 1.0], [1, 2.0], [2, 3.0], [3, 4.0],
    ]  # fmt: skip


def test_other_kinds_under_the_same_tag_are_ignored(
    tbcore_logdir: Path, scalars_of: Callable[..., Any]
) -> None:
    """An image and a vector under the same tag are not points of the curve."""
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents") as writer:
        writer.add_image("mixed", summaries.png(), 0)
        writer.add_scalar("mixed", 1.0, 1, dtype="float32")
        writer.add_summary(2, summaries.tensor("mixed", [1, 2], plugin_name="scalars"))
        writer.add_scalar("mixed", 2.0, 3)
        writer.add_histogram("mixed", [1.0], 4)
        writer.add_scalar("mixed", 3.0, 5, dtype="float32")

    assert [row[1:] for row in scalars_of(tbcore_logdir, "run", "mixed")] == [
        [1, 1.0], [3, 2.0], [5, 3.0],
    ]  # fmt: skip


def test_tensors_of_other_plugins_are_not_scalars(
    tbcore_logdir: Path, tbcore_client: MakeClient
) -> None:
    """A single number that was logged for another plugin, or for none, is not a scalar."""
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents") as writer:
        writer.add_summary(0, summaries.tensor("theirs", 1.0, plugin_name="pr_curves"))
        writer.add_summary(0, summaries.tensor("unclaimed", 1.0))
        writer.add_summary(0, summaries.tensor("vector", [1.0, 2.0], plugin_name="scalars"))
        writer.add_text("text", "words", 0)

    client = tbcore_client(tbcore_logdir, plugins=[tbcore_scalars])

    assert client.get("data/plugin/scalars/tags").json() == {"run": []}
    assert client.get("data/plugins_listing").json() == {"scalars": False}


def test_a_simple_value_whose_metadata_names_another_plugin_is_a_scalar(
    tbcore_logdir: Path, scalars_of: Callable[..., Any]
) -> None:
    """The form takes precedence over the metadata."""
    with EventFileWriter(tbcore_logdir / "run" / "a.tfevents") as writer:
        value = summaries.scalar("a", 2.0)
        value.metadata.CopyFrom(summaries.metadata("other"))
        writer.add_summary(0, value)

    assert [row[1:] for row in scalars_of(tbcore_logdir, "run", "a")] == [[0, 2.0]]


def test_long_series_are_sampled_to_a_thousand_points(
    tbcore_logdir: Path, scalars_of: Callable[..., Any]
) -> None:
    """In order, with the last point, and at the same steps for tags that are logged together."""
    write_run(
        tbcore_logdir, "train",
        scalars={"a": list(range(5000)), "b": [-i for i in range(5000)]}, dtype="float64",
    )  # fmt: skip

    a = scalars_of(tbcore_logdir, "train", "a")
    b = scalars_of(tbcore_logdir, "train", "b")

    assert len(a) == len(b) == 1000
    assert a[-1][1:] == [4999, 4999]
    steps = [row[1] for row in a]
    assert steps == sorted(set(steps))
    assert [row[1] for row in b] == steps
    assert [row[2] for row in b] == [-row[2] for row in a]


def test_a_series_of_a_thousand_points_is_returned_whole(
    tbcore_logdir: Path, scalars_of: Callable[..., Any]
) -> None:
    """Only longer series are sampled."""
    write_run(tbcore_logdir, "train", scalars={"a": list(range(1000))})

    assert [row[2] for row in scalars_of(tbcore_logdir, "train", "a")] == list(range(1000))


@pytest.mark.parametrize(("samples", "expected"), [(0, 1500), (10, 10), (1, 1), (2000, 1500)])
def test_the_number_of_samples_is_an_option(
    tbcore_logdir: Path, tbcore_client: MakeClient, samples: int, expected: int
) -> None:
    """`--samples_per_plugin scalars=N`; 0 means all points."""
    write_run(tbcore_logdir, "train", scalars={"a": list(range(1500))})
    client = tbcore_client(
        tbcore_logdir, plugins=[tbcore_scalars], samples_per_plugin={"scalars": samples}
    )

    rows = client.get("data/plugin/scalars/scalars?run=train&tag=a").json()

    assert len(rows) == expected
    assert rows[-1][1] == 1499


@pytest.mark.parametrize(
    ("num_points", "sample_count", "expected"),
    [
        (11, 10, [0, 1, 2, 3, 4, 5, 6, 7, 8, 10]),
        (12, 10, [0, 1, 2, 3, 4, 6, 7, 8, 9, 11]),
        (100, 10, [0, 11, 22, 33, 44, 55, 66, 77, 88, 99]),
        (100, 3, [0, 49, 99]),
        (100, 2, [0, 99]),
        (10, 10, list(range(10))),
        (0, 10, []),
        (1, 2, [0]),
    ],
)
def test_evenly_spaced_points(num_points: int, sample_count: int, expected: list[int]) -> None:
    """The expected steps were printed by TensorFlow 1.0's function."""
    assert reader.evenly_spaced(make_series(num_points), sample_count).step.tolist() == expected
