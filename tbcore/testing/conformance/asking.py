"""Asking: requests to all routes of a plugin, as far as they can be found out, and the answers.

A route does not say which parameters it takes. It shows when it is asked: the servers of this suite
see what `tbcore.http.required` and `optional` look for, and what is missing otherwise stands in the
answer of 400 or in the KeyError.
"""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import httpx

from tbcore.testing.conformance.servers import Faults, RunningServer, mounted_routes

SLOW_SECONDS = 3.0
"""A page that waits longer than this for one answer feels broken."""
PATIENCE_SECONDS = 15.0
"""Nothing is waited for any longer."""
TRIES = 3
"""What was slow is asked again: the machine may have been busy."""
MAX_ROUNDS = 6
"""A route shows its parameters one after the other."""

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
"""What a query parameter may be when somebody types it."""
RAW_VALUES = ["%FF%FE", "%ED%A0%80", "%", "%zz"]
"""The same as it stands in an address: no UTF-8, no encoding."""
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


class Ask(NamedTuple):
    """One request."""

    method: str
    path: str
    """Below the server's prefix, encoded."""
    query: str = ""
    body: bytes | None = None
    headers: Mapping[str, str] = {}

    def __str__(self) -> str:
        address = f"{self.path}?{self.query}" if self.query else self.path
        shown = address if len(address) < 200 else f"{address[:200]}..."
        body = "" if self.body is None else f" with the body {self.body[:100]!r}"
        return f"{self.method} {shown}{body}"


@dataclass(frozen=True)
class Answer:
    """What came of a request."""

    ask: Ask
    status: int
    """0 where there was no answer."""
    seconds: float
    content_type: str = ""
    body: bytes = b""
    location: str = ""
    fault: str = ""
    """What the plugin raised, or why there was no answer."""

    @property
    def failed(self) -> bool:
        return self.status == 0 or self.status >= 500

    def __str__(self) -> str:
        why = f" ({self.fault})" if self.fault else ""
        return f"{self.ask} -> {self.status or 'no answer'}{why}"


class Asker:
    """Asks one server, one request after the other."""

    def __init__(self, server: RunningServer, faults: Faults) -> None:
        self.server = server
        self._faults = faults
        self._client = httpx.Client(timeout=PATIENCE_SECONDS, follow_redirects=False)

    def ask(self, ask: Ask) -> Answer:
        self._faults.take()
        address = f"{self.server.origin}{quote(self.server.prefix)}{ask.path}"
        if ask.query:
            address += f"?{ask.query}"
        started = time.monotonic()
        try:
            answer = self._client.request(
                ask.method, address, content=ask.body, headers=dict(ask.headers)
            )
        except httpx.HTTPError as error:
            seconds = time.monotonic() - started
            return Answer(
                ask, 0, seconds, fault=self._faults.take() or f"{type(error).__name__}: {error}"
            )
        return Answer(
            ask,
            answer.status_code,
            time.monotonic() - started,
            answer.headers.get("content-type", ""),
            answer.content,
            answer.headers.get("location", ""),
            self._faults.take() if answer.status_code >= 500 else "",
        )

    def close(self) -> None:
        self._client.close()


@dataclass
class KnownRoute:
    """A route, and what it takes."""

    path: str
    """With `{}` around its own parameters."""
    methods: Sequence[str]
    names: dict[str, bool] = field(default_factory=dict)
    """Query parameters that it looks for, to whether they have to be there."""

    def ask(self, method: str, values: Mapping[str, str], **more: Any) -> Ask:
        """A request with these values, of those that the route looks for."""
        path = re.sub(
            r"\{(\w+)(:\w+)?\}",
            lambda match: quote(values.get(match[1], "0"), safe="/" if match[2] == ":path" else ""),
            self.path,
        )
        query = urlencode(
            {
                name: values.get(name, "0")
                for name, is_needed in self.names.items()
                if is_needed or name in values
            },
            errors="surrogatepass",
        )
        return Ask(method, path, query, **more)

    @property
    def all_names(self) -> list[str]:
        """Those in the path, too."""
        return [*(match[1] for match in re.finditer(r"\{(\w+)(:\w+)?\}", self.path)), *self.names]


