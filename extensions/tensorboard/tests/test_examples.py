"""Plugins of the shapes that TensorBoard's two examples have draw in their tabs."""

from __future__ import annotations

from typing import Any

import pytest
from hosted import Installed

from tbcore_testing import EventFileWriter, summaries, write_run

pytestmark = pytest.mark.browser

PYTHON = """
import json, pathlib
from tensorboard.data import provider
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

class Shown(base_plugin.TBPlugin):
    plugin_name = {name!r}

    def __init__(self, context):
        self.provider = context.data_provider

    def is_active(self):
        return True

    def frontend_metadata(self):
        return base_plugin.FrontendMetadata(es_module_path="/module.js", tab_name="Shown")

    def data_plugin_names(self):
        return ({reads!r},)

    def get_plugin_apps(self):
        return {{"/module.js": self.module, "/values": self.values}}

    @wrappers.Request.application
    def module(self, request):
        text = pathlib.Path(__file__).with_name("module.html").read_text()
        return wrappers.Response(text, content_type="text/javascript")

    @wrappers.Request.application
    def values(self, request):
        wanted = dict(experiment_id="", plugin_name={reads!r}, downsample=100)
        found = self.provider.read_{kind}(**wanted)
        text = [str(getattr(datum, "value", None) if {kind!r} == "scalars" else datum.numpy.item())
                for tags in found.values() for data in tags.values() for datum in data]
        return wrappers.Response(json.dumps(text), content_type="application/json")
"""
MODULE = """
export async function render() {
  const style = document.createElement("style");
  style.textContent = "li { color: rgb(1, 2, 3) }";
  document.head.append(style);
  const values = await fetch("./values").then((response) => response.json());
  document.body.innerHTML = values.map(() => "<li></li>").join("");
  document.body.querySelectorAll("li").forEach((item, i) => { item.textContent = values[i]; });
}
"""


@pytest.mark.parametrize(
    ("name", "reads", "kind", "shown"),
    [
        ("greeting", "greeting", "tensors", "b'a <b>word</b>'"),
        ("raw", "scalars", "scalars", "0.375"),
    ],
)
def test_a_plugin_of_the_shape_of_an_example_draws(
    installed: Installed,
    tbcore_page: Any,
    tbcore_logdir: Any,
    name: str,
    reads: str,
    kind: str,
    shown: str,
) -> None:
    """One reads tensors of its own, the other scalars; both have a module and a style."""
    pytest.importorskip("tensorboard")
    from tbcore_tensorboard import plugin

    installed.add(name, PYTHON.format(name=name, reads=reads, kind=kind), "Shown", module=MODULE)
    run = write_run(tbcore_logdir, "train", scalars={"loss": [0.5, 0.375]}).parent
    with EventFileWriter(run / "b.tfevents") as writer:
        value = summaries.string_tensor("hi", [b"a <b>word</b>"], plugin_name="greeting")
        writer.add_summary(0, value)

    page = tbcore_page(tbcore_logdir, plugins={"tensorboard": plugin})

    tab = page.tab(f"tb-{name}").frame_locator("iframe")
    item = tab.get_by_text(shown, exact=True)
    item.wait_for()
    assert item.evaluate("(item) => getComputedStyle(item).color") == "rgb(1, 2, 3)"
