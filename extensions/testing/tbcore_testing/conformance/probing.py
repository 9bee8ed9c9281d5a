"""Probing: requests to all routes of a plugin with valid and odd parameters, and their results.

A route does not declare its parameters, so they are discovered by requests: the servers of this
suite record which parameters `tbcore.http.required` and `optional` read. If a route reads the query
in another way, the text of a 400 response or a KeyError names a missing parameter.
"""

from __future__ import annotations

import itertools
import json
import re
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import httpx
import numpy as np

from tbcore_testing.conformance.servers import RaisedErrors, RunningServer

SLOW_RESPONSE_SECONDS = 3.0
"""A response that takes longer is a failure: a page that waits this long seems broken."""
MAX_DELAY_SECONDS = 0.5
"""A route that delays requests for the core by more than this, and by more than ten times what they
usually take, is a failure."""
REQUEST_TIMEOUT_SECONDS = 15.0
"""Timeout of each request."""
MAX_ATTEMPTS = 3
"""Number of attempts after which a slow request is a failure. The first may be slow because it
makes what later ones reuse."""
MAX_DISCOVERY_REQUESTS = 6
"""Maximum number of requests to discover the parameters of one route.

A route may report only one missing parameter at a time.
"""

ODD_VALUES = [
    "",
    "-1",
    "0",
    "1.5",
    "NaN",
    "99999999999999999999999999",
    "-9223372036854775809",
    "1e999",
    "null",
    "[]",
    '{"a":',
    "../../../../etc/passwd",
    "<script>",
    "a\x00b",
    "é 🙂 \u202e",
    "(((",
    2000 * "x",
]
"""Values of a query parameter that a user may type."""
INVALID_ENCODINGS = ["%FF%FE", "%ED%A0%80", "%", "%zz"]
"""Values of a query parameter, as in the address, that are not percent-encoded UTF-8."""
ODD_BODIES = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"0",
    b'"text"',
    b"no json",
    b"\xff\xfe\x00",
    b'{"a": NaN}',
    b"[" * 20_000,
    b'{"run": 1, "tag": [], "runs": {}, "tags": null, "series": [[]]}',
]


class Probe(NamedTuple):
    """One request to a route."""

    method: str
    path: str
    """The encoded path, after the server's prefix."""
    query: str = ""
    body: bytes | None = None
    headers: Mapping[str, str] = {}

    def __str__(self) -> str:
        address = f"{self.path}?{self.query}" if self.query else self.path
        shown = address if len(address) < 200 else f"{address[:200]}..."
        body = "" if self.body is None else f" with the body {self.body[:100]!r}"
        return f"{self.method} {shown}{body}"


@dataclass(frozen=True)
class ProbeResult:
    """The response to a probe, or why there was none."""

    probe: Probe
    status: int
    """The HTTP status; 0 if there was no response."""
    seconds: float
    content_type: str = ""
    body: bytes = b""
    location: str = ""
    error: str = ""
    """The exception of the plugin, or the reason why there was no response."""

    @property
    def failed(self) -> bool:
        return self.status == 0 or self.status >= 500

    @property
    def is_slow(self) -> bool:
        return self.seconds > SLOW_RESPONSE_SECONDS

    def __str__(self) -> str:
        reason = f" ({self.error})" if self.error else ""
        return f"{self.probe} -> {self.status or 'no response'}{reason}"


