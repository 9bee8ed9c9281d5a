"""Build hook: fetches dagre with the hook that fetches the core's front-end libraries.

That hook is at the root of a checkout, and next to this file in an sdist.
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

    # package.json is in a folder of its own: node and the type checker resolve `tbcore/...` with
    # the nearest package.json, which must be the one at the root of the checkout.
    FOLDER = "npm"
