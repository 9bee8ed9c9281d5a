"""A tab for media shown one step at a time, with a plugin whose samples have only fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tbcore_testing import EventFileWriter

PYTHON = """
from tbcore import Claim, PluginInfo, hookimpl
from tbcore.media import Media, Sample
from tbcore.values import tensor

CLAIMS = (Claim("tensor", plugin_name="matrices"),)

@hookimpl
def plugin_info():
    return PluginInfo(title="Matrices", claims=CLAIMS)

@hookimpl
def routes(multiplexer):
    def decode(value, metadata):
        return [Sample(fields={"rows": tensor(value)})]

    return Media(multiplexer, CLAIMS, decode).routes()
"""

MODULE = """
import { html } from "htm/preact";
import { renderStepTab } from "tbcore/steps.js";

const Matrix = ({ entry, url, label }) =>
  html`<p aria-label=${label}>${JSON.stringify([url, entry.rows])}</p>`;

const kind = { noun: "matrix", nouns: "matrices", Sample: Matrix };
export default { render: (host) => renderStepTab(host, kind) };
"""


def test_samples_with_only_fields(serve: Any, profile: Any, tmp_path: Path) -> None:
    """Samples have no URL and no download, and the tab uses the plugin's plural.

    Without the component `Sample`, the tab shows an error that says what is missing.
    """
    with EventFileWriter(tmp_path / "logs" / "train" / "a.tfevents") as writer:
        for step in (3, 7):
            writer.add_tensor("m", [[step, 0], [0, 1]], step, plugin_name="matrices")
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "matrices.py").write_text(PYTHON)
    (folder / "matrices.js").write_text(MODULE)
    (folder / "other.py").write_text(PYTHON)
    (folder / "other.js").write_text(MODULE.replace("Sample: Matrix", "sample: Matrix"))
    server = serve(tmp_path / "logs", "--plugins_dir", str(folder), plugins=[])
    page = profile.open(server.url, "#matrices")
    sample = page.get_by_label("m, train, step 7")
    sample.wait_for()
    assert sample.inner_text() == '["",[[7,0],[0,1]]]'
    assert page.locator(".tb-step-samples a").count() == 0
    page.get_by_label("Step of all matrices").first.wait_for()
    profile.check()
    profile.expects_errors = True
    page.evaluate("() => { location.hash = 'other'; }")
    page.get_by_text("kind.Sample is missing").wait_for()
