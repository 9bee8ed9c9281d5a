"""Hyperparameters in YAML, as Lightning and Ultralytics write it. Nothing is built from tags.

Reads what PyYAML writes for nested dicts of plain values: blocks, and lists of plain values. All
other text is a value as it is. Aliases and merges are text.
"""

from __future__ import annotations

import json
import math
import os
import posixpath
import re
from collections.abc import Mapping
from typing import Any

from tbcore.engine import EventFile
from tbcore_formats.common import hparam, joined, opened
from tbcore_formats.facts import RunFacts

_MAX_VALUES = 10_000
_MAX_BYTES = 1 << 20
_QUOTED = r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\''
_PAIR = re.compile(rf"({_QUOTED}|[^\s\"'#\[{{&*!|>%@`-][^#]*?|-[^\s:][^#:]*):(?:\s+(.*))?")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*)?\.[0-9_]*(?:[eE][-+][0-9]+)?")
_WORDS: Mapping[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "on", "On"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "off", "Off"), False),
    **{
        f"{sign}{word}": float(f"{sign}inf") for sign in ("", "+", "-") for word in (".inf", ".Inf")
    },
    **dict.fromkeys((".nan", ".NaN"), math.nan),
}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)")
_ESCAPES = {"0": "\0", "a": "\a", "e": "\x1b", "v": "\v", " ": " ", "_": "\xa0", "N": "\x85"}


Known = tuple[EventFile | None, RunFacts]
"""The YAML file that was read, None if there was none, and its facts."""


def facts_beside(path: str, known: Known) -> Known:
    """The facts from the YAML file beside a log; `known` if that file has not changed.

    Scans do not look for such files, since most of them are beside event files.
    """
    folder = posixpath.dirname(path)
    for name in ("hparams.yaml", "args.yaml"):
        path = f"{folder}/{name}"
        if not os.path.lexists(path):
            continue
        try:
            with opened(EventFile.unlisted(path)) as source:
                file: EventFile = source.opened
                if file == known[0]:
                    return known
                data = source.read(0, _MAX_BYTES)
        except OSError:
            continue
        if len(data) == _MAX_BYTES:
            data = data[: data.rfind(b"\n") + 1]
        values = flat_yaml(data.decode("utf-8", "replace"))
        return file, RunFacts({key: hparam(value) for key, value in values.items()})
    return None, RunFacts()


def flat_yaml(text: str) -> dict[str, Any]:
    """The values by the keys that lead to them, joined by `/`, at most 10,000.

    Without those whose keys are too long.
    """
    found: dict[str | None, list[str]] = {}
    """The parts of each text, or the elements of each list."""
    lists: set[str | None] = set()
    path: list[tuple[int, str | None]] = []
    """The indents and the joined keys of the blocks that a line is in."""
    for line in text.splitlines():
        content = line.strip()
        indent = len(line) - len(line.lstrip(" "))
        if not content or content[0] in "#%" or content in ("---", "..."):
            continue
        is_element = content == "-" or content.startswith("- ")
        pair = None if is_element else _PAIR.fullmatch(content)
        if pair and len(found) < _MAX_VALUES:
            while path and path[-1][0] >= indent:
                path.pop()
            block = path[-1][1] if path else ""
            if path:
                found.pop(block, None)  # It is a block, not a value.
                lists.discard(block)
            name = joined(joined(block, "/") if path else "", str(_plain(pair[1])))
            path.append((indent, name))
            lists.discard(name)
            found[name] = [pair[2] or ""]
        elif path:
            while is_element and len(path) > 1 and path[-1][0] > indent:
                path.pop()
            name = path[-1][1]
            parts = found.setdefault(name, [])
            if is_element:
                if name not in lists:
                    lists.add(name)
                    parts.clear()
                parts.append(content[2:])
            elif name not in lists:  # PyYAML breaks long lines.
                if parts and parts[0].startswith('"') and parts[-1].endswith("\\"):
                    parts[-1] = parts[-1][:-1]
                    parts.append(content.removeprefix("\\"))
                else:
                    parts.append(f" {content}")
    return {
        name: [*map(_plain, parts)] if name in lists else _plain("".join(parts))
        for name, parts in found.items()
        if name is not None
    }


def _plain(text: str) -> Any:
    """A plain value or a list on one line."""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    try:
        if text.startswith('"'):
            return json.loads(_ESCAPE.sub(_as_json, text), strict=False)
        if text.startswith(("[", "{")):
            return json.loads(text)
    except ValueError:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) < 400:
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) and text.strip("+-") != "." else text


def _as_json(escape: re.Match[str]) -> str:
    """An escape of YAML as one of JSON."""
    code = escape[1]
    if code in '"\\/bfnrtu':
        return escape[0]
    return json.dumps(chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code))[1:-1]
