"""Base classes of test classes: tests that a plugin gets from a table of its routes.

    class TestRoutes(SeriesTests):
        plugin = "points"
        data_type = "scalars"
        listing = "data/plugin/points/points?run={run}&tag={tag}"
        routes = {listing: ["data/points"]}

pytest runs the tests of the base class with these attributes. A subclass sets a test to None if its
rule does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote

import pytest

from tbcore_testing.client import TbcoreClient, plugin_name
from tbcore_testing.conformance.odd_names import ODD_RUNS, ODD_TAGS
from tbcore_testing.runs import write_run

TAG_TYPES = {
    "images": [],
    "audio": [],
    "histograms": [],
    "scalars": [],
    "compressedHistograms": [],
    "graph": False,
    "meta_graph": False,
    "run_metadata": [],
}
"""The entry for a run without data in the index of the older API."""
PAGES = ("events", "images", "audio", "graphs", "histograms")
"""Addresses of the old page, one for each of its tabs."""
MakeClient = Callable[..., TbcoreClient]

NAMES = [*ODD_TAGS, "a b+c%20d&e=f#g?h", "tab\tline\nreturn\rnull\x00end", "%s %n", "index=1&run=x"]
"""Tags that can be logged."""
RUN_NAMES = ["a&b=c d+ü", "q'uo\"te", "per%cent&amp", "..hidden", *ODD_RUNS]
"""Names of runs that can be directories."""


class Address(NamedTuple):
    """One address of a route."""

    address: str
    route: str
    """The route's address in `RouteTests.routes`; for that address itself, the same text."""


