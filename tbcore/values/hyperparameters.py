"""Hyperparameters: messages about a training, and about the experiment that it is part of.

They are logged as the metadata of three tags, usually without a value. TensorBoard's `hparams.api`,
Keras, PyTorch and tensorboardX log the same messages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
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

    from tbcore.eventfiles.proto.hparams_pb2 import HParamInfo

SESSION_END_TAG = f"{HPARAMS_PREFIX}session_end_info"
EXPERIMENT_TAG = f"{HPARAMS_PREFIX}experiment"
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


class DeclaredHParam(NamedTuple):
    """A hyperparameter of an experiment."""

    name: str
    display_name: str
    """Shown instead of the name, unless it is empty."""
    description: str
    """Markdown."""
    type: int
    """1 for strings, 2 for bools, 3 for numbers, 0 for unknown; any other int may be logged."""
    values: Sequence[Any] | None
    """All possible values, of the types in `SessionStartValue.hparams`; None if not logged."""
    interval: tuple[float, float] | None
    """The lowest and the highest possible value; None if not logged."""
    differs: bool
    """Whether sessions have different values."""


class DeclaredMetric(NamedTuple):
    """A metric of an experiment."""

    group: str
    """Path of the metric's run, relative to the session's run; "" for the session's own run."""
    tag: str
    display_name: str
    """Shown instead of the tag, unless it is empty."""
    description: str
    """Markdown."""
    dataset_type: int
    """1 for training, 2 for validation, 0 for unknown; any other int may be logged."""


class ExperimentValue(NamedTuple):
    """The description of an experiment. Some programs log it in each session."""

    name: str
    description: str
    """Markdown."""
    user: str
    created: float
    """Time in seconds since the epoch; 0 if not logged."""
    hparams: Sequence[DeclaredHParam]
    metrics: Sequence[DeclaredMetric]


def session_start(metadata: SummaryMetadata) -> SessionStartValue:
    """The hyperparameters in the metadata of SESSION_START_TAG."""
    info = _message(metadata, "session_start_info")
    return SessionStartValue(
        # Not .items(), which protobuf implements as a loop in Python.
        {name: _to_python(info.hparams[name]) for name in sorted(info.hparams)},
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
    info = _message(metadata, "session_end_info")
    return SessionEndValue(info.status, info.end_time_secs)


def experiment(metadata: SummaryMetadata) -> ExperimentValue:
    """The experiment in the metadata of EXPERIMENT_TAG."""
    logged = _message(metadata, "experiment")
    return ExperimentValue(
        logged.name,
        logged.description,
        logged.user,
        logged.time_created_secs,
        [_declared_hparam(info) for info in logged.hparam_infos],
        [
            DeclaredMetric(
                one.name.group, one.name.tag, one.display_name, one.description, one.dataset_type
            )
            for one in logged.metric_infos
        ],
    )


def _declared_hparam(info: HParamInfo) -> DeclaredHParam:
    values = interval = None
    if info.HasField("domain_discrete"):
        values = [_to_python(value) for value in info.domain_discrete.values]
    if info.HasField("domain_interval"):
        interval = (info.domain_interval.min_value, info.domain_interval.max_value)
    return DeclaredHParam(
        info.name, info.display_name, info.description, info.type, values, interval, info.differs
    )


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


def _message(metadata: SummaryMetadata, field: str) -> Any:
    """The message in a field of the HParamsPluginData; raises DecodeError if it is not set."""
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


def _to_python(value: ProtobufValue) -> Any:
    """The value as a float, str, bool, None, list or dict."""
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return [_to_python(element) for element in value.list_value.values]
    if kind == "struct_value":
        fields = value.struct_value.fields
        return {name: _to_python(fields[name]) for name in sorted(fields)}
    return None if kind is None or kind == "null_value" else getattr(value, kind)
