"""Functions that make summary values in the forms that frameworks log.

The functions that take a tag return a `Summary.Value`; `tensor_proto`, `metadata`, `png` and `wav`
return a part of one. Most data has two forms on disk: a field of its own (`simple_value`, `histo`,
`image`, `audio`), and a tensor whose metadata names a plugin. The functions add this metadata to
each tensor; an `EventFileWriter` may remove it from later values of a tag.

The content of a plugin's metadata is a message of the plugin's own. The plugins need not be
installed, so these messages are encoded here field by field; comments name the fields.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from google.protobuf.struct_pb2 import ListValue, Struct
from numpy.typing import ArrayLike

from tbcore.engine import Summary, SummaryMetadata, encode_varint
from tbcore_testing.tensors import DATA_TYPES as DATA_TYPES
from tbcore_testing.tensors import string_proto
from tbcore_testing.tensors import tensor_proto as tensor_proto
from tbcore_testing.wire import bytes_field, double_field, varint_field

DataClass = Literal["unknown", "scalar", "tensor", "blob_sequence"]
_DATA_CLASSES: dict[DataClass, int] = {"unknown": 0, "scalar": 1, "tensor": 2, "blob_sequence": 3}

Domain = Sequence[float] | Sequence[str] | Sequence[bool] | tuple[float, float]
"""The valid values of a hyperparameter: a list of values, or a tuple (lowest, highest)."""

WAV_ENCODING = b"\x10\x0b"
"""Plugin content of audio metadata for WAV: field 2 (`encoding`) with value 11."""


def scalar(
    tag: str, value: float, *, dtype: str | None = None, as_bytes: bool = False
) -> Summary.Value:
    """One number, as `simple_value` or, with a `dtype`, as a tensor of the plugin `scalars`.

    `dtype` is a name in DATA_TYPES. If `as_bytes`, the tensor has the number as bytes in the field
    `tensor_content`, otherwise in the repeated field for its type.
    """
    if dtype is None:
        return Summary.Value(tag=tag, simple_value=value)
    return tensor(
        tag, value, dtype=dtype, as_bytes=as_bytes, plugin_name="scalars", data_class="scalar"
    )


def histogram(
    tag: str, samples: ArrayLike, *, num_buckets: int = 30, as_tensor: bool = False
) -> Summary.Value:
    """A histogram of the samples with buckets of equal width.

    The value is a `histo` with right edges and counts or, with `as_tensor`, a float64 tensor of
    shape (num_buckets, 3), whose rows are left edge, right edge and count. Without samples, there
    are no buckets.
    """
    data = np.asarray(samples, np.float64).ravel()
    counts, edges = np.histogram(data, num_buckets if data.size else 1)
    if data.size == 0:
        # Drop the bucket that np.histogram always makes, and one of its two edges.
        counts, edges = counts[:0], edges[:1]
    if as_tensor:
        rows = np.stack([edges[:-1], edges[1:], counts.astype(np.float64)], axis=1)
        return tensor(
            tag, rows, dtype="float64", as_bytes=True, plugin_name="histograms", data_class="tensor"
        )
    value = Summary.Value(tag=tag)
    value.histo.min = data.min() if data.size else 0.0
    value.histo.max = data.max() if data.size else 0.0
    value.histo.num = data.size
    value.histo.sum = data.sum()
    value.histo.sum_squares = (data * data).sum()
    value.histo.bucket_limit.extend(edges[1:].tolist())
    value.histo.bucket.extend(counts.astype(np.float64).tolist())
    return value


def image(
    tag: str,
    encoded: bytes | Sequence[bytes],
    *,
    width: int | None = None,
    height: int | None = None,
    as_tensor: bool = False,
) -> Summary.Value:
    """One encoded image or, with `as_tensor`, any number of encoded images of the same size.

    `width` and `height` are in pixels; if one is None, both are read from the header of a PNG. The
    strings of the tensor are the width, the height, the first image, the second image and so on.
    """
    images = [encoded] if isinstance(encoded, bytes) else list(encoded)
    if width is None or height is None:
        width, height = struct.unpack(">II", images[0][16:24])
    if as_tensor:
        strings = [b"%d" % width, b"%d" % height, *images]
        return string_tensor(tag, strings, plugin_name="images", data_class="blob_sequence")
    if len(images) != 1:
        raise ValueError(
            f"the field `image` holds one image, got {len(images)}; use as_tensor=True"
        )
    value = Summary.Value(tag=tag)
    value.image.width = width
    value.image.height = height
    value.image.colorspace = 3
    value.image.encoded_image_string = images[0]
    return value


def audio(
    tag: str,
    encoded: bytes | Sequence[bytes],
    *,
    labels: Sequence[str] = (),
    sample_rate: float = 8000.0,
    length_frames: int = 0,
    content_type: str = "audio/wav",
    as_tensor: bool = False,
) -> Summary.Value:
    """One encoded clip or, with `as_tensor`, any number of encoded clips with labels.

    The tensor has the shape (num_clips, 2), with a clip and its label in each row, and metadata for
    WAV. A clip after the end of `labels` has the label "". `sample_rate` in hertz, `length_frames`
    and `content_type` are only written without `as_tensor`, to the field `audio`.
    """
    clips = [encoded] if isinstance(encoded, bytes) else list(encoded)
    if as_tensor:
        all_labels = [*labels, *[""] * (len(clips) - len(labels))]
        strings = [
            part
            for clip, label in zip(clips, all_labels, strict=True)
            for part in (clip, label.encode())
        ]
        return string_tensor(
            tag,
            strings,
            shape=(len(clips), 2),
            plugin_name="audio",
            plugin_content=WAV_ENCODING,
            data_class="blob_sequence",
        )
    if len(clips) != 1:
        raise ValueError(f"the field `audio` holds one clip, got {len(clips)}; use as_tensor=True")
    value = Summary.Value(tag=tag)
    value.audio.sample_rate = sample_rate
    value.audio.num_channels = 1
    value.audio.length_frames = length_frames
    value.audio.encoded_audio_string = clips[0]
    value.audio.content_type = content_type
    return value


def text(tag: str, texts: str | Sequence[str] | Sequence[Sequence[str]]) -> Summary.Value:
    """A text: one string, a list of strings, or a table as a list of rows."""
    array = np.array(texts, object)  # of shape () for one string
    strings = [str(element).encode() for element in array.ravel()]
    return string_tensor(tag, strings, shape=array.shape, plugin_name="text", data_class="tensor")


def metadata_only(tag: str, plugin_name: str, plugin_content: bytes = b"") -> Summary.Value:
    """Metadata without a value, the form in which hyperparameters are logged."""
    return Summary.Value(tag=tag, metadata=metadata(plugin_name, plugin_content))


def pr_curve(
    tag: str, labels: ArrayLike, predictions: ArrayLike, *, num_thresholds: int = 11
) -> Summary.Value:
    """A precision-recall curve, in the form that TensorBoard's plugin `pr_curves` logs.

    `labels` are true or false, and `predictions`, of the same length, are in [0, 1]. The tensor is
    float32 of shape (6, num_thresholds). Its rows are true positives, false positives, true
    negatives, false negatives, precision and recall, at ascending thresholds from 0 to 1.
    """
    # 1. Predict true where a prediction is at least the threshold: shape (num_thresholds, n).
    # 2. Count the four outcomes at each threshold.
    # 3. Stack the counts with precision and recall, where 0 / 0 becomes 0.
    truth = np.asarray(labels, bool).ravel()
    thresholds = np.linspace(0, 1, num_thresholds)
    predicted = np.asarray(predictions, np.float64).ravel() >= thresholds[:, None]  # 1
    tp, fp = (predicted & truth).sum(1), (predicted & ~truth).sum(1)  # 2
    tn, fn = (~predicted & ~truth).sum(1), (~predicted & truth).sum(1)
    # 3
    rows = np.stack([tp, fp, tn, fn, tp / np.maximum(tp + fp, 1), tp / np.maximum(tp + fn, 1)])
    return tensor(
        tag,
        rows,
        plugin_name="pr_curves",
        plugin_content=varint_field(2, num_thresholds),  # PrCurvePluginData.num_thresholds
        data_class="tensor",
    )


def mesh(
    name: str,
    vertices: ArrayLike,
    faces: ArrayLike | None = None,
    colors: ArrayLike | None = None,
    *,
    config: str = "",
    as_integers: bool = False,
) -> list[Summary.Value]:
    """A batch of meshes: a value for its vertices, and those for its faces and colours, if any.

    Each argument has the shape (batch, n, 3). `config` is JSON with settings for three.js. All
    tensors are float32, as PyTorch logs them; with `as_integers`, faces are int32 and colours
    uint8, as TensorBoard's own writer logs them.
    """
    parts = {"VERTEX": vertices, "FACE": faces, "COLOR": colors}
    dtypes = ("float32", "int32", "uint8") if as_integers else ("float32",) * 3
    numbers = {part: number for number, part in enumerate(parts, 1) if parts[part] is not None}
    values = []
    for part, number in numbers.items():
        array = np.asarray(parts[part])
        # MeshPluginData.name, .content_type, .json_config, .shape, .components
        content = bytes_field(2, name) + varint_field(3, number) + bytes_field(5, config)
        content += bytes_field(6, b"".join(map(encode_varint, array.shape)))
        content += varint_field(7, sum(1 << number for number in numbers.values()))
        values.append(
            tensor(
                f"{name}_{part}",
                array,
                dtype=dtypes[number - 1],
                as_bytes=True,
                plugin_name="mesh",
                plugin_content=content,
            )
        )
    return values


def experiment(
    hparams: Mapping[str, Domain],
    metrics: Sequence[str],
    *,
    description: str = "",
    created: float = 0.0,
) -> Summary.Value:
    """The hyperparameters and metrics of an experiment.

    Log it in the run whose directory contains the runs of the sessions. `hparams` maps the name of
    each hyperparameter to its valid values. `metrics` are tags of scalars. `created` is in seconds
    since the epoch.
    """
    # The messages are those of api.proto and plugin_data.proto of TensorBoard's plugin `hparams`.
    content = bytes_field(1, description)  # Experiment.description
    content += double_field(3, created)  # Experiment.time_created_secs
    for name, domain in hparams.items():
        first = domain[0] if len(domain) else 0.0
        # DATA_TYPE_STRING, DATA_TYPE_BOOL or DATA_TYPE_FLOAT64
        data_type = 1 if isinstance(first, str) else 2 if isinstance(first, bool) else 3
        info = bytes_field(1, name) + varint_field(4, data_type)  # HParamInfo.name, .type
        if isinstance(domain, tuple):
            # Interval.min_value, .max_value
            interval = double_field(1, float(domain[0])) + double_field(2, float(domain[1]))
            info += bytes_field(6, interval)  # HParamInfo.domain_interval
        else:
            values = ListValue()
            values.extend(domain)
            info += bytes_field(5, values.SerializeToString())  # HParamInfo.domain_discrete
        content += bytes_field(4, info)  # Experiment.hparam_infos
    for tag in metrics:
        metric_name = bytes_field(2, tag)  # MetricName.tag
        content += bytes_field(5, bytes_field(1, metric_name))  # Experiment.metric_infos.name
    # HParamsPluginData.experiment
    return metadata_only("_hparams_/experiment", "hparams", bytes_field(2, content))


def session_start(
    hparams: Mapping[str, Any],
    *,
    group: str = "",
    start: float = 0.0,
    model_uri: str = "",
    monitor_url: str = "",
) -> Summary.Value:
    """The hyperparameters of a run, logged at its start.

    `hparams` maps names to numbers, strings, bools, None, lists and dicts. `group` is the name of a
    session group. `start` is in seconds since the epoch.
    """
    # 1. SessionStartInfo.hparams is a map of values in field 1, and so is a Struct.
    struct = Struct()
    struct.update(hparams)
    info = struct.SerializeToString(deterministic=True)
    # 2. .model_uri, .monitor_url, .group_name, .start_time_secs
    info += bytes_field(2, model_uri) + bytes_field(3, monitor_url)
    info += bytes_field(4, group) + double_field(5, start)
    content = bytes_field(3, info)  # HParamsPluginData.session_start_info
    return metadata_only("_hparams_/session_start_info", "hparams", content)


def session_end(status: int = 1, end: float = 0.0) -> Summary.Value:
    """The end of a run: `status` is 1 for success, 2 for failure; `end` is in epoch seconds."""
    info = varint_field(1, status) + double_field(2, end)  # SessionEndInfo.status, .end_time_secs
    content = bytes_field(4, info)  # HParamsPluginData.session_end_info
    return metadata_only("_hparams_/session_end_info", "hparams", content)


def tensor(
    tag: str,
    values: ArrayLike,
    *,
    dtype: str = "float32",
    as_bytes: bool = False,
    with_shape: bool = True,
    plugin_name: str = "",
    plugin_content: bytes = b"",
    data_class: DataClass = "unknown",
) -> Summary.Value:
    """A numeric tensor of any shape, with metadata if `plugin_name` is set.

    `as_bytes` and `with_shape` select how the tensor is stored, see `tensor_proto`.
    """
    proto = tensor_proto(values, dtype, as_bytes=as_bytes, with_shape=with_shape)
    return _with_metadata(
        Summary.Value(tag=tag, tensor=proto), plugin_name, plugin_content, data_class
    )


def string_tensor(
    tag: str,
    strings: Sequence[bytes],
    *,
    shape: Sequence[int] | None = None,
    plugin_name: str = "",
    plugin_content: bytes = b"",
    data_class: DataClass = "unknown",
) -> Summary.Value:
    """A tensor of byte strings in row-major order, one-dimensional if `shape` is None."""
    proto = string_proto(strings, (len(strings),) if shape is None else shape)
    return _with_metadata(
        Summary.Value(tag=tag, tensor=proto), plugin_name, plugin_content, data_class
    )


def chart_layout(categories: Mapping[str, Mapping[str, Sequence[Any]]]) -> Summary.Value:
    """The custom charts of a run, from the dict that PyTorch's `add_custom_scalars` takes.

    {"Losses": {"train and eval": ["Multiline", ["loss/.*"]]},
     "Price": {"range": ["Margin", ["price", "price/low", "price/high"]]}}
    """
    # The messages are those of layout.proto of TensorBoard's plugin `custom_scalars`.
    layout = b""
    for title, charts in categories.items():
        category = bytes_field(1, title)  # Category.title
        for name, (chart_type, tags) in charts.items():
            if chart_type == "Margin":
                # Series.value, .lower, .upper
                series = b"".join(bytes_field(number, tag) for number, tag in enumerate(tags, 1))
                content = bytes_field(3, bytes_field(1, series))  # Chart.margin.series
            else:
                patterns = b"".join(bytes_field(1, tag) for tag in tags)
                content = bytes_field(2, patterns)  # Chart.multiline.tag
            category += bytes_field(2, bytes_field(1, name) + content)  # Category.chart.title
        layout += bytes_field(2, category)  # Layout.category
    return string_tensor(
        "custom_scalars__config__", [layout], shape=(), plugin_name="custom_scalars"
    )


def metadata(
    plugin_name: str,
    plugin_content: bytes = b"",
    *,
    data_class: DataClass = "unknown",
    display_name: str = "",
) -> SummaryMetadata:
    """Metadata with the name of the plugin that a tag is for."""
    result = SummaryMetadata(display_name=display_name, data_class=_DATA_CLASSES[data_class])  # type: ignore[arg-type]
    result.plugin_data.plugin_name = plugin_name
    result.plugin_data.content = plugin_content
    return result


def png(width: int = 1, height: int = 1, rgb: tuple[int, int, int] = (255, 128, 0)) -> bytes:
    """The content of a PNG file whose pixels all have the same colour."""
    rows = (b"\x00" + bytes(rgb) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def wav(samples: ArrayLike = (0.0,), sample_rate: int = 8000) -> bytes:
    """The content of a mono 16-bit WAV file; samples are in [-1, 1], `sample_rate` is in hertz."""
    data = (np.clip(np.asarray(samples, np.float64), -1, 1) * 32767).astype("<i2").tobytes()
    # Length of the chunk, PCM, one channel, rate, bytes per second, bytes per frame, bits.
    fmt = struct.pack("<IHHIIHH", 16, 1, 1, sample_rate, sample_rate * 2, 2, 16)
    body = b"WAVEfmt " + fmt + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _with_metadata(
    value: Summary.Value, plugin_name: str, plugin_content: bytes, data_class: DataClass
) -> Summary.Value:
    if plugin_name:
        value.metadata.CopyFrom(metadata(plugin_name, plugin_content, data_class=data_class))
    return value
