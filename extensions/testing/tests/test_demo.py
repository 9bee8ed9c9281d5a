"""The demo log directory: it is the same each time, and has all features that it should show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbcore_graphs
import tbcore_histograms
import tbcore_hparams
import tbcore_scalars
from tbcore import Claim, values
from tbcore_testing import TbcoreClient
from tbcore_testing.demo import EVALUATION_INTERVAL, NUM_STEPS, main, write_demo
from tbcore_testing.demo_sweep import MODELS, NUM_SEEDS, NUM_SETTINGS

MakeClient = Callable[..., TbcoreClient]


def contents(logdir: Path) -> dict[str, bytes]:
    """Relative path of each file to its bytes."""
    files = [path for path in logdir.rglob("*") if path.is_file()]
    return {path.relative_to(logdir).as_posix(): path.read_bytes() for path in files}


def test_the_demo_is_the_same_each_time(tmp_path: Path) -> None:
    """Two demo directories have the same files."""
    write_demo(tmp_path / "one")
    write_demo(tmp_path / "two")

    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_the_demo_has_training_and_evaluation_runs(
    tmp_path: Path, tbcore_client: MakeClient
) -> None:
    """Each run has two sub-runs with grouped tags."""
    write_demo(tmp_path / "demo")

    tags: dict[str, list[str]] = (
        tbcore_client(tmp_path / "demo", plugins=[tbcore_scalars])
        .get("data/plugin/scalars/tags")
        .json()
    )

    assert len(tags) == 8 + NUM_SETTINGS + len(MODELS) * NUM_SEEDS
    assert tags["small/eval"] == ["loss/total", "accuracy"]
    assert "loss/regularization" in tags["small/train"]


def test_the_demo_restarts_and_diverges(tmp_path: Path, tbcore_client: MakeClient) -> None:
    """A restarted run has each step once; another run becomes infinite and then NaN."""
    write_demo(tmp_path / "demo")
    client = tbcore_client(tmp_path / "demo", plugins=[tbcore_scalars])

    def rows(run: str) -> list[Any]:
        response: list[Any] = client.get(
            "data/plugin/scalars/scalars", params={"run": run, "tag": "loss/total", "samples": 0}
        ).json()
        return response

    assert len(list((tmp_path / "demo/large-resumed/train").iterdir())) == 2
    assert [row[1] for row in rows("large-resumed/train")] == list(range(NUM_STEPS))
    values = [row[2] for row in rows("rate-too-high/train")]
    assert values[-1] == "NaN"
    assert "Infinity" in values


def test_the_demo_has_pictures_and_clips(tmp_path: Path, tbcore_client: MakeClient) -> None:
    """There are two pictures per step, and clips with labels."""
    write_demo(tmp_path / "demo")
    client = tbcore_client(tmp_path / "demo")

    pictures = client.multiplexer.items(
        "small/eval", "pictures/reconstruction", (Claim("tensor", plugin_name="images"),)
    )
    clips = client.multiplexer.items(
        "small/eval", "sounds/tone", (Claim("tensor", plugin_name="audio"),)
    )

    assert [item.step for item in pictures] == list(range(0, NUM_STEPS, EVALUATION_INTERVAL))
    assert len(values.image(pictures[-1].read()).encoded) == 2
    metadata = client.multiplexer.metadata("small/eval", "sounds/tone")
    labels = [clip.label for clip in values.audio(clips[-1].read(), metadata).clips]
    assert labels == ["low A", "E"]


def test_the_demo_has_a_mesh(tmp_path: Path, tbcore_client: MakeClient) -> None:
    """A ring with faces and colours, whose surface becomes smooth."""
    write_demo(tmp_path / "demo")
    client = tbcore_client(tmp_path / "demo")
    claims = (Claim("tensor", plugin_name="mesh"),)

    found = {
        part: client.multiplexer.read_items(
            "small/eval", f"shapes/ring_{part}", claims, values.tensor
        )
        for part in ("VERTEX", "FACE", "COLOR")
    }

    (_, first), *_, (_, last) = found["VERTEX"]
    assert first.shape == last.shape == found["COLOR"][0][1].shape == (1, 512, 3)
    assert np.abs(first[..., 1]).max() > 1.5 * np.abs(last[..., 1]).max()
    assert found["FACE"][0][1].max() == 511


def test_the_demo_has_texts(tmp_path: Path, tbcore_client: MakeClient) -> None:
    """There are settings as Markdown, and sentences that become correct."""
    write_demo(tmp_path / "demo")
    client = tbcore_client(tmp_path / "demo")
    claims = (Claim("tensor", plugin_name="text"),)

    [settings] = client.multiplexer.items("large/train", "settings", claims)
    sentences = client.multiplexer.items("large/eval", "sentences", claims)

    assert "| `num_layers` | 6 |" in values.text(settings.read()).item()
    assert [item.step for item in sentences] == list(range(0, NUM_STEPS, EVALUATION_INTERVAL))
    first, last = (dict(values.text(sentences[at].read()).tolist()) for at in (0, -1))
    assert last["Nobody knew"] == "why the old clock had stopped at noon."
    assert first["Nobody knew"] != last["Nobody knew"]


def test_the_pr_curve_of_the_demo_improves(tmp_path: Path, tbcore_client: MakeClient) -> None:
    write_demo(tmp_path / "demo")
    client = tbcore_client(tmp_path / "demo")
    claims = (Claim("tensor", plugin_name="pr_curves"),)

    curves = client.multiplexer.read_items("large/eval", "class/3", claims, values.tensor)

    assert [item.step for item, _ in curves] == list(range(0, NUM_STEPS, EVALUATION_INTERVAL))
    areas = [np.sum(rows[4] * -np.diff(rows[5], append=0.0)) for _, rows in curves]
    assert areas[0] < 0.4
    assert areas[-1] > 0.8


def test_the_weights_of_the_demo_split(tmp_path: Path, tbcore_client: MakeClient) -> None:
    """The weights start as one group and end as two."""
    write_demo(tmp_path / "demo")
    client = tbcore_client(tmp_path / "demo", plugins=[tbcore_histograms])
    address = "data/plugin/histograms/histograms?run=large/train&tag=dense/weights"

    rows = client.get(address).json()

    assert len(rows) == NUM_STEPS // 25
    for row, has_gap in ((rows[0], False), (rows[-1], True)):
        counts = row[2][6]
        middle = counts[len(counts) // 2 - 2 : len(counts) // 2 + 2]
        assert (max(middle) < max(counts) / 2) == has_gap


def test_the_demo_has_a_sweep(tmp_path: Path, tbcore_client: MakeClient) -> None:
    """The accuracy depends on the settings, and each model is one group of its seeds."""
    write_demo(tmp_path / "demo")
    client = tbcore_client(tmp_path / "demo", plugins=[tbcore_hparams])
    question = {
        "allowedStatuses": ["STATUS_SUCCESS"],
        "sliceSize": 1000,
        "colParams": [{"metric": {"tag": "accuracy"}, "order": "ORDER_DESC"}],
    }

    groups = client.post("data/plugin/hparams/session_groups", json=question).json()

    found = groups["sessionGroups"]
    sizes = [len(group["sessions"]) for group in found]
    assert sorted(sizes) == [1] * NUM_SETTINGS + [NUM_SEEDS - 1] + [NUM_SEEDS] * (len(MODELS) - 1)
    accuracies = [group["metricValues"][0]["value"] for group in found]
    assert accuracies == sorted(accuracies, reverse=True)
    assert accuracies[0] - accuracies[-1] > 0.1


def test_the_seeds_of_the_demo_end_at_different_steps(
    tmp_path: Path, tbcore_client: MakeClient
) -> None:
    """One of them diverges: its loss is large, and then NaN."""
    write_demo(tmp_path / "demo")
    client = tbcore_client(tmp_path / "demo")
    question = {"columns": ["model", "learning_rate", "val/loss:last", "val/loss:max", "step"]}

    answer = client.post("data/run_attributes", json=question).json()

    rows = {
        run: (model, rate, last, most, step)
        for run, model, rate, last, most, step in zip(
            answer["runs"], *(column["values"] for column in answer["columns"]), strict=True
        )
        if run.startswith("models/")
    }
    assert len(rows) == len(MODELS) * NUM_SEEDS
    for model in MODELS:
        of_model = [row for row in rows.values() if row[0] == model.name]
        assert [row[1] for row in of_model] == [model.learning_rate] * NUM_SEEDS
        assert len({row[4] for row in of_model}) > 2
    assert [run for run, row in rows.items() if row[2] == "NaN"] == ["models/vit_tiny/seed3"]
    assert rows["models/vit_tiny/seed3"][3] > 1000


def test_the_demo_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory that is not empty is an error of one line, and stays unchanged."""
    (tmp_path / "notes.txt").write_text("mine")

    assert main([str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert contents(tmp_path) == {"notes.txt": b"mine"}


def test_the_demo_has_a_graph_with_times(tmp_path: Path, tbcore_client: MakeClient) -> None:
    """Each training run has a graph; the larger model has more layers, with the same structure."""
    write_demo(tmp_path / "demo")
    client = tbcore_client(tmp_path / "demo", plugins=[tbcore_graphs])

    assert set(client.get("data/plugin/graphs/runs").json()) == {
        "small/train", "large/train", "large-resumed/train", "rate-too-high/train",
    }  # fmt: skip
    overview = client.get("data/plugin/graphs/overview?run=large/train").json()
    assert overview["graphs"][0]["nodes"] > 200
    assert [tag["tag"] for tag in overview["metadata_tags"]] == ["step 10", "step 500"]
    scope = client.get(
        "data/plugin/graphs/scope?run=large/train&graph=graph&path=encoder&tag=step%20500"
    ).json()["children"]
    assert scope["name"] == [f"encoder/layer_{i}" for i in range(1, 7)]
    assert len(set(scope["structure"])) == 1
    assert all(micros > 1000 for micros in scope["compute_us"])
