"""Layouts: learns the bytes that all events of one tag share, and matches records with them.

A trainer that logs a scalar again and again writes the same bytes each time, except for the wall
time, the step and the value of the scalar:

    09 <wall time: 8> 10 <step: varint> 2a <length> 0a <length> 0a <length> <tag> 15 <value: 4>
       ^^^^^^^^^^^^^^    ^^^^^^^^^^^^                                               ^^^^^^^^^^

The *field offsets* of such a payload say where the wall time, the step and the values are. A
*layout* consists of field offsets, the constant bits of the payload, and the tag, field and
metadata of each value. Bits are compared, not bytes, because each byte of a step has both constant
and variable bits: the top bit says whether another byte follows, and the other seven vary. A record
matches a layout if its constant bits are equal to the layout's; wall time, step and values are then
read from its variable bits, with the same result as protobuf.

The *size* of a record is its payload length together with the width of its step. A *group* has all
layouts with the same field offsets. Records of one size may belong to several groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from tbcore.eventfiles import wire
from tbcore.eventfiles.plain import rows_of
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.eventfiles.table import TableColumn
from tbcore.eventfiles.tensors import tensor_to_numpy

WALL_TIME_OFFSET = 1
STEP_OFFSET = 10
MAX_STEP_WIDTH = 8
"""Maximum width of a step in a layout, in bytes. A step of up to this width can be read as one
word; wider steps are rare."""
MAX_LENGTH = 4088
"""Maximum length of a payload with a layout, in bytes. A summary of a hundred scalars has 3,000."""
MAX_LAYOUTS = 1 << 14
"""Maximum number of layouts. When there are more, all are dropped: the records of such a log do not
repeat."""
FIRST_BYTES_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
"""Masks of shape (9,): `FIRST_BYTES_MASKS[n]` keeps the first n bytes of a little-endian word."""

HASH_FACTORS = np.full(MAX_LENGTH // 8, 0x9E3779B97F4A7C15, np.uint64).cumprod(dtype=np.uint64)
"""Factors of a hash of words: the sum modulo 2**64 of all words, each multiplied by the factor at
its index. The factors must be odd, so that no bit of a word is lost, and must differ, so that
similar words get different hashes. The powers of this number, which is 2**64 divided by the golden
ratio, meet both conditions. What has equal hashes is compared word by word."""

_MIN_LENGTH = 20
"""Minimum length of a payload with a layout, in bytes."""
_MIN_REPEATS = 2
"""Minimum number of records with equal constant bits from which a layout is learnt."""
_MAX_FAILURES = 8
"""Maximum number of failed attempts to learn layouts from the same records, which have one size.
After that, the others are not tried: they are probably no scalars."""
_MAX_GROUPS = 32
"""Maximum number of groups of one size. The files of usual writers need one or two; a file that
needs many was crafted to slow the server down."""
_TOP_BITS = np.array([0x80 << shift for shift in range(0, 64, 8)], np.uint64)
"""The top bit of each byte of a word, shape (8,)."""


class FieldOffsets(NamedTuple):
    """Where the wall time, the step and the values of a payload are."""

    length: int
    """Length of the payload in bytes."""
    step_width: int
    """Length of the step's varint in bytes; 0 if the varint is missing, which means step 0."""
    values: tuple[tuple[int, str], ...]
    """Offset and numpy dtype of each value."""


class Layout(NamedTuple):
    """All that is constant in the events of one tag, or of one set of tags logged together."""

    offsets: FieldOffsets
    payload: bytes
    """The payload with all variable bits 0."""
    slots: tuple[TableColumn, ...]
    """Tag, field and metadata of each value, in the order of `offsets.values`."""


def constant_mask(offsets: FieldOffsets) -> NDArray[np.uint8]:
    """A mask of shape (length,): a bit is 1 if this bit of the payload is constant."""
    mask = np.full(offsets.length, 0xFF, np.uint8)
    mask[WALL_TIME_OFFSET : WALL_TIME_OFFSET + 8] = 0
    # The top bit of a varint's byte says whether another byte follows, so it is constant.
    mask[STEP_OFFSET : STEP_OFFSET + offsets.step_width] = 0x80
    for offset, dtype in offsets.values:
        mask[offset : offset + np.dtype(dtype).itemsize] = 0
    return mask


def decode_steps(words: NDArray[np.unsignedinteger[Any]], width: int) -> NDArray[np.int64]:
    """Steps from little-endian words, each with a varint in its `width` lowest bytes; 0 without."""
    word = words.dtype.type
    steps = words & word(0x7F if width else 0)
    for i in range(1, width):
        steps |= (words >> word(i)) & word(0x7F << (7 * i))
    return steps.astype(np.int64)


