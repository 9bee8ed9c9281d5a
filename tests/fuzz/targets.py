"""Targets of the fuzzer: functions of bytes that raise if tbcore handles them wrongly.

A target accepts any bytes. An exception, or a call that takes seconds, is an error of tbcore. Seeds
are the inputs that the fuzzer starts with: small ones of every form.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError as ProtobufDecodeError

from tbcore import DecodeError, values
from tbcore.eventfiles.proto.summary_pb2 import Summary, SummaryMetadata
from tbcore.eventfiles.proto.tensor_pb2 import TensorProto
from tbcore.eventfiles.tensors import scalar_of, tensor_to_numpy
from tbcore_graphs import keras
from tbcore_graphs.proto.graph_pb2 import GraphDef
from tbcore_graphs.text import Limit, graph_text
from tbcore_images.headers import header_of
from tbcore_remote.ssh_files import SshError, SshHost
from tbcore_testing import EventFileWriter, record_bytes, summaries, write_run
from tbcore_testing.tensors import array_proto
from tbcore_text import markdown

Target = Callable[[bytes], None]

MAX_BYTES_PER_BYTE = 1000
"""Memory that an array may need per byte of input; one stored float may be repeated."""


def _load(name: str) -> ModuleType:
    """Imports a module of the tests in the parent folder, which is not a package."""
    path = Path(__file__).resolve().parent.parent / name
    spec = importlib.util.spec_from_file_location(f"fuzz_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


properties = _load("eventfiles/fast/test_decoder_properties.py")

# Event files --------------------------------------------------------------------------------------
#
# The input is a list of instructions for writing a file, because a fuzzer cannot guess checksums:
#
#     buffer size: 1 | number of sizes at which the file is read: 1, each size: 2 | instructions
#
#     instruction: 1   0-159   a record: length of the payload: 1 | payload
#                      160-239 the previous record n - 160 times more, each one step later
#                      240-247 bytes without a frame: length: 1 | bytes
#                      248-255 flip a bit in the bytes so far: distance from the end: 2


MAX_FILE_BYTES = 10_000
"""Instructions are ignored after this size, because the fuzzer can read small files more often."""


def file_of(data: bytes) -> tuple[bytes, list[int], int]:
    """The content of the file, the sizes at which it is read, and the size of the read buffer."""
    position = 0

    def take(count: int) -> bytes:
        nonlocal position
        position += count
        return data[position - count : position]

    def number(count: int) -> int:
        return int.from_bytes(take(count), "little")

    buffer_bytes = (150, 700, 20_000)[number(1) % 3]
    sizes = [number(2) for _ in range(number(1) % 4)]
    content = bytearray()
    payload = b""
    step = 0
    while position < len(data) and len(content) < MAX_FILE_BYTES:
        instruction = number(1)
        if instruction < 160:
            payload = take(number(1))
            content += record_bytes(payload)
        elif instruction < 240:
            for _ in range(instruction - 160):
                step += 1
                content += record_bytes(_advanced(payload, step))
        elif instruction < 248:
            content += take(number(1))
        else:
            distance = number(2)
            if distance < len(content):
                content[-1 - distance] ^= 1 << (instruction - 248)
    return bytes(content), sorted(min(size, len(content)) for size in sizes), buffer_bytes


def _advanced(payload: bytes, step: int) -> bytes:
    """A copy of an event with another wall time, step and last number, as training loops log it."""
    advanced = bytearray(payload)
    if advanced[:1] == b"\x09":
        advanced[1:3] = struct.pack("<H", step % 0x10000)
    if advanced[9:10] == b"\x10" and len(advanced) > 10:
        advanced[10] = step % 128
    if len(advanced) > 20:
        advanced[-2] = step % 256
    return bytes(advanced)


def instructions_for(path: Path) -> bytes:
    """Instructions that write an event file like this one."""
    data = path.read_bytes()
    instructions = bytearray(b"\x02\x01\x40\x00")
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from("<Q", data, position)
        if length < 256:
            instructions += bytes([0, length]) + data[position + 12 : position + 12 + length]
        position += length + 16
    return bytes(instructions)


def event_files(data: bytes) -> None:
    """The fast decoders and plain protobuf read the same from any file, however it grows."""
    content, sizes, buffer_bytes = file_of(data)
    with tempfile.TemporaryDirectory(dir=_MEMORY) as folder:
        path = Path(folder) / "a.tfevents"
        path.write_bytes(content)
        tuning = replace(properties.SMALL, piece_bytes=buffer_bytes)
        properties.assert_same_as_protobuf(path, sizes, tuning)


_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


def _event_file_seeds() -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        numbers = [1.0, 2.0, 3.0, float("nan")]
        yield instructions_for(write_run(folder, "a", scalars={"loss": numbers, "é": numbers}))
        yield instructions_for(write_run(folder, "b", scalars={"x": numbers}, dtype="float64"))
        yield instructions_for(write_run(folder, "c", scalars={"x": numbers}, restart_at=2))
        yield instructions_for(
            write_run(folder, "d", histograms={"h": [[1.0]]}, images={"i": [summaries.png()]})
        )
        yield instructions_for(write_run(folder, "e", texts={"t": ["a", "b"]}, as_tensors=True))
        path = Path(folder) / "f.tfevents"
        with EventFileWriter(path) as writer:
            writer.add_summary(300, summaries.scalar("a", 1.0), summaries.scalar("b", 2.0))
        yield instructions_for(path) + bytes([200, 255, 9, 0, 170, 248, 40, 0, 240, 4, 1, 2, 3, 4])


# Values -------------------------------------------------------------------------------------------


@np.errstate(over="raise", invalid="raise", divide="raise")
def tensors(data: bytes) -> None:
    """A tensor is decoded to an array of its size, or raises DecodeError."""
    tensor = _parsed(TensorProto, data)
    if tensor is None:
        return
    try:
        array = tensor_to_numpy(tensor)
    except DecodeError:
        assert scalar_of(tensor) is None
        return
    # A view that repeats one element needs no memory of its own.
    base = array if array.base is None else array.base
    assert getattr(base, "nbytes", 0) <= MAX_BYTES_PER_BYTE * (len(data) + 1)
    assert not array.flags.writeable
    scalar = scalar_of(tensor)
    assert scalar is None or array.size == 1
    if array.dtype.kind in "fiub" and array.size * array.itemsize <= len(data):
        again = tensor_to_numpy(array_proto(array))
        assert again.dtype == array.dtype
        np.testing.assert_array_equal(again, array)


@np.errstate(over="raise", invalid="raise", divide="raise")
def summary_values(data: bytes) -> None:
    """Each decoder returns a result in proportion to the input, or raises DecodeError.

    It causes no warning of numpy about large numbers, which a server would print.
    """
    value = _parsed(Summary.Value, data)
    if value is None:
        return
    for read in (
        values.scalar, values.histogram, values.bucket_table, values.image, values.audio,
        values.text, values.pr_curve, lambda value: values.audio(value, SummaryMetadata()),
    ):  # fmt: skip
        try:
            found = read(value)
        except DecodeError:
            continue
        for part in found if isinstance(found, tuple) else (found,):
            size = part.nbytes if isinstance(part, np.ndarray) else 0
            assert size <= max(1 << 22, MAX_BYTES_PER_BYTE * len(data))


def pictures(data: bytes) -> None:
    """The size of a picture is read from its header without an exception."""
    header = header_of(data)
    assert header.content_type in {
        "application/octet-stream", "image/png", "image/jpeg", "image/gif", "image/webp",
        "image/bmp",
    }  # fmt: skip
    assert header.size is None or min(header.size) > 0


def _parsed(message_type: Any, data: bytes) -> Any:
    try:
        return message_type.FromString(data)
    except ProtobufDecodeError:
        return None


def _tensor_seeds() -> Iterator[bytes]:
    for form in ("f4", "f8", "i4", "u1", "i2", "i1", "i8", "?", "f2", "u2", "u4", "u8", "c8"):
        yield array_proto(np.ones((2, 1), form)).SerializeToString()
    yield array_proto(np.array([b"a", b""], object)).SerializeToString()
    for dtype, field in ((1, "float_val"), (3, "int_val"), (14, "half_val"), (9, "int64_val")):
        tensor = TensorProto(dtype=dtype)
        getattr(tensor, field).extend([1, 2])
        tensor.tensor_shape.dim.add(size=2)
        yield tensor.SerializeToString()
        del getattr(tensor, field)[1:]
        tensor.tensor_shape.dim.add(size=1 << 40)
        yield tensor.SerializeToString()


def _value_seeds() -> Iterator[bytes]:
    for value in (
        summaries.scalar("a", 1.0),
        summaries.scalar("a", 1.0, dtype="int64"),
        summaries.histogram("a", [1.0, 2.0]),
        summaries.histogram("a", [1.0, 2.0], as_tensor=True),
        summaries.image("a", summaries.png()),
        summaries.image("a", summaries.png(), as_tensor=True),
        summaries.audio("a", summaries.wav()),
        summaries.audio("a", summaries.wav(), as_tensor=True),
        summaries.text("a", [["a", "b"], ["c", "d"]]),
        summaries.session_start({"a": 1.0}),
    ):
        yield value.SerializeToString()


def _picture_seeds() -> Iterator[bytes]:
    yield summaries.png(3, 2)
    yield b"GIF89a\x03\x00\x02\x00\x00\x00\x00"
    yield b"BM" + bytes(12) + struct.pack("<Iii", 40, 3, -2)
    yield b"BM" + bytes(12) + struct.pack("<IHH", 12, 3, 2)
    yield b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x02\x00\x03\x01\x01\x11\x00\xff\xd9"
    for chunk in (b"VP8 ", b"VP8L", b"VP8X"):
        yield b"RIFF" + bytes(4) + b"WEBP" + chunk + bytes([10, 0, 0, 0, 0x2F]) + bytes(16)


# Graphs -------------------------------------------------------------------------------------------


def pbtxt(data: bytes) -> None:
    """The text of a graph has all its content, with and without a limit for attributes."""
    graph = _parsed(GraphDef, data)
    try:
        text = b"".join(graph_text(data)).decode()
    except DecodeError as error:
        # Groups, which no writer uses, are only supported by protobuf.
        if graph is not None and "wire type 3" not in str(error):
            raise
        return
    assert graph is not None
    assert text == text_format.MessageToString(graph, as_utf8=True)
    limited = b"".join(graph_text(data, Limit(max_bytes=10, key="_too_large"))).decode()
    text_format.Parse(limited, GraphDef())


def keras_models(data: bytes) -> None:
    """A model in JSON is converted to nodes in proportion to it, or raises DecodeError."""
    try:
        graph = keras.graph_def(data)
    except DecodeError:
        return
    assert graph.ByteSize() <= 100_000 + MAX_BYTES_PER_BYTE * len(data)


# Texts --------------------------------------------------------------------------------------------


class _Elements(HTMLParser):
    """Parses HTML, and asserts that all elements and attributes are harmless."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in HARMLESS
        for name, value in attrs:
            assert (tag, name) in {
                ("a", "href"), ("ol", "start"), ("th", "align"), ("td", "align"),
            }  # fmt: skip
            if name == "href":
                assert re.match("(https?://|mailto:)", value or "", re.IGNORECASE)

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment may be read as something else")

    handle_decl = handle_pi = unknown_decl = handle_comment


