"""What Python programs expect of logs, runs, series and values, and what notebooks show."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import tbcore
import tbcore_logs
from tbcore.values.formats import AudioClip
from tbcore_logs import Logs, Point
from tbcore_testing import EventFileWriter, summaries, write_run


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    points = [(0, 1.0, 10.0), (5, 0.5, 11.0), (7, 0.25, 12.0)]
    write_run(tmp_path, "a", scalars={"loss": points}, hparams={"lr": 0.1})
    picture = summaries.png()
    write_run(
        tmp_path, "b", scalars={"loss": [1.0]}, images={"x": [picture]},
        histograms={"h": [[1.0, 2.0, 2.0, 5.0]]},
    )  # fmt: skip
    found: Logs = tbcore.open(tmp_path)
    return found


def test_a_series_is_a_sequence_of_points(logs: Logs) -> None:
    series = logs["a"]["loss"]
    assert isinstance(series, Sequence)
    assert series[1] == Point(5, 11.0, 0.5)
    assert series[-1] == series.last
    assert list(series) == [series[0], series[1], series[2]]
    assert next(reversed(series)) == series[2]
    assert Point(5, 11.0, 0.5) in series
    assert [point.step for point in series[1:]] == [5, 7]
    assert series[::2].value.tolist() == [1.0, 0.25]
    with pytest.raises(IndexError):
        series[3]
    pytest.importorskip("pandas")
    frame = series.to_pandas()
    assert list(frame.columns) == ["step", "wall_time", "value"]
    assert frame["value"].tolist() == [1.0, 0.5, 0.25]


def test_logs_are_a_mapping(logs: Logs, tmp_path: Path) -> None:
    """Two of them are equal only if they are the same object, and they can be keys."""
    assert isinstance(logs, Mapping)
    assert list(logs) == list(logs.keys()) == list(logs.runs) == ["a", "b"]
    assert [run.name for run in logs.values()] == ["a", "b"]
    assert dict(logs.items())["a"] is logs["a"]
    assert logs.get("c") is None
    assert logs == logs
    assert logs != tbcore.open(tmp_path)
    assert {logs: 1}[logs] == 1


def test_logs_and_runs_can_be_sent_to_other_processes(logs: Logs) -> None:
    """They are read there again."""
    again = pickle.loads(pickle.dumps(logs))
    assert list(again) == ["a", "b"]
    run = pickle.loads(pickle.dumps(logs["a"]))
    assert run["loss"].value.tolist() == [1.0, 0.5, 0.25]
    assert run.hparams == {"lr": 0.1}
    assert pickle.loads(pickle.dumps(run["loss"]))[1] == Point(5, 11.0, 0.5)


def test_names_of_runs_and_queries_are_keywords(logs: Logs) -> None:
    """So that their order need not be known."""
    for method in (logs.read, logs.hparams):
        with pytest.raises(TypeError):
            method("a")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        logs.scalars("loss", "a")  # type: ignore[misc]


def test_a_picture_shows_itself_and_has_pixels(logs: Logs) -> None:
    """Its repr does not have its bytes."""
    [item] = logs["b"].images("x")
    value = item.value
    [content] = value.encoded
    assert repr(value) == (
        f"LoggedImage(width={value.width}, height={value.height}, encoded=[{len(content):,} bytes])"
    )
    assert value._repr_html_().startswith('<img src="data:image/png;base64,')
    pytest.importorskip("PIL")
    assert value.to_numpy().shape[:3] == (1, value.height, value.width)


def test_what_is_no_picture_is_not_shown() -> None:
    """A log can have anything in a picture's place, such as SVG with scripts."""
    value = tbcore_logs.LoggedImage(1, 1, [b"<svg onload=alert(1)>"])
    assert value._repr_html_() == repr(value)


def test_a_histogram_is_like_that_of_numpy(logs: Logs) -> None:
    value = logs["b"].histograms("h")[0].value
    assert len(value.edges) == len(value.counts) + 1
    assert (value.edges[0], value.edges[-1]) == (1.0, 5.0)
    assert value.counts.sum() == 4
    assert (np.diff(value.edges) >= 0).all()
    assert len(repr(value)) < 100


def test_nothing_is_in_the_gap_between_two_rows_of_a_histogram(tmp_path: Path) -> None:
    rows = np.array([[0.0, 1.0, 5.0], [3.0, 4.0, 5.0]])
    with EventFileWriter(tmp_path / "a.tfevents") as writer:
        writer.add_summary(0, summaries.tensor("h", rows, plugin_name="histograms"))
    value = tbcore.open(tmp_path)["."].histograms("h")[0].value
    assert (value.edges.tolist(), value.counts.tolist()) == ([0, 1, 3, 4], [5, 0, 5])


def test_audio_does_not_print_its_bytes() -> None:
    value = tbcore_logs.LoggedAudio("audio/wav", [AudioClip(b"x" * 2000, "")])
    assert repr(value) == "LoggedAudio(content_type='audio/wav', clips=[2,000 bytes])"


@pytest.mark.parametrize("module", [tbcore, tbcore_logs])
def test_completion_offers_what_is_public(module: object) -> None:
    assert "open" in dir(module)
    assert "eventfiles" not in dir(module)
