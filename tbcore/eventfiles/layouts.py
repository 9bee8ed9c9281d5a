"""Layouts: learns the bytes that all events of one tag share, and matches records with them.

A trainer that logs a scalar again and again writes the same bytes each time, except for the wall
time, the step and the value:

    09 <wall time: 8> 10 <step: varint> 2a <length> 0a <length> 0a <length> <tag> 15 <value: 4>
       ^^^^^^^^^^^^^^    ^^^^^^^^^^^^                                               ^^^^^^^^^^

The *field offsets* of such a payload say where its variable bytes are. A *layout* has all other
bytes and their meaning, too. A record matches a layout if all constant bits are equal; then its
variable bits are its data. Records that match none are decoded by protobuf, with the same result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from tbcore.eventfiles import wire
from tbcore.eventfiles.batch import HEALTH_PILL
from tbcore.eventfiles.proto.event_pb2 import Event

WALL_TIME_OFFSET = 1
STEP_OFFSET = 10
MAX_STEP_WIDTH = 8
"""Maximum width of a step in a layout, in bytes: such a step can be read as one word. Wider
ones are rare."""
MAX_LENGTH = 4088
"""Maximum length of a payload with a layout, in bytes. A merged summary of a hundred scalars has
3,000."""
MAX_LAYOUTS = 1 << 14
"""When there are more layouts, all are dropped: the records of such a log do not repeat."""
FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
"""Shape (9,). Item n is a mask that keeps the first n bytes of a little-endian word."""

_MIN_LENGTH = 20
"""Minimum length of a payload with a layout, in bytes."""
_MIN_REPEATS = 2
"""Minimum number of records with equal constant bits before their layout is learnt."""
_MAX_FAILURES = 8
"""Maximum number of failures to learn a layout from records of one length and step width. After
that, no more are tried: they are probably histograms."""
_MAX_GROUPS = 32
"""Maximum number of FieldOffsets that are learnt for one length and step width. Writers produce one
or two; a file with many was crafted to slow the server down."""
_NUMBER_DTYPES = {  # DataType of a tensor: numpy dtype of one element in tensor_content
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


def _odd_numbers(count: int) -> NDArray[np.uint64]:
    """Odd numbers that look random, the same in each process."""
    # The bits are mixed as in splitmix64. Importing numpy.random would take some milliseconds.
    numbers = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return numbers ^ (numbers >> np.uint64(27)) | np.uint64(1)


_HASH_FACTORS = _odd_numbers(MAX_LENGTH // 8)
"""Factors of a hash over the words of a payload. If hashes are equal, all words are compared."""


class FieldOffsets(NamedTuple):
    """Where the variable bytes of a payload are."""

    length: int
    step_width: int
    """Bytes of the step's varint; 0 if it is missing, since the step is 0."""
    values: tuple[tuple[int, str], ...]
    """Offset and numpy dtype of each value."""


class ValueSlot(NamedTuple):
    """The tag, field and metadata of one value of a layout."""

    tag: str
    field: str
    metadata: bytes | None
    """Serialized SummaryMetadata; None if the value carries none."""


class Layout(NamedTuple):
    """All that is constant in the events of one tag, or of one set of tags logged together."""

    offsets: FieldOffsets
    payload: bytes
    """The payload with all variable bits 0."""
    slots: tuple[ValueSlot, ...]
    """One for each of `offsets.values`."""


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