_NAMES = """
a b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol
p pre s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var
"""
HARMLESS = frozenset(_NAMES.split())


def markdown_texts(data: bytes) -> None:
    """The HTML of a text loads nothing, runs nothing, and its links show where they lead."""
    nodes = markdown.to_nodes([data.decode("utf-8", "replace")])
    if nodes is None:
        return
    reader = _Elements()
    reader.feed(markdown.to_html(nodes[0]))
    reader.close()


def _markdown_seeds() -> Iterator[bytes]:
    for text in (
        "# a\n\n* b\n  1. c\n\n> d\n\n```py\ne\n```\n",
        "|a|b|\n|:-|-:|\n|*c*|**d**|\n",
        "[a](https://b.example 'c') ![d](http://e) <http://f> <g@h.example> [i]\n\n[i]: http://j",
        "<b>k</b><br><a href='https://l'>m</a><script>n</script><!-- o --><pre>p",
        "[q](javascript:r) <a href=javascript:s onclick=t> &lt;u&gt; &#106; \\<v>",
        "<details><summary>w</summary>~~x~~ `y`</details>\n---\n3) z",
    ):
        yield text.encode()


def _graph_seeds() -> Iterator[bytes]:
    graph = GraphDef()
    node = graph.node.add(name="a/b", op="MatMul", device="/cpu:0", input=["x:0", "^y"])
    node.attr["T"].type = 1
    node.attr["s"].s = b'\x00\xff"\n'
    node.attr["l"].list.f.extend([1.5, float("inf")])
    node.attr["t"].tensor.CopyFrom(type(node.attr["t"].tensor)(dtype=1, float_val=[0.5]))
    node.attr["h"].shape.dim.add(size=-1, name="n")
    node.attr["c"].func.name = "f"
    graph.versions.producer = 27
    function = graph.library.function.add()
    function.signature.name = "f"
    function.node_def.add(name="é", op="Const")
    yield graph.SerializeToString()
    yield graph.node[0].SerializeToString()


