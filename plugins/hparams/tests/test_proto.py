"""The messages: what other programs log parses, and names stay apart from TensorBoard's."""

from __future__ import annotations

from typing import Any

import pytest

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
    """Numbers, types and names, of each message, and both live in one process."""
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
    """Names and numbers."""
    other = pytest.importorskip("tensorboard.plugins.hparams.api_pb2")
    ours, theirs = (
        {value.name: value.number for value in module.DESCRIPTOR.enum_types_by_name[enum].values}
        for module in (api_pb2, other)
    )
    assert ours == theirs