class Routes:
    """The routes of one plugin, as they show themselves on plain data."""

    def __init__(self, name: str, asker: Asker, pairs: Sequence[tuple[str, str]]) -> None:
        self.name = name
        self.routes = [
            KnownRoute(path, sorted({"GET", "POST", "PUT", "DELETE"} & (route.methods or {"GET"})))
            for path, route in mounted_routes(asker.server.mounted[name])
        ]
        self.answers: list[Answer] = []
        """On plain data, to requests as they should be."""
        self._broken: set[tuple[str, str]] = set()
        """Paths and methods that fail on plain data already: one check says so, and not all."""
        for route in self.routes:
            self._learn(route, asker, pairs)
        for ask, answer in self.ask_all(asker, pairs):
            self.answers.append(answer)
            if answer.failed or answer.seconds > SLOW_SECONDS:
                self._broken.add((self._path_of(ask), ask.method))

    def ask_all(
        self, asker: Asker, pairs: Sequence[tuple[str, str]]
    ) -> Iterator[tuple[Ask, Answer]]:
        """Asks everything about these series, without what fails on plain data already."""
        asked: set[tuple[str, str, str, bytes | None]] = set()
        for route, method in self._usable():
            for run, tag in [*pairs, ("", "")][: max(len(pairs), 1)]:
                ask = route.ask(method, valid_values(run, tag), **_body_of(method, run, tag))
                if (method, ask.path, ask.query, ask.body) in asked or (
                    route.path,
                    method,
                ) in self._broken:
                    continue
                asked.add((method, ask.path, ask.query, ask.body))
                yield ask, asker.ask(ask)

    def odd_requests(self, pair: tuple[str, str]) -> Iterator[Ask]:
        """Each parameter with each odd value, each body, and parameters that are not there."""
        for route, method in self._usable():
            good = valid_values(*pair)
            names = route.all_names
            more = _body_of(method, *pair)
            for name, value in itertools.product(names, ODD_VALUES):
                yield route.ask(method, {**good, name: value}, **more)
            for name in names:
                ask = route.ask(method, good, **more)
                others = [
                    part
                    for part in ask.query.split("&")
                    if part and not part.startswith(f"{name}=")
                ]
                yield ask._replace(query="&".join(others))
                for raw in RAW_VALUES:
                    yield ask._replace(query="&".join([*others, f"{name}={raw}"]))
            if method == "GET":
                continue
            for body in ODD_BODIES:
                yield route.ask(method, good, body=body, headers=_JSON)
            gzip = {**_JSON, "content-encoding": "gzip"}
            yield route.ask(method, good, body=b"no gzip", headers=gzip)

    def _usable(self) -> Iterator[tuple[KnownRoute, str]]:
        for route in self.routes:
            for method in route.methods:
                if (route.path, method) not in self._broken:
                    yield route, method

    def _path_of(self, ask: Ask) -> str:
        for route in self.routes:
            pattern = re.sub(r"\\\{(\w+)(:\w+)?\\\}", ".*", re.escape(route.path))
            if re.fullmatch(pattern, ask.path, re.DOTALL):
                return route.path
        return ask.path

    def _learn(self, route: KnownRoute, asker: Asker, pairs: Sequence[tuple[str, str]]) -> None:
        run, tag = pairs[0] if pairs else ("run", "tag")
        values = valid_values(run, tag)
        for _ in range(MAX_ROUNDS):
            asker.server.app.names.clear()
            method = route.methods[0]
            answer = asker.ask(route.ask(method, values, **_body_of(method, run, tag)))
            names = dict(asker.server.app.names)
            missing = re.findall(r"^KeyError: '(\w{1,40})'", answer.fault)
            if answer.status == 400:
                missing += re.findall(r"[\"'`](\w{1,40})[\"'`]", answer.body.decode("latin-1"))
            names |= dict.fromkeys(missing, True)
            new = {name: needed for name, needed in names.items() if name not in route.all_names}
            if not new:
                break
            route.names |= new


_JSON = {"content-type": "application/json"}


def valid_values(run: str, tag: str) -> dict[str, str]:
    """What parameters are called in this project and its plugins, with values that fit."""
    return {"run": run, "tag": tag, "tagname": tag, "index": "0", "sample": "0", "format": "json"}


def _body_of(method: str, run: str, tag: str) -> dict[str, Any]:
    if method == "GET":
        return {}
    series = {"run": run, "tag": tag, "runs": [run], "tags": [tag], "series": [[run, tag]]}
    return {"body": json.dumps(series).encode(), "headers": _JSON}


def json_fault(answer: Answer) -> str:
    """Why an answer that says it is JSON is none; "" where all is well."""
    kind = answer.content_type.partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        return ""
    if answer.status in (204, 304):
        return ""

    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no number of JSON")

    try:
        json.loads(answer.body.decode("utf-8"), parse_constant=refuse)
    except ValueError as error:
        return str(error)
    return ""
