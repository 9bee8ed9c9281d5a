"""Decoders of summary values: messages, and the values they are decoded to."""

from __future__ import annotations

import math
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbcore import DecodeError, values
from tbcore.eventfiles.proto import hparams_pb2
from tbcore.eventfiles.proto.summary_pb2 import HistogramProto, Summary
from tbcore_testing import make_client, summaries, write_run

LARGEST = sys.float_info.max


def histo(**fields: Any) -> Summary.Value:
    return Summary.Value(tag="h", histo=HistogramProto(**fields))


def rows_value(rows: Any) -> Summary.Value:
    table = np.array(rows, np.float64).reshape(-1, 3)
    return summaries.tensor("h", table, dtype="float64", as_bytes=True, plugin_name="histograms")


def listed(histogram: values.HistogramValue) -> tuple[Any, ...]:
    """The histogram with lists instead of arrays, for comparison."""
    assert histogram.bucket_limit.dtype == histogram.bucket.dtype == np.float64
    return (*histogram[:5], histogram.bucket_limit.tolist(), histogram.bucket.tolist())


@pytest.mark.parametrize(
    ("claims", "decode", "write"),
    [
        (values.AUDIO_CLAIMS, values.audio, lambda as_tensor: summaries.audio(
            "t", summaries.wav([0.5]), as_tensor=as_tensor)),
        (values.HISTOGRAM_CLAIMS, values.histogram, lambda as_tensor: summaries.histogram(
            "t", [1.0, 2.0], as_tensor=as_tensor)),
        (values.IMAGE_CLAIMS, values.image, lambda as_tensor: summaries.image(
            "t", summaries.png(), as_tensor=as_tensor)),
    ],
    ids=["audio", "histogram", "image"],
)  # fmt: skip
def test_claims_match_both_forms_that_a_decoder_accepts(
    claims: Any, decode: Any, write: Any, tmp_path: Path
) -> None:
    write_run(tmp_path, values=[write(False)], run="field")
    write_run(tmp_path, values=[write(True)], run="tensor")
    multiplexer = make_client(tmp_path).multiplexer

    assert multiplexer.tags(claims) == {"field": ["t"], "tensor": ["t"]}
    for run in ("field", "tensor"):
        assert len(multiplexer.read_items(run, "t", claims, decode)) == 1


@pytest.mark.parametrize("content", [False, True], ids=["typed list", "tensor_content"])
@pytest.mark.parametrize(
    ("dtype", "number", "expected"),
    [
        ("float32", 0.1, 0.10000000149011612),  # widened, not rounded
        ("float64", 0.1, 0.1),
        ("float16", 0.1, 0.0999755859375),
        ("bfloat16", 0.1, 0.10009765625),
        ("int8", -128, -128),
        ("int16", -32768, -32768),
        ("int32", -(2**31), -(2**31)),
        ("int64", -(2**63), -(2**63)),
        ("uint8", 255, 255),
        ("uint16", 65535, 65535),
        ("uint32", 2**32 - 1, 2**32 - 1),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("float32", math.inf, math.inf),
        ("bfloat16", -math.inf, -math.inf),
    ],
)
def test_a_scalar_tensor_of_each_type(
    dtype: str, number: float, expected: float, content: bool
) -> None:
    """The number is exact, and an integer stays an integer."""
    decoded = values.scalar(summaries.scalar("a", number, dtype=dtype, as_bytes=content))

    assert decoded == expected
    assert type(decoded) is type(expected)


@pytest.mark.parametrize("dtype", [None, "float32", "float64", "float16", "bfloat16"])
def test_a_nan_stays_one(dtype: str | None) -> None:
    """NaN is decoded in both forms and all float types."""
    assert math.isnan(values.scalar(summaries.scalar("a", math.nan, dtype=dtype)))


def test_a_simple_value_is_its_float32_widened() -> None:
    """The result is the float32 widened to float64."""
    assert values.scalar(summaries.scalar("a", 0.1)) == 0.10000000149011612


