/**
 * Everything about one node or scope, or about the graph.
 */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { formatBytes, plural } from "tbcore/lib/format.js";
import { formatMicros } from "./colors.js";
import { graphChoices, paramsOf } from "./model.js";
import { lastPart, scopeOf } from "./paths.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./types.js").Details} About
 * @typedef {import("./types.js").End} End
 */

/** Rows of a list at first. */
const FEW = 12;

/**
 * @param {object} props
 * @param {Model} props.model
 * @param {(name: string) => void} props.onReveal
 */
export function Details({ model, onReveal }) {
  const name = model.selected.value;
  const place = model.place.value;
  const [state, setState] = useState({ about: /** @type {About | null} */ (null), error: "" });
  const box = name === null ? undefined : model.shown.value?.scene.boxes.get(name);
  const isSeries = box?.kind === "series";
  useEffect(() => {
    setState(({ about }) => ({ about: about?.name === name ? about : null, error: "" }));
    if (name === null || !place || isSeries) return undefined;
    let isWanted = true;
    model.host.fetchJSON("node", { ...paramsOf(place), name }).then(
      (about) => isWanted && setState({ about, error: "" }),
      (error) => isWanted && setState({ about: null, error: error.message }),
    );
    return () => void (isWanted = false);
  }, [name, place, isSeries, model.overview.value]);

  if (name === null) return html`<${AboutGraph} model=${model} />`;
  const { about, error } = state;
  return html`<div class="details">
    <h2>${lastPart(name)}</h2>
    <p class="path">${scopeOf(name) === "" ? "in no scope" : html`in <${NodeLink} name=${scopeOf(name)} text=${scopeOf(name)} onReveal=${onReveal} />`}</p>
    <p class="actions">
      ${box && box.kind !== "op" && html`<button type="button" class="tb-button" onClick=${() => model.toggle(name)}>${box.open ? "Close" : "Open"}</button>`}
      ${box &&
      html`<button type="button" class="tb-button" onClick=${() => model.moveApart(name, !box.apart)}>
        ${box.apart ? "Bring into the flow" : "Set apart"}
      </button>`}
      ${!box && html`<button type="button" class="tb-button" onClick=${() => onReveal(name)}>Show in the graph</button>`}
    </p>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
    ${isSeries && html`<p>${plural(box.nodes, "node")} whose names differ in a number. They stand for many in one scope: open them to see each.</p>`}
    ${about && html`<${Facts} about=${about} />`}
    ${about?.kind === "op" &&
    html`<${Attributes} model=${model} attributes=${about.attributes ?? []} />
      <${Ends} title="Inputs" ends=${about.inputs ?? []} total=${about.num_inputs} onReveal=${onReveal} />
      <${Ends} title="Outputs" ends=${about.outputs ?? []} total=${about.num_outputs} onReveal=${onReveal} />`}
    ${about?.ops && html`<${Counts} title="Ops" counts=${about.ops} />`}
  </div>`;
}

/** @param {{ model: Model }} props */
function AboutGraph({ model }) {
  const overview = model.overview.value;
  const place = model.place.value;
  const graph = overview?.graphs.find(({ id }) => id === place?.graph);
  if (!overview || !place) return null;
  const title = graphChoices(overview).find(({ id }) => id === place.graph)?.title ?? place.graph;
  return html`<div class="details">
    <h2>${title}</h2>
    <p class="path">${place.run}</p>
    ${graph &&
    html`<dl>
      <dt>Nodes</dt><dd>${graph.nodes.toLocaleString("en")}</dd>
      <dt>Edges</dt><dd>${graph.edges.toLocaleString("en")}</dd>
      <dt>Logged as</dt><dd><code>${graph.source}</code></dd>
      ${graph.functions.length > 0 && html`<dt>Functions</dt><dd>${graph.functions.length.toLocaleString("en")}</dd>`}
    </dl>`}
    <p class="hint">
      Data flows upwards. A double click opens a scope, and closes it. The pointer over a box shows its edges, a click everything about it. What
      stands apart at the right is connected with many, or only sets up and saves: its edges are drawn when it is chosen.
    </p>
  </div>`;
}

