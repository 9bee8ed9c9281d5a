/**
 * The details pane: the selected node or scope, or the graph if nothing is selected.
 */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { formatBytes, formatName, plural } from "tbcore/format.js";
import { labelOf } from "tbcore/text-names.js";
import { formatMicros } from "./colors.js";
import { graphChoices, paramsOf } from "./graph-ref.js";
import { options } from "./model.js";
import { lastPart, scopeOf } from "./paths.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./types.js").Details} NodeDetails
 * @typedef {import("./types.js").End} End
 */

/** Most inputs or outputs in a response of the server. */
const MAX_LISTED = 500;
/** Rows that a list shows before it is expanded. */
const INITIAL_ROWS = 12;

/**
 * The details pane.
 * @param {object} props
 * @param {Model} props.model
 * @param {(name: string) => void} props.onReveal  shows a node in the drawing
 */
export function Details({ model, onReveal }) {
  const name = model.selected.value;
  const graphRef = model.graphRef.value;
  const [state, setState] = useState({ about: /** @type {NodeDetails | null} */ (null), error: "" });
  const box = name === null ? undefined : model.shown.value?.scene.boxes.get(name);
  const isSeries = box?.kind === "series";
  useEffect(() => {
    setState(({ about }) => ({ about: about?.name === name ? about : null, error: "" }));
    if (name === null || !graphRef || isSeries) return undefined;
    let isCurrent = true;
    model.host.fetchJSON("node", { ...paramsOf(graphRef), name }).then(
      (about) => isCurrent && setState({ about, error: "" }),
      (error) => isCurrent && setState({ about: null, error: error.message }),
    );
    return () => void (isCurrent = false);
  }, [name, graphRef, isSeries, model.overview.value]);

  if (name === null) return html`<${AboutGraph} model=${model} />`;
  const { about, error } = state;
  const isTracing = model.isTracing.value;
  const trace = model.traced.value;
  const functions = functionsOf(model);
  return html`<div class="details">
    <h2>${formatName(lastPart(name))}</h2>
    <p class="path">${scopeOf(name) === "" ? "at the top level" : html`in <${NodeLink} name=${scopeOf(name)} text=${scopeOf(name)} onReveal=${onReveal} />`}</p>
    <p class="actions">
      ${box && box.kind !== "op" && html`<button type="button" class="tb-button" onClick=${() => model.toggle(name)}>${box.open ? "Close" : "Open"}</button>`}
      ${box &&
      html`<button type="button" class="tb-button" onClick=${() => model.setAuxiliary(name, !box.auxiliary)}>
        ${box.auxiliary ? "Add to main graph" : "Remove from main graph"}
      </button>`}
      ${!box && html`<button type="button" class="tb-button" onClick=${() => onReveal(name)}>Show in the graph</button>`}
      ${!isSeries &&
      html`<button
        type="button"
        class="tb-button"
        title="Highlight all nodes that this depends on (t)"
        aria-pressed=${isTracing}
        onClick=${() => options.set(model.host, "trace", !isTracing)}
      >
        Trace inputs
      </button>`}
    </p>
    ${trace && html`<p class="hint" role="status">Traced back to ${plural(trace.nodes, "node")}</p>`}
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
    ${isSeries && html`<p>A series of ${plural(box.nodes, "node")} whose names differ only in a number. Open it to see each of them.</p>`}
    ${about && html`<${Facts} about=${about} functions=${functions} model=${model} />`}
    ${about?.kind === "op" &&
    html`<${Attributes} model=${model} functions=${functions} attributes=${about.attributes ?? []} />`}
    ${about &&
    html`<${Ends} title="Inputs" ends=${about.inputs} total=${about.num_inputs} onReveal=${onReveal} />
      <${Ends} title="Outputs" ends=${about.outputs} total=${about.num_outputs} onReveal=${onReveal} />`}
    ${about?.ops && html`<${Counts} title="Ops" counts=${about.ops} />`}
  </div>`;
}

