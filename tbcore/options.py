"""Option: one setting that a plugin declares, and how a user's text becomes its value."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

OptionValue = bool | int | float | str

OPTION_NAME = re.compile(r"[a-z][a-z0-9_]*")
"""Without dots: in `--set NAME.key=value` the last one ends the plugin's name."""
TYPE_NAMES: dict[type, str] = {
    bool: "true or false",
    int: "an int",
    float: "a number",
    str: "a text",
}
VARIABLE_PREFIX = "TBCORE_SET_"
MAX_INT = 2**53 - 1
"""Numbers of a page are doubles, which have every int up to here."""

_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), False),
}


@dataclass(frozen=True)
class Option:
    """A setting of a plugin. Users give it with `--set NAME.key=value`."""

    name: str
    """The key: lower-case letters, digits and `_`."""
    default: OptionValue
    """Its type, one of bool, int, float and str, is the type of the option."""
    help: str = ""
    """One line, with the unit if there is one."""
    minimum: float | None = None
    """The lowest int or float that makes sense."""
    choices: Sequence[OptionValue] = ()
    """All values that make sense; empty for any."""

    @property
    def type(self) -> type:
        return type(self.default)

    @property
    def wanted(self) -> str:
        """What a value is, such as `an int, 1 or more`."""
        if self.choices:
            return f"one of {', '.join(str(choice) for choice in self.choices)}"
        bound = "" if self.minimum is None else f", {self.minimum:g} or more"
        return f"{TYPE_NAMES[self.type]}{bound}"

    def value(self, given: str | OptionValue) -> OptionValue:
        """The value that a text stands for, or that is one already.

        Raises ValueError for one that will not do.
        """
        value: Any = given
        if isinstance(given, str):
            value = truth(given) if self.type is bool else self.type(given)
        elif self.type is float and type(given) is int:
            value = float(given)
        is_wrong = (
            type(value) is not self.type
            or (isinstance(value, float) and not math.isfinite(value))
            or (isinstance(value, int) and abs(value) > MAX_INT)
        )
        if is_wrong or (self.choices and value not in self.choices):
            raise ValueError(given)
        if self.minimum is not None and value < self.minimum:
            raise ValueError(given)
        return self.type(value)  # type: ignore[no-any-return]

    def variable(self, plugin: str) -> str:
        """The environment variable that sets this option of a plugin."""
        return variable_prefix(plugin) + self.name.upper()


def variable_prefix(plugin: str) -> str:
    """How the names of the environment variables for a plugin's options start."""
    return f"{VARIABLE_PREFIX}{re.sub('[-.]', '_', plugin).upper()}_"


def truth(text: str) -> bool:
    """What a text such as `yes` or `false` says; raises ValueError for one that says neither."""
    try:
        return _TRUTH[text.strip().lower()]
    except KeyError:
        raise ValueError(text) from None


def fault_of(option: object) -> str | None:
    """What is wrong with what a plugin declares as an option; None when nothing is."""
    if not isinstance(option, Option):
        return f"a sequence of Option, and {option!r} is none"
    if not isinstance(option.name, str) or not OPTION_NAME.fullmatch(option.name):
        return f"options named with a-z, 0-9 and '_', got {option.name!r}"
    if option.type not in TYPE_NAMES:
        return f"options whose defaults are bool, int, float or str, got {option.default!r}"
    if not isinstance(option.help, str):
        return f"options whose help is a text, got {option.help!r}"
    if isinstance(option.choices, str) or not isinstance(option.choices, Sequence):
        return f"options whose choices are a sequence, got {option.choices!r}"
    try:
        for value in (option.default, *option.choices):
            option.value(value)
    except (ValueError, TypeError, OverflowError):
        return f"options whose defaults and choices they allow, got {option!r}"
    return None
