/**
 * Everything about one node or scope, or about the graph.
 */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { formatBytes, plural } from "tbcore/lib/format.js";
import { formatMicros } from "./colors.js";
import { graphChoices, options, paramsOf } from "./model.js";
import { lastPart, scopeOf } from "./paths.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./types.js").Details} About
 * @typedef {import("./types.js").End} End
 */

/** The server lists no more ends of edges. */
const MAX_LISTED = 500;
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
  const isTracing = model.isTracing.value;
  const trace = model.traced.value;
  const functions = functionsOf(model);
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
      ${!isSeries &&
      html`<button
        type="button"
        class="tb-button"
        title="Shows only what this needs: all that its inputs lead back to (t)"
        aria-pressed=${isTracing}
        onClick=${() => options.set(model.host, "trace", !isTracing)}
      >
        Trace inputs
      </button>`}
    </p>
    ${trace && html`<p class="hint" role="status">Traced back to ${plural(trace.nodes, "node")}</p>`}
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
    ${isSeries && html`<p>${plural(box.nodes, "node")} whose names differ in a number. They stand for many in one scope: open them to see each.</p>`}
    ${about && html`<${Facts} about=${about} functions=${functions} model=${model} />`}
    ${about?.kind === "op" &&
    html`<${Attributes} model=${model} functions=${functions} attributes=${about.attributes ?? []} />`}
    ${about &&
    html`<${Ends} title="Inputs" ends=${about.inputs} total=${about.num_inputs} onReveal=${onReveal} />
      <${Ends} title="Outputs" ends=${about.outputs} total=${about.num_outputs} onReveal=${onReveal} />`}
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
      Data flows upwards; what a dashed line joins only keeps an order. A double click opens a scope, and closes it. The pointer over a box shows its edges, a click everything about it. What
      stands apart at the right is connected with many, or only sets up and saves: its edges are drawn when it is chosen.
    </p>
  </div>`;
}

/** Functions that are graphs of their own: name to id. @param {Model} model @returns {Map<string, string>} */
function functionsOf(model) {
  const overview = model.overview.value;
  const place = model.place.value;
  if (!overview || !place) return new Map();
  // The library that the graph has, or that the function is in.
  const choices = graphChoices(overview);
  const library = choices.find(({ id }) => id === place.graph)?.of ?? place.graph;
  return new Map(choices.flatMap(({ id, title, of }) => (of === library ? [[title, id]] : [])));
}

/** A text that may name a function. @param {{ model: Model, functions: Map<string, string>, text: string }} props */
function Code({ model, functions, text }) {
  const graph = functions.get(text);
  if (graph === undefined) return html`<code>${text}</code>`;
  return html`<button type="button" class="link" onClick=${() => model.chooseGraph(graph)}>${text}</button>`;
}

/** @param {{ model: Model, functions: Map<string, string>, about: About }} props */
function Facts({ model, functions, about }) {
  const { op, device, nodes, edges, compute_us: micros, bytes, devices } = about;
  return html`<dl>
    ${op !== undefined && html`<dt>Op</dt><dd><${Code} model=${model} functions=${functions} text=${op} /></dd>`}
    ${device && html`<dt>Device</dt><dd><code>${device}</code></dd>`}
    ${nodes !== undefined && html`<dt>Nodes</dt><dd>${nodes.toLocaleString("en")}</dd>`}
    ${edges !== undefined && html`<dt>Edges inside</dt><dd>${edges.toLocaleString("en")}</dd>`}
    ${devices?.some(([name]) => name !== "") &&
    html`<dt>Devices</dt><dd>${devices.map(([name, count]) => html`<p key=${name}><code>${name || "none"}</code> ${count.toLocaleString("en")}</p>`)}</dd>`}
    ${micros !== null && html`<dt>Compute time</dt><dd>${formatMicros(micros)}</dd>`}
    ${bytes !== null && html`<dt>Memory</dt><dd>${formatBytes(bytes)}</dd>`}
  </dl>`;
}

/** @param {{ model: Model, functions: Map<string, string>, attributes: readonly [string, string][] }} props */
function Attributes({ model, functions, attributes }) {
  if (attributes.length === 0) return null;
  return html`<section>
    <h3>Attributes</h3>
    <dl>
      ${attributes.map(
        ([key, text]) => html`<dt>${key}</dt>
          <dd><${Code} model=${model} functions=${functions} text=${text} /></dd>`,
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
        ({ name, output = 0, count = 1, control, shape, missing }) => html`<li>
          ${missing
            ? html`<span title="The graph has no such node">${name} <small>missing</small></span>`
            : html`<${NodeLink} name=${name} text=${`${name}${output > 0 ? `:${output}` : ""}`} onReveal=${onReveal} />`}
          <small>${[control ? "control" : shape.replaceAll("x", "×"), count > 1 ? `(${count.toLocaleString("en")})` : ""].join(" ")}</small>
        </li>`,
      )}
    </ul>
    ${shown.length < ends.length && html`<button type="button" class="link" onClick=${() => setLong(true)}>show ${(ends.length - shown.length).toLocaleString("en")} more</button>`}
    ${ends.length === MAX_LISTED && isLong && html`<p class="hint">No more than these ${ends.length.toLocaleString("en")} are listed</p>`}
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
