"""Keras models as graphs: each way in which versions of Keras write what a layer takes from."""

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
    """Name of a node to what it takes."""
    return {node.name: list(node.input) for node in graph(root).node}


def graph(root: Any) -> Any:
    return keras.graph_def(json.dumps(root).encode())


def test_each_layer_of_a_sequential_model_takes_from_the_one_before() -> None:
    """The config is a list in early versions."""
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
def test_every_version_names_inputs_in_its_own_way(inbound: Any) -> None:
    """All of which say the same."""
    layers = [layer("a", []), layer("b", []), layer("add", inbound)]
    functional = model(
        "m", layers, input_layers=[["a", 0, 0], ["b", 0, 0]], output_layers=[["add", 0, 0]]
    )
    assert edges(functional) == {"m/a": [], "m/b": [], "m/add": ["m/a", "m/b"]}


def test_a_layer_is_known_by_the_name_beside_its_config() -> None:
    """Which is another one in layers that are made of operations."""
    odd = {**layer("add", [[["x", 0, 0, {}]]]), "name": "tf_op_layer_add"}
    end = layer("end", [[["tf_op_layer_add", 0, 0, {}]]])
    found = edges(
        model("m", [layer("x", []), odd, end], input_layers=[["x", 0, 0]], output_layers=["end"])
    )
    assert found == {"m/x": [], "m/add": ["m/x"], "m/end": ["m/add"]}


def test_a_model_inside_a_model_passes_on_what_goes_in_and_out() -> None:
    """To its input layers, and from its output layers by their places."""
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


def test_a_functional_model_in_a_sequential_one_is_a_link_of_the_chain() -> None:
    """Its input layer takes from the layer before."""
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


def test_what_a_layer_was_made_with_are_its_attributes() -> None:
    """With the type of each; a policy stands for the type of its numbers."""
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
    """Whatever is where."""
    for root in (value, {"class_name": "Model", "config": {"name": "m", "layers": [value, value]}}):
        with suppress(DecodeError):
            assert graph(root).IsInitialized()


def test_models_that_are_too_deep_are_refused() -> None:
    """As JSON, and as models in models."""
    root = layer("a")
    for _ in range(200):
        root = model("m", [root])
    for data in (json.dumps(root).encode(), b'{"config":' + b'{"a":' * 100_000, b"[" * 100_000):
        with pytest.raises(DecodeError, match="no Keras model"):
            keras.graph_def(data)


def test_many_references_to_one_model_take_no_longer_than_one() -> None:
    """Each output is looked up once, however many ways lead to it."""
    root = layer("a")
    for _ in range(40):
        root = model(
            "m", [root], input_layers=[["m", 0, 0]] * 9, output_layers=[[root["name"], 0, 0]] * 9
        )
    assert len(graph(root).node) == 1
