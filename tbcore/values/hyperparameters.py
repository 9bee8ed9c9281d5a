"""Hyperparameters: messages about a training, and about the experiment that it is part of.

They are logged as the metadata of three tags, usually without a value. TensorBoard's `hparams.api`,
Keras, PyTorch and tensorboardX log the same messages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson
from google.protobuf.message import DecodeError as ProtobufDecodeError

from tbcore.errors import DecodeError
from tbcore.eventfiles.proto.summary_pb2 import SummaryMetadata
from tbcore.kinds import HPARAMS_PREFIX
from tbcore.text import nonfinite_name

if TYPE_CHECKING:
    from google.protobuf.struct_pb2 import Value as ProtobufValue

SESSION_END_TAG = f"{HPARAMS_PREFIX}session_end_info"
ROOT = "."
"""The name of the run in the log directory itself, which is above all others."""


class SessionStartValue(NamedTuple):
    """The hyperparameters of one training, logged at its start."""

    hparams: Mapping[str, Any]
    """Maps each name to a float, str, bool, None, or a list or dict of these. All dicts are sorted
    by name, since those on disk have no order."""
    group: str
    """Name of the session group; "" if none was logged."""
    model_uri: str
    monitor_url: str
    start: float
    """Start time in seconds since the epoch; 0 if not logged."""


class SessionEndValue(NamedTuple):
    """The end of one training."""

    status: int
    """1 for success, 2 for failure, 3 for running, 0 for unknown; any other int may be logged."""
    end: float
    """End time in seconds since the epoch; 0 if not logged."""


def session_start(metadata: SummaryMetadata) -> SessionStartValue:
    """The hyperparameters in the metadata of SESSION_START_TAG."""
    info = hparams_message(metadata, "session_start_info")
    return SessionStartValue(
        # Not .items(), which protobuf implements as a loop in Python.
        {name: hparam_value(info.hparams[name]) for name in sorted(info.hparams)},
        info.group_name,
        info.model_uri,
        info.monitor_url,
        info.start_time_secs,
    )


def session_end(metadata: SummaryMetadata) -> SessionEndValue:
    """The end of a training in the metadata of SESSION_END_TAG.

    A job that was interrupted and resumed logs several ends. Only the last one counts, so pass the
    metadata in the last value of the tag.
    """
    info = hparams_message(metadata, "session_end_info")
    return SessionEndValue(info.status, info.end_time_secs)


def hparam_text(value: Any) -> str:
    """The value of a hyperparameter as every page, command and query has it.

    Numbers are formatted as in JavaScript. A list or dict is JSON without blanks, with sorted keys,
    in which whole numbers have no decimal point, and NaN and infinite ones are strings.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        return orjson.dumps(_for_json(value), option=orjson.OPT_SORT_KEYS).decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    if not math.isfinite(value):
        return nonfinite_name(value)
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    if 1e-6 <= abs(value) < 1e21:
        return np.format_float_positional(value, trim="-")
    return re.sub(r"e([+-])0*", r"e\1", repr(float(value)))


def _for_json(value: Any) -> Any:
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 2**53:
            return int(value)
        return value if math.isfinite(value) else hparam_text(value)
    if isinstance(value, list):
        return [_for_json(element) for element in value]
    if isinstance(value, dict):
        return {name: _for_json(element) for name, element in value.items()}
    return value


def paths_above(run: str) -> Iterator[str]:
    """The paths of the directories that contain a run, the innermost first, and `.` last."""
    if run == ROOT:
        return
    while "/" in run:
        run = run.rpartition("/")[0]
        yield run
    yield ROOT


def hparams_message(metadata: SummaryMetadata, field: str) -> Any:
    """The message in a field of the HParamsPluginData, such as `experiment`.

    Raises DecodeError if it is not set.
    """
    # Imported here, since most programs never decode hyperparameters.
    from tbcore.eventfiles.proto.hparams_pb2 import HParamsPluginData

    try:
        data = HParamsPluginData.FromString(metadata.plugin_data.content)
    except ProtobufDecodeError:
        raise DecodeError("the metadata cannot be decoded as hyperparameters") from None
    if data.version != 0:
        raise DecodeError(f"the metadata has hyperparameters of version {data.version}; expected 0")
    if not data.HasField(field):
        found = data.WhichOneof("data") or "nothing"
        raise DecodeError(f"the metadata has {found}; expected {field}")
    return getattr(data, field)


def hparam_value(value: ProtobufValue) -> Any:
    """The value in such a message as a float, str, bool, None, list or dict."""
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return [hparam_value(element) for element in value.list_value.values]
    if kind == "struct_value":
        fields = value.struct_value.fields
        return {name: hparam_value(fields[name]) for name in sorted(fields)}
    return None if kind is None or kind == "null_value" else getattr(value, kind)
