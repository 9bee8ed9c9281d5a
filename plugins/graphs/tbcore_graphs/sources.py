"""Sources: the graphs that a run logged, in all forms, and their bytes as a serialized GraphDef."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from tbcore import Claim, DecodeError, Item, Multiplexer, NotFoundError
from tbcore.values import Value
from tbcore_graphs import keras, merge, wire
from tbcore_graphs.columns import function_spans
from tbcore_graphs.proto.graph_pb2 import FunctionDef, FunctionDefLibrary, GraphDef

_GRAPH_DEFS = (Claim("graph_def"), Claim("tensor", plugin_name="graphs", is_scalar=False))
_META_GRAPH_DEFS = (Claim("meta_graph_def"),)
_PROFILES = (
    # The first has a graph with the time and memory of its nodes; the second, a graph only.
    Claim("tensor", plugin_name="graph_run_metadata", is_scalar=False),
    Claim("tensor", plugin_name="graph_run_metadata_graph", is_scalar=False),
)
_KERAS_MODELS = (Claim("tensor", plugin_name="graph_keras_model", is_scalar=False),)

GRAPHS = (*_GRAPH_DEFS, *_META_GRAPH_DEFS, *_PROFILES, *_KERAS_MODELS)
"""All forms in which a graph is logged."""
META_GRAPHS = _META_GRAPH_DEFS
"""The form in which TensorFlow 1 saved a model's graph."""
RUN_METADATA = (
    Claim("tagged_run_metadata"),
    Claim("tensor", plugin_name="graph_tagged_run_metadata", is_scalar=False),
    Claim("tensor", plugin_name="graph_run_metadata", is_scalar=False),
)
"""All forms in which the time and memory of nodes are logged."""
CLAIMS = (*GRAPHS, RUN_METADATA[0], RUN_METADATA[1])
"""Everything that the plugin reads. RUN_METADATA[2] is already among GRAPHS."""

MAIN = "graph"
"""The id of a run's main graph: the model as a whole, not a Keras model or a traced function."""
_FUNCTION = "function:"
"""Prefix of a function's name in an id."""


class GraphSource(NamedTuple):
    """One graph of a run, whose bytes are still in the file."""

    id: str
    """MAIN, `keras:<tag>` or `run_metadata:<tag>`; unique within the run."""
    title: str
    """The name shown to users."""
    form: str
    """How the graph was logged: `graph_def`, `meta_graph_def`, `keras` or `run_metadata`."""
    item: Item

    def read(self) -> bytes:
        """The serialized GraphDef, not validated. Every call returns the same bytes.

        Raises NotFoundError or DataError as `Item.read` does, and DecodeError if the item contains
        no graph.
        """
        data = blob(self.item.read())
        match self.form:
            case "meta_graph_def":
                # The graph is field 2 of MetaGraphDef. The other fields are for saving and serving.
                return _field_content(data, 2)
            case "run_metadata":
                return _graph_of_run_metadata(data)
            case "keras":
                return keras.graph_def(data).SerializeToString(deterministic=True)
        return data


def graphs_of_run(multiplexer: Multiplexer, run: str) -> list[GraphSource]:
    """The graphs of a run, with the main graph first, if there is one.

    The last graph of each tag is used. The main graph is a graph_def if there is one, otherwise a
    meta_graph_def. Raises NotFoundError for an unknown run.
    """
    found = []
    main = [
        GraphSource(
            MAIN, "Graph", "meta_graph_def" if claims is _META_GRAPH_DEFS else "graph_def", item
        )
        for claims in (_GRAPH_DEFS, _META_GRAPH_DEFS)
        for item in _last_items(multiplexer, run, claims).values()
    ]
    found += main[:1]
    for tag, item in _last_items(multiplexer, run, _KERAS_MODELS).items():
        found.append(GraphSource(f"keras:{tag}", f"Keras model {tag}", "keras", item))
    for tag, item in _last_items(multiplexer, run, _PROFILES).items():
        found.append(GraphSource(f"run_metadata:{tag}", f"Function {tag}", "run_metadata", item))
    return found


