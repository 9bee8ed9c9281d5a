"""tbcore: a viewer for the logs of training runs, in which every dashboard is a plugin.

`tbcore.open(logdir)` reads logs without a server; it is what an extension has for it.

Plugins may use the names in `__all__` here, and the modules `tbcore.http`, `tbcore.media`,
`tbcore.patterns` and `tbcore.values`. Everything else is private.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from tbcore.errors import (
        BadRequestError,
        DataError,
        DataLossError,
        DecodeError,
        NotFoundError,
        PluginError,
        TbcoreError,
    )
    from tbcore.kinds import Claim, Claims, Kind
    from tbcore.plugins.config import PluginOptions
    from tbcore.plugins.hookspecs import LegacyApi, PluginInfo, hookimpl
    from tbcore.plugins.options import Option
    from tbcore.store.hyperparameters import RunHParams
    from tbcore.store.items import Item
    from tbcore.store.multiplexer import Multiplexer
    from tbcore.store.series import ItemSeries, LastPoints, ScalarSeries
    from tbcore.store.side_files import SideFile
    from tbcore.store.smoothing import SmoothingKind, smoothed

__version__ = "0.1.0"

__all__ = [
    "BadRequestError", "Claim", "Claims", "DataError", "DataLossError", "DecodeError", "Item",
    "ItemSeries", "Kind", "LastPoints", "LegacyApi", "Multiplexer", "NotFoundError", "Option",
    "PluginError", "PluginInfo", "PluginOptions", "RunHParams", "ScalarSeries", "SideFile",
    "SmoothingKind", "TbcoreError", "hookimpl", "open", "smoothed",
]  # fmt: skip

_MODULES = (
    "errors", "kinds", "plugins.options", "plugins.config", "plugins.hookspecs",
    "store.smoothing", "store.items", "store.series", "store.side_files", "store.multiplexer",
    "store.hyperparameters",
)  # fmt: skip
"""The modules that define the names, those that are imported fastest first."""


def open(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    | Mapping[str, str | os.PathLike[str]],
    *,
    purge_orphaned_data: bool = True,
) -> Any:  # fmt: skip
    """The logs below a directory, in an event file, or in several of these.

    An extension implements this function: raises OptionError, with the distribution to install, if
    there is none. Raises FileNotFoundError for a path that does not exist, and ValueError for a
    file that is not an event file, or an address that is not valid.
    """
    return _opener()(paths, purge_orphaned_data=purge_orphaned_data)


@cache
def _opener() -> Any:
    """The function behind `open`, which is looked for once."""
    return import_module(f"{__name__}.extensions").loaded("tbcore.open", "open")


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used, to keep `tbcore --help` fast."""
    if name in __all__:
        for module in map(import_module, (f"{__name__}.{module}" for module in _MODULES)):
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
