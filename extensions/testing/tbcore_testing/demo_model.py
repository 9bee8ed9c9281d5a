"""demo_model: the model that the demo runs train, as a graph with the time of each operation."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from tbcore_testing import graphs


def model(num_layers: int) -> list[graphs.Node]:
    """The operations of a small transformer, in the order of their execution."""
    nodes: list[graphs.Node] = []
    width = 64 * num_layers
    tokens = (-1, 128, width)

    def add(name: str, op: str, *inputs: str, shape: tuple[int, ...] = tokens) -> str:
        nodes.append(graphs.Node(name, op, inputs, shape, "/device:CPU:0"))
        return name

    def dense(
        scope: str, x: str, size_in: int, size_out: int, rows: tuple[int, ...] = (-1, 128)
    ) -> str:
        shape = (*rows, size_out)
        kernel = add(f"{scope}/kernel", "VariableV2", shape=(size_in, size_out))
        bias = add(f"{scope}/bias", "VariableV2", shape=(size_out,))
        product = add(f"{scope}/MatMul", "BatchMatMulV2", x, kernel, shape=shape)
        return add(f"{scope}/BiasAdd", "BiasAdd", product, bias, shape=shape)

    def norm(scope: str, x: str) -> str:
        mean = add(f"{scope}/Mean", "Mean", x, shape=(-1, 128, 1))
        centred = add(f"{scope}/Sub", "Sub", x, mean)
        scale = add(f"{scope}/scale", "VariableV2", shape=(width,))
        return add(f"{scope}/Mul", "Mul", centred, scale)

    words = add("input/words", "Placeholder", shape=(-1, 128))
    labels = add("input/labels", "Placeholder", shape=(-1,))
    table = add("embedding/table", "VariableV2", shape=(8000, width))
    x = add("embedding/lookup", "GatherV2", table, words)
    for layer in range(1, num_layers + 1):
        block = f"encoder/layer_{layer}"
        query, key, value = (
            dense(f"{block}/attention/{part}", x, width, width)
            for part in ("query", "key", "value")
        )
        scores = add(f"{block}/attention/scores", "BatchMatMulV2", query, key, shape=(-1, 128, 128))
        weights = add(f"{block}/attention/Softmax", "Softmax", scores, shape=(-1, 128, 128))
        seen = add(f"{block}/attention/context", "BatchMatMulV2", weights, value)
        seen = dense(f"{block}/attention/output", seen, width, width)
        x = norm(f"{block}/norm_1", add(f"{block}/add_1", "AddV2", x, seen))
        inner = dense(f"{block}/feed_forward/up", x, width, 4 * width)
        inner = add(f"{block}/feed_forward/Gelu", "Gelu", inner, shape=(-1, 128, 4 * width))
        outer = dense(f"{block}/feed_forward/down", inner, 4 * width, width)
        x = norm(f"{block}/norm_2", add(f"{block}/add_2", "AddV2", x, outer))
    pooled = add("head/Mean", "Mean", x, shape=(-1, width))
    logits = dense("head/dense", pooled, width, 10, rows=(-1,))
    losses = add(
        "loss/CrossEntropy", "SparseSoftmaxCrossEntropyWithLogits", logits, labels, shape=(-1,)
    )
    loss = add("loss/Mean", "Mean", losses, shape=())
    variables = [node.name for node in nodes if node.op == "VariableV2"]
    add("train/ApplyAdam", "ApplyAdam", loss, *variables, shape=())
    return nodes


def node_stats(
    nodes: Sequence[graphs.Node], *, start_us: int, rng: random.Random
) -> list[graphs.NodeStats]:
    """Time and memory of each operation in one step; most time is spent in matrix products.

    `start_us` is the start of the first operation, in microseconds since the epoch.
    """
    stats = []
    for node in nodes:
        size = math.prod(abs(dim) for dim in node.shape or ())
        weight = 30 if "MatMul" in node.op else 0.1 if node.op == "VariableV2" else 2
        duration = int(5 + weight * size / 1000 * rng.uniform(0.8, 1.2))
        stats.append(graphs.NodeStats(node.name, start_us, duration, 4 * 32 * size))
        start_us += duration
    return stats