/** Facts about the whole graph, and how to use the drawing. @param {{ model: Model }} props */
function AboutGraph({ model }) {
  const overview = model.overview.value;
  const graphRef = model.graphRef.value;
  const graph = overview?.graphs.find(({ id }) => id === graphRef?.graph);
  if (!overview || !graphRef) return null;
  const title = graphChoices(overview).find(({ id }) => id === graphRef.graph)?.title ?? graphRef.graph;
  return html`<div class="details">
    <h2>${title}</h2>
    <p class="path" title=${formatName(graphRef.run)}>${formatName(labelOf(model.host.wantedRuns.value, graphRef.run))}</p>
    ${graph &&
    html`<dl>
      <dt>Nodes</dt><dd>${graph.nodes.toLocaleString("en")}</dd>
      <dt>Edges</dt><dd>${graph.edges.toLocaleString("en")}</dd>
      <dt>Logged as</dt><dd><code>${graph.source}</code></dd>
      ${graph.functions.length > 0 && html`<dt>Functions</dt><dd>${graph.functions.length.toLocaleString("en")}</dd>`}
    </dl>`}
    <p class="hint">
      Data flows upwards. Dashed lines are control edges, which only set an order. Double-click a scope to open or close it. Point at a box to see its edges, and click it for details.
      Auxiliary nodes, at the right, have many neighbours, or only initialize or save the model. Their edges are drawn when they are selected.
    </p>
  </div>`;
}

/**
 * The functions in the library of the current graph: name to the id of the function's own graph.
 * @param {Model} model
 * @returns {Map<string, string>}
 */
function functionsOf(model) {
  const overview = model.overview.value;
  const graphRef = model.graphRef.value;
  if (!overview || !graphRef) return new Map();
  // The library of this graph; for a function, the library that contains it.
  const choices = graphChoices(overview);
  const library = choices.find(({ id }) => id === graphRef.graph)?.of ?? graphRef.graph;
  return new Map(choices.flatMap(({ id, title, of }) => (of === library ? [[title, id]] : [])));
}

/**
 * A text, as a link if it is the name of a function.
 * @param {{ model: Model, functions: Map<string, string>, text: string }} props
 */
function Code({ model, functions, text }) {
  const graph = functions.get(text);
  if (graph === undefined) return html`<code>${text}</code>`;
  return html`<button type="button" class="link" onClick=${() => model.chooseGraph(graph)}>${text}</button>`;
}

/**
 * The properties of a node or scope.
 * @param {{ model: Model, functions: Map<string, string>, about: NodeDetails }} props
 */
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

/**
 * The attributes of an op.
 * @param {{ model: Model, functions: Map<string, string>, attributes: readonly [string, string][] }} props
 */
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
 * The list of inputs or outputs.
 * @param {object} props
 * @param {string} props.title
 * @param {readonly End[]} props.ends
 * @param {number} props.total
 * @param {(name: string) => void} props.onReveal
 */
function Ends({ title, ends, total, onReveal }) {
  const [isLong, setLong] = useState(false);
  const shown = isLong ? ends : ends.slice(0, INITIAL_ROWS);
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
    ${ends.length === MAX_LISTED && isLong && html`<p class="hint">Only the first ${ends.length.toLocaleString("en")} are listed</p>`}
  </section>`;
}

/** A table of counts. @param {{ title: string, counts: readonly [string, number][] }} props */
function Counts({ title, counts }) {
  const [isLong, setLong] = useState(false);
  const shown = isLong ? counts : counts.slice(0, INITIAL_ROWS);
  return html`<section>
    <h3>${title} <small>${counts.length.toLocaleString("en")}</small></h3>
    <dl class="counts">${shown.map(([text, count]) => html`<dt>${text}</dt><dd>${count.toLocaleString("en")}</dd>`)}</dl>
    ${shown.length < counts.length && html`<button type="button" class="link" onClick=${() => setLong(true)}>show ${counts.length - shown.length} more</button>`}
  </section>`;
}

/**
 * A button that shows a node in the drawing.
 * @param {{ name: string, text: string, onReveal: (name: string) => void }} props
 */
function NodeLink({ name, text, onReveal }) {
  return html`<button type="button" class="link" title=${formatName(name)} onClick=${() => onReveal(name)}>${formatName(text)}</button>`;
}
