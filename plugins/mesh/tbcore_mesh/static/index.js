/**
 * The mesh tab: meshes and point clouds of the selected runs at one step, side by side for each tag.
 *
 * Settings in the page address, besides those of the step tab: `view`, the shared camera, and the
 * options of `controls.js`.
 */

import { html } from "htm/preact";
import { Answers } from "tbcore/requests.js";
import { renderStepTab } from "tbcore/steps.js";
import { Cameras } from "./camera.js";
import { Controls, OPTIONS } from "./controls.js";
import { MeshSample } from "./mesh-sample.js";
import { Renderer } from "./renderer.js";

const KEYS = [
  { key: "← → ↑ ↓", label: "Turn the focused mesh; with Shift, move it" },
  { key: "+ − 0", label: "Zoom the focused mesh, or reset its view" },
];

export default {
  /** @param {import("tbcore/host.js").Host} host */
  async render(host) {
    OPTIONS.recall(host);
    await host.css("./mesh.css");
    const shared = { cameras: new Cameras(host.settings), renderer: new Renderer(), frames: new Answers(host, "frame") };
    const remove = await renderStepTab(host, {
      noun: "mesh",
      nouns: "meshes",
      bytes: "individualMesh",
      Sample: (/** @type {import("tbcore/steps.js").SampleProps} */ props) => html`<${MeshSample} ...${props} ...${shared} />`,
      Controls: () => html`<${Controls} host=${host} cameras=${shared.cameras} />`,
      ending: () => ".ply",
      plays: true,
      keys: KEYS,
      readTags: (/** @type {Record<string, Record<string, unknown>>} */ response) =>
        Object.fromEntries(Object.entries(response).map(([run, meshes]) => [run, Object.keys(meshes)])),
      fetchAhead: (url) => void fetch(url, { signal: host.signal }).catch(() => {}),
    });
    return () => {
      remove();
      shared.renderer.destroy();
    };
  },
};
