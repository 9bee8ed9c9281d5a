"""The protobuf messages are compatible with TensorBoard's, and can be loaded next to them."""

from __future__ import annotations

from typing import Any

import pytest

from tbcore_hparams.proto import api_pb2


def is_repeated(field: Any) -> bool:
    """Newer versions of protobuf warn when `label` is used; older ones have no `is_repeated`."""
    if hasattr(field, "is_repeated"):
        return bool(field.is_repeated)
    return bool(field.label == field.LABEL_REPEATED)


@pytest.mark.parametrize("message", list(api_pb2.DESCRIPTOR.message_types_by_name))
def test_fields_are_those_of_tensorboard(message: str) -> None:
    """Names, numbers and types are equal for each message, with both modules in one process."""
    other = pytest.importorskip("tensorboard.plugins.hparams.api_pb2")

    def shape(descriptor: Any) -> dict[str, tuple[Any, ...]]:
        return {
            field.name: (field.number, field.type, is_repeated(field), field.has_presence)
            for field in descriptor.fields
        }

    ours = api_pb2.DESCRIPTOR.message_types_by_name[message]
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
