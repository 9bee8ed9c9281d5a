"""The build hook: fetches dagre, as the core's hook fetches the libraries of the page.

The code is the core's. It lies at the root of a checkout, and beside this file in an sdist.
"""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACES = (HERE / "vendor_hook.py", HERE.parent.parent / "hatch_build.py")

path = next(path for path in PLACES if path.exists())
spec = spec_from_file_location("vendor_hook", path)
assert spec is not None
assert spec.loader is not None
vendor_hook = module_from_spec(spec)
spec.loader.exec_module(vendor_hook)


class DagreHook(vendor_hook.VendorHook):  # type: ignore[name-defined, misc]
    """Makes tbcore_graphs/static/vendor."""

    # Not in this folder: node and the type checker take the nearest package.json for the one that
    # says what `tbcore/...` means.
    FOLDER = "npm"
