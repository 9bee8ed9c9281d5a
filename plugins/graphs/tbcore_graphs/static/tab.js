/**
 * Everything around the drawing: the toolbar, the legend, and the pane with details and outline.
 */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { commonLengths, formatBytes, formatName, plural } from "tbcore/format.js";
import { Name, labelOf } from "tbcore/text-names.js";
import { Tooltip, readOutNodes } from "tbcore/tooltip.js";
import { Choice, IconButton, Menu, save } from "tbcore/ui.js";
import { colorBoxes, formatMicros, shortDevice } from "./colors.js";
import { Details } from "./details.js";
import { graphChoices } from "./graph-ref.js";
import { options } from "./model.js";
import { Outline } from "./outline.js";
import { SearchBox, SearchResults, useSearch } from "./search.js";

/**
 * @typedef {import("./model.js").Model} Model
 * @typedef {import("./graph-view.js").GraphView} GraphView
 * @typedef {import("./paint.js").Colors} Colors
 * @typedef {import("./scene.js").Box} Box
 * @typedef {"details" | "outline"} PaneContent
 */

/** Longest time between the clicks of a double click. */
const DOUBLE_CLICK_MS = 400;
/** What boxes can be coloured by; the last two need run metadata. */
const COLORS = [["structure", "Structure"], ["device", "Device"], ["compute", "Compute time"], ["memory", "Memory"]];

/** @type {[PaneContent, string][]} */
const PANE_CHOICES = [["details", "Details"], ["outline", "Outline"]];

/**
 * The tab.
 * @param {object} props
 * @param {Model} props.model
 * @param {GraphView} props.view
 * @param {HTMLElement} props.canvas  the element that the view draws in
 * @param {import("./graph-view.js").Callbacks} props.callbacks  of the view
 */