class RouteTests:
    """Rules for all routes: slashes, unknown parameters, methods, headers, HEAD and 304."""

    plugin: ClassVar[Any]
    """The plugin: its module, or the name of an installed plugin."""
    routes: ClassVar[Mapping[str, Sequence[str]]]
    """Maps the address of each route to the paths at which the older API has the same route.

    An address has the query of a valid request. `{run}`, `{tag}` and `{index}` in it stand for a
    run, a tag, and the index of an item, which are required.
    """
    may_repeat: ClassVar[Sequence[str]] = ()
    """Names of parameters that a request may have more than once."""

    def write_logs(self, logdir: Path) -> None:
        """Writes event files, for which each route responds with status 200."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the plugin."""
        return self.plugin if isinstance(self.plugin, str) else plugin_name(self.plugin)

    def addresses(self) -> Iterator[Address]:
        """Yields the addresses of all routes, also those of the older API."""
        for route, paths in self.routes.items():
            query = route.partition("?")[2]
            yield Address(route, route)
            for path in paths:
                yield Address(f"{path}?{query}" if query else path, route)

    def series_addresses(self) -> list[str]:
        """All addresses that have a run and a tag."""
        return [one.address for one in self.addresses() if "{tag}" in one.address]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Runs a test with the parameter `address` or `series_address` for each such address."""
        if "address" in metafunc.fixturenames:
            addresses = list(self.addresses())
            metafunc.parametrize("address", addresses, ids=[one.address for one in addresses])
        if "series_address" in metafunc.fixturenames:
            metafunc.parametrize("series_address", self.series_addresses())

    @pytest.fixture
    def new_client(self, tbcore_logdir: Path, tbcore_client: MakeClient) -> MakeClient:
        """A function that returns a client of a new server with the plugin."""
        return partial(tbcore_client, tbcore_logdir, plugins=[self.plugin])

    @pytest.fixture
    def client(self, tbcore_logdir: Path, new_client: MakeClient) -> TbcoreClient:
        """A client of a server with the logs of `write_logs`."""
        self.write_logs(tbcore_logdir)
        return new_client(dev=False)

    def test_the_rules_for_every_route(self, client: TbcoreClient, address: Address) -> None:
        """All addresses of a route have the same response."""
        client.headers["Accept-Encoding"] = "identity"
        url = filled(address.address)
        path, _, query = url.partition("?")
        expected = client.get(url)
        assert expected.status_code == 200, expected.text
        assert expected.content == client.get(filled(address.route)).content
        assert int(expected.headers["content-length"]) == len(expected.content)
        assert "no-cache" in expected.headers["cache-control"]
        assert expected.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in expected.headers["content-security-policy"]
        assert "access-control-allow-origin" not in expected.headers

        assert client.get(f"{path}/?{query}").content == expected.content
        assert client.get(f"{path}//?{query}").status_code == 404
        names = {part.partition("=")[0] for part in query.split("&") if part}
        repeated = [f"{name}=other" for name in sorted(names.difference(self.may_repeat))]
        ignored = "&".join([*([query] if query else []), "ts=1.5", *repeated])
        assert client.get(f"{path}?{ignored}").content == expected.content

        head = client.head(url)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == expected.headers["content-type"]
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            refused = client.request(method, url)
            assert refused.status_code == 405, method
            assert_one_line(refused)
        if etag := expected.headers.get("etag"):
            again = client.get(url, headers={"If-None-Match": etag})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["cache-control"] == "no-cache"


class SeriesTests(RouteTests):
    """Rules for a plugin that shows the values of a (run, tag), besides those for every route."""

    data_type: ClassVar[str]
    """The argument of `write_run` for the plugin's values; not used if `log` is overridden."""
    listing: ClassVar[str]
    """The address in `routes` of a route that returns the steps of a series."""
    samples: ClassVar[int]
    """Number of steps that the listing returns if no option says otherwise."""
    tag_type: ClassVar[str | None] = None
    """The tag type in the index of the older API, if there is one."""
    other_data: ClassVar[Mapping[str, Any]] = {"scalars": {"loss": [0.5]}}
    """Arguments of `write_run` for values of another plugin, with the tag `loss`."""

    def value(self, step: int) -> Any:
        """A value in the form of `write_run`; a different one for each step."""
        return float(step)

    def log(
        self, logdir: Path, run: str, steps_by_tag: Mapping[str, Iterable[int]], **options: Any
    ) -> Path:
        """Writes an event file with values at these steps, as `write_run` does; returns its path.

        Options are `as_tensors`, which a kind with one form ignores, and `filename`.
        """
        points = {tag: [(n, self.value(n)) for n in steps] for tag, steps in steps_by_tag.items()}
        values: dict[str, Any] = {self.data_type: points, **options}
        return write_run(logdir, run, **values)

    def steps(self, response: Any) -> list[int]:
        """The steps in a response of the listing."""
        assert response.status_code == 200, response.text
        return [row["step"] if isinstance(row, dict) else row[1] for row in response.json()]

    def write_logs(self, logdir: Path) -> None:
        """Writes two runs with values, each in another form, and one without."""
        self.log(logdir, "train", {"weights": range(3), "batch": [7]})
        self.log(logdir, "eval", {"batch": range(3)}, as_tensors=True)
        write_run(logdir, "other", **self.other_data)

    def listings(self) -> list[str]:
        """All addresses of the listing."""
        return [one.address for one in self.addresses() if one.route == self.listing]

    def test_tags_list_every_run(self, client: TbcoreClient) -> None:
        """In the order logged; runs without values have an empty list. In the older index, too."""
        expected = {"train": ["weights", "batch"], "eval": ["batch"], "other": []}
        response = client.get(f"data/plugin/{self.name}/tags")

        assert response.headers["content-type"] == "application/json"
        assert list(response.json()) == client.get("data/runs").json()
        assert response.json() == expected
        for run, entry in client.get("legacy/data/runs").json().items():
            own = {self.tag_type: expected[run]} if self.tag_type else {}
            time = entry["firstEventTimestamp"]
            assert entry == {**TAG_TYPES, **own, "firstEventTimestamp": time}

    def test_the_tab_is_active_from_the_first_value_on(
        self, tbcore_logdir: Path, new_client: MakeClient
    ) -> None:
        """Without data, and with values of another plugin only, the tab is inactive."""
        client = new_client()
        assert client.get("data/plugins_listing").json() == {self.name: False}
        assert client.get(f"data/plugin/{self.name}/tags").json() == {}
        write_run(tbcore_logdir, "other", **self.other_data)
        client.reload()
        assert client.get("data/plugins_listing").json() == {self.name: False}

        self.log(tbcore_logdir, "run", {"a": [0]}, as_tensors=True)
        client.reload()

        assert client.get("data/plugins_listing").json() == {self.name: True}

    def test_errors_are_one_line(self, client: TbcoreClient, series_address: str) -> None:
        """For missing parameters, and with similar names for an unknown run or tag."""
        for url, status, parts in _wrong_requests(series_address):
            response = client.get(url)
            assert response.status_code == status, (url, response.text)
            assert_one_line(response)
            assert "x-header" not in response.headers
            for part in parts:
                assert part in response.text, url
        path = series_address.partition("?")[0]
        if _is_page(path):
            page = client.get(path, follow_redirects=False)
            assert page.status_code == (404 if path.startswith("legacy/") else 302)

    @pytest.mark.parametrize("change", ["deleted", "replaced", "overwritten", "zeroed"])
    def test_values_whose_file_changed_are_not_found(
        self, tbcore_logdir: Path, new_client: MakeClient, change: str
    ) -> None:
        """Until the next scan. Bytes that differ from those that were logged are never served."""
        path = self.log(tbcore_logdir, "run", {"a": range(2)})
        client = new_client()
        other = self.log(tbcore_logdir / "elsewhere", "run", {"a": range(2, 5)})
        match change:
            case "deleted":
                path.unlink()
            case "replaced":
                other.replace(path)
            case "overwritten":
                path.write_bytes(other.read_bytes())
            case "zeroed":
                path.write_bytes(bytes(path.stat().st_size))

        for address in self.series_addresses():
            response = client.get(filled(address, "run", "a"))
            assert response.status_code == 404, (address, response.text)
            assert_one_line(response)
            reason = "No such file" if change == "deleted" else "no longer what was logged"
            assert reason in response.text, address

        client.reload()
        if change == "deleted":
            assert client.get(filled(self.listing, "run", "a")).status_code == 404
            assert self.steps(client.get(filled(self.listing, "elsewhere/run", "a"))) == [2, 3, 4]
        elif change != "zeroed":
            assert self.steps(client.get(filled(self.listing, "run", "a"))) == [2, 3, 4]

    def test_long_series_are_sampled(self, tbcore_logdir: Path, new_client: MakeClient) -> None:
        """With the last step, and at the same steps for related tags. The number is an option."""
        count = self.samples * 6 // 5 + 4
        for run, as_tensors in (("a", False), ("b", True)):
            tags = dict.fromkeys("xy", range(count))
            self.log(tbcore_logdir, run, tags, as_tensors=as_tensors)
        others = dict.fromkeys({"scalars", "histograms", "images"} - {self.name}, 5)
        sampled: list[list[int]] = []
        for limit, expected in ((None, self.samples), (0, count), (3, 3)):
            own = {} if limit is None else {self.name: limit}
            client = new_client(samples_per_plugin={**others, **own})
            found = [
                self.steps(client.get(filled(address, run, tag)))
                for address in self.listings()
                for run, tag in (("a", "x"), ("a", "y"), ("b", "x"))
            ]
            assert [len(steps) for steps in found] == [expected] * len(found)
            assert found == [sorted(set(found[0]))] * len(found)
            assert found[0][-1] == count - 1
            sampled.append(found[0])
        assert set(sampled[2]) <= set(sampled[0])

    def test_any_name_that_can_be_logged_can_be_requested(
        self, tbcore_logdir: Path, new_client: MakeClient
    ) -> None:
        """Names of tags, and of runs, which are paths. Listings have the exact names."""
        self.log(tbcore_logdir, RUN_NAMES[0], {tag: [5] for tag in NAMES})
        for run in RUN_NAMES[1:]:
            self.log(tbcore_logdir, run, {"a": [5]})
        client = new_client()

        tags = client.get(f"data/plugin/{self.name}/tags").json()
        assert {run: [*names] for run, names in tags.items()} == {
            **{run: ["a"] for run in RUN_NAMES}, RUN_NAMES[0]: NAMES,
        }  # fmt: skip
        addresses = [address for address in self.routes if "{tag}" in address]
        for run, names in tags.items():
            for tag in names:
                assert self.steps(client.get(filled(self.listing, run, tag))) == [5], (run, tag)
                for address in addresses:
                    assert client.get(filled(address, run, tag)).status_code == 200, (run, tag)

    def test_new_steps_are_served_after_a_reload(
        self, tbcore_logdir: Path, new_client: MakeClient
    ) -> None:
        """Other tags of the run do not change a response, and earlier items stay as they are."""
        self.log(tbcore_logdir, "run", {"a": range(2)}, filename="a.tfevents")
        client = new_client()
        urls = {address: filled(address, "run", "a") for address in self.series_addresses()}
        before = {url: client.get(url) for url in urls.values()}

        def again(url: str) -> Any:
            etag = before[url].headers.get("etag")
            return client.get(url, headers={"If-None-Match": etag} if etag else {})

        write_run(tbcore_logdir, "run", **self.other_data)
        self.log(tbcore_logdir, "run", {"other": [0]})
        client.reload()
        for url, response in before.items():
            if "etag" in response.headers:
                assert again(url).status_code == 304, url
            assert client.get(url).content == response.content, url

        self.log(tbcore_logdir, "run", {"a": [2]}, filename="a.tfevents")
        client.reload()
        assert self.steps(client.get(filled(self.listing, "run", "a"))) == [0, 1, 2]
        for address, url in urls.items():
            if "{index}" in address:
                assert client.get(url).content == before[url].content, url
            else:
                assert again(url).status_code == 200, url


