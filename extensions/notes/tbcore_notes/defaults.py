"""Defaults: what the file `tbcore.json` in a log directory suggests to show, and texts about tags.

    {"tab": "scalars", "pins": ["val/loss"], "group": "seeds", "goals": {"val/loss": "min"}}

Such a file may come with a downloaded log directory, so each value is checked, and what is not
valid is left out and reported. Nothing in it can hide a run, leave out points or change a scale.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import orjson

from tbcore import BadRequestError, Multiplexer, NotFoundError
from tbcore.engine import (
    RunAttributes,
    RunColumns,
    close_matches,
    listed,
    one_line,
    parse_attribute,
    plural,
    quoted,
    split_attributes,
)
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
_LEFT_OUT = "is left out: "
"""Begins the line about a file of which nothing is used."""
_MAX_VALUE_CHARACTERS = 100
"""Maximum number of characters of a value in a line."""
_COLOR = re.compile(r"#[0-9a-f]{6}")
_GOALS = {"min": "Lower is better.", "max": "Higher is better."}


class Defaults:
    """The file of one log directory, which need not exist. For one thread at a time."""

    def __init__(self, logdir: str) -> None:
        self.path = os.path.join(logdir, NAME)
        self.values: dict[str, Any] = {}
        """What is valid in the file, by key."""
        self._mistakes: list[str] = []
        """Mistakes in the file, whose values are left out, one line each."""
        self._unknown: list[str] = []
        """Values that name a tab, a tag or an attribute that does not exist, one line each."""
        self._checked: object = None
        """Differs if what there is may have changed since the last check."""
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
        self.values, self._mistakes, self._unknown, self._checked = {}, [], [], None
        if stamp is None:
            return
        try:
            self.values, self._mistakes = checked_defaults(self._content())
        except (OSError, ValueError) as error:
            self._mistakes = [f"{_LEFT_OUT}{getattr(error, 'strerror', None) or error}"]

    def check(self, multiplexer: Multiplexer, tabs: Collection[str]) -> None:
        """Finds values that name a tab, a tag or an attribute that does not exist.

        Called once all is read.
        """
        is_known = self._checked is not None and not self._unknown
        state = (multiplexer.runs_generation, *tabs)
        if not self.values or not multiplexer.runs() or is_known or state == self._checked:
            return
        self._checked = state
        unknown = [*_unknown(self.values, RunAttributes(multiplexer).columns(), tabs)]
        self.generation += unknown != self._unknown
        self._unknown = unknown

    @property
    def problems(self) -> list[str]:
        """Mistakes, and values without an effect, one line each."""
        lines = [*self._mistakes, *self._unknown]
        if (more := len(lines) - _MAX_PROBLEMS) > 0:
            lines[_MAX_PROBLEMS:] = [plural(more, "more mistake")]
        # The file, or something in it.
        lines = [f" {line}" if line.startswith(_LEFT_OUT) else f": {line}" for line in lines]
        return [one_line(self.path + line) for line in lines]

    @property
    def num_problems(self) -> int:
        """Number of all problems, also of those without a line."""
        return len(self._mistakes) + len(self._unknown)

    def description(self, tag: str) -> str:
        """What the file says about a tag; "" for nothing."""
        goal = _GOALS.get(self.values.get("goals", {}).get(tag, ""), "")
        text = self.values.get("descriptions", {}).get(tag, "")
        # The sentence first: the text may end without a full stop.
        words = " ".join(filter(None, (goal, text)))
        return f"{words} ({NAME})" if words else ""

    def _content(self) -> bytes:
        """The bytes of the file. Raises OSError, and ValueError if it is none of this kind."""
        with open(opened_file(self.path, os.O_RDONLY), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is not a regular file")
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES >> 10} KiB")
        return content


def checked_defaults(content: bytes) -> tuple[dict[str, Any], list[str]]:
    """What is valid in the content of a file, by key, and a line for each thing that is not.

    Raises ValueError if it is no JSON object.
    """
    try:
        text = content.decode("utf-8-sig")  # Editors on Windows write a mark at the start.
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    if not text.strip():
        raise ValueError("it is empty")
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        is_deep = "depth" in str(error)
        reason = "has too many levels" if is_deep else f"is not JSON: {error}"
        raise ValueError(f"it {reason}") from None
    if not isinstance(found, dict):
        raise ValueError(f"it must be an object, got {_shown(found)}")
    values: dict[str, Any] = {}
    problems = []
    for key, value in found.items():
        if key not in _CHECKS:
            problems.append(f"{quoted(key)} is not known{close_matches(key, _CHECKS)}")
            continue
        wanted, check = _CHECKS[key]
        if isinstance(wanted, tuple):
            # Of many entries, those that are valid are used.
            if not isinstance(value, dict) or len(value) > MAX_ENTRIES:
                problems.append(f"{key!r} must be an object with at most {MAX_ENTRIES} entries")
                continue
            valid = {name: text for name, text in value.items() if check(name, text)}
            if len(valid) < len(value):
                bad = [name for name in value if name not in valid]
                verb = "is" if len(bad) == 1 else "are"
                problems.append(
                    f"{key!r} must be {wanted[0]}; {listed([*map(quoted, bad)])} {verb} left out"
                )
            values[key] = valid
        elif check(value):
            values[key] = value
        else:
            problems.append(f"{key!r} must be {wanted}, got {_got(value)}")
    return values, problems


def _unknown(
    values: Mapping[str, Any], columns: RunColumns, tabs: Collection[str]
) -> Iterator[str]:
    """A line for each key with tabs, tags or attributes that do not exist."""
    tab = values.get("tab")
    if tab is not None and tab not in tabs:
        yield f"'tab': there is no tab {quoted(tab)}{close_matches(tab, tabs)}"
    scalars, every = columns.index.scalar_tags, columns.index.tags
    for key, known in (("pins", scalars), ("goals", scalars), ("descriptions", every)):
        unknown = [tag for tag in values.get(key, ()) if tag not in known.candidates(tag)]
        if unknown:
            what = "tag" if len(unknown) == 1 else "tags"
            close = known.close(unknown[0]) if len(unknown) == 1 else []
            end = f"; close: {listed([*map(quoted, close)])}" if close else ""
            yield f"{key!r}: no run has the {what} {listed([*map(quoted, unknown)])}{end}"
    for key in ("group", "color"):
        if values.get(key, "").startswith("by:"):
            try:
                _group(values[key], columns)
            except NotFoundError as error:
                yield f"{key!r}: {error}"


def _group(rule: str, columns: RunColumns) -> None:
    """Raises BadRequestError for a text that is no rule for groups, and NotFoundError for an
    attribute that no run has."""
    from tbcore_logs import group_runs

    group_runs(rule, [], lambda: columns)


def _got(value: Any) -> str:
    """A value that is not valid, for a line; of an array, what is wrong in it."""
    if not isinstance(value, list):
        return _shown(value)
    bad = [each for each in value if not _is_name(each)]
    return f"{_shown(bad[0])} in an array" if bad else f"an array of {len(value)}"


def _shown(value: Any) -> str:
    """A value for a line, as in the file."""
    try:
        text = orjson.dumps(value).decode()
    except TypeError:  # It writes fewer levels than it reads.
        return "more than 254 levels"
    limit = _MAX_VALUE_CHARACTERS
    return text if len(text) <= limit else f"{text[:limit]}..."


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
    # Another text, such as a misspelled `seeds`, is a pattern that no two runs match.
    if value not in ("seeds", "numbers") and not re.search(r"^re:|^by:|[{}*]", value):
        return False
    with contextlib.suppress(NotFoundError):  # Which runs there are is not known yet.
        try:
            if value.startswith("by:"):  # The page reads it as a query, not as a shell does.
                list(map(parse_attribute, split_attributes(value[3:])))
            _group(value, RunAttributes(Multiplexer()).columns())
        except BadRequestError:
            return False
    return True


def _is_color_rule(value: Any) -> bool:
    if not (isinstance(value, str) and value.startswith("by:")):
        return bool(value == "family")
    return _is_rule(value) and "," not in re.sub(r'"[^"]*"', "", value)


def _are_pins(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MAX_PINS and all(map(_is_name, value))


def _is_described(name: Any, text: Any) -> bool:
    if not (_is_name(name) and isinstance(text, str) and len(text) <= MAX_DESCRIPTION_CHARACTERS):
        return False
    return all(line.isprintable() for line in text.split("\n"))


_CHECKS: dict[str, tuple[str | tuple[str], Callable[..., bool]]] = {
    "tab": ("the name of a tab", _is_tab),
    "pins": (f"an array of at most {MAX_PINS} tags", _are_pins),
    "group": ("a rule for groups, such as seeds, numbers, exp/{seed} or by:lr", _is_rule),
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
