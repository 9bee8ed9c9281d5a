"""`tbcore_compat.SummaryReader`: the frames that tbparse documents."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbcore_compat import SummaryReader
from tbcore_compat.media import pixels, samples
from tbcore_testing import write_run
from tbcore_testing.summaries import png, tensor, wav

pandas = pytest.importorskip("pandas", reason="pandas is not installed, which frames are made with")

HISTOGRAM = [[0.0, 1.0, 2.0], [1.0, 3.0, 6.0]]


def rows(frame: Any) -> list[list[Any]]:
    return [list(row) for row in frame.itertuples(index=False)]


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    for run, shift in (("a", 0.0), ("b/c", 0.5)):
        scalars = {"loss": [(0, 2 + shift), (1, 1 + shift)], "acc": [(1, shift)]}
        write_run(tmp_path, run, scalars=scalars, filename="x.tfevents", wall_time=100.0)
    return tmp_path


# -- long frames -------------------------------------------------------------------------------


def test_scalars_are_sorted_by_tag_and_step(two_runs: Path) -> None:
    frame = SummaryReader(str(two_runs / "a")).scalars

    assert list(frame.columns) == ["step", "tag", "value"]
    assert rows(frame) == [[1, "acc", 0.0], [0, "loss", 2.0], [1, "loss", 1.0]]
    assert frame["value"].dtype == np.float64


def test_extra_columns_say_where_and_when(two_runs: Path) -> None:
    extra = {"wall_time", "dir_name", "file_name", "width"}
    frame = SummaryReader(two_runs, extra_columns=extra).scalars

    assert list(frame.columns) == ["step", "tag", "value", "wall_time", "dir_name", "file_name"]
    assert rows(frame[["dir_name", "tag", "step"]]) == [
        ["a", "acc", 1], ["a", "loss", 0], ["a", "loss", 1],
        ["b/c", "acc", 1], ["b/c", "loss", 0], ["b/c", "loss", 1],
    ]  # fmt: skip
    assert set(frame["file_name"]) == {"x.tfevents"}
    assert frame["wall_time"].min() > 100.0


def test_directories_are_named_from_the_reader(two_runs: Path) -> None:
    reader = SummaryReader(two_runs, extra_columns={"dir_name"})

    assert set(reader["b"].scalars["dir_name"]) == {"c"}
    assert set(reader["b"]["c"].scalars["dir_name"]) == {""}
    assert list(reader.children) == ["a", "b"]


def test_scalars_that_are_tensors_are_in_both_frames(tmp_path: Path) -> None:
    write_run(tmp_path, scalars={"loss": [0.5]}, as_tensors=True)
    write_run(tmp_path, values=[tensor("t", [1.0, 2.0])])
    reader = SummaryReader(tmp_path)

    assert rows(reader.scalars) == [[0, "loss", 0.5]]
    [[_, _, number], [_, _, array]] = rows(reader.tensors)
    assert number == 0.5
    assert array.tolist() == [1.0, 2.0]
    assert reader.tags["tensors"] == ["loss", "t"]


def test_texts_and_hyperparameters(tmp_path: Path) -> None:
    texts = {"notes/text_summary": ["first", "second"]}
    write_run(tmp_path, texts=texts, hparams={"lr": 0.5, "model": "vit", "bias": True})
    reader = SummaryReader(tmp_path, extra_columns={"wall_time"})

    assert rows(reader.text[["step", "tag", "value"]]) == [
        [0, "notes", "first"], [1, "notes", "second"]
    ]  # fmt: skip
    assert rows(reader.hparams) == [["bias", True], ["lr", 0.5], ["model", "vit"]]
    assert reader.get_tags("text") == ["notes/text_summary"]
    assert sorted(reader.get_tags("hparams")) == ["bias", "lr", "model"]
    assert reader.tensors.empty


def test_histograms_have_counts_limits_and_more_on_demand(tmp_path: Path) -> None:
    write_run(tmp_path, histograms={"w": [[0.0, 3.0, 3.0]]})
    frame = SummaryReader(tmp_path, extra_columns={"num", "max"}).histograms

    assert list(frame.columns) == ["step", "tag", "counts", "limits", "max", "num"]
    [[step, tag, counts, limits, highest, num]] = rows(frame)
    assert (step, tag, highest, num) == (0, "w", 3.0, 3.0)
    assert (counts.sum(), counts[-1], limits[-1]) == (3.0, 2.0, 3.0)


def test_pictures_and_clips_are_arrays(tmp_path: Path) -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed, which decodes pictures")
    picture, clip = png(2, 3, rgb=(255, 128, 0)), wav([0.0, 1.0])
    write_run(tmp_path, images={"i": [picture]}, audio={"a": [clip]})
    reader = SummaryReader(tmp_path, extra_columns={"width", "height", "content_type"})

    [[_, _, image, height, width]] = rows(reader.images)
    assert (image.shape, height, width) == ((3, 2, 3), 3, 2)
    assert image[2, 1].tolist() == [255, 128, 0]
    [[_, _, sound, content_type]] = rows(reader.audio)
    assert (sound.shape, content_type) == ((2, 1), "audio/wav")
    np.testing.assert_allclose(sound[:, 0], [0.0, 32767 / 32768])


def test_without_values_a_frame_has_no_columns(tmp_path: Path) -> None:
    """In an empty directory, or in a file that is no event file."""
    (tmp_path / "notes.txt").write_text("not an event file")
    for reader in (SummaryReader(tmp_path), SummaryReader(tmp_path / "notes.txt")):
        for frame in (reader.scalars, reader.images, reader.hparams):
            assert list(frame.columns) == []
        assert set(reader.tags) == {
            "images", "audio", "histograms", "scalars", "tensors", "hparams", "text"
        }  # fmt: skip


# -- wide frames -------------------------------------------------------------------------------


def test_pivot_makes_a_column_of_each_tag(two_runs: Path) -> None:
    extra = {"dir_name", "wall_time"}
    frame = SummaryReader(two_runs, pivot=True, extra_columns=extra).scalars

    assert list(frame.columns) == ["step", "acc", "loss", "wall_time", "dir_name"]
    assert frame["loss"].tolist() == [2.0, 1.0, 2.5, 1.5]
    assert frame["step"].tolist() == [0, 1, 0, 1]
    assert frame["dir_name"].tolist() == ["a", "a", "b/c", "b/c"]
    assert math.isnan(frame["acc"][0])
    assert frame["acc"][3] == 0.5
    assert [len(np.atleast_1d(times)) for times in frame["wall_time"]] == [1, 2, 1, 2]


def test_several_values_at_a_step_are_a_list_without_nan(two_runs: Path) -> None:
    write_run(two_runs, "d", scalars={"loss": [(1, math.nan), (2, math.nan)]})
    frame = SummaryReader(two_runs, pivot=True).scalars

    assert frame["step"].tolist() == [0, 1, 2]
    assert frame["loss"][:2].tolist() == [[2.0, 2.5], [1.0, 1.5]]
    assert math.isnan(frame["loss"][2])


def test_pivoted_histograms_and_hyperparameters(tmp_path: Path) -> None:
    write_run(tmp_path, "a", histograms={"w": [[1.0]]}, hparams={"lr": 0.5, "model": "vit"})
    write_run(tmp_path, "b", hparams={"lr": 0.25})
    reader = SummaryReader(tmp_path, pivot=True, extra_columns={"dir_name"})

    assert list(reader.histograms.columns) == ["step", "w/counts", "w/limits", "dir_name"]
    assert rows(reader.hparams[["lr", "dir_name"]]) == [[0.5, "a"], [0.25, "b"]]
    assert reader.hparams["model"][0] == "vit"
    assert rows(SummaryReader(tmp_path, pivot=True).hparams) == [[[0.5, 0.25], "vit"]]


def test_steps_beyond_two_to_the_53_are_distinct(tmp_path: Path) -> None:
    step = 1 << 53
    write_run(tmp_path, scalars={"loss": [(step, 1.0), (step + 1, 2.0)]})

    assert rows(SummaryReader(tmp_path, pivot=True).scalars) == [[step, 1.0], [step + 1, 2.0]]


# -- arguments and events ----------------------------------------------------------------------


def test_tensors_of_both_sorts_keep_their_types(tmp_path: Path) -> None:
    """Steps stay integers where numbers and arrays are in one frame."""
    write_run(tmp_path, values=[tensor("t", [1.0, 2.0]), tensor("t", 3.0)])
    frame = SummaryReader(tmp_path, extra_columns={"wall_time"}).tensors

    assert frame.dtypes[["step", "wall_time"]].tolist() == [np.int64, np.float64]
    assert sorted(np.size(value) for value in frame["value"]) == [1, 2]


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    reader = SummaryReader(tmp_path, event_types={"tensors"})
    for event_type in ("scalars", "scalar"):
        with pytest.raises(ValueError, match=event_type):
            reader.get_events(event_type)
    with pytest.raises(ValueError, match="unknown event type"):
        reader.get_tags("scalar")
    with pytest.raises(ValueError, match="not an event file"):
        reader.raw_events  # noqa: B018
    with pytest.raises(ValueError, match="no such file"):
        SummaryReader(tmp_path / "missing")
    with pytest.raises(ValueError, match="must be a set"):
        SummaryReader(tmp_path, extra_columns=["step"])  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="'duration'"):
        SummaryReader(tmp_path, extra_columns={"duration"})
    with pytest.raises(KeyError, match="'scalar'"):
        SummaryReader(tmp_path, event_types={"scalar"})


def test_raw_events_are_those_of_the_accumulator(tmp_path: Path) -> None:
    file = write_run(tmp_path, scalars={"loss": [0.5]}, texts={"n": ["t"]}, hparams={"lr": 1.0})
    reader = SummaryReader(file)

    assert reader.raw_tags["text"] == reader.get_raw_tags("text") == ["n"]
    assert reader.raw_tags["hparams"] == ["_hparams_/session_start_info"]
    assert [event.value for event in reader.raw_events["scalars"]["loss"]] == [0.5]
    assert reader.get_raw_events("scalars", "loss") == reader.raw_events["scalars"]["loss"]
    assert isinstance(reader.get_raw_events("hparams", "_hparams_/session_start_info"), bytes)
    assert reader.get_raw_events("text", "n")[0].tensor_proto.string_val[0] == b"t"


# -- conversions -------------------------------------------------------------------------------


def test_tensors_of_histograms_are_converted() -> None:
    histogram = SummaryReader.tensor_to_histogram(HISTOGRAM)

    assert histogram["counts"].tolist() == [0.0, 2.0, 6.0]
    assert histogram["limits"].tolist() == [0.0, 1.0, 3.0]
    assert (histogram["min"], histogram["max"], histogram["num"]) == (0.0, 3.0, 8.0)
    assert math.isnan(histogram["sum"])


def test_shares_and_densities_are_interpolated() -> None:
    counts, limits = [0, 2, 6], [0, 1, 3]
    x = [-1.0, 0.5, 1.0, 2.0, 4.0]
    assert SummaryReader.histogram_to_cdf(counts, limits, x).tolist() == [0, 0.125, 0.25, 0.625, 1]
    centres, densities = SummaryReader.histogram_to_pdf(counts, limits, [0.0, 1.0, 3.0])
    assert (centres.tolist(), densities.tolist()) == ([0.5, 2.0], [0.25, 0.375])


def test_bins_share_the_buckets_that_they_overlap() -> None:
    """A bucket without a width is in one bin, and one beyond the bounds in none."""
    counts, limits = [0, 2, 6, 5], [0.0, 1.0, 3.0, 3.0]
    assert SummaryReader.histogram_to_bins(counts, limits, n_bins=2) == ([0.75, 2.25], [3.5, 9.5])
    centres, bins = SummaryReader.histogram_to_bins(counts, limits, 1.0, 2.0, 2)
    assert (centres, bins) == ([1.25, 1.75], [3.0, 3.0])
    [centre], [count] = SummaryReader.histogram_to_bins([0, 4], [2.0, 2.0], n_bins=1)
    assert (centre, count) == pytest.approx(((2 / 1.1 - 1 + 3.2) / 2, 4.0))


def test_tensors_of_media_are_converted() -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed, which decodes pictures")
    strings = np.array([b"2", b"3", png(2, 3), png(2, 3)], object)
    one = SummaryReader.tensor_to_image(strings[:3])
    assert (one["image"].shape, one["width"], one["height"]) == ((3, 2, 3), 2, 3)
    assert SummaryReader.tensor_to_image(strings)["image"].shape == (2, 3, 2, 3)

    clips = np.array([[wav([0.0, 0.5]), b""], [wav([0.0, 0.5]), b""]], object)
    sound = SummaryReader.tensor_to_audio(clips[:1])
    assert (sound["audio"].shape, sound["length_frames"]) == ((2, 1), 2)
    assert sound["sample_rate"] == 8000
    assert SummaryReader.tensor_to_audio(clips)["audio"].shape == (2, 2, 1)


@pytest.mark.parametrize(
    ("mode", "file_type", "shape"),
    [
        ("L", "PNG", (3, 2, 1)),
        ("RGBA", "PNG", (3, 2, 4)),
        ("P", "PNG", (3, 2, 3)),
        ("1", "PNG", (3, 2, 1)),
        ("RGB", "GIF", (1, 3, 2, 3)),
    ],
)
def test_pictures_have_the_channels_of_their_file(
    mode: str, file_type: str, shape: tuple[int, ...]
) -> None:
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    file = io.BytesIO()
    pillow.new(mode, (2, 3)).save(file, file_type)

    assert pixels(file.getvalue()).shape == shape


def test_clips_that_are_no_wav_are_refused() -> None:
    for clip in (b"", b"OggS0000", wav([0.5])[:20]):
        with pytest.raises(ValueError, match="not WAV"):
            samples(clip)
