"""Keras models: converts the layers in a model's JSON to a graph.

A model is a layer that has layers of its own. In a sequential model, the input of each layer is the
output of the layer before. In a functional model, each layer names its input layers, in a format
that differs between versions of Keras.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tbcore import DecodeError
from tbcore_graphs.proto.attr_value_pb2 import AttrValue
from tbcore_graphs.proto.graph_pb2 import GraphDef, NodeDef
from tbcore_graphs.proto.types_pb2 import DataType

_MAX_DEPTH = 50
"""Maximum number of nested models."""

_DTYPE_NUMBERS: dict[str, Any] = {
    "float16": DataType.DT_HALF,
    "float32": DataType.DT_FLOAT,
    "float64": DataType.DT_DOUBLE,
    **{
        name.removeprefix("DT_").lower(): number
        for name, number in DataType.items()
        if not name.endswith("_REF")
    },
}
"""Maps the name of a dtype in Keras to its number in the enum DataType."""

Json = dict[str, Any]


def graph_def(data: bytes) -> GraphDef:
    """A graph with one node per layer, in scopes named after the models that contain the layer.

    A node's op is the layer's class, its attributes are the layer's config. Raises DecodeError if
    the bytes are not the JSON of a model.
    """
    try:
        model = json.loads(data)
        if not isinstance(model, dict) or not isinstance(model.get("config"), (dict, list)):
            raise DecodeError("not a Keras model: the JSON has no config")
        return GraphDef(node=_Converter().nodes(model, "", []))
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not a Keras model: {error}") from None


class _Converter:
    """Converts one model to nodes."""

    def __init__(self) -> None:
        self._outputs: dict[int, list[str]] = {}
        """Maps the id() of a layer to the names of the nodes that produce its outputs."""

    def nodes(self, layer: Json, scope: str, inputs: Sequence[str]) -> Iterator[NodeDef]:
        """Yields the nodes of a layer in `scope`; `inputs` are the names of its input nodes."""
        _check_depth(scope)
        name, layers = _scoped(scope, _name(layer)), _layers(layer)
        if not layers:
            yield _node(layer, name, inputs)
        elif _is_functional(layer):
            yield from self._functional(layer, layers, name, inputs)
        else:
            for inner in layers:
                yield from self.nodes(inner, name, inputs)
                inputs = self.outputs(inner, name)

    def outputs(self, layer: Json, scope: str) -> list[str]:
        """Names of the nodes that produce the outputs of a layer in `scope`."""
        if id(layer) not in self._outputs:
            self._outputs[id(layer)] = self._find_outputs(layer, scope)
        return self._outputs[id(layer)]

    def _functional(
        self, model: Json, layers: list[Json], scope: str, inputs: Sequence[str]
    ) -> Iterator[NodeDef]:
        """Yields the nodes of a functional model; `inputs` feed its input layers, in order."""
        siblings = _by_name(layers)
        input_layers = _references(model["config"].get("input_layers"), siblings)
        outer_inputs = {
            id(siblings[name]): source
            for (name, _), source in zip(input_layers, inputs, strict=False)
        }
        for layer in layers:
            inbound = _references(layer.get("inbound_nodes"), siblings)
            sources = [self._output(siblings[name], scope, index) for name, index in inbound]
            if id(layer) in outer_inputs:
                sources.append(outer_inputs[id(layer)])
            # A layer that is called twice may name the same input twice.
            yield from self.nodes(layer, scope, list(dict.fromkeys(sources)))

    def _find_outputs(self, layer: Json, scope: str) -> list[str]:
        _check_depth(scope)
        name, layers = _scoped(scope, _name(layer)), _layers(layer)
        if not layers:
            return [name]
        if not _is_functional(layer):
            return self.outputs(layers[-1], name)
        siblings = _by_name(layers)
        named = _references(layer["config"].get("output_layers"), siblings)
        return [self._output(siblings[inner], name, index) for inner, index in named]

    def _output(self, layer: Json, scope: str, index: int) -> str:
        """The node that produces output number `index` of a layer.

        A layer that is not a model is one node, which produces all its outputs.
        """
        outputs = self.outputs(layer, scope) or [_scoped(scope, _name(layer))]
        return outputs[index] if 0 <= index < len(outputs) else outputs[-1]


def _node(layer: Json, name: str, inputs: Sequence[str]) -> NodeDef:
    class_name = str(layer.get("class_name", ""))
    node = NodeDef(name=_text(name), op=_text(class_name), input=[_text(i) for i in inputs])
    config = layer.get("config")
    for key, value in config.items() if isinstance(config, dict) else ():
        if key != "name" and value is not None:
            node.attr[_text(key)].CopyFrom(_attribute(key, value))
    node.attr["keras_class"].s = class_name.encode(errors="replace")
    return node


def _attribute(key: str, value: Any) -> AttrValue:
    if key == "dtype":
        # Either a name, or a policy with a name in its config.
        if isinstance(value, dict) and isinstance(value.get("config"), dict):
            value = value["config"].get("name", value)
        if isinstance(value, str) and value in _DTYPE_NUMBERS:
            return AttrValue(type=_DTYPE_NUMBERS[value])
    if isinstance(value, bool):
        return AttrValue(b=value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return AttrValue(i=value)
    if isinstance(value, float):
        return AttrValue(f=value)
    text = value if isinstance(value, str) else json.dumps(value)
    return AttrValue(s=text.encode(errors="replace"))


def _references(value: Any, siblings: dict[str, Json]) -> list[tuple[str, int]]:
    """(Name, output index) of every sibling that the JSON value refers to, at any depth."""
    found: list[tuple[str, int]] = []
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            # In Keras 3, the reference is next to the shape and the dtype of a tensor.
            history = value.get("keras_history")
            stack += [history] if history is not None else [*value.values()][::-1]
        elif isinstance(value, list):
            # A reference is ["name", call index, output index, ...].
            if len(value) >= 3 and isinstance(value[0], str) and value[0] in siblings:
                found.append((value[0], value[2] if isinstance(value[2], int) else 0))
                value = value[3:]
            stack += value[::-1]
    return found


def _layers(layer: Json) -> list[Json]:
    """The layers of a model; an empty list for any other layer."""
    config = layer.get("config")
    # In early versions the config of a sequential model is the list itself.
    layers = config.get("layers") if isinstance(config, dict) else config
    if not isinstance(layers, list):
        return []
    return [inner for inner in layers if isinstance(inner, dict)]


def _is_functional(model: Json) -> bool:
    config = model.get("config")
    return isinstance(config, dict) and bool(
        config.get("input_layers") and config.get("output_layers")
    )


def _by_name(layers: list[Json]) -> dict[str, Json]:
    """Maps both names of each layer to the layer.

    References use the name next to a layer's config. This name may be missing, and it mostly equals
    the name inside the config, so both names are keys.
    """
    by_inner_name = {_name(layer): layer for layer in layers}
    return by_inner_name | {str(layer["name"]): layer for layer in layers if layer.get("name")}


def _name(layer: Json) -> str:
    """The layer's own name, from its config if present."""
    config = layer.get("config")
    named = config.get("name") if isinstance(config, dict) else None
    return str(named or layer.get("name") or layer.get("class_name") or "layer")


def _scoped(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name


def _text(text: str) -> str:
    # JSON strings can contain unpaired surrogates, which protobuf rejects.
    return text.encode(errors="replace").decode()


def _check_depth(scope: str) -> None:
    if scope.count("/") > _MAX_DEPTH:
        raise DecodeError(f"not a Keras model: more than {_MAX_DEPTH} nested models")