def varint_widths(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Width of the varint in the lowest bytes of each word, in bytes; 9 if it is wider than 8."""
    # A varint ends at the lowest byte whose top bit is 0. `ends` has the top bit set for every such
    # byte. The subtraction sets all bits below the lowest of these, or all bits if there is none.
    ends = ~words & _TOP_BITS.sum()
    below_end = (ends & (~ends + np.uint64(1))) - np.uint64(1)
    widths: NDArray[np.int64] = np.searchsorted(_TOP_BITS, below_end) + 1
    return widths


def as_value_column(values: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Values of any real type as a column: float32 for float32 and float16, else float64."""
    if values.dtype == np.float32 or values.dtype == np.float64:
        return values
    return values.astype(np.float32 if values.dtype == np.float16 else np.float64)


def _column_at(data: NDArray[np.uint8], offset: int, dtype: str) -> NDArray[Any]:
    """The element at `offset` in each row of `data`, an array of bytes."""
    size = np.dtype(dtype).itemsize
    return np.ascontiguousarray(data[:, offset : offset + size]).view(dtype)[:, 0]


# ------------------------------------------------------------------------------------- learning


def learn(payload: bytes) -> Layout | None:
    """The layout of a payload; None if no layout can describe the payload.

    A layout describes only scalars, as protobuf serializes them.
    """
    # 1. Parse the event. If it serializes to the same bytes, each field occurs at most once in
    #    them, and is encoded in the usual way.
    # 2. Find the step. There must be no other fields than wall time, step and summary.
    # 3. Find the numbers. All values of the summary must be scalars.
    if not _MIN_LENGTH <= len(payload) <= MAX_LENGTH:
        return None
    try:
        event = Event.FromString(payload)  # 1
        if event.SerializeToString() != payload:
            return None
        fields = {field[:2]: field[2:] for field in wire.fields(payload, 0, len(payload))}  # 2
        begin, end = fields.pop((2, 0), (0, 0))
        if fields.keys() != {(1, 1), (5, 2)} or end - begin > MAX_STEP_WIDTH:
            return None
        slots = tuple(row.column for row in rows_of(event) if row.column.is_scalar)  # 3
        contents = list(wire.fields(payload, *fields[5, 2]))
        if not slots or len(slots) != len(contents):
            return None
        values = [
            _find_number(payload, content, value)
            for content, value in zip(contents, event.summary.value, strict=True)
        ]
    except DecodeError:
        return None
    numbers = tuple(value for value in values if value is not None)
    if len(numbers) != len(slots):
        return None
    offsets = FieldOffsets(len(payload), end - begin, numbers)
    constant = np.frombuffer(payload, np.uint8) & constant_mask(offsets)
    return Layout(offsets, constant.tobytes(), slots)


def _find_number(
    payload: bytes, content: wire.Field, value: Summary.Value
) -> tuple[int, str] | None:
    """Offset and dtype of the number in a scalar, whose content is the Summary.Value in `payload`.

    Returns None if the number is encoded in another way.
    """
    fields = {field[:2]: field for field in wire.fields(payload, content.begin, content.end)}
    if (2, 5) in fields:  # simple_value
        return fields[2, 5].begin, "<f4"
    # A TensorProto begins with its type, shape and version. The element follows in one field, which
    # has the form of a numpy array if it is tensor_content, float_val or double_val.
    dtype = tensor_to_numpy(value.tensor).dtype
    _, _, begin, end = fields[8, 2]
    elements = [field for field in wire.fields(payload, begin, end) if field.number > 3]
    if len(elements) != 1 or elements[0].number > 6:
        return None
    _, _, begin, end = elements[0]
    return (begin, dtype.str) if end - begin == dtype.itemsize else None


# ------------------------------------------------------------------------------------- matching


class MatchedRecords(NamedTuple):
    """Records that match layouts of one group."""

    offsets: FieldOffsets
    indices: NDArray[np.int64]
    """Indices of the records, ascending."""
    layout_numbers: NDArray[np.int64]
    """Layout number of each record: the index of its layout in `LayoutCache.layouts`."""
    words: NDArray[np.uint64]
    """The payloads as little-endian words, shape (num_records, num_words)."""

    def columns(
        self, picked: NDArray[np.int64] | slice
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], list[NDArray[np.floating[Any]]]]:
        """Wall times, steps and values of the picked records.

        There is one array of values for each slot of the layouts.
        """
        words = self.words[picked]
        data = words.view(np.uint8)
        # The eight bytes from STEP_OFFSET on: six of word 1, and two of word 2.
        step_words = (words[:, 1] >> np.uint64(16)) | (words[:, 2] << np.uint64(48))
        steps = decode_steps(step_words, self.offsets.step_width)
        values = [as_value_column(_column_at(data, *value)) for value in self.offsets.values]
        return _column_at(data, WALL_TIME_OFFSET, "<f8"), steps, values


