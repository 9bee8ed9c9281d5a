"""tbcore: a viewer for the logs of training runs, in which every dashboard is a plugin.

`tbcore.open(logdir)` reads logs without a server; it is what an extension has for it.

Plugins may use the names in `__all__` here, and the modules `tbcore.http`, `tbcore.media`,
`tbcore.patterns` and `tbcore.values`. Everything else is private.
"""

from __future__ import annotations

import dis
import sys
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


def lazy_names(package: str) -> dict[str, Any]:
    """`__getattr__` and `__dir__` of a module, whose names are imported when they are first used.

    They are those of its lines `from tbcore... import ...` that only type checkers execute. So
    `tbcore --help`, for example, imports only what it needs. `package` is the name of the module,
    which calls this.
    """
    # The code is there also where the source is not. Blocks for type checkers are part of it.
    code = sys._getframe(1).f_code

    @cache
    def modules() -> dict[str, str]:
        found, module = dict[str, str](), ""
        for each in dis.get_instructions(code):
            if each.opname == "IMPORT_NAME":
                module = each.argval
            elif each.opname == "IMPORT_FROM" and module.startswith("tbcore"):
                found[each.argval] = module
        return found

    def get(name: str) -> Any:
        if module := modules().get(name):
            return getattr(import_module(module), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted(getattr(sys.modules[package], "__all__", modules()))

    return {"__getattr__": get, "__dir__": names}


globals().update(lazy_names(__name__))
