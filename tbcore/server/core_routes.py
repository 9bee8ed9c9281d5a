"""CoreRoutes: the core's own data about runs, plugins and the page's tabs, below `data/`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from starlette.requests import Request

import tbcore
from tbcore.plugins.config import Config
from tbcore.plugins.hookspecs import PLUGIN_API
from tbcore.plugins.settings import plugin_json
from tbcore.plugins.types import LoadedPlugin, MountedPlugin
from tbcore.server.nonfinite import NonfiniteSummaries
from tbcore.server.plugin_status import ServedPlugin, status_json
from tbcore.server.pool import GONE_KEY, ThreadPool
from tbcore.server.unclaimed import find_unclaimed
from tbcore.store.board import Board
from tbcore.store.multiplexer import Multiplexer


class CoreRoutes:
    """The responses of the core's addresses, as data for JSON. Each method serves one address."""

    def __init__(
        self,
        config: Config,
        board: Board,
        multiplexer: Multiplexer,
        plugins: Iterable[ServedPlugin],
        disabled_plugins: Sequence[LoadedPlugin],
        pool: ThreadPool,
    ) -> None:
        self._config = config
        self._board, self._multiplexer = board, multiplexer
        self._plugins = sorted(
            plugins, key=lambda p: (p.mounted.plugin.order, p.mounted.plugin.title)
        )
        self._disabled_plugins = disabled_plugins
        self._pool = pool
        self._nonfinite = NonfiniteSummaries(multiplexer)

    async def logdir(self, request: Request) -> dict[str, str]:
        return {"logdir": self._config.logdir}

    async def runs(self, request: Request) -> list[str]:
        return self._multiplexer.runs()

    async def run_details(self, request: Request) -> dict[str, Any]:
        """Each run's times of the first event, last event and last write, its nonfinite values, and
        the file that another program logged it to.

        The data is in columns, since there may be thousands of runs and the page requests it often.
        """
        return await self._pool.run_for(request, self._run_details)

    async def plugins_listing(self, request: Request) -> dict[str, bool]:
        """Maps the name of each mounted plugin, even a failed one, to whether it is active."""
        active = await asyncio.gather(*(plugin.is_active() for plugin in self._plugins))
        return {p.mounted.plugin.name: active[index] for index, p in enumerate(self._plugins)}

    async def plugins(self, request: Request) -> dict[str, Any]:
        """The state of every installed plugin, with its timings, faults and options."""
        active = await self.plugins_listing(request)
        states = [status_json(p.mounted, p.activity, active[p.mounted.plugin.name])
                  for p in self._plugins]  # fmt: skip
        states += [status_json(MountedPlugin(p), None, False) for p in self._disabled_plugins]
        return {
            "version": tbcore.__version__,
            "api": PLUGIN_API,
            "dev": self._config.dev,
            "plugins": sorted(states, key=lambda state: str(state["name"])),
        }

    async def environment(self, request: Request) -> dict[str, str]:
        return {
            "version": tbcore.__version__,
            "data_location": self._config.logdir,
            "window_title": self._config.window_title,
        }

    async def frontends(self, request: Request) -> dict[str, Any]:
        """The tabs of the page, and the data that no tab shows."""
        config, active = self._config, await self.plugins_listing(request)
        return {
            "version": tbcore.__version__,
            "logdir": config.logdir,
            "window_title": config.window_title,
            "plugins": [
                {
                    **{key: known[key] for key in ("name", "title", "description", "page")},
                    "module": None if m.error else plugin.module_address,
                    "order": plugin.order,
                    "active": active[plugin.name],
                    "activity_error": plugin.redact_paths(activity.error),
                    "error": plugin.redact_paths(m.error),
                    # A traceback shows paths of files, which only the plugin's author may see.
                    **({"traceback": m.traceback or activity.traceback} if config.dev else {}),
                    "distribution": f"{known['distribution']} {known['version']}".strip(),
                    "run_action": plugin.info.run_action if plugin.info else "",
                    "how_to_log": dict(plugin.info.how_to_log) if plugin.info else {},
                }
                for m, _, _, activity in self._plugins
                for plugin, known in [(m.plugin, plugin_json(m, whole_path=m.plugin.dev))]
            ],
            "unshown": await self._pool.run(self._unclaimed),
        }

    def _unclaimed(self) -> list[dict[str, Any]]:
        """The data that no working plugin claims."""
        working = [p.mounted.plugin.info for p in self._plugins if not p.mounted.error]
        claims = [claim for info in working if info for claim in info.claims]
        installed = [*(p.mounted.plugin for p in self._plugins), *self._disabled_plugins]
        names = {plugin.distribution_name for plugin in installed}
        return [kind._asdict() for kind in find_unclaimed(self._multiplexer, claims, names)]

    def _run_details(self, request: Request) -> dict[str, Any]:
        details = [] if request.scope[GONE_KEY].is_set() else [*self._board.state.details.values()]
        return {
            "now": round(time.time(), 3),
            "runs": [run.name for run in details],
            "first_event_times": _rounded([run.first_event_time for run in details]),
            "last_event_times": _rounded([run.last_event_time for run in details]),
            "modified_times": _rounded([run.modified for run in details]),
            "nonfinite": self._nonfinite.summaries(details),
            "sources": {run.name: run.source.as_json() for run in details if run.source},
        }


def _rounded(times: Sequence[float | None]) -> list[float | None]:
    """Times in seconds, rounded to milliseconds to make the JSON shorter."""
    rounded = np.array(times, np.float64).round(3).tolist()
    return [time and near for time, near in zip(times, rounded, strict=True)]
