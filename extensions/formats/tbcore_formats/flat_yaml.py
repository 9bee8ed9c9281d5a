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

from tbcore.engine import EventFile, RunFacts
from tbcore_formats.common import hparam, opened

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


def facts_beside(path: str) -> RunFacts:
    """What the YAML beside a log says. A scan need not find it: most are beside event files."""
    folder = posixpath.dirname(path)
    for name in ("hparams.yaml", "args.yaml"):
        path = f"{folder}/{name}"
        if not os.path.lexists(path):
            continue
        try:
            with opened(EventFile.unlisted(path)) as source:
                text = source.read(0, _MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        if len(text) == _MAX_BYTES:
            text = text[: text.rfind("\n") + 1]
        return RunFacts({key: hparam(value) for key, value in flat_yaml(text).items()})
    return RunFacts()


def flat_yaml(text: str) -> dict[str, Any]:
    """The values by the keys that lead to them, joined by `/`, at most 10,000."""
    found: dict[str, Any] = {}
    path: list[tuple[int, str]] = []
    """The indents and the keys of the block that a line is in."""
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
            found.pop("/".join(key for _, key in path), None)  # It is a block, and no value.
            path.append((indent, str(_plain(pair[1]))))
            found["/".join(key for _, key in path)] = pair[2] or ""
        elif path:
            while is_element and len(path) > 1 and path[-1][0] > indent:
                path.pop()
            name = "/".join(key for _, key in path)
            before = found.get(name, "")
            if is_element:
                found[name] = [*(before if isinstance(before, list) else ()), content[2:]]
            elif isinstance(before, str):  # PyYAML breaks long lines.
                is_split = before.startswith('"') and before.endswith("\\")
                found[name] = before[:-1] + content.removeprefix("\\") if is_split else (
                    f"{before} {content}"
                )  # fmt: skip
    return {
        name: [*map(_plain, value)] if isinstance(value, list) else _plain(value)
        for name, value in found.items()
    }


def _plain(text: str) -> Any:
    """A value that is no block."""
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