@pytest.mark.parametrize(
    "shape", [True, False], ids=["shape ()", "no shape, as some writers leave it out"]
)
def test_a_scalar_tensor_with_and_without_a_shape(shape: bool) -> None:
    """A tensor without a shape is a scalar."""
    assert values.scalar(summaries.tensor("a", 2.5, with_shape=shape)) == 2.5


def test_one_element_of_any_rank_is_a_scalar() -> None:
    """Some writers log a scalar as an array with one element."""
    assert values.scalar(summaries.tensor("a", [[[7]]], dtype="int64")) == 7


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (summaries.tensor("a", [1, 2]), "float32 and shape (2,)"),
        (summaries.tensor("a", np.zeros((0,))), "shape (0,)"),
        (summaries.text("a", "x"), "strings"),
        (summaries.tensor("a", True, dtype="bool"), "bool"),
        (summaries.histogram("a", [1.0]), "its field is histo"),
        (summaries.metadata_only("a", "hparams"), "it has no value"),
    ],
)
def test_other_values_are_not_scalars(value: Summary.Value, message: str) -> None:
    """The error has the tag and what was found."""
    with pytest.raises(DecodeError) as caught:
        values.scalar(value)

    assert message in str(caught.value)
    assert "'a'" in str(caught.value)


def test_a_stored_histogram_is_returned_unchanged() -> None:
    """The doubles are those on disk, including DBL_MAX."""
    value = histo(
        min=-0.66, max=0.44, num=8.0, sum=-0.8, sum_squares=0.73,
        bucket_limit=[-0.68, -0.62, 0.42, 0.47, LARGEST], bucket=[0.0, 1.0, 5.0, 2.0, 0.0],
    )  # fmt: skip

    assert listed(values.histogram(value)) == (
        -0.66, 0.44, 8.0, -0.8, 0.73,
        [-0.68, -0.62, 0.42, 0.47, 1.7976931348623157e308], [0.0, 1.0, 5.0, 2.0, 0.0],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[0, 1, 2], [1, 2, 0], [2, 3, 5]], (0, 3, 7, 13.5, 31.75, [1, 2, 3], [2, 0, 5])),
        ([], (0, 0, 0, 0, 0, [], [])),
        # TensorFlow 2 logs equal samples with buckets of width 0, all of them in the last one.
        ([[5, 5, 0], [5, 5, 0], [5, 5, 4]], (5, 5, 4, 20, 100, [5, 5, 5], [0, 0, 4])),
        # Nothing is in a gap, and nothing is known about where in rows that overlap samples are.
        ([[0, 1, 5], [3, 4, 5]], (0, 4, 10, 20, 62.5, [1, 3, 4], [5, 0, 5])),
        ([[0, 2, 5], [1, 3, 5]], (0, 3, 10, 15, 25, [3], [10])),
        (
            [[0, 1, 1], [2, 9, 1], [3, 4, 1], [9, 9, 1], [12, 13, 1]],
            (0, 13, 5, 31, 280, [1, 2, 9, 9, 12, 13], [1, 0, 2, 1, 0, 1]),
        ),
        ([[2, 3, 1], [1, 2, 2], [-1, 0, 3]], (-1, 3, 6, 4, 11.5, [0, 1, 2, 3], [3, 0, 2, 1])),
    ],
)
def test_a_histogram_from_rows(rows: list[list[float]], expected: tuple[Any, ...]) -> None:
    """Sums are estimated from the centres of the buckets."""
    assert listed(values.histogram(rows_value(rows))) == expected