def graph_source(multiplexer: Multiplexer, run: str, graph_id: str | None) -> GraphSource:
    """The graph with this id; the run's first graph for None.

    Raises NotFoundError for an unknown run or id, and if the run has no graph.
    """
    found = graphs_of_run(multiplexer, run)
    if not found:
        raise NotFoundError(f"no graph in run {run!r}")
    if graph_id is None:
        return found[0]
    for candidate in found:
        if candidate.id == graph_id:
            return candidate
    names = ", ".join(repr(candidate.id) for candidate in found[:20])
    raise NotFoundError(f"no graph {graph_id[:200]!r} in run {run!r}; available: {names}")


def resolve_id(
    multiplexer: Multiplexer, run: str, graph_id: str | None
) -> tuple[GraphSource, str | None]:
    """The graph and the function that an id names; the function is None for the graph itself.

    A function's id is the id of its graph, `/function:` and the function's name. For the main graph
    it is just `function:<name>`. Raises NotFoundError for an unknown run or graph. Whether the
    function exists is not checked.
    """
    known = graphs_of_run(multiplexer, run)
    if graph_id is None or any(candidate.id == graph_id for candidate in known):
        return graph_source(multiplexer, run, graph_id), None
    if graph_id.startswith(_FUNCTION):
        return graph_source(multiplexer, run, MAIN), graph_id.removeprefix(_FUNCTION)
    for candidate in known:
        prefix = f"{candidate.id}/{_FUNCTION}"
        if graph_id.startswith(prefix):
            return candidate, graph_id.removeprefix(prefix)
    return graph_source(multiplexer, run, graph_id), None


def read_graph(source: GraphSource, function: str | None) -> bytes:
    """A graph as a serialized GraphDef; for a function, a GraphDef whose library has only it.

    Raises the errors of `GraphSource.read`, and NotFoundError if the function does not exist.
    """
    data = source.read()
    if function is None:
        return data
    span = function_spans(data).get(function)
    if span is None:
        raise NotFoundError(f"the graph has no function {function[:200]!r}")
    found = wire.decode(FunctionDef, data[slice(*span)])
    library = FunctionDefLibrary(function=[found])
    return GraphDef(library=library).SerializeToString(deterministic=True)


def run_metadata_tags(multiplexer: Multiplexer, run: str) -> dict[str, int]:
    """Maps the tag of each run metadata to the step of its last item."""
    last = _last_items(multiplexer, run, RUN_METADATA)
    return {tag: item.step for tag, item in last.items()}


def run_metadata(multiplexer: Multiplexer, run: str, tag: str) -> Item:
    """The last run metadata under a tag; `blob(item.read())` returns its bytes, not validated.

    Raises NotFoundError if there is none.
    """
    return multiplexer.items(run, tag, RUN_METADATA, samples=1)[-1]


def blob(value: Value) -> bytes:
    """The bytes that were logged, either as an event's field or as the string in a tensor."""
    if isinstance(value, bytes):
        return value
    strings = value.tensor.string_val
    if not strings:
        raise DecodeError(
            f"the tensor of tag {value.tag!r} contains no bytes, so it is not a graph"
        )
    return strings[0]


@contextmanager
def decoding(what: str) -> Iterator[None]:
    """Adds to a DecodeError the name of what could not be decoded."""
    try:
        yield
    except DecodeError as error:
        raise DecodeError(f"{what} cannot be decoded: {error}") from None


def _last_items(multiplexer: Multiplexer, run: str, claims: tuple[Claim, ...]) -> dict[str, Item]:
    """Maps each tag of a run to its last item. Raises NotFoundError for an unknown run."""
    listing = multiplexer.tags(claims)
    if run not in listing:
        # Raises NotFoundError with a message that lists similar run names.
        multiplexer.metadata(run, "")
    return {
        tag: items[-1]
        for tag in listing.get(run, [])
        if (items := multiplexer.items(run, tag, claims, samples=1))
    }


def _graph_of_run_metadata(data: bytes) -> bytes:
    """The graphs of the traced functions before optimization, merged into one graph."""
    functions = [_field_content(function, 2) for function in _field_contents(data, 4)]
    return merge.merge_graphs([graph for graph in functions if graph])


def _field_content(data: bytes, number: int) -> bytes:
    """The serialized message in a field; merged if the field occurs several times."""
    # Concatenating serialized messages merges them.
    return b"".join(_field_contents(data, number))


def _field_contents(data: bytes, number: int) -> Iterator[bytes]:
    """The content of every message, string or bytes field with this number."""
    for field in wire.fields(data):
        if field.number == number and field.wire_type == wire.LENGTH_DELIMITED:
            yield data[field.content : field.end]