def _keras_seeds() -> Iterator[bytes]:
    dense: dict[str, Any] = {"class_name": "Dense", "config": {"name": "d", "units": 3}}
    layer = {**dense, "name": "d", "inbound_nodes": [[["in", 0, 0, {}]]]}
    entry = {
        "class_name": "InputLayer",
        "name": "in",
        "config": {"name": "in"},
        "inbound_nodes": [],
    }
    functional = {
        "name": "m", "layers": [entry, layer], "input_layers": [["in", 0, 0]],
        "output_layers": [["d", 0, 0]],
    }  # fmt: skip
    for config in ([dense], {"name": "s", "layers": [dense]}, functional):
        yield json.dumps({"class_name": "Functional", "config": config}).encode()


# Files of ssh -------------------------------------------------------------------------------------
#
# The input is a name, a configuration, a file that it may include, and a known_hosts file, each of
# which ends with a zero byte.


def ssh_files(data: bytes) -> None:
    """A host has an address, a port and a user, or is refused; soon, whatever includes what."""
    name, config, included, known_hosts, *_ = [*data.split(b"\0", 3), b"", b"", b""]
    with tempfile.TemporaryDirectory(dir=_MEMORY) as folder:
        for file, content in ("config", config), ("1", included), ("known_hosts", known_hosts):
            (Path(folder) / file).write_bytes(content.replace(b"FOLDER", folder.encode()))
        with contextlib.suppress(SshError):
            files = {f"{folder}/config": folder}
            host = SshHost(name.decode("utf-8", "replace"), config_files=files)
            assert 0 < host.port < 65536
            assert isinstance(host.address, str)
            assert all(Path(path).is_file() for path in host.paths("identityfile"))
            assert all(key.where.startswith("line ") for key in host.known_keys())


