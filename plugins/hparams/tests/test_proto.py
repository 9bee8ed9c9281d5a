"""The protobuf messages are compatible with TensorBoard's, and can be loaded next to them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tbcore.testing import summaries
from tbcore_hparams.logged import to_python
from tbcore_hparams.proto import api_pb2, plugin_data_pb2

PAIRS = [
    *((api_pb2, "api_pb2", name) for name in api_pb2.DESCRIPTOR.message_types_by_name),
    *(
        (plugin_data_pb2, "plugin_data_pb2", n)
        for n in plugin_data_pb2.DESCRIPTOR.message_types_by_name
    ),
]


@pytest.mark.parametrize(("module", "theirs", "message"), PAIRS)
def test_fields_are_those_of_tensorboard(module: Any, theirs: str, message: str) -> None:
    """Names, numbers and types are equal for each message, with both modules in one process."""
    other = pytest.importorskip(f"tensorboard.plugins.hparams.{theirs}")

    def shape(descriptor: Any) -> dict[str, tuple[Any, ...]]:
        return {
            field.name: (field.number, field.type, field.is_repeated, field.has_presence)
            for field in descriptor.fields
        }

    ours = module.DESCRIPTOR.message_types_by_name[message]
    assert shape(ours) == shape(other.DESCRIPTOR.message_types_by_name[message])


@pytest.mark.parametrize("enum", list(api_pb2.DESCRIPTOR.enum_types_by_name))
def test_enums_are_those_of_tensorboard(enum: str) -> None:
    """Names and numbers are equal."""
    other = pytest.importorskip("tensorboard.plugins.hparams.api_pb2")
    ours, theirs = (
        {value.name: value.number for value in module.DESCRIPTOR.enum_types_by_name[enum].values}
        for module in (api_pb2, other)
    )
    assert ours == theirs


def test_sessions_written_by_tbcore_testing_parse() -> None:
    """tbcore.testing writes them without these messages, for the tests of any plugin."""
    hparams = {"lr": 0.1, "n": 3, "opt": "é" * 100, "flag": True, "off": False, "": math.inf}
    value = summaries.session_start(hparams, group="g" * 200, start=1.5)
    data = plugin_data_pb2.HParamsPluginData.FromString(value.metadata.plugin_data.content)
    start = data.session_start_info
    assert {name: to_python(start.hparams[name]) for name in start.hparams} == hparams
    assert (start.group_name, start.start_time_secs) == ("g" * 200, 1.5)

    value = summaries.session_end(2, 9.25)
    data = plugin_data_pb2.HParamsPluginData.FromString(value.metadata.plugin_data.content)
    assert (data.session_end_info.status, data.session_end_info.end_time_secs) == (2, 9.25)
