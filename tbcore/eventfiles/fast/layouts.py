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

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from tbcore.eventfiles import wire
from tbcore.eventfiles.proto.event_pb2 import Event
from tbcore.eventfiles.table import HEALTH_PILL, TableColumn

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

_MIN_LENGTH = 20
"""Minimum length of a payload with a layout, in bytes."""
_MIN_REPEATS = 2
"""Minimum number of records with equal constant bits from which a layout is learnt."""
_MAX_FAILURES = 8
"""Maximum number of failed attempts to find new field offsets among the records of one size. After
that, no more records of this size are tried: they are probably histograms."""
_MAX_GROUPS = 32
"""Maximum number of groups of one size. The files of usual writers need one or two; a file that
needs many was crafted to slow the server down."""
_ELEMENT_DTYPES = {
    1: "<f4",
    2: "<f8",
    3: "<i4",
    4: "|u1",
    5: "<i2",
    6: "|i1",
    9: "<i8",
    17: "<u2",
    19: "<f2",
    22: "<u4",
    23: "<u8",
}
"""Maps the DataType of a tensor to the numpy dtype of one element in `tensor_content`."""


def _odd_numbers(count: int) -> NDArray[np.uint64]:
    """Pseudorandom odd numbers, which are the same in each process."""
    # The bits are mixed as in splitmix64. Importing numpy.random would take some milliseconds.
    numbers = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return numbers ^ (numbers >> np.uint64(27)) | np.uint64(1)


