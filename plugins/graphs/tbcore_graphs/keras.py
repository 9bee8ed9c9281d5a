"""Keras models: the layers in a model's JSON, as a graph.

A model is a layer too, and has layers of its own. In a sequential model each takes what the one
before it returns; in a functional one each names the layers that it takes from. Every version of
Keras writes these names in another form.
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
"""Models inside models; nobody writes more."""

_DTYPES: dict[str, Any] = {
    "float16": DataType.DT_HALF,
    "float32": DataType.DT_FLOAT,
    "float64": DataType.DT_DOUBLE,
    **{
        name.removeprefix("DT_").lower(): number
        for name, number in DataType.items()
        if not name.endswith("_REF")
    },
}

Json = dict[str, Any]


def graph_def(data: bytes) -> GraphDef:
    """One node for each layer, below the names of the models that it is in.

    Its op is the layer's class, its attributes are what the layer was made with. Raises DecodeError
    when the bytes are no JSON of a model.
    """
    try:
        model = json.loads(data)
        if not isinstance(model, dict) or not isinstance(model.get("config"), (dict, list)):
            raise DecodeError("it is no Keras model: it has no config")
        return GraphDef(node=_Converter().nodes(model, "", []))
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"it is no Keras model: {error}") from None


class _Converter:
    """Turns one model into nodes."""

    def __init__(self) -> None:
        self._outputs: dict[int, list[str]] = {}
        """id() of a layer to the names of the nodes whose outputs it returns."""

    def nodes(self, layer: Json, scope: str, inputs: Sequence[str]) -> Iterator[NodeDef]:
        """The nodes of a layer below `scope`; `inputs` are the names of those it takes from."""
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
        """Names of the nodes whose outputs a layer below `scope` returns."""
        if id(layer) not in self._outputs:
            self._outputs[id(layer)] = self._find_outputs(layer, scope)
        return self._outputs[id(layer)]

    def _functional(
        self, model: Json, layers: list[Json], scope: str, inputs: Sequence[str]
    ) -> Iterator[NodeDef]:
        siblings = _by_name(layers)
        entries = _references(model["config"].get("input_layers"), siblings)
        from_outside = {
            id(siblings[name]): taken for (name, _), taken in zip(entries, inputs, strict=False)
        }
        for layer in layers:
            inbound = _references(layer.get("inbound_nodes"), siblings)
            taken = [self._output(siblings[name], scope, index) for name, index in inbound]
            if id(layer) in from_outside:
                taken.append(from_outside[id(layer)])
            # A layer that is used twice takes what it takes once.
            yield from self.nodes(layer, scope, list(dict.fromkeys(taken)))

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
        """Which node makes the output at this place; a layer's own outputs all come from it."""
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
        # A name, or a policy that has one.
        if isinstance(value, dict) and isinstance(value.get("config"), dict):
            value = value["config"].get("name", value)
        if isinstance(value, str) and value in _DTYPES:
            return AttrValue(type=_DTYPES[value])
    if isinstance(value, bool):
        return AttrValue(b=value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return AttrValue(i=value)
    if isinstance(value, float):
        return AttrValue(f=value)
    text = value if isinstance(value, str) else json.dumps(value)
    return AttrValue(s=text.encode(errors="replace"))


def _references(value: Any, siblings: dict[str, Json]) -> list[tuple[str, int]]:
    """Name and output of every layer that is referred to, however deep inside."""
    found: list[tuple[str, int]] = []
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            history = value.get("keras_history")
            waiting += [history] if history is not None else [*value.values()][::-1]
        elif isinstance(value, list):
            # ["name", node, output, ...]: the node is which of the layer's uses is meant.
            if len(value) >= 3 and isinstance(value[0], str) and value[0] in siblings:
                found.append((value[0], value[2] if isinstance(value[2], int) else 0))
                value = value[3:]
            waiting += value[::-1]
    return found


def _layers(layer: Json) -> list[Json]:
    """The layers of a model; none of any other layer."""
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
    """Layers by what others call them: the name beside the config, which is mostly the same as that
    inside."""
    inside = {_name(layer): layer for layer in layers}
    return inside | {str(layer["name"]): layer for layer in layers if layer.get("name")}


def _name(layer: Json) -> str:
    """What a layer calls itself."""
    config = layer.get("config")
    named = config.get("name") if isinstance(config, dict) else None
    return str(named or layer.get("name") or layer.get("class_name") or "layer")


def _scoped(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name


def _text(text: str) -> str:
    # JSON can have half of a pair of surrogates.
    return text.encode(errors="replace").decode()


def _check_depth(scope: str) -> None:
    if scope.count("/") > _MAX_DEPTH:
        raise DecodeError(f"it is no Keras model: more than {_MAX_DEPTH} models inside each other")
