/**
 * The graphs tab: one graph at a time, drawn as nested boxes.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { GraphView } from "./graph-view.js";
import { Model } from "./model.js";
import { Tab } from "./tab.js";

export default {
  /** @param {import("tbcore/host.js").Host} host */
  async render(host) {
    await host.css("./graphs.css");
    const canvas = document.createElement("div");
    canvas.className = "canvas";
    /** @type {import("./graph-view.js").Callbacks} */
    const callbacks = { onSelect: () => {}, onToggle: () => {}, onHover: () => {} };
    const view = new GraphView(canvas, callbacks);
    const model = new Model(host, (text, font) => view.measure(text, font));
    await model.start();
    render(html`<${Tab} model=${model} view=${view} canvas=${canvas} callbacks=${callbacks} />`, host.element);
    return () => {
      render(null, host.element);
      view.destroy();
    };
  },
};