class _LayoutGroup:
    """All layouts with the same field offsets. A layout is found by the hash of its constant bits.

    The *layout number* of a layout is its index in `LayoutCache.layouts`.
    """

    def __init__(self, offsets: FieldOffsets) -> None:
        self.offsets = offsets
        self._mask = _as_words(constant_mask(offsets).tobytes())
        self._constants = np.empty((0, len(self._mask)), np.uint64)
        """Constant bits of each layout as words, shape (num_layouts, num_words), sorted by hash."""
        self._hashes = np.empty(0, np.uint64)
        """Hash of the constant bits of each layout, ascending."""
        self._layout_numbers = np.empty(0, np.int64)
        """Layout number of each layout, sorted by hash."""
        self._mask_bits = int.from_bytes(self._mask.tobytes(), "little")
        """The mask as one little-endian integer."""
        self._number_of_bits: dict[int, int] = {}
        """Maps the constant bits of a layout, as a little-endian integer, to the layout number."""

    def add(self, layouts: list[Layout], first_layout_number: int) -> None:
        """Adds layouts with consecutive layout numbers, at least one."""
        added = np.array([_as_words(layout.payload) for layout in layouts])
        constants = np.concatenate([self._constants, added])
        numbers = np.arange(len(layouts), dtype=np.int64) + first_layout_number
        hashes = self._hash(constants)
        order = np.argsort(hashes)
        self._constants, self._hashes = constants[order], hashes[order]
        self._layout_numbers = np.append(self._layout_numbers, numbers)[order]
        for number, layout in enumerate(layouts, first_layout_number):
            self._number_of_bits[int.from_bytes(layout.payload, "little")] = number

    def repeated(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Finds sets of payloads with equal constant bits; returns the index of one of each set.

        A set may belong to another group: the caller finds out by learning from its payload.
        """
        hashes = self._hash(words & self._mask)
        _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
        return first[counts >= _MIN_REPEATS]

    def match(
        self, members: NDArray[np.int64], words: NDArray[np.uint64]
    ) -> tuple[MatchedRecords, NDArray[np.bool_]]:
        """Returns the records that match a layout, and for each record whether it matches none.

        `members` has the indices of the records, `words` their payloads.
        """
        constants = words & self._mask
        found = np.searchsorted(self._hashes, self._hash(constants))
        found[found == len(self._hashes)] = 0
        is_equal = self._constants[found] == constants
        # Nearly always all records match, or none.
        if is_equal.all():
            matched = MatchedRecords(self.offsets, members, self._layout_numbers[found], words)
            return matched, np.zeros(len(words), np.bool_)
        hit = is_equal.all(axis=1)
        numbers = self._layout_numbers[found[hit]]
        return MatchedRecords(self.offsets, members[hit], numbers, words[hit]), ~hit

    def match_one(self, bits: int) -> int | None:
        """The number of the layout that a payload, given as a little-endian integer, matches."""
        return self._number_of_bits.get(bits & self._mask_bits)

    def _hash(self, constants: NDArray[np.uint64]) -> NDArray[np.uint64]:
        hashes: NDArray[np.uint64] = constants @ HASH_FACTORS[: len(self._mask)]
        return hashes


class LayoutCache:
    """The layouts learnt so far. They are kept across files, since other runs log the same tags."""

    def __init__(self) -> None:
        self.layouts: list[Layout] = []
        self._groups: dict[int, dict[FieldOffsets, _LayoutGroup]] = {}
        """Maps a size, as `_by_size` encodes it, to its groups, each under its field offsets."""

    def is_full(self) -> bool:
        """Whether there are so many layouts that the cache should be replaced by an empty one."""
        return len(self.layouts) > MAX_LAYOUTS

    def match_one(self, payload: bytes | bytearray) -> int | None:
        """The number of the layout that one payload matches; None if it matches none."""
        sizes = (16 * len(payload) + width for width in range(MAX_STEP_WIDTH + 1))
        groups = [group for size in sizes for group in self._groups.get(size, {}).values()]
        # Made only if need be: a payload may be a picture.
        bits = int.from_bytes(payload, "little") if groups else 0
        numbers = (group.match_one(bits) for group in groups)
        return next((number for number in numbers if number is not None), None)

    def match(
        self, buffer: bytearray, begins: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> Iterator[MatchedRecords]:
        """Yields the payloads that match a known layout, group by group.

        `begins` and `lengths` have the offset in the buffer and the length of each payload.
        """
        for size, members in _by_size(buffer, begins, lengths):
            groups = self._groups.get(size)
            if groups:
                words = _gathered(buffer, begins[members], size >> 4)
                for group in groups.values():
                    matched, rest = group.match(members, words)
                    if len(matched.indices):
                        yield matched
                        members, words = members[rest], words[rest]
                    if not len(members):
                        break

    def learn(
        self,
        buffer: bytearray,
        begins: NDArray[np.int64],
        lengths: NDArray[np.int64],
        picked: NDArray[np.int64],
    ) -> Iterator[MatchedRecords]:
        """Learns layouts from payloads; yields the payloads that match these new layouts.

        `picked` has the indices of the payloads to learn from, which match no known layout.
        """
        for size, indices in _by_size(buffer, begins[picked], lengths[picked]):
            if len(indices) >= _MIN_REPEATS:
                members = picked[indices]
                words = _gathered(buffer, begins[members], size >> 4)
                yield from self._learn(members, words, size)

    def _learn(
        self, members: NDArray[np.int64], words: NDArray[np.uint64], size: int
    ) -> Iterator[MatchedRecords]:
        """Learns layouts from records of one size; yields the records that match these layouts.

        `members` has the indices of the records, `words` their payloads.
        """
        # 1. Learn the field offsets of the first record.
        # 2. Find sets of records that are equal in the constant bits of these field offsets, and
        #    learn from one record of each set. If no layout has these field offsets, the attempt
        #    has failed.
        # 3. Match all records with the new layouts, and continue with the unmatched records, except
        #    those from which layouts were learnt: no record is tried twice.
        groups = self._groups.setdefault(size, {})
        failures = 0
        while len(words) >= _MIN_REPEATS and failures < _MAX_FAILURES:
            rest = np.ones(len(words), np.bool_)
            rest[0] = False
            layouts: list[Layout] = []
            example = _learn_words(words[0], size)  # 1
            if example and (example.offsets in groups or len(groups) < _MAX_GROUPS):
                group = groups.get(example.offsets) or _LayoutGroup(example.offsets)
                repeated = group.repeated(words)  # 2
                rest[repeated] = False
                learnt = [_learn_words(payload, size) for payload in words[repeated]]
                layouts = [each for each in learnt if each and each.offsets == group.offsets]
            if layouts:
                group.add(layouts, len(self.layouts))  # 3
                groups[group.offsets] = group
                self.layouts += layouts
                matched, is_unmatched = group.match(members, words)
                yield matched
                rest &= is_unmatched
            else:
                failures += 1
            members, words = members[rest], words[rest]


def _learn_words(words: NDArray[np.uint64], size: int) -> Layout | None:
    """The layout of a payload of this size, given as words."""
    return learn(words.tobytes()[: size >> 4])


def _as_words(payload: bytes) -> NDArray[np.uint64]:
    """A payload as little-endian words, padded with zero bytes."""
    return np.frombuffer(payload + bytes(-len(payload) % 8), "<u8")


def _by_size(
    buffer: bytearray, begins: NDArray[np.int64], lengths: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yields each size of payloads that may have a layout, and their indices, ascending.

    A size is encoded as one integer: 16 times the length, plus the width of the step.
    """
    # 1. Find the widths of the steps. A word may extend beyond a short payload; there are
    #    PADDING_BYTES after the data.
    # 2. Leave out payloads that cannot have a layout: they must begin with a wall time.
    # 3. Sort by size. The sizes have 16 bits: numpy sorts such keys in linear time.
    # 4. Cut where the size changes.
    data = np.frombuffer(buffer, np.uint8)
    words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))[begins + STEP_OFFSET]
    widths = np.where(data[begins + 9] == 0x10, varint_widths(words), 0)  # 1
    is_possible = (lengths >= _MIN_LENGTH) & (lengths <= MAX_LENGTH) & (widths <= MAX_STEP_WIDTH)
    possible = np.flatnonzero(is_possible & (data[begins] == 0x09))  # 2
    sizes = (lengths[possible] * 16 + widths[possible]).astype(np.uint16)  # 3
    order = np.argsort(sizes, kind="stable")
    sizes, possible = sizes[order], possible[order]
    cuts = [0, *(np.flatnonzero(np.diff(sizes)) + 1).tolist(), len(sizes)]  # 4
    for first, stop in pairwise(cuts):
        if first < stop:
            yield int(sizes[first]), possible[first:stop]


def _gathered(buffer: bytearray, begins: NDArray[np.int64], length: int) -> NDArray[np.uint64]:
    """Payloads of one length as words, padded with zero bytes; one payload in each row."""
    num_words = -(-length // 8)
    size = num_words * 8
    # View the buffer as one `size`-byte element at each byte offset; indexing it with `begins` then
    # copies all payloads at once.
    elements = np.ndarray((len(buffer) - size + 1,), f"V{size}", buffer, strides=(1,))
    words = elements[begins].view("<u8").reshape(len(begins), num_words)
    if length % 8:  # Clear the bytes after the payloads.
        words[:, -1] &= FIRST_BYTES_MASKS[length % 8]
    return words