export function Tab({ model, view, canvas, callbacks }) {
  const { host } = model;
  const openPaneTimer = useRef(0);
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const [hovered, setHovered] = useState(/** @type {string | null} */ (null));
  const [pane, setPane] = useState(/** @type {PaneContent | null} */ (innerWidth > 760 ? "details" : null));
  const search = useSearch(model);
  const shown = model.shown.value;
  const graph = model.overview.value?.graphs.find(({ id }) => id === model.graphRef.value?.graph);
  const { color } = options.parse(host.settings.value);
  const theme = host.theme.value;
  const selected = model.selected.value;
  const by = /** @type {import("./colors.js").ColorBy} */ (color);
  const traced = model.traced.value?.names ?? null;
  /** The names that had colours before, and the colouring and graph that they belong to. */
  const previous = useRef({ of: "", names: /** @type {readonly string[]} */ ([]) });
  const coloring = useMemo(() => {
    // Names keep their colours when other scopes are opened.
    const of = `${by} ${shown?.of}`;
    if (previous.current.of !== of) previous.current = { of, names: [] };
    const found = colorBoxes(by, shown?.scene.boxes.values() ?? [], theme, previous.current.names);
    previous.current.names = found.names;
    return found;
  }, [shown, color, theme]);
  const found = useMemo(() => new Set(search.found?.names), [search.found]);
  const tooltip = useMemo(() => new Tooltip(canvas), []);

  useEffect(() => {
    frame.current?.prepend(canvas);
    return () => tooltip.destroy();
  }, []);
  useEffect(() => {
    if (shown) view.setScene(shown.scene, { ...shown, selected });
  }, [shown]);
  useEffect(() => {
    view.setAppearance({ colors: readColors(canvas), paintOf: coloring.paintOf, selected, hovered, found, traced });
  }, [coloring, selected, hovered, found, traced, theme, shown]);

  Object.assign(callbacks, {
    onSelect: (/** @type {string | null} */ name) => {
      model.select(name);
      if (name === null || pane === "details") return;
      // Opening the pane moves the drawing, so wait in case a second click follows.
      clearTimeout(openPaneTimer.current);
      openPaneTimer.current = setTimeout(() => setPane("details"), pane === null ? DOUBLE_CLICK_MS : 0);
    },
    onToggle: (/** @type {string} */ name) => {
      clearTimeout(openPaneTimer.current);
      model.toggle(name);
    },
    onHover: (/** @type {Box | null} */ box, /** @type {{ left: number, top: number }} */ at) => {
      setHovered(box?.name ?? null);
      if (box) tooltip.show(readOutNodes(readOutOf(box, coloring.paintOf(box)?.color ?? "transparent")), at);
      else tooltip.hide();
    },
  });
  useEffect(() => {
    host.keys([
      { key: "f", label: "Show the whole graph", act: () => view.fit() },
      { key: "+", label: "Zoom in", act: () => view.zoomBy(1.4) },
      { key: "-", label: "Zoom out", act: () => view.zoomBy(1 / 1.4) },
      { key: "t", label: "Trace the inputs of the selected node on or off", act: () => options.set(host, "trace", !model.isTracing.peek()) },
      { key: "↑ ↓ ← →", label: "Move through the outline (→ opens, ← closes a scope), or pan the drawing" },
      { key: "Enter", label: "Open or close the selected scope, in the outline" },
      { key: "Double click", label: "Open or close a scope" },
      { key: "Wheel", label: "Zoom at the pointer" },
    ]);
  }, []);
  /** Shows a node in the drawing, with its details. @param {string} name */
  const reveal = (name) => {
    void model.reveal(name).catch((error) => void (model.error.value = error.message));
    setPane("details");
  };

  if (model.runs.value.length === 0) {
    return html`<p class="tb-nothing">No run has a graph. Log one with <code>SummaryWriter.add_graph</code> or with the TensorBoard callback of Keras.</p>`;
  }
  return html`<div class="graphs">
    <${Bar} model=${model} search=${search} color=${color} view=${view} pane=${pane} setPane=${setPane} coloring=${coloring} canvas=${canvas} />
    <div class="stage">
      <div class="frame" ref=${frame} aria-busy=${model.isBusy.value}>
        ${model.error.value !== "" &&
        html`<div class="message" role="alert">
          <p>${model.error.value}</p>
          <button type="button" class="tb-button" onClick=${() => model.retry()}>Try again</button>
        </div>`}
        ${model.isBusy.value && html`<p class="busy" role="status">${shown ? "laying out" : "loading"}</p>`}
        ${shown?.scene.message && html`<div class="message" role="status"><p>${shown.scene.message}.</p>${graph?.nodes !== 0 && html`<p>Search still finds nodes by name, or by op as in <code>op:MatMul</code>.</p>`}</div>`}
        <${Legend} coloring=${coloring} />
        <div class="zoom">
          <button type="button" class="tb-icon-button" aria-label="Zoom in" title="Zoom in (+)" onClick=${() => view.zoomBy(1.4)}>+</button>
          <button type="button" class="tb-icon-button" aria-label="Zoom out" title="Zoom out (-)" onClick=${() => view.zoomBy(1 / 1.4)}>−</button>
          <${IconButton} icon="expand" label="Show the whole graph" title="Show the whole graph (f)" onClick=${() => view.fit()} />
        </div>
      </div>
      ${(pane || search.text !== "") &&
      html`<${Pane} model=${model} view=${view} search=${search} found=${found} by=${by} pane=${pane} setPane=${setPane} onReveal=${reveal} />`}
    </div>
  </div>`;
}

/**
 * The toolbar.
 * @param {object} props
 * @param {Model} props.model
 * @param {ReturnType<typeof useSearch>} props.search
 * @param {string} props.color
 * @param {GraphView} props.view
 * @param {HTMLElement} props.canvas
 * @param {PaneContent | null} props.pane
 * @param {(pane: PaneContent | null) => void} props.setPane
 * @param {import("./colors.js").Coloring} props.coloring
 */
