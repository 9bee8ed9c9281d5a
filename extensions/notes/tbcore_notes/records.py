"""Records: what one user noted about one field of one run, or the view that a user has saved, and
their lines in a file.

    {"t":1795300000000000,"by":"alice@laptop","run":"sweep/a","set":{"starred":true,"note":"best"}}
    {"t":1795300000000001,"by":"alice@laptop","view":"seeds","set":{"address":"#scalars&group=seeds"}}

A line may set several fields, each of which is a record. `t` is in microseconds since the epoch.
A line of its own has the inventory of a run that was archived: see `inventory.py`.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import orjson

from tbcore import BadRequestError
from tbcore.engine import quoted
from tbcore_notes.inventory import Inventory, checked_inventory

Value = bool | str | list[str] | Inventory

MAX_NOTE_CHARACTERS = 10_000
MAX_NAME_CHARACTERS = 200
MAX_LABELS = 20
MAX_LABEL_CHARACTERS = 50
MAX_RUN_CHARACTERS = 4096
MAX_VIEW_NAME_CHARACTERS = 100
MAX_VIEW_BYTES = 64 << 10
MAX_LINE_BYTES = 1 << 17
"""Maximum length of a line; the longest valid ones are shorter."""
MAX_TIME = 2**53
"""Times are below this, which JavaScript can represent."""
_MAX_AUTHOR_CHARACTERS = 200

FIELDS: Mapping[str, Value] = {
    "starred": False, "archived": False, "display_name": "", "labels": [], "note": "", "color": "",
}  # fmt: skip
"""Maps each field to the value that it has without a note."""

INVENTORY = "inventory"
"""The field whose value is an Inventory. Only the program sets it."""

ADDRESS = "address"
"""The field of a view: the fragment of the page's address, or "" if the view was taken away."""

_COLOR = re.compile(r"#[0-9a-f]{6}")
_LABEL = re.compile(r'[^\s|()"#,*?<>=]+')
"""What a query finds without quotes."""
_VIEW_NAME = re.compile(r"[\w.-]+(?: [\w.-]+)*")
_FRAGMENT = re.compile(r"#[!-~]+")


class Record(NamedTuple):
    """A value of a field of a run or a view. Of several, the greatest counts, which is the last."""

    time: int
    """In microseconds since the epoch."""
    by: str
    """Who wrote it, such as `alice@laptop`."""
    is_own: bool
    """Whether this user wrote it, by a command or through a server of this machine. Not decided by
    what the line says, but by where its file is."""
    text: bytes
    """The value as JSON. Decides between records of one author and moment."""
    name: str
    """Of the run; of the view if the field is ADDRESS."""
    field: str
    value: Value


def checked(field: str, value: Any) -> Value:
    """The value of a field as it is stored. Raises BadRequestError if it is not valid."""
    if field not in FIELDS:
        known = ", ".join(FIELDS)
        raise BadRequestError(f"{quoted(field)} is not a field of notes; these are {known}")
    if field in ("starred", "archived"):
        if not isinstance(value, bool):
            raise BadRequestError(f"{field} must be true or false")
        return value
    if field == "labels":
        if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
            raise BadRequestError("labels must be an array of strings")
        if len(value) > 10 * MAX_LABELS:  # Some may be there twice.
            raise BadRequestError(f"a run can have at most {MAX_LABELS} labels, got {len(value)}")
        return _labels(value)
    if not isinstance(value, str) or not _is_text(value):
        raise BadRequestError(f"{field} must be a text")
    if field == "color":
        color = value.lower()
        if color and not _COLOR.fullmatch(color):
            raise BadRequestError("color must be such as #2a78d6, or empty for no color")
        return color
    limit = MAX_NOTE_CHARACTERS if field == "note" else MAX_NAME_CHARACTERS
    text = _with_newlines(field, value).strip()
    if len(text) > limit:
        raise BadRequestError(f"{field} must have at most {limit} characters, got {len(text)}")
    if field == "display_name" and not text.isprintable():
        raise BadRequestError("display_name must be one line, without control characters")
    return text