class Prober:
    """Sends probes to one server, one after the other."""

    def __init__(self, server: RunningServer, errors: RaisedErrors) -> None:
        self.server = server
        self._errors = errors
        self._client = httpx.Client(timeout=REQUEST_TIMEOUT_SECONDS, follow_redirects=False)

    def send(self, probe: Probe) -> ProbeResult:
        """Sends a request and waits for the response; never raises."""
        self._errors.pop()
        address = f"{self.server.url}{probe.path}"
        if probe.query:
            address += f"?{probe.query}"
        started = time.monotonic()
        try:
            response = self._client.request(
                probe.method, address, content=probe.body, headers=dict(probe.headers)
            )
        except httpx.HTTPError as error:
            seconds = time.monotonic() - started
            return ProbeResult(
                probe, 0, seconds, error=self._errors.pop() or f"{type(error).__name__}: {error}"
            )
        return ProbeResult(
            probe,
            response.status_code,
            time.monotonic() - started,
            response.headers.get("content-type", ""),
            response.content,
            response.headers.get("location", ""),
            self._errors.pop() if response.status_code >= 500 else "",
        )

    def send_patiently(self, probe: Probe) -> ProbeResult:
        """Sends a request, up to MAX_ATTEMPTS times if the response is slow; returns the fastest.

        The later attempts do not count the time for which a thread of this process waited for a
        processor: the machine may be busy.
        """
        results = [self.send(probe)]
        while results[-1].is_slow and len(results) < MAX_ATTEMPTS:
            before = waits_for_processor()
            again = self.send(probe)
            after = waits_for_processor()
            waits = [seconds - before.get(thread, 0) for thread, seconds in after.items()]
            results.append(replace(again, seconds=again.seconds - max(waits, default=0)))
        return min(results, key=lambda each: each.seconds)

    def delay_of_others(self, probe: Probe) -> float:
        """By how many seconds a request for the core is delayed at most while a probe is sent.

        Ten times the usual duration of such a request is subtracted. The result may be negative.
        """
        address = f"{self.server.url}/data/runs"
        with httpx.Client(timeout=REQUEST_TIMEOUT_SECONDS) as client, ThreadPoolExecutor(1) as pool:
            ends = [time.monotonic()]
            for _ in range(20):
                client.get(address)
                ends.append(time.monotonic())
            usual = statistics.median(np.diff(ends))
            # From the end of the request before, since this thread may be stopped at any moment.
            ends = ends[-1:]
            sent = pool.submit(self.send, probe)
            while not sent.done() or len(ends) == 1:
                client.get(address)
                ends.append(time.monotonic())
        return float(max(np.diff(ends)) - 10 * usual)

    def close(self) -> None:
        self._client.close()


def waits_for_processor() -> dict[str, float]:
    """Maps each thread of this process to the seconds for which it could run and had no processor.

    Empty where the system does not say so; Linux does.
    """
    waits = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError):  # The thread has ended since.
            waits[path.parent.name] = int(path.read_text().split()[1]) / 1e9
    return waits


@dataclass
class KnownRoute:
    """A route with the parameters that were discovered."""

    path: str
    """The path in Starlette's form, with path parameters in `{}`."""
    methods: Sequence[str]
    required_by_name: dict[str, bool] = field(default_factory=dict)
    """Maps the name of each query parameter to whether it is required."""

    def probe(self, method: str, values: Mapping[str, str], **more: Any) -> Probe:
        """A request to the route, with the values of its parameters.

        `values` maps names of parameters to values. Parameters that the route does not have are
        omitted. A required parameter without a value gets "0".
        """
        path = re.sub(
            r"\{(\w+)(:\w+)?\}",
            lambda match: quote(values.get(match[1], "0"), safe="/" if match[2] == ":path" else ""),
            self.path,
        )
        query = urlencode(
            {
                name: values.get(name, "0")
                for name, is_required in self.required_by_name.items()
                if is_required or name in values
            },
            errors="surrogatepass",
        )
        return Probe(method, path, query, **more)

    @property
    def parameter_names(self) -> list[str]:
        """Names of all parameters, in the path and in the query."""
        in_path = [match[1] for match in re.finditer(r"\{(\w+)(:\w+)?\}", self.path)]
        return [*in_path, *self.required_by_name]


