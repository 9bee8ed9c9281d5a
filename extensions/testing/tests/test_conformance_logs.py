"""The log directories of the conformance suite have what the claims of a plugin name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tbcore import Claim
from tbcore_testing.conformance.logs import WRITERS, ExtraData, write_logs

CLAIMS = (Claim(is_scalar=True, tags="grads/*"), Claim("histo", tags="w?/*"))


@pytest.mark.parametrize("name", sorted({*WRITERS} - {"empty", "other", "many"}))
def test_tags_of_claims_are_written(tmp_path: Path, name: str) -> None:
    """Also those with odd names, numbers and damage; each with the values of its kind."""
    logs = write_logs(name, tmp_path, ExtraData(CLAIMS))
    found = {tag for _, tag in logs.pairs(CLAIMS, 10_000)}
    scalars = {tag for tag in found if tag.startswith("grads/")}
    assert len(scalars) >= 2
    if name != "odd":
        assert {tag for tag in found if tag.startswith("wx/")} == found - scalars != set()
    everything = {tag for _, tag in logs.pairs([Claim(is_scalar=True)], 10_000)}
    assert scalars == {f"grads/{tag}" for tag in everything - scalars}
