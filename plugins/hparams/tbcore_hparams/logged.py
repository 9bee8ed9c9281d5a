"""What a run logged about hyperparameters: its session, and the experiment it belongs to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError as ProtobufDecodeError
from google.protobuf.struct_pb2 import Value

from tbcore import Claim, Claims, DataError, Multiplexer, NotFoundError
from tbcore_hparams.proto.api_pb2 import Experiment
from tbcore_hparams.proto.plugin_data_pb2 import HParamsPluginData, SessionEndInfo, SessionStartInfo

logger = logging.getLogger(__name__)

CLAIMS: Claims = (Claim(plugin_name="hparams"),)

EXPERIMENT_TAG = "_hparams_/experiment"
START_TAG = "_hparams_/session_start_info"
END_TAG = "_hparams_/session_end_info"
_FIELD_OF_TAG = {
    EXPERIMENT_TAG: "experiment",
    START_TAG: "session_start_info",
    END_TAG: "session_end_info",
}

WarnInvalid = Callable[[str, str, str], None]
"""A function that warns about invalid data, called with the run, the tag and the problem."""


class Session(NamedTuple):
    """One training run."""

    name: str
    """The run that logged it."""
    hparams: Mapping[str, Any]
    """Maps each name to a float, str, bool, None, or a list or dict of these."""
    group: str
    """Name of the session group; the session's own name if none was logged."""
    model_uri: str
    monitor_url: str
    start: float
    """Start time in seconds since the epoch; 0 if not logged."""
    status: int
    """A value of the enum Status."""
    end: float
    """End time in seconds since the epoch; 0 if not logged."""


class RunLog(NamedTuple):
    """Everything that one run logged about hyperparameters."""

    session: Session | None
    """None if the run logged no start of a session."""
    experiment: Experiment | None


def read_run(
    multiplexer: Multiplexer, run: str, tags: Sequence[str], warn_invalid: WarnInvalid
) -> RunLog:
    """Reads what the run logged under these tags.

    The first session start and the first experiment are used, but the last session end: a job that
    resumes after an interruption logs another end. Messages that cannot be parsed are skipped, with
    a call of `warn_invalid`. Raises NotFoundError if the run has been deleted.
    """

    def message(tag: str) -> Any:
        contents = _contents(multiplexer, run, tag) if tag in tags else ()
        for content in contents:
            try:
                return _parse(content, _FIELD_OF_TAG[tag])
            except ValueError as error:
                warn_invalid(run, tag, str(error))
        return None

    start: SessionStartInfo | None = message(START_TAG)
    experiment: Experiment | None = message(EXPERIMENT_TAG)
    if start is None:
        return RunLog(None, experiment)
    end: SessionEndInfo = message(END_TAG) or SessionEndInfo()
    session = Session(
        name=run,
        # Not .items(), which protobuf implements as a loop in Python.
        hparams={name: to_python(start.hparams[name]) for name in start.hparams},
        group=start.group_name or run,
        model_uri=start.model_uri,
        monitor_url=start.monitor_url,
        start=start.start_time_secs,
        status=end.status,
        end=end.end_time_secs,
    )
    return RunLog(session, experiment)


def to_python(value: Value) -> Any:
    """The value as a Python object: a float, str, bool, None, list or dict."""
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return [to_python(element) for element in value.list_value.values]
    if kind == "struct_value":
        return {name: to_python(field) for name, field in value.struct_value.fields.items()}
    return None if kind is None or kind == "null_value" else getattr(value, kind)


def _contents(multiplexer: Multiplexer, run: str, tag: str) -> Iterator[bytes]:
    """The serialized messages under the tag, in order of preference: see `read_run`."""
    if tag == END_TAG:
        for item in reversed(multiplexer.items(run, tag, CLAIMS)):
            # The metadata of the first item is in memory; that of all others must be read.
            if item.ordinal == 0:
                break
            try:
                value = item.read()
            except (NotFoundError, DataError):
                continue
            if not isinstance(value, bytes) and value.metadata.plugin_data.content:
                yield value.metadata.plugin_data.content
    yield multiplexer.metadata(run, tag).plugin_data.content


def _parse(content: bytes, field: str) -> Any:
    """The message in this field of an HParamsPluginData. Raises ValueError with the problem."""
    try:
        data = HParamsPluginData.FromString(content)
    except ProtobufDecodeError:
        raise ValueError("it cannot be decoded") from None
    if data.version != 0:
        raise ValueError(f"its version is {data.version}; expected 0")
    if not data.HasField(field):
        raise ValueError(f"it contains {data.WhichOneof('data') or 'nothing'}; expected {field}")
    return getattr(data, field)