def test_estimates_may_overflow(recwarn: pytest.WarningsRecorder) -> None:
    """They become infinite or NaN without a warning of numpy."""
    histogram = values.histogram(rows_value([[1e308, 1.5e308, 1e300], [-math.inf, math.inf, 1]]))

    assert (histogram.sum_squares, histogram.num) == (pytest.approx(math.nan, nan_ok=True), 1e300)
    assert list(recwarn) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            histo(
                min=-0.66, max=0.44,
                bucket_limit=[-0.68, -0.62, 0.42, 0.47, LARGEST], bucket=[0, 1, 5, 2, 0],
            ),
            [[-0.66, -0.62, 1], [-0.62, 0.42, 5], [0.42, 0.44, 2]],
        ),
        (histo(min=5, max=5, bucket_limit=[4.9, 5.39, LARGEST], bucket=[0, 1, 0]), [[5, 5, 1]]),
        (histo(min=0, max=10, bucket_limit=[10], bucket=[100]), [[0, 10, 100]]),
        # An empty bucket between others is kept.
        (
            histo(min=1, max=3, bucket_limit=[1, 2, 3, LARGEST], bucket=[1, 0, 1, 0]),
            [[1, 1, 1], [1, 2, 0], [2, 3, 1]],
        ),
        (histo(min=1, max=2, bucket_limit=[1, 2, LARGEST], bucket=[0, 0, 0]), []),
        (histo(), []),
        (rows_value([[0, 1, 0], [1, 2, 3]]), [[0, 1, 0], [1, 2, 3]]),
        (rows_value([]), []),
    ],
)  # fmt: skip
def test_buckets_as_a_table(value: Summary.Value, expected: list[list[float]]) -> None:
    """The columns are left edge, right edge and count; they are float64, so edges are exact."""
    table = values.bucket_table(value)

    assert table.dtype == np.float64
    assert table.shape == (len(expected), 3)
    assert table.tolist() == expected


def test_buckets_equal_those_of_tensorboard() -> None:
    """Random histograms have the same buckets, except for TensorBoard's rounding to float32."""
    data_compat = pytest.importorskip(
        "tensorboard.data_compat", reason="tensorboard is not installed"
    )
    from tensorboard.compat.proto import summary_pb2
    from tensorboard.util.tensor_util import make_ndarray

    random = np.random.default_rng(1)
    for _ in range(200):
        num_buckets = int(random.integers(1, 12))
        limits = np.sort(random.normal(size=num_buckets)).tolist()
        counts = random.integers(0, 3, num_buckets).astype(float).tolist()
        value = histo(min=limits[0] - 0.1, max=limits[-1], bucket_limit=limits, bucket=counts)
        theirs = summary_pb2.Summary.Value.FromString(value.SerializeToString())

        expected = make_ndarray(data_compat.migrate_value(theirs).tensor)

        assert np.array_equal(values.bucket_table(value).astype(np.float32), expected)


def test_a_histogram_of_the_test_writer_describes_its_samples() -> None:
    """In both forms the counts add up, and the edges enclose the samples."""
    samples = [0.5, 1.5, 1.5, 4.0]
    for as_tensor in (False, True):
        decoded = values.histogram(summaries.histogram("h", samples, as_tensor=as_tensor))
        assert (decoded.min, decoded.max, decoded.num) == (0.5, 4.0, 4)
        assert sum(decoded.bucket) == 4
        assert len(decoded.bucket) == len(decoded.bucket_limit)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (histo(bucket_limit=[1.0, 2.0], bucket=[1.0]), "2 bucket limits, 1 counts"),
        (summaries.tensor("h", [[1, 2]]), "shape (1, 2)"),
        (summaries.tensor("h", 1.0), "shape ()"),
        (summaries.scalar("h", 1.0), "its field is simple_value"),
    ],
)
def test_other_values_are_not_histograms(value: Summary.Value, message: str) -> None:
    """Both decoders raise DecodeError."""
    for decode in (values.histogram, values.bucket_table):
        with pytest.raises(DecodeError) as caught:
            decode(value)
        assert message in str(caught.value)