def _with_newlines(field: str, text: str) -> str:
    r"""The text of a field; in a note, each line ends with `\n`, also where a file has `\r\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if field == "note" else text


def checked_name(name: Any) -> str:
    """The name of a view as it is stored. Raises BadRequestError if it is not valid."""
    # Nothing else is done with one that is long in any case; a character may become a few.
    if isinstance(name, str) and len(name) > 10 * MAX_VIEW_NAME_CHARACTERS:
        raise _long_name(len(name))
    text = unicodedata.normalize("NFC", name.strip()) if isinstance(name, str) else ""
    if not _VIEW_NAME.fullmatch(text):
        raise BadRequestError(
            "the name of a view must have letters, digits, - _ . and single blanks between them"
        )
    if len(text) > MAX_VIEW_NAME_CHARACTERS:
        raise _long_name(len(text))
    return text


def _long_name(length: int) -> BadRequestError:
    limit = MAX_VIEW_NAME_CHARACTERS
    return BadRequestError(f"the name of a view must have at most {limit} characters, got {length}")


def checked_fragment(address: Any) -> str:
    """The address of a view as it is stored. Raises BadRequestError if it is not valid."""
    if address == "":
        return ""
    if not isinstance(address, str) or not _FRAGMENT.fullmatch(address):
        raise BadRequestError("address must be the fragment of the address of a page, after #")
    if len(address) > MAX_VIEW_BYTES:
        raise BadRequestError(
            f"this view has {len(address) >> 10} KiB, and at most {MAX_VIEW_BYTES >> 10} are kept; "
            "choose its runs by a query, and not one by one"
        )
    # A page takes the secret for changing notes from there, which no view may replace.
    if any(unquote(part.partition("=")[0]) == "write" for part in address[1:].split("&")):
        raise BadRequestError("the address of a view must not contain write=")
    return address


def _labels(labels: list[str]) -> list[str]:
    """The labels, each once. Raises BadRequestError."""
    for label in labels:
        if not _is_text(label) or not _LABEL.fullmatch(label) or not label.isprintable():
            raise BadRequestError(
                f'a label must be a word without | ( ) " # , * ? < > =, which have a meaning in '
                f"queries; got {quoted(label)}"
            )
        if len(label) > MAX_LABEL_CHARACTERS:
            raise BadRequestError(f"a label must have at most {MAX_LABEL_CHARACTERS} characters")
    unique = list(dict.fromkeys(labels))
    if len(unique) > MAX_LABELS:
        raise BadRequestError(f"a run can have at most {MAX_LABELS} labels, got {len(unique)}")
    return unique


def _is_text(text: str) -> bool:
    """Whether a text is valid Unicode without NUL."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def line_of(time: int, by: str, name: str, values: Mapping[str, Value]) -> bytes:
    """The line of a file, with its end. The values are checked."""
    what = "view" if ADDRESS in values else "run"
    return orjson.dumps({"t": time, "by": by, what: name, "set": values}, default=_plain) + b"\n"


def _plain(value: object) -> object:
    """An inventory as an object of JSON."""
    assert isinstance(value, Inventory)
    return value._asdict()


def lines_of(records: Iterable[Record]) -> bytes:
    """The lines of some records, in the order of their times."""
    ordered = sorted(records)
    return b"".join(line_of(r.time, r.by, r.name, {r.field: r.value}) for r in ordered)


ValidParts = list[tuple[str, bytes, Value]]
"""Fields, each with its value as JSON and as it is."""


def records_of(
    line: bytes, *, is_own: bool, latest: int, seen: dict[bytes, ValidParts] | None = None
) -> Iterator[Record]:
    """The records of a line. Raises an error, such as ValueError, for anything that `line_of` does
    not write, and for a time after `latest`.

    `seen` has the values of lines before, which are not checked again: one change writes the same
    values for many runs, which have one object in memory then.
    """
    found = orjson.loads(line)
    time, by, values = found["t"], sys.intern(found["by"]), found["set"]
    if type(time) is not int or not 0 <= time <= latest:
        raise ValueError("time")
    if not (isinstance(by, str) and by.isprintable() and len(by) <= _MAX_AUTHOR_CHARACTERS):
        raise ValueError("author")
    if "view" in found:
        name, address = found["view"], values[ADDRESS]
        if checked_name(name) != name or checked_fragment(address) != address or len(values) > 1:
            raise ValueError("view")
        yield Record(time, by, is_own, address.encode(), name, ADDRESS, address)
        return
    run = found["run"]
    if not (isinstance(run, str) and 0 < len(run) <= MAX_RUN_CHARACTERS and _is_text(run)):
        raise ValueError("run")
    if INVENTORY in values:
        for field, value in values.items():
            if field != INVENTORY:
                raise ValueError(field)
            yield Record(time, by, is_own, b"", run, field, checked_inventory(value))
        return
    seen = {} if seen is None else seen
    key = orjson.dumps(values)
    if key not in seen:
        for field, value in values.items():
            if isinstance(value, str):
                values[field] = value = _with_newlines(field, value)
            if checked(field, value) != value:
                raise ValueError(field)
        seen[key] = [(field, orjson.dumps(value), value) for field, value in values.items()]
    for field, text, value in seen[key]:
        yield Record(time, by, is_own, text, run, field, value)
