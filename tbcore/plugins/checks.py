"""Plugin checks: validate a plugin's name, its hooks, and the results of its hooks.

All functions raise CheckError for the first fault. Its message does not name the plugin.
"""

from __future__ import annotations

import inspect
import re
import traceback
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tbcore import __version__
from tbcore.errors import PluginError, did_you_mean
from tbcore.eventfiles.proto.summary_pb2 import Summary
from tbcore.kinds import ANYWHERE, Claim
from tbcore.plugins import hookspecs
from tbcore.plugins.hookspecs import PLUGIN_API, LegacyApi, PluginInfo
from tbcore.plugins.options import MAX_INT, validate
from tbcore.plugins.types import LoadedPlugin
from tbcore.text import shortened

if TYPE_CHECKING:
    import pluggy
    from starlette.routing import Route

HOOKS = ("plugin_info", "plugins", "is_active", "routes", "page_routes", "legacy_api", "close")
NAME = re.compile(r"[a-z0-9_-][a-z0-9_.-]*")
"""Matches valid names of plugins. A name is a part of addresses, where a leading `.` has a
meaning."""
RESERVED_NAMES = ("plugins", "data", "static", "legacy", "healthz", "readyz", "metrics")
"""Names that no plugin may have. The first is that of the page about all plugins, in the page's
address; the others begin addresses of the core."""
FIELDS = frozenset(
    {
        *(field.name for field in Summary.Value.DESCRIPTOR.oneofs_by_name["value"].fields),
        *("", "graph_def", "meta_graph_def", "tagged_run_metadata"),
    }
)
"""All values of `Kind.field`; a claim with any other field could never match."""

MAX_TITLE_CHARACTERS = 100
PAGE_ALLOWANCES = ("eval", "frames")
"""All values of `PluginInfo.page_allows`."""


class CheckError(PluginError):
    """A fault of a plugin, in one line without the plugin's name, which the caller adds."""


def check_name(name: str) -> None:
    """Raises CheckError if a plugin must not have this name."""
    if not NAME.fullmatch(name):
        raise CheckError(
            "the name is not valid, since it is part of addresses; "
            "expected a-z, 0-9, '_', '-' and '.', and no '.' at the start"
        )
    if name in RESERVED_NAMES:
        use = "the page about all plugins" if name == RESERVED_NAMES[0] else "the core's addresses"
        raise CheckError(f"the name is reserved for {use}")


def checked_hooks(subject: object, manager: pluggy.PluginManager) -> list[str]:
    """The hooks that a plugin implements; raises CheckError for a hook that cannot be called.

    pluggy checks this as well, but finds unknown hooks only after all plugins are registered, and
    its messages do not list what is allowed.
    """
    implemented = []
    for attribute in dir(subject):
        marker = manager.parse_hookimpl_opts(subject, attribute)
        if marker is None:
            continue
        hook = marker.get("specname") or attribute
        if hook not in HOOKS:
            raise CheckError(
                f"there is no hook {hook!r}; "
                f"the hooks are {', '.join(HOOKS)}{did_you_mean(hook, HOOKS)}"
            )
        function = getattr(subject, attribute)
        if inspect.iscoroutinefunction(function):
            # The coroutine itself would be the result, so is_active would always be true.
            raise CheckError(
                f"hook {hook!r} is async; hooks must be plain functions, only handlers of routes "
                f"may be async"
            )
        allowed = list(inspect.signature(getattr(hookspecs, hook)).parameters)
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            is_known = parameter.name in allowed
            has_default = parameter.default is not parameter.empty
            if is_known and has_default:
                raise CheckError(
                    f"argument {parameter.name!r} of hook {hook!r} must not have a default, which "
                    f"would replace the value that tbcore passes"
                )
            if not is_known and not has_default:
                raise CheckError(
                    f"hook {hook!r} has no argument {parameter.name!r}; its arguments are "
                    f"{', '.join(allowed) or 'none'}{did_you_mean(parameter.name, allowed)}"
                )
        implemented.append(hook)
    if "plugin_info" not in implemented:
        raise CheckError("it has no hook 'plugin_info'; mark it with @tbcore.hookimpl")
    return implemented