def test_one_stored_element_for_a_huge_array_is_an_error() -> None:
    """The array would need much memory. A few repeated rows are valid, since writers log them."""
    value = summaries.tensor("h", [[0.0]], dtype="float64", plugin_name="histograms")
    dims = value.tensor.tensor_shape.dim
    dims[0].size, dims[1].size = 30, 3
    assert values.bucket_table(value).tolist() == [[0.0, 0.0, 0.0]] * 30

    dims[0].size = 2**40
    with pytest.raises(DecodeError, match="is too large: one stored element stands for"):
        values.bucket_table(value)
    words = summaries.string_tensor("t", [b"x"])
    words.tensor.tensor_shape.dim[0].size = 2**40
    for decode in (values.text, values.image, values.audio):
        with pytest.raises(DecodeError, match="is too large: one stored element stands for"):
            decode(words)


def test_an_image_in_both_forms() -> None:
    """The field has one image, a tensor several; the bytes are unchanged."""
    first, second = summaries.png(3, 2), summaries.png(3, 2, (0, 0, 9))

    assert values.image(summaries.image("i", first)) == (3, 2, [first])
    assert values.image(summaries.image("i", [first, second], as_tensor=True)) == (
        3, 2, [first, second],
    )  # fmt: skip
    assert values.image(summaries.image("i", [], width=4, height=5, as_tensor=True)) == (4, 5, [])


@pytest.mark.parametrize(
    "value",
    [
        summaries.string_tensor("i", [b"3"]),
        summaries.string_tensor("i", [b"wide", b"2", b"png"]),
        summaries.string_tensor("i", [b"9" * 30, b"2", b"png"]),
        summaries.string_tensor("i", [b"9" * 5000, b"2", b"png"]),
        summaries.string_tensor("i", [b"1_0", b"2", b"png"]),
        summaries.string_tensor("i", [b"3", b"2"], shape=(2, 1)),
        summaries.tensor("i", [3, 2]),
        summaries.scalar("i", 1.0),
    ],
)
def test_other_values_are_not_images(value: Summary.Value) -> None:
    """An image whose size is not a number is an error, too."""
    with pytest.raises(DecodeError, match="'i'"):
        values.image(value)


def test_audio_in_both_forms() -> None:
    """The content type is in the field; for a tensor it depends on the metadata."""
    clip = summaries.wav([0.0, 0.5])

    assert values.audio(summaries.audio("a", clip, content_type="audio/x")) == (
        "audio/x", [(clip, "")],
    )  # fmt: skip
    assert values.audio(summaries.audio("a", [clip, b""], labels=["é"], as_tensor=True)) == (
        "audio/wav", [(clip, "é"), (b"", "")],
    )  # fmt: skip


def test_audio_whose_metadata_came_earlier() -> None:
    """Only the first value has the metadata, so it is passed as an argument."""
    first = summaries.audio("a", b"clip", as_tensor=True)
    later = Summary.Value(tag="a", tensor=first.tensor)

    assert values.audio(later).content_type == "application/octet-stream"
    assert values.audio(later, first.metadata).content_type == "audio/wav"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\x10\x0b", "audio/wav"),
        (b"\x08\x00\x10\x0b\x18\x01", "audio/wav"),
        (b"\x10\x8b\x00", "audio/wav"),  # a varint with one byte more than necessary
        (b"\x10\x00", "application/octet-stream"),
        (b"", "application/octet-stream"),
        (b"\x10", "application/octet-stream"),
        (b"\x0b\x0b\x10\x0b", "application/octet-stream"),
        (b"\xff\xff\xff\xff", "application/octet-stream"),
        (b"\xff" * 1_000_000, "application/octet-stream"),  # a varint that would take minutes
        (b"\x10\x0b" * 600, "application/octet-stream"),  # too long to be one
    ],
    ids=lambda value: repr(value[:20]),
)
def test_the_encoding_in_audio_metadata(content: bytes, expected: str) -> None:
    """Only a valid field 2 with the value 11 means WAV."""
    value = summaries.string_tensor("a", [b"clip"], plugin_name="audio", plugin_content=content)

    assert values.audio(value) == (expected, [(b"clip", "")])


