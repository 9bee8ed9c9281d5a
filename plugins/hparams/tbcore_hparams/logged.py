"""What a run logged of hyperparameters: its session, and what it says of the experiment."""

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

Tell = Callable[[str, str, str], None]
"""Is called with the run, the tag and what is wrong with what was logged there."""


class Session(NamedTuple):
    """One training run."""

    name: str
    """The run that logged it."""
    hparams: Mapping[str, Any]
    """Name to a float, text, bool, None, or a list or dict of these."""
    group: str
    """Sessions with the same one belong together; the session's own name if it was given none."""
    model_uri: str
    monitor_url: str
    start: float
    """In seconds since the epoch, as `end`; 0 when not logged."""
    status: int
    """A number of the enum Status."""
    end: float


class RunLog(NamedTuple):
    """All that one run logged."""

    session: Session | None
    experiment: Experiment | None


def read_run(multiplexer: Multiplexer, run: str, tags: Sequence[str], tell: Tell) -> RunLog:
    """What the run logged under these tags.

    Of a start and an experiment the first one counts, of an end the last one: a job that goes on
    after an interruption ends again. What cannot be parsed is left out, and told. Raises
    NotFoundError when the run has vanished.
    """

    def message(tag: str) -> Any:
        contents = _contents(multiplexer, run, tag) if tag in tags else ()
        for content in contents:
            try:
                return _parse(content, _FIELD_OF_TAG[tag])
            except ValueError as error:
                tell(run, tag, str(error))
        return None

    start: SessionStartInfo | None = message(START_TAG)
    experiment: Experiment | None = message(EXPERIMENT_TAG)
    if start is None:
        return RunLog(None, experiment)
    end: SessionEndInfo = message(END_TAG) or SessionEndInfo()
    session = Session(
        name=run,
        # Protobuf makes the items of a map by a loop in Python.
        hparams={name: plain(start.hparams[name]) for name in start.hparams},
        group=start.group_name or run,
        model_uri=start.model_uri,
        monitor_url=start.monitor_url,
        start=start.start_time_secs,
        status=end.status,
        end=end.end_time_secs,
    )
    return RunLog(session, experiment)


def plain(value: Value) -> Any:
    """The value as JSON has it: a float, text, bool, None, list or dict."""
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return [plain(element) for element in value.list_value.values]
    if kind == "struct_value":
        return {name: plain(field) for name, field in value.struct_value.fields.items()}
    return None if kind is None or kind == "null_value" else getattr(value, kind)


def _contents(multiplexer: Multiplexer, run: str, tag: str) -> Iterator[bytes]:
    """What was logged under the tag, the one that counts first."""
    if tag == END_TAG:
        for item in reversed(multiplexer.items(run, tag, CLAIMS)):
            # The first one is in memory. Which others there are, only their file says.
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
    """The message in that field. Raises ValueError with what is wrong."""
    try:
        data = HParamsPluginData.FromString(content)
    except ProtobufDecodeError:
        raise ValueError("it cannot be decoded") from None
    if data.version != 0:
        raise ValueError(f"its version is {data.version}, and only 0 is known")
    if not data.HasField(field):
        raise ValueError(f"it has no {field}, but {data.WhichOneof('data') or 'nothing'}")
    return getattr(data, field)