class ProbedRoutes:
    """The routes of one plugin, with their parameters and results on plain data."""

    def __init__(self, name: str, prober: Prober, pairs: Sequence[tuple[str, str]]) -> None:
        self.name = name
        self.routes = [
            KnownRoute(path, sorted({"GET", "POST", "PUT", "DELETE"} & (route.methods or {"GET"})))
            for path, route in prober.server.mounted[name].addresses()
        ]
        self.results: list[ProbeResult] = []
        """Results of valid requests on plain data."""
        self._broken: set[tuple[str, str]] = set()
        """(Path, method) of each route that fails on plain data. One check reports these routes,
        and all other checks skip them."""
        for route in self.routes:
            self._discover(route, prober, pairs)
        for result in self.probe_all(prober, pairs):
            self.results.append(result)
            if result.failed or result.is_slow:
                self._broken.add((self._path_of(result.probe), result.probe.method))

    def probe_all(self, prober: Prober, pairs: Sequence[tuple[str, str]]) -> Iterator[ProbeResult]:
        """Probes all routes with these (run, tag) pairs; skips routes that fail on plain data."""
        sent: set[tuple[str, str, str, bytes | None]] = set()
        for route, method in self._working():
            for run, tag in pairs or [("", "")]:
                probe = route.probe(method, valid_values(run, tag), **_body_of(method, run, tag))
                key = (method, probe.path, probe.query, probe.body)
                if key in sent or (route.path, method) in self._broken:
                    continue
                sent.add(key)
                yield prober.send_patiently(probe)

    def odd_probes(self, pair: tuple[str, str]) -> Iterator[Probe]:
        """Yields requests with odd or missing parameters, and with odd bodies."""
        for route, method in self._working():
            valid = valid_values(*pair)
            names = route.parameter_names
            more = _body_of(method, *pair)
            for name, value in itertools.product(names, ODD_VALUES):
                yield route.probe(method, {**valid, name: value}, **more)
            for name in names:
                probe = route.probe(method, valid, **more)
                other_parts = [
                    part
                    for part in probe.query.split("&")
                    if part and not part.startswith(f"{name}=")
                ]
                yield probe._replace(query="&".join(other_parts))
                for value in INVALID_ENCODINGS:
                    yield probe._replace(query="&".join([*other_parts, f"{name}={value}"]))
            if method == "GET":
                continue
            for body in ODD_BODIES:
                yield route.probe(method, valid, body=body, headers=_JSON)
            gzip = {**_JSON, "content-encoding": "gzip"}
            yield route.probe(method, valid, body=b"no gzip", headers=gzip)

    def _working(self) -> Iterator[tuple[KnownRoute, str]]:
        """Yields the routes and methods that do not fail on plain data."""
        for route in self.routes:
            for method in route.methods:
                if (route.path, method) not in self._broken:
                    yield route, method

    def _path_of(self, probe: Probe) -> str:
        """The path of the route that a probe was sent to."""
        for route in self.routes:
            pattern = re.sub(r"\\\{(\w+)(:\w+)?\\\}", ".*", re.escape(route.path))
            if re.fullmatch(pattern, probe.path, re.DOTALL):
                return route.path
        return probe.path

    def _discover(
        self, route: KnownRoute, prober: Prober, pairs: Sequence[tuple[str, str]]
    ) -> None:
        """Finds a route's query parameters: sends requests until one reveals no new parameter."""
        run, tag = pairs[0] if pairs else ("run", "tag")
        values = valid_values(run, tag)
        for _ in range(MAX_DISCOVERY_REQUESTS):
            prober.server.required_by_name.clear()
            method = route.methods[0]
            result = prober.send(route.probe(method, values, **_body_of(method, run, tag)))
            required_by_name = dict(prober.server.required_by_name)
            missing = re.findall(r"^KeyError: '(\w{1,40})'", result.error)
            if result.status == 400:
                missing += re.findall(r"[\"'`](\w{1,40})[\"'`]", result.body.decode("latin-1"))
            required_by_name |= dict.fromkeys(missing, True)
            known = route.parameter_names
            new = {name: value for name, value in required_by_name.items() if name not in known}
            if not new:
                break
            route.required_by_name |= new


_JSON = {"content-type": "application/json"}


def valid_values(run: str, tag: str) -> dict[str, str]:
    """Valid values for the names of parameters that this project and its plugins use."""
    return {"run": run, "tag": tag, "tagname": tag, "index": "0", "sample": "0", "format": "json"}


def _body_of(method: str, run: str, tag: str) -> dict[str, Any]:
    """The fields `body` and `headers` of a valid Probe; neither of them for a GET."""
    if method == "GET":
        return {}
    series = {"run": run, "tag": tag, "runs": [run], "tags": [tag], "series": [[run, tag]]}
    return {"body": json.dumps(series).encode(), "headers": _JSON}


def json_error(result: ProbeResult) -> str:
    """Why a response is not valid JSON; "" if it is valid, or if its content type is not JSON."""
    media_type = result.content_type.partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        return ""
    if result.status in (204, 304):
        return ""

    def reject(name: str) -> None:
        raise ValueError(f"{name} is not valid JSON")

    try:
        json.loads(result.body.decode("utf-8"), parse_constant=reject)
    except ValueError as error:
        return str(error)
    return ""