class SeriesResponseTests(SeriesTests):
    """Rules for a plugin with `tbcore.http.series_response`, besides those for a series."""

    series: ClassVar[str]
    """The address in `routes` of a route that responds with `series_response`."""

    def test_a_request_can_set_the_number_of_steps(
        self, tbcore_logdir: Path, new_client: MakeClient
    ) -> None:
        """The response has the number of all steps. It has no ETag if a step cannot be read."""
        path = self.log(tbcore_logdir, "run", {"a": range(80)})
        client = new_client(samples_per_plugin={self.name: 5})
        rows = client.get(filled(self.listing, "run", "a")).json()
        url = filled(self.series, "run", "a")
        etag = client.get(url).headers["etag"]

        assert client.get(url).json() == {"num_steps": 80, "rows": rows}
        for samples, expected in ((1, 1), (30, 30), (99, 80), (0, 80)):
            response = client.get(f"{url}&samples={samples}", headers={"If-None-Match": etag})
            assert (response.json()["num_steps"], len(response.json()["rows"])) == (80, expected)
            assert response.json()["rows"][-1] == rows[-1]
        for text in ("-1", "x", "1.5"):
            assert client.get(f"{url}&samples={text}").status_code == 400

        data = path.read_bytes()
        path.write_bytes(data[:-20] + bytes(20))  # Destroys the end of the last record.
        response = client.get(f"{url}&samples=0")
        assert (response.status_code, len(response.json()["rows"])) == (200, 79)
        assert "etag" not in response.headers


