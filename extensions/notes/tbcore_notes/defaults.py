"""Defaults: what the file `tbcore.json` in a log directory suggests to show, and texts about tags.

    {"tab": "scalars", "pins": ["val/loss"], "group": "seeds", "goals": {"val/loss": "min"}}

Such a file may come with a downloaded log directory, so each value is checked, and what is not
valid is left out and reported. Nothing in it can hide a run, leave out points or change a scale.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from typing import Any

import orjson

from tbcore import BadRequestError
from tbcore.engine import close_matches, describe, one_line, size
from tbcore.patterns import Matcher
from tbcore_notes.files import opened_file

NAME = "tbcore.json"
MAX_BYTES = 64 << 10
MAX_PINS = 50
MAX_ENTRIES = 1000
"""Maximum number of colours, of descriptions and of goals."""
MAX_RULE_CHARACTERS = 500
MAX_NAME_CHARACTERS = 1000
MAX_DESCRIPTION_CHARACTERS = 2000
_MAX_PROBLEMS = 20
_COLOR = re.compile(r"#[0-9a-f]{6}")
_GOALS = {"min": "Lower is better.", "max": "Higher is better."}


class Defaults:
    """The file of one log directory, which need not exist. For one thread at a time."""

    def __init__(self, logdir: str) -> None:
        self.path = os.path.join(logdir, NAME)
        self.values: dict[str, Any] = {}
        """What is valid in the file, by key."""
        self.problems: list[str] = []
        """What is left out, one line each."""
        self.generation = 0
        """Rises with each change."""
        self._stamp: object = None
        """Differs after the file has changed; None while there is none."""

    def refresh(self) -> None:
        """Reads the file if it has changed."""
        try:
            status = os.stat(self.path, follow_symlinks=False)
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode)
        except (OSError, ValueError):
            stamp = None
        if stamp == self._stamp:
            return
        self._stamp = stamp
        self.generation += 1
        self.values, self.problems = {}, []
        if stamp is None:
            return
        try:
            self.values, problems = checked_defaults(self._content())
        except (OSError, ValueError) as error:
            problems = [f"is left out: {getattr(error, 'strerror', None) or error}"]
        lines = [
            *problems[:_MAX_PROBLEMS],
            *(["has more mistakes"] * (len(problems) > _MAX_PROBLEMS)),
        ]
        self.problems = [one_line(f"{self.path}: {line}") for line in lines]

    def description(self, tag: str) -> str:
        """What the file says about a tag; "" for nothing."""
        text = self.values.get("descriptions", {}).get(tag, "")
        goal = _GOALS.get(self.values.get("goals", {}).get(tag, ""), "")
        words = " ".join(filter(None, (text, goal)))
        return f"{words} ({NAME})" if words else ""

    def _content(self) -> bytes:
        """The bytes of the file. Raises OSError, and ValueError if it is none of this kind."""
        with open(opened_file(self.path, os.O_RDONLY), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is not a regular file")
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ValueError(f"it has more than {size(MAX_BYTES)}")
        return content


def checked_defaults(content: bytes) -> tuple[dict[str, Any], list[str]]:
    """What is valid in the content of a file, by key, and a line for each thing that is not.

    Raises ValueError if it is no JSON object.
    """
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"it must be an object, got {describe(found)}")
    values: dict[str, Any] = {}
    problems = []
    for key, value in found.items():
        if key not in _CHECKS:
            problems.append(f"{key!r} is not known{close_matches(key, _CHECKS)}")
            continue
        wanted, check = _CHECKS[key]
        if isinstance(wanted, tuple):
            # Of many entries, those that are valid are used.
            if not isinstance(value, dict) or len(value) > MAX_ENTRIES:
                problems.append(f"{key!r} must be an object with at most {MAX_ENTRIES} entries")
                continue
            valid = {name: text for name, text in value.items() if check(name, text)}
            if len(valid) < len(value):
                bad = next(name for name in value if name not in valid)
                problems.append(f"{key!r} must be {wanted[0]}; {bad[:100]!r} is left out")
            values[key] = valid
        elif check(value):
            values[key] = value
        else:
            problems.append(f"{key!r} must be {wanted}, got {describe(value)}")
    return values, problems


def _is_text(value: Any, limit: int) -> bool:
    """Whether this is a text of one line, without characters that change how others look."""
    return isinstance(value, str) and 0 < len(value) <= limit and value.isprintable()


def _is_name(value: Any) -> bool:
    return _is_text(value, MAX_NAME_CHARACTERS)


def _is_tab(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[\w.-]{1,100}", value, re.ASCII) is not None


def _is_rule(value: Any) -> bool:
    if not _is_text(value, MAX_RULE_CHARACTERS):
        return False
    if value.startswith("re:"):
        try:
            Matcher().search(value[3:], [])
        except BadRequestError:
            return False
    return True


def _is_color_rule(value: Any) -> bool:
    return value == "family" or (_is_text(value, MAX_RULE_CHARACTERS) and value.startswith("by:"))


def _are_pins(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_PINS and all(map(_is_name, value))


def _is_described(name: Any, text: Any) -> bool:
    if not (_is_name(name) and isinstance(text, str) and len(text) <= MAX_DESCRIPTION_CHARACTERS):
        return False
    return all(line.isprintable() for line in text.split("\n"))


_CHECKS: dict[str, tuple[str | tuple[str], Callable[..., bool]]] = {
    "tab": ("the name of a tab", _is_tab),
    "pins": (f"an array of at most {MAX_PINS} tags", _are_pins),
    "group": ("a rule for groups, as in the page's address", _is_rule),
    "average": ('"mean", "median" or "iqm"', lambda value: value in ("mean", "median", "iqm")),
    "color": ('"family" or "by:ATTRIBUTE"', _is_color_rule),
    "colors": (
        ("names of runs or groups with colors such as #2a78d6",),
        lambda name, text: (
            _is_name(name) and isinstance(text, str) and _COLOR.fullmatch(text) is not None
        ),
    ),
    "descriptions": (("tags with texts",), _is_described),
    "goals": (
        ('tags with "min" or "max"',),
        lambda name, text: _is_name(name) and isinstance(text, str) and text in _GOALS,
    ),
}
"""Maps each key to what is valid in words, and to whether a value is: in an object, each entry."""