def test_audio_of_another_shape_is_an_error() -> None:
    """Rows must have two columns."""
    with pytest.raises(DecodeError, match=r"shape \(1, 3\)"):
        values.audio(summaries.string_tensor("a", [b"", b"", b""], shape=(1, 3)))


def test_text_keeps_its_shape() -> None:
    """A string, a list and a table keep their shapes; bytes that are not UTF-8 are replaced."""
    assert values.text(summaries.text("t", "één")).item() == "één"
    assert values.text(summaries.text("t", ["a", "b"])).tolist() == ["a", "b"]
    assert values.text(summaries.text("t", [["a", "b"], ["c", "d"]])).tolist() == [
        ["a", "b"], ["c", "d"],
    ]  # fmt: skip
    assert values.text(summaries.string_tensor("t", [b"\xff"])).tolist() == ["\ufffd"]
    with pytest.raises(DecodeError, match="not text"):
        values.text(summaries.scalar("t", 1.0))


def test_a_pr_curve_has_six_rows_of_numbers() -> None:
    rows = np.arange(12.0).reshape(6, 2)
    assert np.array_equal(values.pr_curve(summaries.tensor("t", rows)), rows)
    for other in (rows[:5], rows[0], rows[:, :0]):
        with pytest.raises(DecodeError, match=r"'t' is not a PR curve: a tensor of float32"):
            values.pr_curve(summaries.tensor("t", other))
    with pytest.raises(DecodeError, match="a tensor of strings"):
        values.pr_curve(summaries.string_tensor("t", [b"x"]))


def test_the_area_below_a_pr_curve_is_the_average_precision() -> None:
    """Compared with its definition over ranked predictions, each of which is a threshold."""
    labels = np.random.default_rng(0).random(200) < 0.3
    order = np.arange(200, 0, -1)  # The number of predictions above each threshold.
    hits = np.cumsum(labels)[order - 1]
    expected = np.mean((np.cumsum(labels) / np.arange(1, 201))[labels])
    assert values.average_precision(hits / order, hits / labels.sum()) == pytest.approx(expected)


@pytest.mark.parametrize(
    "decode",
    [
        values.scalar, values.histogram, values.bucket_table, values.image, values.audio,
        values.text, values.pr_curve,
    ],
)  # fmt: skip
def test_bytes_of_a_graph_are_an_error(decode: Any) -> None:
    """A claim for all data also matches graphs, which no decoder accepts."""
    with pytest.raises(DecodeError, match="3 bytes"):
        decode(b"abc")


START, END = values.SESSION_START_TAG, values.SESSION_END_TAG

HPARAMS = {"lr": 0.1, "n": 3.0, "opt": "é" * 100, "on": True, "": math.inf, "no": None, "l": [1.0]}


def test_hyperparameters_are_what_was_logged() -> None:
    """Numbers, texts and bools, and also what no metric depends on: None, lists and objects."""
    hparams = {**HPARAMS, "object": {"a": [True, {}]}}
    value = summaries.session_start(
        hparams, group="g" * 200, start=1.5, model_uri="file:m", monitor_url="http://host"
    )
    assert value.tag == START
    assert values.session_start(value.metadata) == (
        hparams, "g" * 200, "file:m", "http://host", 1.5
    )  # fmt: skip
    value = summaries.session_end(2, 9.25)
    assert (value.tag, values.session_end(value.metadata)) == (END, (2, 9.25))


def test_the_fields_of_a_message_without_its_schema() -> None:
    """In the order written; numbers of fixed size are bytes, and what is no message is an error."""
    message = Summary.Value(tag="t", simple_value=0.5, node_name="é")
    assert values.fields(message.SerializeToString()) == {
        1: [b"t"],
        2: [struct.pack("<f", 0.5)],
        7: ["é".encode()],
    }
    assert values.fields(b"\x08\x96\x01\x12\x00\x08\x01") == {1: [150, 1], 2: [b""]}
    assert values.fields(b"") == {}
    for damaged in (b"\x08", b"\x0a\x05x", b"\x00\x01", b"\x08" + b"\xff" * 20):
        with pytest.raises(DecodeError, match="bytes are not a protocol buffer: "):
            values.fields(damaged)