/** @param {{ about: About }} props */
function Facts({ about }) {
  const { op, device, nodes, edges, compute_us: micros, bytes, devices } = about;
  return html`<dl>
    ${op !== undefined && html`<dt>Op</dt><dd><code>${op}</code></dd>`}
    ${device && html`<dt>Device</dt><dd><code>${device}</code></dd>`}
    ${nodes !== undefined && html`<dt>Nodes</dt><dd>${nodes.toLocaleString("en")}</dd>`}
    ${edges !== undefined && html`<dt>Edges inside</dt><dd>${edges.toLocaleString("en")}</dd>`}
    ${op === undefined && html`<dt>Edges in, out</dt><dd>${about.num_inputs.toLocaleString("en")}, ${about.num_outputs.toLocaleString("en")}</dd>`}
    ${devices?.some(([name]) => name !== "") &&
    html`<dt>Devices</dt><dd>${devices.map(([name, count]) => html`<p key=${name}><code>${name || "none"}</code> ${count.toLocaleString("en")}</p>`)}</dd>`}
    ${micros !== null && html`<dt>Compute time</dt><dd>${formatMicros(micros)}</dd>`}
    ${bytes !== null && html`<dt>Memory</dt><dd>${formatBytes(bytes)}</dd>`}
  </dl>`;
}

/** @param {{ model: Model, attributes: readonly [string, string][] }} props */
function Attributes({ model, attributes }) {
  if (attributes.length === 0) return null;
  const overview = model.overview.value;
  const place = model.place.value;
  if (!overview || !place) return null;
  // The library that the graph has, or that the function is in.
  const choices = graphChoices(overview);
  const library = choices.find(({ id }) => id === place.graph)?.of ?? place.graph;
  const functions = new Map(choices.flatMap(({ id, title, of }) => (of === library ? [[title, id]] : [])));
  return html`<section>
    <h3>Attributes</h3>
    <dl>
      ${attributes.map(
        ([key, text]) => html`<dt>${key}</dt>
          <dd>
            ${functions.has(text)
              ? html`<button type="button" class="link" onClick=${() => model.chooseGraph(functions.get(text) ?? "")}>${text}</button>`
              : html`<code>${text}</code>`}
          </dd>`,
      )}
    </dl>
  </section>`;
}

/**
 * @param {object} props
 * @param {string} props.title
 * @param {readonly End[]} props.ends
 * @param {number} props.total
 * @param {(name: string) => void} props.onReveal
 */
function Ends({ title, ends, total, onReveal }) {
  const [isLong, setLong] = useState(false);
  const shown = isLong ? ends : ends.slice(0, FEW);
  return html`<section>
    <h3>${title} <small>${total.toLocaleString("en")}</small></h3>
    <ul>
      ${shown.map(
        ({ name, output, control, shape, missing }) => html`<li>
          ${missing
            ? html`<span title="The graph has no such node">${name} <small>missing</small></span>`
            : html`<${NodeLink} name=${name} text=${`${name}${output > 0 ? `:${output}` : ""}`} onReveal=${onReveal} />`}
          ${control ? html`<small>control</small>` : shape && html`<small>${shape.replaceAll("x", "×")}</small>`}
        </li>`,
      )}
    </ul>
    ${shown.length < ends.length && html`<button type="button" class="link" onClick=${() => setLong(true)}>show ${(ends.length - shown.length).toLocaleString("en")} more</button>`}
    ${ends.length < total && isLong && html`<p class="hint">The first ${ends.length.toLocaleString("en")} of ${total.toLocaleString("en")}</p>`}
  </section>`;
}

/** @param {{ title: string, counts: readonly [string, number][] }} props */
function Counts({ title, counts }) {
  const [isLong, setLong] = useState(false);
  const shown = isLong ? counts : counts.slice(0, FEW);
  return html`<section>
    <h3>${title} <small>${counts.length.toLocaleString("en")}</small></h3>
    <dl class="counts">${shown.map(([text, count]) => html`<dt>${text}</dt><dd>${count.toLocaleString("en")}</dd>`)}</dl>
    ${shown.length < counts.length && html`<button type="button" class="link" onClick=${() => setLong(true)}>show ${counts.length - shown.length} more</button>`}
  </section>`;
}

/** @param {{ name: string, text: string, onReveal: (name: string) => void }} props */
function NodeLink({ name, text, onReveal }) {
  return html`<button type="button" class="link" title=${name} onClick=${() => onReveal(name)}>${text}</button>`;
}