def as_value_column(numbers: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Numbers of any real type as float32 if float32 or float16 was written, else as float64."""
    if numbers.dtype == np.float32 or numbers.dtype == np.float64:
        return numbers
    return numbers.astype(np.float32 if numbers.dtype == np.float16 else np.float64)


def _numbers_at(data: NDArray[np.uint8], offset: int, dtype: str) -> NDArray[Any]:
    """The number at `offset` of each row of bytes."""
    size = np.dtype(dtype).itemsize
    return np.ascontiguousarray(data[:, offset : offset + size]).view(dtype)[:, 0]


# ------------------------------------------------------------------------------------- learning


class _NoLayoutError(Exception):
    """The payload may be valid, but a layout cannot express it."""


def learn(payload: bytes) -> Layout | None:
    """The layout of a payload; None if it has none, so that protobuf must decode it.

    Accepts only what writers of scalars produce, with each field at most once.
    """
    try:
        layout = _learn(payload)
        Event.FromString(payload)  # Metadata is not parsed above, and may be malformed.
    except (_NoLayoutError, IndexError, UnicodeDecodeError, DecodeError):
        return None
    return layout


def _learn(payload: bytes) -> Layout:
    """The layout of a payload; raises one of the errors that `learn` catches if it has none."""
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
    summary, *others = wire.fields(payload, at, len(payload))
    if others:
        raise _NoLayoutError
    values: list[tuple[int, str]] = []
    slots: list[ValueSlot] = []
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


def _learn_value(payload: bytes, begin: int, end: int) -> tuple[tuple[int, str], ValueSlot]:
    """Offset and dtype of the number in a Summary.Value, and the slot of the value."""
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
    return value, ValueSlot(tag, field, payload[slice(*metadata)] if metadata else None)


def _learn_tensor(payload: bytes, begin: int, end: int) -> tuple[int, str]:
    """Offset and dtype of the number in a TensorProto, which must hold exactly one."""
    fields = _unique_fields(payload, begin, end)
    if (1, 0) not in fields:
        raise _NoLayoutError
    data_type, _ = wire.varint(payload, fields.pop((1, 0))[0])
    fields.pop((3, 0), None)
    for dim in wire.fields(payload, *fields.pop((2, 2), (0, 0))):
        if dim[:2] != (2, 2) or payload[dim.begin : dim.end] != b"\x08\x01":
            raise _NoLayoutError
    if len(fields) != 1:
        raise _NoLayoutError
    (number, (begin, end)) = fields.popitem()
    # Fields 4 to 6 are tensor_content, float_val and double_val. The latter two may be packed.
    dtype = {
        (4, 2): _NUMBER_DTYPES.get(data_type),
        (5, 2): "<f4" if data_type == 1 else None,
        (5, 5): "<f4" if data_type == 1 else None,
        (6, 2): "<f8" if data_type == 2 else None,
        (6, 1): "<f8" if data_type == 2 else None,
    }.get(number)
    if dtype is None or end - begin != np.dtype(dtype).itemsize:
        raise _NoLayoutError
    return begin, dtype


def _unique_fields(payload: bytes, begin: int, end: int) -> dict[tuple[int, int], tuple[int, int]]:
    """Maps (number, wire type) of each field of a message to its begin and end.

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
    """The layouts with the same field offsets. They are found by a hash of their constant bits."""

    def __init__(self, offsets: FieldOffsets) -> None:
        self.offsets = offsets
        self._num_words = -(-offsets.length // 8)
        self._mask = _as_words(constant_mask(offsets)[np.newaxis])[0]
        self._constants = np.empty((0, self._num_words), np.uint64)
        """Constant bits of each layout as words, shape (num_layouts, num_words), sorted by hash."""
        self._hashes = np.empty(0, np.uint64)
        """Hash of each layout, ascending."""
        self._numbers = np.empty(0, np.int64)
        """Number of each layout, sorted by hash."""
        self._mask_bits = int.from_bytes(constant_mask(offsets).tobytes(), "little")
        """The mask as a little-endian number."""
        self._by_bits: dict[int, int] = {}
        """Maps the constant bits of a layout, as a little-endian number, to the layout number."""

    def add(self, payloads: Sequence[bytes], first_number: int) -> None:
        """Adds layouts with these payloads, whose variable bits are 0, as `first_number` and up."""
        data = np.frombuffer(b"".join(payloads), np.uint8).reshape(len(payloads), -1)
        constants = _as_words(data)
        hashes = np.append(self._hashes, self._hash(constants))
        order = np.argsort(hashes, kind="stable")
        numbers = np.arange(first_number, first_number + len(payloads), dtype=np.int64)
        self._hashes = hashes[order]
        self._constants = np.concatenate([self._constants, constants])[order]
        self._numbers = np.append(self._numbers, numbers)[order]
        for number, payload in enumerate(payloads, first_number):
            self._by_bits.setdefault(int.from_bytes(payload, "little"), number)

    def match_one(self, bits: int) -> int | None:
        """The layout number of a single payload, given as a little-endian number, if it has one."""
        return self._by_bits.get(bits & self._mask_bits)

    def repeated(self, rows: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Ascending indices of the first of each set of rows with equal constant bits.

        The constant bits are those of this group, and sets with too few rows are left out. The
        layout that is learnt from a row shows whether the row belongs to the group.
        """
        hashes = self._hash(rows & self._mask)
        _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
        return np.sort(first[counts >= _MIN_REPEATS])

    def match(self, rows: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The layout number of each row; -1 if no layout equals it in all constant bits."""
        if not len(self._numbers):
            return np.full(len(rows), -1, np.int64)
        constants = rows & self._mask
        if len(self._numbers) == 1:
            equal = constants == self._constants[0]
            hit = True if equal.all() else equal.all(axis=1)
            return np.where(hit, np.full(len(rows), self._numbers[0]), -1)
        hashes = self._hash(constants)
        found = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        equal = self._constants[found] == constants
        # Nearly always all rows match, and one check of all is faster than a check of each.
        if equal.all():
            return self._numbers[found]
        return np.where(equal.all(axis=1), self._numbers[found], -1)

    def _hash(self, constants: NDArray[np.uint64]) -> NDArray[np.uint64]:
        hashes: NDArray[np.uint64] = constants @ _HASH_FACTORS[: self._num_words]
        return hashes


def _as_words(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Rows of bytes as rows of 64-bit words, padded with zero bytes."""
    padded = np.zeros((len(rows), -(-rows.shape[1] // 8) * 8), np.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.view("<u8")


class MatchedRecords(NamedTuple):
    """Records that have a layout, all with the same field offsets."""

    offsets: FieldOffsets
    indices: NDArray[np.int64]
    """Indices of the records, ascending."""
    numbers: NDArray[np.int64]
    """The layout of each record, as an index into `LayoutCache.layouts`."""
    rows: NDArray[np.uint64]
    """The payloads as little-endian words, shape (num_records, num_words)."""

    def columns(
        self, picked: NDArray[np.int64] | slice
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], list[NDArray[np.floating[Any]]]]:
        """Wall times and steps of the picked records, and a column for each of their values."""
        words = self.rows[picked]
        data = words.view(np.uint8)
        if self.offsets.step_width:
            # The eight bytes from STEP_OFFSET on: six of word 1, and two of word 2.
            step_words = (words[:, 1] >> np.uint64(16)) | (words[:, 2] << np.uint64(48))
            steps = decode_steps(step_words, self.offsets.step_width)
        else:
            steps = np.zeros(len(words), np.int64)
        values = [as_value_column(_numbers_at(data, *value)) for value in self.offsets.values]
        return _numbers_at(data, WALL_TIME_OFFSET, "<f8"), steps, values


class _Size(NamedTuple):
    """Sizes that a record has in common with all records of the same layout."""

    length: int
    step_width: int


class LayoutCache:
    """The layouts learnt so far. They are kept across files, since other runs log the same tags."""

    def __init__(self) -> None:
        self.layouts: list[Layout] = []
        self._groups_of_size: dict[_Size, dict[FieldOffsets, _LayoutGroup]] = {}
        self._failures: dict[_Size, int] = {}
        """Number of records of each size from which no layout could be learnt."""

    def is_full(self) -> bool:
        """Whether there are so many layouts that the cache should be replaced by an empty one."""
        return len(self.layouts) > MAX_LAYOUTS

    def match_one(self, payload: bytes | bytearray) -> int | None:
        """The layout number of one payload; None if no known layout matches."""
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
            number = group.match_one(bits)
            if number is not None:
                return number
        return None

    def match(
        self, buffer: bytearray, begins: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> list[MatchedRecords]:
        """The payloads that have a known layout; `begins` are their offsets in the buffer."""
        found: list[MatchedRecords] = []
        for size, members in self._by_size(buffer, begins, lengths):
            groups = self._groups_of_size.get(size)
            if groups:
                rows = _gathered(buffer, begins[members], size.length)
                found.extend(_matched(groups.values(), members, rows))
        return found

    def learn(
        self,
        buffer: bytearray,
        begins: NDArray[np.int64],
        lengths: NDArray[np.int64],
        picked: NDArray[np.int64],
    ) -> list[MatchedRecords]:
        """Learns layouts from picked payloads, which match none yet; returns the new matches."""
        found: list[MatchedRecords] = []
        for size, indices in self._by_size(buffer, begins[picked], lengths[picked]):
            groups = self._groups_of_size.get(size, {})
            is_hopeless = not groups and self._failures.get(size, 0) >= _MAX_FAILURES
            if len(indices) < _MIN_REPEATS or is_hopeless or len(groups) >= _MAX_GROUPS:
                continue
            members = picked[indices]
            rows = _gathered(buffer, begins[members], size.length)
            found.extend(self._learn_size(members, rows, size))
        return found

    def _by_size(
        self, buffer: bytearray, begins: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> Iterator[tuple[_Size, NDArray[np.int64]]]:
        """Yields each size, and the ascending indices of its payloads that may have a layout."""
        # 1. Leave out payloads that cannot have a layout.
        # 2. Sort by size. The key fits in 16 bits: numpy sorts such numbers in linear time.
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
        """Bytes of each payload's step; above MAX_STEP_WIDTH if no layout is possible."""
        # 1. In the word at the step, find the lowest byte without the bit that continues a varint:
        #    in `ends` the top bits of all such bytes are set, and `lowest` keeps the lowest one.
        # 2. The width is the number of that byte, counted from 1.
        # 3. Correct it for payloads without a step, and for those that cannot have a layout.
        # A word may extend beyond a short payload; there are PADDING_BYTES after the data.
        words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
        ends = ~words[begins + STEP_OFFSET] & np.uint64(0x8080808080808080)  # 1
        lowest = ends & (~ends + np.uint64(1))
        thresholds = np.array([0x80 << shift for shift in range(0, 64, 8)], np.uint64)
        widths = np.searchsorted(thresholds, lowest) + 1  # 2
        widths[ends == 0] = MAX_STEP_WIDTH + 1
        data = np.frombuffer(buffer, np.uint8)
        widths[data[begins + 9] != 0x10] = 0  # 3
        impossible = (data[begins] != 0x09) | (lengths < _MIN_LENGTH) | (lengths > MAX_LENGTH)
        widths[impossible] = MAX_STEP_WIDTH + 1
        return widths

    def _learn_size(
        self, members: NDArray[np.int64], rows: NDArray[np.uint64], size: _Size
    ) -> Iterator[MatchedRecords]:
        """Learns layouts from records of one size that match none yet, and matches the records.

        `members` are the indices of the records, `rows` their payloads as words.
        """
        # 1. If no group is left to try, learn from the first record that was not tried yet. If it
        #    has new field offsets, these make a new group; otherwise it is a failure.
        # 2. Try a group: find sets of records that are equal in the constant bits of this group,
        #    learn from one record of each, and collect the layouts by their field offsets.
        # 3. Match all records with the new layouts, and continue with those that do not match.
        # A record that was learnt from is no longer `is_untried`, so none is learnt from twice.
        groups = self._groups_of_size.setdefault(size, {})
        failures = self._failures.get(size, 0)
        is_untried = np.ones(len(rows), np.bool_)
        to_try = list(groups.values())
        while len(rows) >= _MIN_REPEATS and not self.is_full():
            if not to_try:  # 1
                if failures >= _MAX_FAILURES or not is_untried.any():
                    break
                first = int(is_untried.argmax())
                layout = learn(rows[first].tobytes()[: size.length])
                if layout is None or not _add_group(groups, layout.offsets, to_try):
                    is_untried[first] = False
                    failures += 1
                continue
            repeated = to_try.pop().repeated(rows)  # 2
            repeated = repeated[is_untried[repeated]]
            is_untried[repeated] = False
            learnt: dict[FieldOffsets, list[Layout]] = {}
            for row in rows[repeated]:
                layout = learn(row.tobytes()[: size.length])
                if layout is not None:
                    _add_group(groups, layout.offsets, to_try)
                    learnt.setdefault(layout.offsets, []).append(layout)
            for group in [groups[offsets] for offsets in learnt if offsets in groups]:  # 3
                group.add([layout.payload for layout in learnt[group.offsets]], len(self.layouts))
                self.layouts += learnt[group.offsets]
                numbers = group.match(rows)
                hit = numbers >= 0
                yield MatchedRecords(group.offsets, members[hit], numbers[hit], rows[hit])
                members, rows, is_untried = members[~hit], rows[~hit], is_untried[~hit]
        self._failures[size] = failures


def _gathered(buffer: bytearray, begins: NDArray[np.int64], length: int) -> NDArray[np.uint64]:
    """Payloads of one length as rows of words, padded with zero bytes."""
    size = -(-length // 8) * 8
    # Indexing an overlapping view of whole records gathers them without a Python loop.
    records = np.ndarray((len(buffer) - size + 1,), f"V{size}", buffer, strides=(1,))
    rows = records[begins].view("<u8").reshape(len(begins), size // 8)
    if length % 8:  # Clear the bytes after the payloads.
        rows[:, -1] &= FIRST_BYTES[length % 8]
    return rows


def _matched(
    groups: Iterable[_LayoutGroup], members: NDArray[np.int64], rows: NDArray[np.uint64]
) -> Iterator[MatchedRecords]:
    """Matches records of one size with the groups in turn; yields those that match."""
    for group in groups:
        numbers = group.match(rows)
        hit = numbers >= 0
        if hit.all():
            yield MatchedRecords(group.offsets, members, numbers, rows)
            return
        if hit.any():
            yield MatchedRecords(group.offsets, members[hit], numbers[hit], rows[hit])
            members, rows = members[~hit], rows[~hit]


def _add_group(
    groups: dict[FieldOffsets, _LayoutGroup], offsets: FieldOffsets, to_try: list[_LayoutGroup]
) -> bool:
    """Adds a group and puts it on `to_try`; returns False if it is known or there are too many."""
    if offsets in groups or len(groups) >= _MAX_GROUPS:
        return False
    groups[offsets] = _LayoutGroup(offsets)
    to_try.append(groups[offsets])
    return True
