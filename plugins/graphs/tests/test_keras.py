"""Keras models as graphs, in every format that versions of Keras use for a layer's inputs."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbcore import DecodeError
from tbcore_graphs import keras

Layer = dict[str, Any]


def layer(name: str, inbound: Any = None, **config: Any) -> Layer:
    found: Layer = {"class_name": "Dense", "config": {"name": name, **config}, "name": name}
    if inbound is not None:
        found["inbound_nodes"] = inbound
    return found


def model(name: str, layers: list[Layer], **config: Any) -> Layer:
    kind = "Functional" if config else "Sequential"
    return {"class_name": kind, "config": {"name": name, "layers": layers, **config}, "name": name}


def edges(root: Any) -> dict[str, list[str]]:
    """Name of each node to the names of its inputs."""
    return {node.name: list(node.input) for node in graph(root).node}


def graph(root: Any) -> Any:
    return keras.graph_def(json.dumps(root).encode())


def test_the_input_of_a_layer_in_a_sequential_model_is_the_layer_before() -> None:
    """The config of such a model is a list in early versions."""
    expected = {"m/a": [], "m/b": ["m/a"], "m/c": ["m/b"]}
    assert edges(model("m", [layer("a"), layer("b"), layer("c")])) == expected
    early = {"class_name": "Sequential", "name": "m", "config": [layer("a"), layer("b")]}
    assert edges(early) == {"m/a": [], "m/b": ["m/a"]}


@pytest.mark.parametrize(
    "inbound",
    [
        [[["a", 0, 0, {}], ["b", 0, 0, {}]]],
        [["a", 0, 0], ["b", 0, 0]],
        [["a", 0, 0, {"other": ["b", 0, 0]}]],
        [{"args": [[
            {"class_name": "__keras_tensor__", "config": {"keras_history": ["a", 0, 0]}},
            {"class_name": "__keras_tensor__", "config": {"keras_history": ["b", 0, 0]}},
        ]], "kwargs": {}}],
    ],
    ids=["nested", "flat", "among keywords", "version 3"],
)  # fmt: skip
def test_inputs_are_read_in_the_format_of_every_version(inbound: Any) -> None:
    """All these formats name the same two inputs."""
    layers = [layer("a", []), layer("b", []), layer("add", inbound)]
    functional = model(
        "m", layers, input_layers=[["a", 0, 0], ["b", 0, 0]], output_layers=[["add", 0, 0]]
    )
    assert edges(functional) == {"m/a": [], "m/b": [], "m/add": ["m/a", "m/b"]}


def test_other_layers_refer_to_the_name_next_to_the_config() -> None:
    """It differs from the name inside the config in layers that wrap a TensorFlow operation."""
    odd = {**layer("add", [[["x", 0, 0, {}]]]), "name": "tf_op_layer_add"}
    end = layer("end", [[["tf_op_layer_add", 0, 0, {}]]])
    found = edges(
        model("m", [layer("x", []), odd, end], input_layers=[["x", 0, 0]], output_layers=["end"])
    )
    assert found == {"m/x": [], "m/add": ["m/x"], "m/end": ["m/add"]}


def test_a_nested_model_connects_its_inputs_and_outputs() -> None:
    """Edges lead to its input layers, and from its output layers by index."""
    inner = model(
        "inner",
        [layer("i", []), layer("o1", [[["i", 0, 0, {}]]]), layer("o2", [[["i", 0, 0, {}]]])],
        input_layers=[["i", 0, 0]],
        output_layers=[["o1", 0, 0], ["o2", 0, 0]],
    )
    inner["inbound_nodes"] = [[["x", 0, 0, {}]]]
    chain = {**model("chain", [layer("c1"), layer("c2")]), "inbound_nodes": [[["inner", 1, 1, {}]]]}
    last = layer("last", [[["chain", 1, 0, {}], ["inner", 1, 0, {}]]])
    outer = model(
        "outer", [layer("x", []), inner, chain, last],
        input_layers=[["x", 0, 0]], output_layers=[["last", 0, 0]],
    )  # fmt: skip
    assert edges(outer) == {
        "outer/x": [],
        "outer/inner/i": ["outer/x"],
        "outer/inner/o1": ["outer/inner/i"],
        "outer/inner/o2": ["outer/inner/i"],
        "outer/chain/c1": ["outer/inner/o2"],
        "outer/chain/c2": ["outer/chain/c1"],
        "outer/last": ["outer/chain/c2", "outer/inner/o1"],
    }


def test_a_functional_model_inside_a_sequential_one_is_part_of_the_chain() -> None:
    """The input of its input layer is the layer before it."""
    inner = model(
        "inner", [layer("i", []), layer("o", [[["i", 0, 0, {}]]])],
        input_layers=[["i", 0, 0]], output_layers=[["o", 0, 0]],
    )  # fmt: skip
    assert edges(model("m", [layer("a"), inner, layer("b")])) == {
        "m/a": [],
        "m/inner/i": ["m/a"],
        "m/inner/o": ["m/inner/i"],
        "m/b": ["m/inner/o"],
    }


def test_a_layers_config_becomes_attributes() -> None:
    """Values keep their types; a dtype policy becomes the dtype it names."""
    policy = {"class_name": "DTypePolicy", "config": {"name": "float32"}}
    made = layer(
        "a",
        dtype=policy,
        units=3,
        rate=0.5,
        use_bias=True,
        activation="relu",
        none=None,
        size=[3, 3],
    )
    attributes = graph(model("m", [made])).node[0].attr
    assert graph(model("m", [made])).node[0].op == "Dense"
    assert attributes["keras_class"].s == b"Dense"
    assert attributes["dtype"].type == 1
    assert attributes["units"].i == 3
    assert attributes["rate"].f == 0.5
    assert attributes["use_bias"].b is True
    assert attributes["activation"].s == b"relu"
    assert attributes["size"].s == b"[3, 3]"
    assert "none" not in attributes
    odd = graph(model("m", [layer("a", dtype="float1000", big=2**70)])).node[0].attr
    assert (odd["dtype"].s, odd["big"].s) == (b"float1000", b"%d" % 2**70)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    | st.sampled_from(["a", "b", "m"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["name", "config", "layers", "inbound_nodes", "class_name", "dtype",
             "input_layers", "output_layers", "keras_history"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@settings(deadline=None)
@given(JSON)
def test_any_json_is_a_graph_or_one_clear_error(value: Any) -> None:
    """No JSON raises anything but DecodeError, wherever its keys are."""
    for root in (value, {"class_name": "Model", "config": {"name": "m", "layers": [value, value]}}):
        with suppress(DecodeError):
            assert graph(root).IsInitialized()


def test_models_that_are_nested_too_deeply_are_rejected() -> None:
    """Both deeply nested models and deeply nested JSON."""
    root = layer("a")
    for _ in range(200):
        root = model("m", [root])
    for data in (json.dumps(root).encode(), b'{"config":' + b'{"a":' * 100_000, b"[" * 100_000):
        with pytest.raises(DecodeError, match="not a Keras model"):
            keras.graph_def(data)


def test_many_references_to_one_model_take_no_longer_than_one() -> None:
    """Each output is resolved once. Without that, the time would be exponential in the depth."""
    root = layer("a")
    for _ in range(40):
        root = model(
            "m", [root], input_layers=[["m", 0, 0]] * 9, output_layers=[[root["name"], 0, 0]] * 9
        )
    assert len(graph(root).node) == 1