function Bar({ model, search, color, view, canvas, pane, setPane, coloring }) {
  const overview = model.overview.value;
  const graphRef = model.graphRef.value;
  const choices = overview ? graphChoices(overview) : [];
  const tags = overview?.metadata_tags ?? [];
  const runs = model.runs.value;
  const shown = model.host.wantedRuns.value;
  const labels = useMemo(() => new Map(shown.map(({ name, label }) => [name, label])), [shown]);
  const [start, end] = useMemo(() => commonLengths(runs.map((name) => labels.get(name) ?? name)), [runs, labels]);
  const run = model.run.value;
  const label = labels.get(run) ?? run;
  return html`<div class="tb-toolbar" role="toolbar" aria-label="Graphs">
    <${SearchBox} search=${search} />
    <${Select}
      label="Run"
      value=${run}
      shown=${html`<${Name} name=${label} part=${[start, label.length - end]} />`}
      onChange=${(/** @type {string} */ run) => model.chooseRun(run)}
    >
      ${runs.map((run) => html`<option key=${run} value=${run} title=${formatName(run)}>${formatName(labels.get(run) ?? run)}</option>`)}
    <//>
    ${choices.length > 1 &&
    html`<${Select} label="Graph" value=${graphRef?.graph} onChange=${(/** @type {string} */ id) => model.chooseGraph(id)}>
      ${choices.filter(({ of }) => of === null).map(({ id, title }) => html`<option key=${id} value=${id}>${formatName(title)}</option>`)}
      ${choices.some(({ of }) => of !== null) &&
      html`<optgroup label="Functions">
        ${choices.filter(({ of }) => of !== null).map(({ id, title }) => html`<option key=${id} value=${id}>${formatName(title)}</option>`)}
      </optgroup>`}
    <//>`}
    ${tags.length > 0 &&
    html`<${Select} label="Metadata" value=${graphRef?.tag} onChange=${(/** @type {string} */ tag) => model.chooseTag(tag)}>
      ${tags.map(({ tag }) => html`<option key=${tag} value=${tag}>${formatName(tag)}</option>`)}
    <//>`}
    <${Select} label="Colour" value=${color} onChange=${(/** @type {string} */ value) => options.set(model.host, "color", value)}>
      ${COLORS.slice(0, tags.length > 0 ? 4 : 2).map(([value, title]) => html`<option key=${value} value=${value}>${title}</option>`)}
    <//>
    <div class="tools">
      <${IconButton} icon="shrink" label="Close all scopes" title="Close all scopes" disabled=${model.open.value.size === 0} onClick=${() => model.closeAll()} />
      <${IconButton}
        icon="menu"
        label="Details and outline"
        title="Details and outline"
        aria-expanded=${pane !== null}
        onClick=${() => setPane(pane === null ? "outline" : null)}
      />
      <${Menu}
        icon="download"
        label="Download the drawing"
        content=${() => html`<${Downloads} model=${model} view=${view} canvas=${canvas} coloring=${coloring} />`}
      />
    </div>
  </div>`;
}

/**
 * The pane beside the drawing: the results of the search, the details or the outline.
 * @param {object} props
 * @param {Model} props.model
 * @param {GraphView} props.view
 * @param {ReturnType<typeof useSearch>} props.search
 * @param {ReadonlySet<string>} props.found  full names
 * @param {import("./colors.js").ColorBy} props.by
 * @param {PaneContent | null} props.pane
 * @param {(pane: PaneContent | null) => void} props.setPane
 * @param {(name: string) => void} props.onReveal
 */
function Pane({ model, view, search, found, by, pane, setPane, onReveal }) {
  const selected = model.selected.value;
  const details = html`<${Details} model=${model} onReveal=${onReveal} />`;
  return html`<aside class="pane" aria-label="About the graph">
    ${search.text !== ""
      ? html`<${SearchResults} search=${search} selected=${selected} onChoose=${onReveal} />
          ${selected !== null && found.has(selected) && details}`
      : html`<header>
            <${Choice} label="Pane contents" name="pane" choices=${PANE_CHOICES} value=${pane} onChange=${setPane} />
            <${IconButton} icon="close" label="Close the pane" title="Close" onClick=${() => setPane(null)} />
          </header>
          ${pane === "outline" ? html`<${Outline} model=${model} view=${view} by=${by} />` : details}`}
  </aside>`;
}

/**
 * A labelled select.
 * @param {object} props
 * @param {string} props.label
 * @param {string | undefined} props.value
 * @param {unknown} [props.shown]  what it shows while it is closed, in place of the option's text,
 *   whose end the browser would cut off
 * @param {(value: string) => void} props.onChange
 * @param {unknown} props.children
 */
function Select({ label, value, shown, onChange, children }) {
  return html`<label class="choose"
    ><span>${label}</span
    ><span class="picker"
      >${shown && html`<span class="shown" aria-hidden="true">${shown}</span>`}<select aria-label=${label} value=${value} title=${value && formatName(value)} onChange=${(/** @type {Event} */ event) => onChange(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}>
      ${children}
    </select></span></label
  >`;
}

/**
 * Buttons to download the drawing as an image, and the graph as text.
 * @param {object} props
 * @param {Model} props.model
 * @param {GraphView} props.view
 * @param {HTMLElement} props.canvas
 * @param {import("./colors.js").Coloring} props.coloring
 */
function Downloads({ model, view, canvas, coloring }) {
  const [error, setError] = useState("");
  const graphRef = model.graphRef.value;
  if (!view.scene || !graphRef) return html`<p class="downloads">The graph has not been drawn yet.</p>`;
  const name = `graph_${graphRef.run}`;
  /** @param {"sceneSVG" | "scenePNG"} form @param {string} ending @param {string} [type] */
  const download = async (form, ending, type) => {
    const appearance = { colors: readColors(canvas), paintOf: coloring.paintOf, selected: null, hovered: null, found: new Set(), traced: null };
    try {
      const picture = await import("./picture.js");
      save(await picture[form](/** @type {import("./scene.js").Scene} */ (view.scene), appearance, labelOf(model.host.wantedRuns.value, graphRef.run)), `${name}.${ending}`, type);
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    }
  };
  return html`<div class="downloads">
    <p>The whole drawing, as currently shown</p>
    <button type="button" class="tb-button" onClick=${() => download("sceneSVG", "svg", "image/svg+xml")}>SVG</button>
    <button type="button" class="tb-button" onClick=${() => download("scenePNG", "png")}>PNG</button>
    <p>The logged graph, as text</p>
    <a class="tb-button" href=${model.host.url("graph", { run: graphRef.run, graph: graphRef.graph })} download="${name}.pbtxt">pbtxt</a>
    ${error && html`<p class="tb-card-error" role="alert">${error}</p>`}
  </div>`;
}

/** The legend of colours. @param {{ coloring: import("./colors.js").Coloring }} props */
function Legend({ coloring: { swatches, scale, note } }) {
  return html`<div class="legend">
    ${swatches.map(({ color, label }) => html`<p key=${label}><i style=${{ background: color }}></i>${label}</p>`)}
    ${scale &&
    html`<p><span>${scale.from}</span><b style=${{ background: `linear-gradient(90deg, transparent, ${scale.color})` }}></b><span>${scale.to}</span></p>`}
    ${note && html`<p>${note}</p>`}
  </div>`;
}

/**
 * The contents of the tooltip.
 * @param {Box} box
 * @param {string} color
 */
function readOutOf(box, color) {
  /** @type {[string, string][]} */
  const rows = [];
  if (box.kind === "op") rows.push(["Op", box.op]);
  else rows.push([box.kind === "series" ? "Series" : "Scope", plural(box.nodes, "node")]);
  if (box.device !== "") rows.push(["Device", shortDevice(box.device)]);
  if (box.computeMicros !== null) rows.push(["Compute time", formatMicros(box.computeMicros)]);
  if (box.bytes !== null) rows.push(["Memory", formatBytes(box.bytes)]);
  if (box.numHidden > 0) rows.push(["Not drawn", plural(box.numHidden, "edge")]);
  const note = box.kind === "op" ? "" : `Double-click to ${box.open ? "close" : "open"}`;
  return { name: box.name, color, rows, note, spoken: "" };
}

/**
 * The theme's colours, read from the style sheets for the canvas.
 * @param {HTMLElement} element
 * @returns {Colors}
 */
function readColors(element) {
  const style = getComputedStyle(element);
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    background: of("--tb-ground"),
    surface: of("--tb-surface"),
    nested: of("--tb-ground"),
    ink: of("--tb-ink"),
    dim: of("--tb-ink-3"),
    line: of("--tb-line"),
    accent: of("--tb-accent"),
    edge: of("--edge"),
  };
}