def filled(address: str, run: str = "eval", tag: str = "batch", index: str = "0") -> str:
    """The address with these values."""
    return address.format(run=quote(run, safe=""), tag=quote(tag, safe=""), index=index)


def assert_one_line(response: Any) -> None:
    """The response is one line of plain text."""
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert len(response.text.splitlines()) == 1, response.text


def _is_page(path: str) -> bool:
    """Whether this is the address of an old page if the query has no run or no tag."""
    return path.removeprefix("legacy/") in PAGES


def _wrong_requests(address: str) -> Iterator[tuple[str, int, Sequence[str]]]:
    """Yields wrong requests for a series or an item: URL, status, and parts of the message."""
    path, _, query = address.partition("?")
    parts = query.split("&")
    required = [name for name in ("run", "tag", "index") if f"{{{name}}}" in query]
    if not _is_page(path):
        for name in required:
            others = "&".join(part for part in parts if f"{{{name}}}" not in part)
            yield filled(f"{path}?{others}"), 400, [f'query parameter "{name}" is required']
    yield filled(address, "evil"), 404, ["'evil'", "'eval'"]
    yield filled(address, "eval\r\nX-Header:1"), 404, []
    yield address.format(run="%ff", tag="%00", index=0), 404, ["no run"]
    yield filled(address, "", ""), 404, ["''"]
    yield filled(address, tag="batsh"), 404, ["'batsh'", "'batch'", "'eval'"]
    yield filled(address, tag="weights"), 404, ["'weights'", "'eval'"]
    yield filled(address, "other", "loss"), 404, ["'loss'", "'other'"]
    yield filled(address, tag="batch\r\nX-Header:1"), 404, []
    if "index" in required:
        yield filled(address, index="x"), 400, ['"index" must be an integer']
        for index, part in (("3", "no item 3"), ("-1", "no item -1"), ("9" * 40, "no item")):
            yield filled(address, index=index), 404, [part]