def test_hyperparameters_of_tensorboards_own_writer() -> None:
    """`hparams.api` of TensorBoard, which Keras uses; PyTorch and tensorboardX use copies of it."""
    api = pytest.importorskip("tensorboard.plugins.hparams.summary_v2")
    theirs = api.hparams_pb({"lr": 0.5, "opt": "adam", "on": True}, trial_id="t", start_time_secs=2)
    (value,) = theirs.value
    found = values.session_start(Summary.Value.FromString(value.SerializeToString()).metadata)
    assert found == ({"lr": 0.5, "opt": "adam", "on": True}, "t", "", "", 2.0)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"\x0f\xff", "the metadata cannot be decoded as hyperparameters"),
        (b"\x08\x01\x1a\x00", "the metadata has hyperparameters of version 1; expected 0"),
        (b"\x12\x00", "the metadata has experiment; expected session_start_info"),
        (b"", "the metadata has nothing; expected session_start_info"),
    ],
)
def test_other_metadata_is_no_session(content: bytes, error: str) -> None:
    """The error says what was found."""
    with pytest.raises(DecodeError, match=f"^{error}$"):
        values.session_start(summaries.metadata("hparams", content))


def is_repeated(field: Any) -> bool:
    """Newer versions of protobuf warn when `label` is used; older ones have no `is_repeated`."""
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return bool(field.label == field.LABEL_REPEATED)


@pytest.mark.parametrize("message", list(hparams_pb2.DESCRIPTOR.message_types_by_name))
def test_messages_of_hyperparameters_are_those_of_tensorboard(message: str) -> None:
    """Names, numbers and types of fields are equal, with both modules in one process."""
    theirs = {}
    for module in ("api_pb2", "plugin_data_pb2"):
        other = pytest.importorskip(f"tensorboard.plugins.hparams.{module}")
        theirs.update(other.DESCRIPTOR.message_types_by_name)

    def shape(descriptor: Any) -> dict[str, tuple[Any, ...]]:
        return {
            field.name: (field.number, field.type, is_repeated(field), field.has_presence)
            for field in descriptor.fields
        }

    ours = hparams_pb2.DESCRIPTOR.message_types_by_name[message]
    assert shape(ours) == shape(theirs[message])


@pytest.mark.parametrize("enum", list(hparams_pb2.DESCRIPTOR.enum_types_by_name))
def test_enums_of_hyperparameters_are_those_of_tensorboard(enum: str) -> None:
    """Names and numbers are equal."""
    other = pytest.importorskip("tensorboard.plugins.hparams.api_pb2")
    ours, theirs = (
        {value.name: value.number for value in module.DESCRIPTOR.enum_types_by_name[enum].values}
        for module in (hparams_pb2, other)
    )
    assert ours == theirs


@pytest.mark.parametrize(("value", "text"), [
    (0.1, "0.1"), (2.0, "2"), (-0.0, "0"), (1e21, "1e+21"), (1e-7, "1e-7"), (1e-5, "0.00001"),
    (float("nan"), "NaN"), (float("-inf"), "-Infinity"), (True, "true"), ("3e-3", "3e-3"),
    ([], "[]"), ({"b": [2.0, {"d": None, "c": "é x"}], "a": 2.0**60}, None),
    ([float("nan"), True, 0.5], '["NaN",true,0.5]'),
])  # fmt: skip
def test_the_text_of_a_hyperparameter(value: Any, text: str | None) -> None:
    nested = '{"a":1.152921504606847e+18,"b":[2,{"c":"é x","d":null}]}'
    assert values.hparam_text(value) == (nested if text is None else text)


def test_the_paths_above_a_run() -> None:
    assert list(values.paths_above("a/b/c")) == ["a/b", "a", "."]
    assert list(values.paths_above(".")) == []
