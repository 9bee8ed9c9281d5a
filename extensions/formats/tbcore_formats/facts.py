"""RunFacts: hyperparameters, texts and state that another program knows about a run, as events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tbcore.engine import Event, HParamsPluginData
from tbcore.values import SESSION_END_TAG, SESSION_START_TAG

_DT_STRING = 7
"""The type of tensors of strings, in `tensorflow/core/framework/types.proto`."""

MAX_TEXT_BYTES = 1 << 16
"""Maximum length of a text. The rest of a longer one is left out."""


class RunFacts(NamedTuple):
    """What a run says about itself, as a whole."""

    hparams: Mapping[str, float | str | bool | None] = {}
    """As in event files: None is null, which is shown as if it was not logged."""
    texts: Mapping[str, str] = {}
    """Maps tags to texts, which may be Markdown."""
    group: str = ""
    """Of runs with the same hyperparameters, of which HParams shows the mean."""
    started: float | None = None
    """In seconds since the epoch."""
    ended: float | None = None
    """In seconds since the epoch."""
    status: int = 0
    """1 if the run succeeded, 2 if it failed, 3 while it runs, 0 if nothing says so."""
    file: str = ""
    """Path of the run's file that has the data, if that is not the first."""

    @property
    def state(self) -> str:
        return {1: "finished", 2: "failed", 3: "running"}.get(self.status, "")

    def events(self) -> Iterator[tuple[str, bytes, bytes, float]]:
        if self.hparams or self.group:
            data = HParamsPluginData(version=0)
            start = data.session_start_info
            start.group_name, start.start_time_secs = self.group, self.started or 0.0
            for name, value in self.hparams.items():
                kind = {bool: "bool", type(None): "null"}.get(type(value))
                kind = kind or ("string" if isinstance(value, str) else "number")
                setattr(start.hparams[name], f"{kind}_value", 0 if value is None else value)
            yield self._event(SESSION_START_TAG, data)
        if self.status:
            data = HParamsPluginData(version=0)
            end = data.session_end_info
            end.status, end.end_time_secs = self.status, self.ended or 0.0  # type: ignore[assignment]
            yield self._event(SESSION_END_TAG, data)
        for tag, text in self.texts.items():
            yield self._event(tag, text)

    def _event(self, tag: str, found: HParamsPluginData | str) -> tuple[str, bytes, bytes, float]:
        event, text = Event(), found if isinstance(found, str) else ""
        value = event.summary.value.add(tag=tag)
        value.metadata.plugin_data.plugin_name = "text"
        if not isinstance(found, str):
            value.metadata.plugin_data.plugin_name = "hparams"
            value.metadata.plugin_data.content = found.SerializeToString(deterministic=True)
        value.tensor.dtype = _DT_STRING  # type: ignore[assignment]
        value.tensor.string_val.append(text.encode(errors="replace")[:MAX_TEXT_BYTES])
        metadata, at = value.metadata, self.ended or self.started or 0.0
        return tag, metadata.SerializeToString(deterministic=True), event.SerializeToString(), at
