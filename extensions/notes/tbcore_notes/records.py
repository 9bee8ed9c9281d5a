"""Records: what one user noted about one field of one run, and its line in a file.

    {"t":1795300000000000,"by":"alice@laptop","run":"sweep/a","set":{"starred":true,"note":"best"}}

A line may set several fields, each of which is a record. `t` is in microseconds since the epoch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from tbcore import BadRequestError

Value = bool | str | list[str]

MAX_NOTE_CHARACTERS = 10_000
MAX_NAME_CHARACTERS = 200
MAX_LABELS = 20
MAX_LABEL_CHARACTERS = 50
MAX_RUN_CHARACTERS = 4096
MAX_LINE_BYTES = 1 << 17
"""Maximum length of a line; the longest valid ones are shorter."""
MAX_TIME = 2**53
"""Times are below this, which JavaScript can represent."""
_MAX_AUTHOR_CHARACTERS = 200

FIELDS: Mapping[str, Value] = {
    "starred": False, "archived": False, "display_name": "", "labels": [], "note": "", "color": "",
}  # fmt: skip
"""Maps each field to the value that it has without a note."""

_COLOR = re.compile(r"#[0-9a-f]{6}")
_LABEL = re.compile(r'[^\s|()"#,*?]+')
"""What a query finds without quotes."""


class Record(NamedTuple):
    """A value of a field of a run. Of several, the greatest one counts, which is the last."""

    time: int
    """In microseconds since the epoch."""
    by: str
    """Who wrote it, such as `alice@laptop`."""
    is_own: bool
    """Whether this user wrote it, by a command or through a server of this machine. Not decided by
    what the line says, but by where its file is."""
    text: bytes
    """The value as JSON. Decides between records of one author and moment."""
    run: str
    field: str
    value: Value


def checked(field: str, value: Any) -> Value:
    """The value of a field as it is stored. Raises BadRequestError if it is not valid."""
    if field not in FIELDS:
        raise BadRequestError(f"{field!r} is not a field of notes; these are {', '.join(FIELDS)}")
    if field in ("starred", "archived"):
        if not isinstance(value, bool):
            raise BadRequestError(f"{field} must be true or false")
        return value
    if field == "labels":
        if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
            raise BadRequestError("labels must be an array of strings")
        return _labels(value)
    if not isinstance(value, str) or not _is_text(value):
        raise BadRequestError(f"{field} must be a text")
    if field == "color":
        color = value.lower()
        if color and not _COLOR.fullmatch(color):
            raise BadRequestError("color must be such as #2a78d6, or empty for no color")
        return color
    limit = MAX_NOTE_CHARACTERS if field == "note" else MAX_NAME_CHARACTERS
    text = value.strip()
    if len(text) > limit:
        raise BadRequestError(f"{field} must have at most {limit} characters, got {len(text)}")
    if field == "display_name" and not text.isprintable():
        raise BadRequestError("display_name must be one line, without control characters")
    return text


def _labels(labels: list[str]) -> list[str]:
    """The labels, each once. Raises BadRequestError."""
    for label in labels:
        if not _is_text(label) or not _LABEL.fullmatch(label) or not label.isprintable():
            raise BadRequestError(f'a label must be a word without | ( ) " # , * ?; got {label!r}')
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


def line_of(time: int, by: str, run: str, values: Mapping[str, Value]) -> bytes:
    """The line of a file, with its end. The values are checked."""
    return orjson.dumps({"t": time, "by": by, "run": run, "set": values}) + b"\n"


def lines_of(records: Iterable[Record]) -> bytes:
    """The lines of some records, in the order of their times."""
    ordered = sorted(records)
    return b"".join(line_of(r.time, r.by, r.run, {r.field: r.value}) for r in ordered)


def records_of(line: bytes, *, is_own: bool, latest: int) -> Iterator[Record]:
    """The records of a line. Raises ValueError for anything that `line_of` does not write, and for
    a time after `latest`."""
    found = orjson.loads(line)
    time, by, run, values = found["t"], found["by"], found["run"], found["set"]
    if type(time) is not int or not 0 <= time <= latest:
        raise ValueError("time")
    if not (isinstance(by, str) and by.isprintable() and len(by) <= _MAX_AUTHOR_CHARACTERS):
        raise ValueError("author")
    if not (isinstance(run, str) and 0 < len(run) <= MAX_RUN_CHARACTERS and _is_text(run)):
        raise ValueError("run")
    for field, value in values.items():
        if checked(field, value) != value:
            raise ValueError(field)
        yield Record(time, by, is_own, orjson.dumps(value), run, field, value)
