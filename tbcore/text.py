"""Text: names, counts and errors as lines for logs, terminals, messages and responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice

_MAX_NAMES_COMPARED = 200
"""Maximum number of names that an unknown name is compared with. For long names, one comparison
takes a millisecond."""
_MAX_NAME_CHARS = 200
"""Maximum length of a name in a message."""
_MAX_CLOSE_NAMES = 3
"""Maximum number of names that a message about an unknown name has."""
_MIN_PART_CHARS = 3
"""Minimum length of a part of a name that is close to the name."""
_MAX_INITIALS = 5
"""Maximum number of words in a name whose initials are close to it."""
MAX_REASON_CHARACTERS = 500
"""Maximum number of characters of an exception's text that a message of tbcore quotes."""
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Surrogates other than those that stand for bytes of file names which are not UTF-8."""


def one_line(text: str) -> str:
    """The text as one line for a log or a response, with control characters escaped."""
    if text.isprintable():
        return text
    # The surrogates in this range are undecodable bytes, which get the same form as in `readable`.
    characters = (f"\\x{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else c for c in text)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in characters)


def readable(name: str) -> str:
    r"""The name with undecodable bytes as `\xNN`, so that JSON and terminals can represent it."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def printable(text: str) -> str:
    r"""The text with lone surrogates replaced by U+FFFD, or by `\xNN` for a byte of a file name."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _NO_BYTE.sub("\ufffd", text)
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text


def printable_line(text: str) -> str:
    """The text as one line: spaces for line ends, and escapes for invisible characters."""
    return one_line(" ".join(printable(text).splitlines()))


def plural(count: int, noun: str) -> str:
    """A count with its noun: `1 run`, `2 directories`, `1,000 runs`."""
    if count != 1:
        noun = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun}"


def nonfinite_name(value: float) -> str:
    """The name of NaN or an infinite number in JSON, as in JavaScript."""
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def size(num_bytes: int) -> str:
    """A number of bytes in decimal units: `950 B`, `3.4 MB`, `12 MB`."""
    value, unit = float(num_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    digits = 1 if unit != "B" and value < 9.95 else 0
    return f"{value:.{digits}f} {unit}"


def quoted(name: str) -> str:
    """A name for a message: in quotes, on one line, at most 200 characters."""
    return repr(name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}...")


def listed(names: Sequence[str], count: int | None = None) -> str:
    """The first three of some names, and how many more there are: `amp, aug, lr and 3 more`.

    `count` is the number of all names, by default that of `names`.
    """
    shown = names[:_MAX_CLOSE_NAMES]
    more = (len(names) if count is None else count) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def close_matches(name: str, candidates: Iterable[str]) -> str:
    """The end of a message about an unknown name: names that are similar to it, if any."""
    close = close_names(name, candidates)
    return f"; close: {', '.join(map(quoted, close))}" if close else ""


def close_names(name: str, candidates: Iterable[str]) -> list[str]:
    """At most three names that are similar to an unknown one, the closest first.

    After names that are spelled alike come those that it is a part of, or has the initials of: `lr`
    is close to `learning_rate`, `models/vit` to `models/vit/seed1`.
    """
    if not 0 < len(name) <= _MAX_NAME_CHARS:
        return []
    candidates = list(candidates)
    likely = [c for c in candidates if abs(len(c) - len(name)) <= 3 + len(name) // 4]
    if len(likely) > _MAX_NAMES_COMPARED:
        # Names are paths, and most mistakes are near the end. So the names that begin like the
        # unknown name are compared first.
        likely.sort(key=lambda c: c[:3] != name[:3])
    close = get_close_matches(name, likely[:_MAX_NAMES_COMPARED], n=_MAX_CLOSE_NAMES)
    lowered = name.lower()
    longer = (
        c
        for c in candidates
        if len(c) <= _MAX_NAME_CHARS and c not in close and _is_short_for(lowered, c.lower())
    )
    return [*close, *islice(longer, _MAX_CLOSE_NAMES - len(close))]


def _is_short_for(short: str, name: str) -> bool:
    """Whether a text is a part of a name, or has its initials; both are lower-cased."""
    if len(short) >= _MIN_PART_CHARS and short in name:
        return True
    if not 2 <= len(short) <= _MAX_INITIALS or short[0] != name[:1]:
        return False
    words = re.split(r"[\W_]+", name)
    return short == "".join(word[:1] for word in words)


def shortened(line: str, length: int = MAX_REASON_CHARACTERS) -> str:
    return line if len(line) <= length else f"{line[:length]}..."


def describe(error: BaseException) -> str:
    """An exception as one line, such as `ImportError: no module named 'x'`."""
    try:
        text = str(error)
    except BaseException:  # An exception class of a plugin, for example, may raise anything.
        text = ""
    line = printable_line(" ".join(text.split()))
    return f"{type(error).__name__}: {shortened(line)}" if line else type(error).__name__