def _ssh_file_seeds() -> Iterator[bytes]:
    known_hosts = (
        b"UserKnownHostsFile FOLDER/known_hosts FOLDER/%h",
        b"host,*,!a,[b]:2222 ssh-ed25519 AAAA\n@revoked * ssh-rsa B\n@cert-authority a b c\n"
        b"|1|AAECAwQFBgcICQoLDA0ODxAREhM=|AAECAwQFBgcICQoLDA0ODxAREhM= ssh-rsa B\n",
    )
    for config, included in (
        (known_hosts[0] + b'\nPort 2222 # x\nHost h* !a\n User "me"\nHostName=%h.b%%', b""),
        (b"Include 1 1 FOLDER/? ~/*/x\n" + known_hosts[0], b"Include 1\nHost *\nInclude config"),
        (b"Match host h?,b user me final !all exec 'x'\nProxyJump a", b"IdentityFile ~x/${HOME}%d"),
        (b"Include 1\nMatch final all\nHostKeyAlias a\\ b\n", b"HostName b\nMatch !host b\nPort 0"),
    ):
        yield b"\0".join((b"host", config, included, known_hosts[1]))


TARGETS: dict[str, tuple[Target, Callable[[], Iterator[bytes]]]] = {
    "event_files": (event_files, _event_file_seeds),
    "tensors": (tensors, _tensor_seeds),
    "summary_values": (summary_values, _value_seeds),
    "pictures": (pictures, _picture_seeds),
    "pbtxt": (pbtxt, _graph_seeds),
    "keras_models": (keras_models, _keras_seeds),
    "markdown_texts": (markdown_texts, _markdown_seeds),
    "ssh_files": (ssh_files, _ssh_file_seeds),
}
"""Name to target, and to a function that yields its seeds."""