_HASH_FACTORS = _odd_numbers(MAX_LENGTH // 8)
"""Factors of the hash of a payload: the sum of its words, each multiplied by the factor at its
index. Payloads with equal hashes are compared word by word."""


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
    """Steps from little-endian words, each with a varint in its `width` lowest bytes."""
    word = words.dtype.type
    steps = words & word(0x7F)
    for i in range(1, width):
        steps |= (words >> word(i)) & word(0x7F << (7 * i))
    return steps.astype(np.int64)


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


class _NoLayoutError(Exception):
    """The payload may be valid, but a layout cannot express it."""


def learn(payload: bytes) -> Layout | None:
    """The layout of a payload; None if no layout can describe the payload.

    A layout describes only what writers of scalars produce, with each field at most once.
    """
    try:
        layout = _learn(payload)
        Event.FromString(payload)  # Raises if the metadata is malformed: `_learn` skips it.
    except (_NoLayoutError, IndexError, UnicodeDecodeError, DecodeError):
        return None
    return layout


def _learn(payload: bytes) -> Layout:
    """The layout of a payload. If it has none, raises one of the errors that `learn` catches."""
    if not _MIN_LENGTH <= len(payload) <= MAX_LENGTH or payload[0] != 0x09:
        raise _NoLayoutError
    at, step_width = 9, 0
    if payload[at] == 0x10:
        while payload[STEP_OFFSET + step_width] & 0x80:
            step_width += 1
        step_width += 1
        at = STEP_OFFSET + step_width
    if step_width > MAX_STEP_WIDTH or payload[at] != 0x2A:
        raise _NoLayoutError
    summary, *fields_after = wire.fields(payload, at, len(payload))
    if fields_after:
        raise _NoLayoutError
    values: list[tuple[int, str]] = []
    slots: list[TableColumn] = []
    for field in wire.fields(payload, summary.begin, summary.end):
        if field[:2] != (1, 2):
            raise _NoLayoutError
        value, slot = _learn_value(payload, field.begin, field.end)
        values.append(value)
        slots.append(slot)
    if not slots:
        raise _NoLayoutError
    offsets = FieldOffsets(len(payload), step_width, tuple(values))
    constant = np.frombuffer(payload, np.uint8) & constant_mask(offsets)
    return Layout(offsets, constant.tobytes(), tuple(slots))


def _learn_value(payload: bytes, begin: int, end: int) -> tuple[tuple[int, str], TableColumn]:
    """Offset and dtype of the scalar in a Summary.Value, and the slot of the value."""
    fields = _unique_fields(payload, begin, end)
    tag = payload[slice(*fields.pop((1, 2), (0, 0)))].decode()
    node_name = payload[slice(*fields.pop((7, 2), (0, 0)))].decode()
    metadata = fields.pop((9, 2), None)
    if fields.keys() == {(2, 5)}:
        field, value = "simple_value", (fields[2, 5][0], "<f4")
    elif fields.keys() == {(8, 2)}:
        field, value = "tensor", _learn_tensor(payload, *fields[8, 2])
        tag = tag or node_name
        if tag.startswith(HEALTH_PILL):
            raise _NoLayoutError
    else:
        raise _NoLayoutError
    return value, TableColumn(tag, field, True, payload[slice(*metadata)] if metadata else None)


def _learn_tensor(payload: bytes, begin: int, end: int) -> tuple[int, str]:
    """Offset and dtype of the element in a TensorProto, which must hold exactly one."""
    fields = _unique_fields(payload, begin, end)
    if (1, 0) not in fields:
        raise _NoLayoutError
    data_type, _ = wire.varint(payload, fields.pop((1, 0))[0])
    fields.pop((3, 0), None)  # version
    for dim in wire.fields(payload, *fields.pop((2, 2), (0, 0))):
        if dim[:2] != (2, 2) or payload[dim.begin : dim.end] != b"\x08\x01":  # not size 1
            raise _NoLayoutError
    if len(fields) != 1:
        raise _NoLayoutError
    (key, (begin, end)) = fields.popitem()
    # Fields 4 to 6 are tensor_content, float_val and double_val. The latter two may be packed.
    dtype = {
        (4, 2): _ELEMENT_DTYPES.get(data_type),
        (5, 2): "<f4" if data_type == 1 else None,
        (5, 5): "<f4" if data_type == 1 else None,
        (6, 2): "<f8" if data_type == 2 else None,
        (6, 1): "<f8" if data_type == 2 else None,
    }.get(key)
    if dtype is None or end - begin != np.dtype(dtype).itemsize:
        raise _NoLayoutError
    return begin, dtype


def _unique_fields(payload: bytes, begin: int, end: int) -> dict[tuple[int, int], tuple[int, int]]:
    """Maps number and wire type of each field of a message to begin and end of its content.

    Raises _NoLayoutError if a field repeats.
    """
    fields: dict[tuple[int, int], tuple[int, int]] = {}
    for field in wire.fields(payload, begin, end):
        if field[:2] in fields:
            raise _NoLayoutError
        fields[field[:2]] = field[2:]
    return fields


# ------------------------------------------------------------------------------------- matching


class _LayoutGroup:
    """All layouts with the same field offsets. A layout is found by the hash of its constant bits.

    The *layout number* of a layout is its index in `LayoutCache.layouts`.
    """

    def __init__(self, offsets: FieldOffsets) -> None:
        self.offsets = offsets
        self._num_words = -(-offsets.length // 8)
        self._mask = _as_words(constant_mask(offsets)[np.newaxis])[0]
        self._constants = np.empty((0, self._num_words), np.uint64)
        """Constant bits of each layout as words, shape (num_layouts, num_words), sorted by hash."""
        self._hashes = np.empty(0, np.uint64)
        """Hash of the constant bits of each layout, ascending."""
        self._layout_numbers = np.empty(0, np.int64)
        """Layout number of each layout, sorted by hash."""
        self._mask_bits = int.from_bytes(constant_mask(offsets).tobytes(), "little")
        """The mask as one little-endian integer."""
        self._layout_number_by_bits: dict[int, int] = {}
        """Maps the constant bits of a layout, as a little-endian integer, to the layout number."""

    def add(self, payloads: Sequence[bytes], first_layout_number: int) -> None:
        """Adds layouts with consecutive layout numbers, starting at `first_layout_number`.

        All variable bits of `payloads` are 0.
        """
        data = np.frombuffer(b"".join(payloads), np.uint8).reshape(len(payloads), -1)
        constants = _as_words(data)
        hashes = np.append(self._hashes, self._hash(constants))
        order = np.argsort(hashes, kind="stable")
        layout_numbers = np.arange(len(payloads), dtype=np.int64) + first_layout_number
        self._hashes = hashes[order]
        self._constants = np.concatenate([self._constants, constants])[order]
        self._layout_numbers = np.append(self._layout_numbers, layout_numbers)[order]
        for layout_number, payload in enumerate(payloads, first_layout_number):
            bits = int.from_bytes(payload, "little")
            self._layout_number_by_bits.setdefault(bits, layout_number)

    def match_one(self, bits: int) -> int | None:
        """The number of the layout that one payload matches; None if it matches none.

        `bits` is the payload as one little-endian integer.
        """
        return self._layout_number_by_bits.get(bits & self._mask_bits)

    def repeated(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Finds sets of equal payloads; returns the index of each set's first payload, ascending.

        Payloads are equal if they have the same bits where layouts of this group have constant
        bits. Sets with too few payloads are left out. A set may belong to another group: the caller
        finds out by learning a layout from a payload of the set.
        """
        hashes = self._hash(words & self._mask)
        _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
        return np.sort(first[counts >= _MIN_REPEATS])

    def match(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The number of the layout that each payload matches; -1 if a payload matches none."""
        if not len(self._layout_numbers):
            return np.full(len(words), -1, np.int64)
        constants = words & self._mask
        if len(self._layout_numbers) == 1:
            equal = constants == self._constants[0]
            hit = True if equal.all() else equal.all(axis=1)
            return np.where(hit, np.full(len(words), self._layout_numbers[0]), -1)
        hashes = self._hash(constants)
        found = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        equal = self._constants[found] == constants
        # Nearly always all payloads match, and checking them together is faster than one by one.
        if equal.all():
            return self._layout_numbers[found]
        return np.where(equal.all(axis=1), self._layout_numbers[found], -1)

    def _hash(self, constants: NDArray[np.uint64]) -> NDArray[np.uint64]:
        hashes: NDArray[np.uint64] = constants @ _HASH_FACTORS[: self._num_words]
        return hashes


def _as_words(payloads: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Payloads of equal length as 64-bit words, padded with zero bytes; one payload in each row."""
    num_payloads, length = payloads.shape
    padded = np.zeros((num_payloads, -(-length // 8) * 8), np.uint8)
    padded[:, :length] = payloads
    return padded.view("<u8")


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
        if self.offsets.step_width:
            # The eight bytes from STEP_OFFSET on: six of word 1, and two of word 2.
            step_words = (words[:, 1] >> np.uint64(16)) | (words[:, 2] << np.uint64(48))
            steps = decode_steps(step_words, self.offsets.step_width)
        else:
            steps = np.zeros(len(words), np.int64)
        values = [as_value_column(_column_at(data, *value)) for value in self.offsets.values]
        return _column_at(data, WALL_TIME_OFFSET, "<f8"), steps, values


class _Size(NamedTuple):
    """Payload length and step width in bytes, which are equal in all records of a layout."""

    length: int
    step_width: int


class LayoutCache:
    """The layouts learnt so far. They are kept across files, since other runs log the same tags."""

    def __init__(self) -> None:
        self.layouts: list[Layout] = []
        self._groups_of_size: dict[_Size, dict[FieldOffsets, _LayoutGroup]] = {}
        """Maps a size to the groups of this size, each under its field offsets."""
        self._failures: dict[_Size, int] = {}
        """Maps a size to its number of failed attempts: see `_MAX_FAILURES`."""

    def is_full(self) -> bool:
        """Whether there are so many layouts that the cache should be replaced by an empty one."""
        return len(self.layouts) > MAX_LAYOUTS

    def match_one(self, payload: bytes | bytearray) -> int | None:
        """The number of the layout that one payload matches; None if it matches none."""
        if not _MIN_LENGTH <= len(payload) <= MAX_LENGTH:
            return None
        width = 0
        if payload[9] == 0x10:
            width = 1
            while payload[STEP_OFFSET + width - 1] & 0x80 and width <= MAX_STEP_WIDTH:
                width += 1
        bits = None
        for group in self._groups_of_size.get(_Size(len(payload), width), {}).values():
            bits = int.from_bytes(payload, "little") if bits is None else bits
            layout_number = group.match_one(bits)
            if layout_number is not None:
                return layout_number
        return None

    def match(
        self, buffer: bytearray, begins: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> list[MatchedRecords]:
        """Finds the payloads that match a known layout.

        `begins` and `lengths` have the offset in the buffer and the length of each payload.
        """
        found: list[MatchedRecords] = []
        for size, members in self._by_size(buffer, begins, lengths):
            groups = self._groups_of_size.get(size)
            if groups:
                words = _gathered(buffer, begins[members], size.length)
                found.extend(_matched(groups.values(), members, words))
        return found

    def learn(
        self,
        buffer: bytearray,
        begins: NDArray[np.int64],
        lengths: NDArray[np.int64],
        picked: NDArray[np.int64],
    ) -> list[MatchedRecords]:
        """Learns layouts from payloads; returns the payloads that match these new layouts.

        `picked` has the indices of the payloads to learn from, which match no known layout.
        """
        found: list[MatchedRecords] = []
        for size, indices in self._by_size(buffer, begins[picked], lengths[picked]):
            groups = self._groups_of_size.get(size, {})
            is_hopeless = not groups and self._failures.get(size, 0) >= _MAX_FAILURES
            if len(indices) < _MIN_REPEATS or is_hopeless or len(groups) >= _MAX_GROUPS:
                continue
            members = picked[indices]
            words = _gathered(buffer, begins[members], size.length)
            found.extend(self._learn_size(members, words, size))
        return found

    def _by_size(
        self, buffer: bytearray, begins: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> Iterator[tuple[_Size, NDArray[np.int64]]]:
        """Yields each size of payloads that may have a layout, and their indices, ascending."""
        # 1. Leave out payloads that cannot have a layout.
        # 2. Sort by a key for the size. It has 16 bits: numpy sorts such keys in linear time.
        # 3. Cut where the key changes.
        widths = self._step_widths(buffer, begins, lengths)
        possible = np.flatnonzero(widths <= MAX_STEP_WIDTH)  # 1
        if not len(possible):
            return
        keys = (lengths[possible] * 16 + widths[possible]).astype(np.uint16)  # 2
        order = np.argsort(keys, kind="stable")
        keys, possible = keys[order], possible[order]
        cuts = [0, *(np.flatnonzero(np.diff(keys)) + 1).tolist(), len(keys)]  # 3
        for first, stop in pairwise(cuts):
            members = possible[first:stop]
            yield _Size(int(lengths[members[0]]), int(widths[members[0]])), members

    def _step_widths(
        self, buffer: bytearray, begins: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Width of each payload's step; above MAX_STEP_WIDTH if no layout is possible."""
        # 1. In the word at the step, the varint ends at the lowest byte whose top bit is 0.
        #    `end_bits` has the top bit set for every such byte, `lowest` only for the lowest.
        # 2. The width is the index of the lowest such byte plus 1.
        # 3. Correct the widths of payloads without a step, and of payloads that cannot have a
        #    layout.
        # A word may extend beyond a short payload; there are PADDING_BYTES after the data.
        words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
        end_bits = ~words[begins + STEP_OFFSET] & np.uint64(0x8080808080808080)  # 1
        lowest = end_bits & (~end_bits + np.uint64(1))
        thresholds = np.array([0x80 << shift for shift in range(0, 64, 8)], np.uint64)
        widths = np.searchsorted(thresholds, lowest) + 1  # 2
        widths[end_bits == 0] = MAX_STEP_WIDTH + 1
        data = np.frombuffer(buffer, np.uint8)
        widths[data[begins + 9] != 0x10] = 0  # 3
        impossible = (data[begins] != 0x09) | (lengths < _MIN_LENGTH) | (lengths > MAX_LENGTH)
        widths[impossible] = MAX_STEP_WIDTH + 1
        return widths

    def _learn_size(
        self, members: NDArray[np.int64], words: NDArray[np.uint64], size: _Size
    ) -> Iterator[MatchedRecords]:
        """Learns layouts from records of one size; yields the records that match these layouts.

        `members` has the indices of the records, `words` their payloads.
        """
        # 1. If no group remains to be tried, learn from the first untried record. If its field
        #    offsets are new, make a group for them; if not, the attempt has failed.
        # 2. Try a group: find sets of records that are equal in the constant bits of this group,
        #    learn from one record of each set, and collect the layouts by their field offsets.
        # 3. Match all records with the new layouts, and continue with the unmatched records.
        # Step 2 skips records that step 2, or a failed attempt of step 1, has tried already. It may
        # try the record for which step 1 made a group once more.
        groups = self._groups_of_size.setdefault(size, {})
        failures = self._failures.get(size, 0)
        is_untried = np.ones(len(words), np.bool_)
        to_try = list(groups.values())
        while len(words) >= _MIN_REPEATS and not self.is_full():
            if not to_try:  # 1
                if failures >= _MAX_FAILURES or not is_untried.any():
                    break
                first = int(is_untried.argmax())
                layout = learn(words[first].tobytes()[: size.length])
                if layout is None or not _add_group(groups, layout.offsets, to_try):
                    is_untried[first] = False
                    failures += 1
                continue
            repeated = to_try.pop().repeated(words)  # 2
            repeated = repeated[is_untried[repeated]]
            is_untried[repeated] = False
            learnt: dict[FieldOffsets, list[Layout]] = {}
            for payload in words[repeated]:
                layout = learn(payload.tobytes()[: size.length])
                if layout is not None:
                    _add_group(groups, layout.offsets, to_try)
                    learnt.setdefault(layout.offsets, []).append(layout)
            for group in [groups[offsets] for offsets in learnt if offsets in groups]:  # 3
                group.add([layout.payload for layout in learnt[group.offsets]], len(self.layouts))
                self.layouts += learnt[group.offsets]
                layout_numbers = group.match(words)
                hit = layout_numbers >= 0
                yield MatchedRecords(group.offsets, members[hit], layout_numbers[hit], words[hit])
                members, words, is_untried = members[~hit], words[~hit], is_untried[~hit]
        self._failures[size] = failures


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


def _matched(
    groups: Iterable[_LayoutGroup], members: NDArray[np.int64], words: NDArray[np.uint64]
) -> Iterator[MatchedRecords]:
    """Matches records of one size with one group after the other; yields the matching records."""
    for group in groups:
        layout_numbers = group.match(words)
        hit = layout_numbers >= 0
        if hit.all():
            yield MatchedRecords(group.offsets, members, layout_numbers, words)
            return
        if hit.any():
            yield MatchedRecords(group.offsets, members[hit], layout_numbers[hit], words[hit])
            members, words = members[~hit], words[~hit]


def _add_group(
    groups: dict[FieldOffsets, _LayoutGroup], offsets: FieldOffsets, to_try: list[_LayoutGroup]
) -> bool:
    """Adds a new group with these field offsets to `groups` and to `to_try`.

    Returns False, and adds nothing, if there is such a group already or if there are too many.
    """
    if offsets in groups or len(groups) >= _MAX_GROUPS:
        return False
    groups[offsets] = _LayoutGroup(offsets)
    to_try.append(groups[offsets])
    return True
