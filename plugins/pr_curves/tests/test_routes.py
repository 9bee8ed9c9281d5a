"""The routes of PR curves as a client sees them: TensorBoard's API and steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import tbcore_pr_curves
from tbcore_testing import EventFileWriter, SeriesTests, TbcoreClient, summaries, write_run

MakeClient = Callable[..., TbcoreClient]

PREFIX = "data/plugin/pr_curves"
LABELS = [True, False, True, True, False]
PREDICTIONS = [0.75, 0.5, 0.5, 0.25, 0.0]


def curve(tag: str, rows: Any, **more: Any) -> Any:
    """A tensor with the metadata of a curve and any content."""
    return summaries.tensor(tag, rows, plugin_name="pr_curves", data_class="tensor", **more)


class TestRoutes(SeriesTests):
    plugin = tbcore_pr_curves
    samples = 100
    listing = f"{PREFIX}/pr_curves?tag={{tag}}&run={{run}}"
    routes: ClassVar = {
        f"{PREFIX}/tags": [],
        f"{PREFIX}/available_time_entries": [],
        listing: [],
        f"{PREFIX}/step?run={{run}}&tag={{tag}}": [],
    }
    may_repeat = ("run",)
    test_tags_list_every_run = None  # Tags have descriptions, and runs without curves are omitted.

    def log(self, logdir: Path, run: str, steps_by_tag: Any, **options: Any) -> Path:
        path = logdir / run / options.get("filename", "curves.tfevents")
        with EventFileWriter(path) as writer:
            for tag, steps in steps_by_tag.items():
                for step in steps:
                    writer.add_summary(step, curve(tag, np.full((6, 2), step)))
        return path

    def steps(self, response: Any) -> list[int]:
        assert response.status_code == 200, response.text
        [entries] = response.json().values()
        return [entry["step"] for entry in entries]


@pytest.fixture
def client(tbcore_logdir: Path, tbcore_client: MakeClient) -> TbcoreClient:
    with EventFileWriter(tbcore_logdir / "train" / "a.tfevents") as writer:
        for step in (10, 20):
            value = summaries.pr_curve("cats", LABELS, PREDICTIONS, num_thresholds=5)
            if step == 10:
                value.metadata.display_name = "all <cats>"
                value.metadata.summary_description = "big & small"
            writer.add_summary(step, value, wall_time=100.0 + step)
        writer.add_summary(10, curve("invalid", np.ones((5, 3))))
        writer.add_summary(10, curve("mixed", np.ones((2, 2, 2))))
        writer.add_summary(20, curve("mixed", np.ones((6, 2))))
    with EventFileWriter(tbcore_logdir / "eval" / "a.tfevents") as writer:
        value = summaries.pr_curve("cats", [True, False], [0.9, 0.1], num_thresholds=3)
        writer.add_summary(15, value, wall_time=115.0)
    write_run(tbcore_logdir, "numbers", scalars={"loss": [0.5]})
    return tbcore_client(tbcore_logdir, plugins=[tbcore_pr_curves])


def get(client: TbcoreClient, path: str, **params: Any) -> Any:
    response = client.get(f"{PREFIX}/{path}", params=params)
    assert response.status_code == 200, response.text
    return response.json()


def test_tags_have_the_text_of_their_writer(client: TbcoreClient) -> None:
    """Runs without curves are omitted. Descriptions are escaped, since clients expect HTML."""
    nothing = {"displayName": "", "description": ""}
    text = {"displayName": "all <cats>", "description": "<p>big &amp; small</p>"}
    assert get(client, "tags") == {
        "train": {"cats": text, "invalid": nothing, "mixed": nothing},
        "eval": {"cats": nothing},
    }


def test_a_curve_has_the_counts_at_each_threshold(client: TbcoreClient) -> None:
    """The threshold 1, which no prediction reaches, is omitted."""
    response = get(client, "pr_curves", tag="cats", run=["train", "eval"])
    assert [entry["step"] for entry in response["train"]] == [10, 20]
    third = float(np.float32(2 / 3))
    assert response["train"][0] == {
        "wall_time": 110.0,
        "step": 10,
        "precision": [float(np.float32(0.6)), 0.75, third, 1.0],
        "recall": [1.0, 1.0, third, float(np.float32(1 / 3))],
        "true_positives": [3, 3, 2, 1],
        "false_positives": [2, 1, 1, 0],
        "true_negatives": [0, 1, 1, 2],
        "false_negatives": [0, 0, 1, 2],
        "thresholds": [0.0, 0.25, 0.5, 0.75],
    }
    assert response["eval"][0]["thresholds"] == [0.0, 0.5]


def test_the_number_of_samples_is_an_option(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    with EventFileWriter(tbcore_logdir / "a" / "a.tfevents") as writer:
        for step in range(130):
            writer.add_summary(step, curve("c", np.ones((6, 2))))
    counts = {}
    for limit in (None, 0, 7):
        samples = {} if limit is None else {"pr_curves": limit}
        client = tbcore_client(
            tbcore_logdir, plugins=[tbcore_pr_curves], samples_per_plugin=samples
        )
        entries = get(client, "pr_curves", tag="c", run="a")["a"]
        assert len(get(client, "available_time_entries")["a"]) == len(entries)
        counts[limit] = len(entries)
    assert counts == {None: 100, 0: 130, 7: 7}


def test_time_entries_are_those_of_the_first_tag(client: TbcoreClient) -> None:
    times = get(client, "available_time_entries")
    assert times["train"] == [
        {"step": 10, "wall_time": 110.0},
        {"step": 20, "wall_time": 120.0},
    ]
    assert set(times) == {"train", "eval"}


@pytest.mark.parametrize(
    ("params", "status", "part"),
    [
        ({"tag": "cats", "run": ["train", "numbers"]}, 404, "numbers"),
        ({"tag": "invalid", "run": "train"}, 404, "shape (5, 3), not numbers of shape (6"),
    ],
)
def test_errors_name_what_is_missing(
    client: TbcoreClient, params: dict[str, Any], status: int, part: str
) -> None:
    response = client.get(f"{PREFIX}/pr_curves", params=params)
    assert response.status_code == status
    assert part in response.text


def test_tensors_of_any_other_shape_are_omitted(client: TbcoreClient) -> None:
    response = get(client, "pr_curves", tag="mixed", run="train")
    assert [entry["step"] for entry in response["train"]] == [20]


def test_unusual_counts(tbcore_logdir: Path, tbcore_client: MakeClient) -> None:
    """A curve without predictions keeps its first threshold, and NaN is returned as NaN."""
    rows = np.zeros((6, 3))
    broken = np.full((6, 2), np.nan)
    huge = np.full((6, 2), 3e38)
    with EventFileWriter(tbcore_logdir / "a" / "a.tfevents") as writer:
        for tag, values in (("none", rows), ("nan", broken), ("huge", huge)):
            writer.add_summary(0, curve(tag, values))
        writer.add_summary(0, curve("whole", np.ones((6, 2), np.int64), dtype="int64"))
    client = tbcore_client(tbcore_logdir, plugins=[tbcore_pr_curves])

    [none] = get(client, "pr_curves", tag="none", run="a")["a"]
    assert (none["thresholds"], none["true_positives"]) == ([0.0], [0])
    [nan] = get(client, "pr_curves", tag="nan", run="a")["a"]
    assert nan["true_positives"] == ["NaN", "NaN"]
    assert get(client, "step", tag="nan", run="a")["samples"][0]["area"] == "NaN"
    [huge_one] = get(client, "pr_curves", tag="huge", run="a")["a"]
    assert huge_one["true_positives"][0] == float(np.float32(3e38))
    [whole] = get(client, "pr_curves", tag="whole", run="a")["a"]
    assert whole["precision"] == [1.0, 1.0]


def test_a_step_has_the_last_curve_up_to_it(client: TbcoreClient) -> None:
    found = get(client, "step", run="train", tag="cats", step=19)
    assert (found["step"], found["first_step"]) == (10, 10)
    [sample] = found["samples"]
    assert sample["thresholds"] == [0.0, 0.25, 0.5, 0.75]
    assert (found["display_name"], found["description"]) == ("all <cats>", "big & small")
    # A third of the recall is lost at each of the thresholds 0.25, 0.5 and 0.75.
    assert sample["area"] == pytest.approx((3 / 4 + 2 / 3 + 1) / 3)
    assert get(client, "step", run="eval", tag="cats", step=14)["index"] is None

    body = {"runs": ["train", "eval"], "tags": ["cats"]}
    steps = client.post(f"{PREFIX}/steps", json=body)
    assert steps.json() == {"step": [10, 15, 20], "count": [1, 1, 1]}
