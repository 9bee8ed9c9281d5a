"""tbcore: a viewer for the logs of training runs, in which every dashboard is a plugin.

Plugins may use the names in `__all__` here, and the modules `tbcore.http`, `tbcore.media`,
`tbcore.patterns`, `tbcore.values` and `tbcore.testing`. Everything else is private.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbcore.errors import (
        BadRequestError,
        DataError,
        DataLossError,
        DecodeError,
        NotFoundError,
        PluginError,
        TbcoreError,
    )
    from tbcore.hookspecs import LegacyApi, PluginInfo, PluginOptions, hookimpl
    from tbcore.kinds import Claim, Claims, Kind
    from tbcore.options import Option
    from tbcore.store.items import Item
    from tbcore.store.multiplexer import Multiplexer
    from tbcore.store.series import ItemSeries, LastPoints, ScalarSeries

__version__ = "0.1.0"

__all__ = [
    "BadRequestError",
    "Claim",
    "Claims",
    "DataError",
    "DataLossError",
    "DecodeError",
    "Item",
    "ItemSeries",
    "Kind",
    "LastPoints",
    "LegacyApi",
    "Multiplexer",
    "NotFoundError",
    "Option",
    "PluginError",
    "PluginInfo",
    "PluginOptions",
    "ScalarSeries",
    "TbcoreError",
    "hookimpl",
]

_NAMES_BY_MODULE = {
    "errors": (
        "BadRequestError",
        "DataError",
        "DataLossError",
        "DecodeError",
        "NotFoundError",
        "PluginError",
        "TbcoreError",
    ),
    "hookspecs": ("LegacyApi", "PluginInfo", "PluginOptions", "hookimpl"),
    "kinds": ("Claim", "Claims", "Kind"),
    "options": ("Option",),
    "store.items": ("Item",),
    "store.multiplexer": ("Multiplexer",),
    "store.series": ("ItemSeries", "LastPoints", "ScalarSeries"),
}
_MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used, to keep `tbcore --help` fast."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