def api_error(plugin: LoadedPlugin, info: object) -> PluginError | None:
    """The error for a plugin that needs another version of the plugin API, else None."""
    if not isinstance(info, PluginInfo) or info.api == PLUGIN_API:
        return None
    if type(info.api) is not int:
        return PluginError(
            f"plugin {plugin.name!r}: PluginInfo.api must be an int, such as {PLUGIN_API}, "
            f"got {shortened(repr(info.api), 100)}"
        )
    is_newer = info.api > PLUGIN_API
    source = f" ({plugin.distribution})" if plugin.distribution else ""
    return PluginError(
        f"plugin {plugin.name!r}{source} needs plugin API {info.api!r}, but "
        f"tbcore {__version__} has {PLUGIN_API}; upgrade "
        f"{'tbcore-server' if is_newer else plugin.distribution.partition(' ')[0] or plugin.name}"
    )


def checked_info(plugin: LoadedPlugin, info: object) -> PluginInfo:
    """The result of `plugin_info`; raises CheckError for the first field that is not valid.

    Raises PluginError, with the plugin's name, if the plugin needs another version of the API.
    """
    if not isinstance(info, PluginInfo):
        raise CheckError(f"plugin_info returned {type(info).__name__}, not a PluginInfo")
    wrong_api = api_error(plugin, info)
    if wrong_api is not None:
        # Checked before the other fields, which may differ in another version.
        raise wrong_api
    are_claims = isinstance(info.claims, Sequence) and all(
        isinstance(claim, Claim) for claim in info.claims
    )
    for name, is_valid, expected in (
        ("title", _is_title(info.title),
         f"one line of text, at most {MAX_TITLE_CHARACTERS} characters"),
        ("claims", are_claims, "a sequence of Claim"),
        ("samples", _is_int(info.samples) and info.samples >= 0, "an int, 0 or more"),
        ("order", _is_int(info.order), "an int"),
        ("description", isinstance(info.description, str), "a string"),
        ("run_action", info.run_action == "" or _is_title(info.run_action), "a verb, or empty"),
        ("how_to_log", _are_texts(info.how_to_log), "a mapping of strings to strings"),
        ("options", isinstance(info.options, Sequence), "a sequence of Option"),
        ("module", info.module is None or _is_module_path(info.module),
         "None, or a path such as 'static/index.js': inside the package, in a folder of its own"),
        ("module", info.page is None or info.module in (None, PluginInfo.module),
         "left out if there is a page"),
        ("page", info.page is None or (_is_module_path(info.page) and info.page.endswith(".html")),
         "None, or a path such as 'static/index.html': inside the package, in a folder of its own"),
        ("page", info.page is None or not (plugin.source and plugin.source.front_end),
         "None for a plugin that is a single file; make it a package"),
        ("page_allows", _are_allowances(info.page_allows),
         f"a sequence of {', '.join(map(repr, PAGE_ALLOWANCES))}"),
        ("page_allows", not info.page_allows or info.page or plugin.implements("page_routes"),
         "empty without a page"),
    ):  # fmt: skip
        if not is_valid:
            found = shortened(repr(getattr(info, name)), 100)
            raise CheckError(f"PluginInfo.{name} must be {expected}, got {found}")
    for claim in info.claims:
        if claim.field is not None and claim.field not in FIELDS:
            raise CheckError(
                f"PluginInfo.claims has the unknown field "
                f"{str(claim.field)[:100]!r}{did_you_mean(str(claim.field), FIELDS)}; "
                f"the fields are {', '.join(sorted(FIELDS - {''}))}"
            )
        files, tags = claim.files, claim.tags
        if tags is not None and (not isinstance(tags, str) or not tags or "[" in tags):
            raise CheckError(
                f"PluginInfo.claims must have tags such as 'grads/*', with '*' and '?'; got {claim}"
            )
        if files is not None and (claim != Claim(files=files) or not _is_pattern(files)):
            raise CheckError(
                f"PluginInfo.claims must have files such as 'plugins/mine/*.json', below a run and "
                f"with '*' and '?' within a step, and no other attribute; got {claim}"
            )
    names: set[str] = set()
    for option in info.options:
        if wrong := validate(option):
            raise CheckError(f"PluginInfo.options must be {shortened(wrong, 200)}")
        if option.name in names:
            raise CheckError(f"PluginInfo.options has {option.name!r} twice")
        names.add(option.name)
    return info


