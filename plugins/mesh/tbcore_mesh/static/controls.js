/**
 * The toolbar's controls for meshes.
 */

import "@preact/signals";
import { html } from "htm/preact";
import { Options } from "tbcore/options.js";
import { Check, Choice, IconButton, Pick } from "tbcore/ui.js";
import { formatCamera } from "./camera.js";

/** @type {[value: string, title: string, why: string][]} */
const STYLES = [
  ["faces", "Faces", "Lit faces, if there are any"],
  ["edges", "Edges", "The edges of faces"],
  ["points", "Points", "The vertices alone"],
];
/** @type {[value: string, title: string][]} */
const AXES = [
  ["y", "y"],
  ["z", "z"],
];

/** How meshes are drawn. `drawn` is one of STYLES, `up` the axis that points upwards. */
export const OPTIONS = new Options(
  { drawn: "faces", up: "y", shared: true },
  { drawn: STYLES.map(([value]) => value), up: AXES.map(([value]) => value) },
);

/** @param {{ host: import("tbcore/host.js").Host, cameras: import("./camera.js").Cameras }} props */
export function Controls({ host, cameras }) {
  const { drawn, up, shared } = OPTIONS.parse(host.settings.value);
  const set = (/** @type {"drawn" | "up" | "shared"} */ name) => (/** @type {any} */ value) => OPTIONS.set(host, name, value);
  return html`
    <${Choice} label="Drawn as" name="drawn" choices=${STYLES} value=${drawn} onChange=${set("drawn")} />
    <${Pick} label="Up" choices=${AXES} value=${up} onChange=${set("up")} />
    <${Check}
      label="Shared camera"
      why="All meshes, of all runs and at all steps, are seen from the same place. Otherwise each is turned on its own."
      checked=${shared}
      onChange=${set("shared")}
    />
    <${IconButton}
      icon="reload"
      label="Reset all views"
      title="Reset all views"
      disabled=${shared && formatCamera(cameras.shared.value) === null}
      onClick=${() => cameras.reset()}
    />
  `;
}
