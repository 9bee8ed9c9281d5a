"""MediaTests: tests that a plugin with pictures, clips or similar samples gets from a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

from tbcore.engine import Summary
from tbcore_testing.client import TbcoreClient
from tbcore_testing.route_tests import (
    NAMES,
    RUN_NAMES,
    MakeClient,
    SeriesTests,
    assert_one_line,
    filled,
)
from tbcore_testing.writer import EventFileWriter


class MediaTests(SeriesTests):
    """Rules for a plugin with the routes of `tbcore.media.Media`, besides those for a series.

    The entries of the listing are objects with `query`, the query of `individual`.
    """

    individual: ClassVar[str]
    """The address in `routes` of `Media.individual`."""
    content_type: ClassVar[str]
    """The content type of the values."""

    def summary(self, tag: str, values: Sequence[Any]) -> Summary.Value:
        """A `Summary.Value` with several samples."""
        raise NotImplementedError

    def individuals(self) -> list[str]:
        """The paths of all addresses of the bytes of one sample."""
        return [a.address.partition("?")[0] for a in self.addresses() if a.route == self.individual]

    def entries(self, client: TbcoreClient, run: str, tag: str, more: str = "") -> Any:
        """The entries of the listing."""
        response = client.get(filled(self.listing, run, tag) + more)
        assert response.status_code == 200, response.text
        return response.json()

    def test_the_query_of_an_entry_gives_the_bytes_that_were_logged(
        self, client: TbcoreClient
    ) -> None:
        """With parameters that pages append, and with the names of parameters of other servers."""
        entries = self.entries(client, "eval", "batch")
        assert [entry["step"] for entry in entries] == [0, 1, 2]
        for path in self.individuals():
            for entry in entries:
                query = entry["query"]
                for asked in (query, f"{query}&ts=1.5", query.replace("tagname=", "tag=")):
                    response = client.get(f"{path}?{asked}")
                    assert response.headers["content-type"] == self.content_type
                    assert response.headers["x-content-type-options"] == "nosniff"
                    assert "content-encoding" not in response.headers
                    assert response.content == self.value(entry["step"])

    def test_queries_stay_valid_while_more_is_logged(
        self, tbcore_logdir: Path, new_client: MakeClient
    ) -> None:
        """Of a sampled series, too, and with any name."""
        filled = {tag: range(4 * self.samples) for tag in NAMES[:1]}
        self.log(tbcore_logdir, RUN_NAMES[0], {**filled, **{tag: [5] for tag in NAMES[1:]}})
        client = new_client()
        before = [entry for tag in NAMES for entry in self.entries(client, RUN_NAMES[0], tag)]
        assert len(before) == self.samples + len(NAMES) - 1

        later = range(4 * self.samples, 8 * self.samples)
        self.log(tbcore_logdir, RUN_NAMES[0], dict.fromkeys(NAMES, later))
        client.reload()

        path = self.individual.partition("?")[0]
        for entry in before:
            assert quote(entry["query"], safe="%&=+") == entry["query"]
            content = client.get(f"{path}?{entry['query']}").content
            assert content == self.value(entry["step"]), entry

    def test_several_samples_of_one_step(self, tbcore_logdir: Path, new_client: MakeClient) -> None:
        """Listings have the first by default, and omit steps without the requested sample."""
        first, second = self.value(0), self.value(1)
        with EventFileWriter(tbcore_logdir / "run" / "a.tfevents") as writer:
            writer.add_summary(1, self.summary("batch", [first, second]))
            writer.add_summary(2, self.summary("batch", [second]))
        client = new_client()
        path = self.individual.partition("?")[0]

        assert [e["step"] for e in self.entries(client, "run", "batch")] == [1, 2]
        (entry,) = self.entries(client, "run", "batch", "&sample=1")
        assert entry["step"] == 1
        assert entry["query"] == "index=0&tagname=batch&run=run&sample=1"
        for sample in (2, -1):
            assert self.entries(client, "run", "batch", f"&sample={sample}") == []
        listing = client.get(filled(self.listing, "run", "batch") + "&sample=x")
        assert (listing.status_code, '"sample" must be an integer' in listing.text) == (400, True)

        names = {"runs": ["run"], "tags": ["batch"]}
        steps = client.post(f"data/plugin/{self.name}/steps", json=names).json()
        assert steps == {"step": [1, 2], "count": [1, 1]}
        step = client.get(f"data/plugin/{self.name}/step?run=run&tag=batch&step=1").json()
        queries = [sample["query"] for sample in step["samples"]]
        assert queries == ["index=0&tagname=batch&run=run", entry["query"]]
        assert {sample["content_type"] for sample in step["samples"]} == {self.content_type}
        responses = [client.get(f"{path}?{query}") for query in queries]
        assert [response.content for response in responses] == [first, second]
        # Each sample has an ETag of its own.
        headers = {"If-None-Match": responses[0].headers["etag"]}
        statuses = [client.get(f"{path}?{query}", headers=headers).status_code for query in queries]
        assert statuses == [304, 200]
        for path in self.individuals():
            for text, status, part in (
                ("2", 404, "there is no sample 2"),
                ("-1", 404, "there is no sample -1"),
                ("x", 400, '"sample" must be an integer'),
            ):
                response = client.get(f"{path}?{queries[0]}&sample={text}")
                assert (response.status_code, part in response.text) == (status, True)
                assert_one_line(response)