def _is_title(title: object) -> bool:
    if not isinstance(title, str) or not title.strip() or len(title) > MAX_TITLE_CHARACTERS:
        return False
    return not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in title)


def _is_int(number: object) -> bool:
    """Whether a value is an int that JavaScript, whose numbers are doubles, represents exactly."""
    return type(number) is int and abs(number) <= MAX_INT


def _are_texts(texts: object) -> bool:
    return isinstance(texts, Mapping) and all(
        isinstance(text, str) for pair in texts.items() for text in pair
    )


def _are_allowances(names: object) -> bool:
    return isinstance(names, list | tuple) and all(name in PAGE_ALLOWANCES for name in names)


def _is_pattern(files: object) -> bool:
    """Whether a value is a pattern of paths that lead nowhere but below a run's directory."""
    steps = files.removeprefix(ANYWHERE).split("/") if isinstance(files, str) else [""]
    return not any(s in ("", ".", "..") or "**" in s or {*"\\[]\0"} & {*s} for s in steps)


def _is_module_path(module: object) -> bool:
    """Whether a value is the path of a file in a folder below the package.

    A file next to `__init__.py` is not valid: all files in the folder of the ES module, or of the
    page, are served, and the plugin's Python code must not be.
    """
    if not isinstance(module, str) or "\\" in module:
        return False
    parts = module.split("/")
    return len(parts) > 1 and all(parts) and not any(part.startswith(".") for part in parts)


def checked_routes(hook: str, routes: Any) -> list[Route]:
    """The routes that a hook returned; raises CheckError for a route that cannot be served."""
    from starlette.routing import Route

    if isinstance(routes, str) or not isinstance(routes, Iterable):
        raise CheckError(f"{hook} returned {type(routes).__name__}, not a sequence of Route")
    checked: list[Route] = []
    for route in routes:
        if not isinstance(route, Route):
            raise CheckError(
                f"{hook} returned {type(route).__name__} among its routes; "
                f"expected starlette.routing.Route only"
            )
        path = route.path
        if not path.startswith("/") or "//" in path or (path.endswith("/") and path != "/"):
            raise _bad_path(hook, path)
        # `app` is a function only if the endpoint is one and no middleware is around it.
        if not inspect.isfunction(route.app):
            raise CheckError(
                f"the endpoint of route {path!r} must be a function, and the route must have no "
                f"middleware"
            )
        for earlier in checked:
            if path == earlier.path and (route.methods or set()) & (earlier.methods or set()):
                raise CheckError(
                    f"{hook} has the route {path!r} twice; the second would never be called"
                )
        checked.append(route)
    return checked


def _bad_path(hook: str, path: object) -> CheckError:
    return CheckError(
        f"{hook} has the path {path!r}, which is not valid; expected "
        f"'/' at the start, none at the end, and no two in a row"
    )


def explained(hook: str, error: BaseException) -> BaseException:
    """The error of a hook; if it is that of Starlette about a path, one that has the path."""
    from starlette.routing import Route

    *_, (frame, _line) = traceback.walk_tb(error.__traceback__)
    is_of_path = isinstance(error, AssertionError) and frame.f_code is Route.__init__.__code__
    return _bad_path(hook, frame.f_locals.get("path")) if is_of_path else error


def checked_legacy_api(legacy: Any) -> LegacyApi:
    """The result of `legacy_api`; raises CheckError if it is not valid."""
    if not isinstance(legacy, LegacyApi):
        raise CheckError(f"legacy_api returned {type(legacy).__name__}, not a LegacyApi")
    tag_types = dict(legacy.tag_types)
    for tag_type, function in tag_types.items():
        if not isinstance(tag_type, str) or not callable(function):
            raise CheckError(
                f"tag_types of legacy_api must map names to functions, got {tag_type!r}: "
                f"{function!r}"
            )
    return LegacyApi(
        routes=checked_routes("legacy_api", legacy.routes),
        tag_types=tag_types,
        bare_routes=checked_routes("legacy_api", legacy.bare_routes),
    )


def checked_plugins(plugins: Any) -> dict[str, object]:
    """The result of `plugins`; raises CheckError if it is not valid."""
    if not isinstance(plugins, Mapping) or not all(isinstance(name, str) for name in plugins):
        raise CheckError("plugins must return a mapping of names to modules or objects")
    return dict(plugins)
