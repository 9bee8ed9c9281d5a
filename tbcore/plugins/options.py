"""Option: a setting that a plugin declares, and the conversion of a user's text to its value."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

OptionValue = bool | int | float | str

OPTION_NAME = re.compile(r"[a-z][a-z0-9_]*")
"""Matches valid names of options: the `key` in `--set NAME.key=value`. There is no dot in it, since
the key begins after the last dot."""
TYPE_NAMES: dict[type, str] = {
    bool: "true or false",
    int: "an int",
    float: "a number",
    str: "a string",
}
"""Maps the type of an option to a description of its values, for messages."""
VARIABLE_PREFIX = "TBCORE_SET_"
MAX_INT = 2**53 - 1
"""Maximum absolute value of an int: JavaScript's numbers are doubles, exact up to this int."""

_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}


@dataclass(frozen=True)
class Option:
    """A setting of a plugin, which users change with `--set NAME.key=value`."""

    name: str
    """The `key` in `--set`: a lower-case letter, then lower-case letters, digits and `_`."""
    default: OptionValue
    """The value if the user sets none. Its type (bool, int, float or str) is the option's type."""
    help: str = ""
    """What the option does, in one line, with the unit if it has one."""
    minimum: float | None = None
    """The lowest valid int or float; None for no limit."""
    choices: Sequence[OptionValue] = ()
    """All valid values; empty if any value of the type is valid."""

    @property
    def type(self) -> type:
        return type(self.default)

    @property
    def wanted(self) -> str:
        """A description of the valid values, such as `an int, 1 or more`."""
        if self.choices:
            return f"one of {', '.join(str(choice) for choice in self.choices)}"
        bound = "" if self.minimum is None else f", {self.minimum:g} or more"
        return f"{TYPE_NAMES[self.type]}{bound}"

    def value(self, given: str | OptionValue) -> OptionValue:
        """Converts a text to a value of the option; any other value is checked and returned.

        An int is also a valid value of a float option. Raises ValueError or OverflowError if the
        value is not valid.
        """
        value: Any = given
        if isinstance(given, str):
            value = truth(given) if self.type is bool else self.type(given)
        elif self.type is float and type(given) is int:
            value = float(given)
        is_invalid = (
            type(value) is not self.type
            or (isinstance(value, float) and not math.isfinite(value))
            or (isinstance(value, int) and abs(value) > MAX_INT)
        )
        if is_invalid or (self.choices and value not in self.choices):
            raise ValueError(given)
        if self.minimum is not None and value < self.minimum:
            raise ValueError(given)
        return self.type(value)  # type: ignore[no-any-return]

    def variable(self, plugin: str) -> str:
        """The environment variable that sets this option of a plugin."""
        return variable_prefix(plugin) + self.name.upper()


def variable_prefix(plugin: str) -> str:
    """The start of the names of all environment variables for a plugin's options."""
    return f"{VARIABLE_PREFIX}{re.sub('[-.]', '_', plugin).upper()}_"


def truth(text: str) -> bool:
    """The bool for a text such as `yes` or `false`; raises ValueError for any other text."""
    try:
        return _TRUTH[text.strip().lower()]
    except KeyError:
        raise ValueError(text) from None


def validate(option: object) -> str | None:
    """None if an element of `PluginInfo.options` is valid, else the end of an error message.

    The caller puts `PluginInfo.options must be` before it.
    """
    if not isinstance(option, Option):
        return f"a sequence of Option, which {option!r} is not"
    if not isinstance(option.name, str) or not OPTION_NAME.fullmatch(option.name):
        return f"options named with a-z, 0-9 and '_', got {option.name!r}"
    if option.type not in TYPE_NAMES:
        return f"options whose defaults are bool, int, float or str, got {option.default!r}"
    if not isinstance(option.help, str):
        return f"options whose help is a string, got {option.help!r}"
    if isinstance(option.choices, str) or not isinstance(option.choices, Sequence):
        return f"options whose choices are a sequence, got {option.choices!r}"
    try:
        for value in (option.default, *option.choices):
            option.value(value)
    except (ValueError, TypeError, OverflowError):
        return f"options whose defaults and choices are valid values, got {option!r}"
    return None
