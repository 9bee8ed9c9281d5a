/**
 * The state of the tab: the run, the graph, the open scopes, and the scene that is drawn from them.
 * The user's choices are kept in the page address; everything else is derived from them.
 */

import { batch, computed, effect, signal } from "@preact/signals-core";
import { Options } from "tbcore/options.js";
import { inTurn } from "tbcore/requests.js";
import { compareNames, formatLists, parseLists } from "tbcore/text-names.js";
import { childrenOf, contentOf, graphChoices, keyOf, paramsOf } from "./graph-ref.js";
import { LayoutClient } from "./layout-client.js";
import { scopesAround, seriesOf } from "./paths.js";
import { makeScene } from "./scene.js";

/**
 * @typedef {import("./graph-ref.js").GraphRef} GraphRef
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Scope} Scope
 * @typedef {import("./types.js").Kind} Kind
 * @typedef {import("./types.js").Overview} Overview
 * @typedef {import("./scene.js").Scene} Scene
 *
 * @typedef {object} Trace  a node with all nodes that it depends on
 * @property {string} of  full name of the node
 * @property {ReadonlySet<string>} names  names of the boxes that contain any nodes of the trace
 * @property {number} nodes  number of nodes in the trace
 *
 * @typedef {object} ShownScene  a scene, and how the view moves to it from the previous one
 * @property {Scene} scene
 * @property {string} of  identifies the graph
 * @property {string | null} anchor  name of the box that stays where it is; "" if the view does not
 *   move
 * @property {string | null} show  name of the box to bring into view
 */

export const options = new Options({ color: "structure", trace: /** @type {boolean} */ (false) }, { color: ["structure", "device", "compute", "memory"] });

/** Settings to reset when another graph is selected, since they name nodes. */
const CLEARED_SELECTION = { node: null, open: null, in: null, apart: null };

export class Model {
  /** @type {Host} */ host;
  /** Names of the runs that have a graph. */
  runs = signal(/** @type {string[]} */ ([]));
  /**
   * The run shown last. It stays until the user selects another one, even if other runs are
   * logged or selected.
   */
  #lastRun = signal("");
  /** The list of the run's graphs. */
  overview = signal(/** @type {Overview | null} */ (null));
  /** The scene that is drawn. */
  shown = signal(/** @type {ShownScene | null} */ (null));
  error = signal("");
  isBusy = signal(true);

  /** The selected run, otherwise the run shown last, otherwise the first run with a graph. */
  run = computed(() => {
    const runs = this.runs.value;
    for (const requested of [this.host.settings.value.run, this.#lastRun.value]) if (runs.includes(requested)) return requested;
    return this.host.runs.value.find(({ name }) => runs.includes(name))?.name ?? runs[0] ?? "";
  });
  /** The GraphRef as text, so that an equal one does not count as a change. */
  #graphRefText = computed(() => {
    const overview = this.overview.value;
    if (!overview || this.#overviewRun !== this.run.value || overview.graphs.length === 0) return "";
    const { graph: requested, tag } = this.host.settings.value;
    const ids = graphChoices(overview).map(({ id }) => id);
    const tags = overview.metadata_tags.map((entry) => entry.tag);
    return JSON.stringify([this.run.value, ids.includes(requested) ? requested : ids[0], tags.includes(tag) ? tag : (tags[0] ?? "")]);
  });
  /** @type {import("@preact/signals-core").ReadonlySignal<GraphRef | null>} */
  graphRef = computed(() => {
    if (this.#graphRefText.value === "") return null;
    const [run, graph, tag] = JSON.parse(this.#graphRefText.value);
    return { run, graph, tag };
  });
  selected = computed(() => this.host.settings.value.node ?? null);
  isTracing = computed(() => options.parse(this.host.settings.value).trace);
  #scene = computed(() => this.shown.value?.scene);
  #trace = signal(/** @type {Trace | null} */ (null));
  /** The trace of the selected node; null if it is not loaded or tracing is off. */
  traced = computed(() => (this.isTracing.value && this.#trace.value?.of === this.selected.value ? this.#trace.value : null));
  open = this.#namesIn("open");
  movedToMain = this.#namesIn("in");
  movedToAuxiliary = this.#namesIn("apart");

  /** The run that `overview` belongs to. */
  #overviewRun = "";
  /** @type {Map<string, Promise<Scope>>} */ #scopes = new Map();
  /** Identifies the graph that `#scopes` belongs to. */
  #scopesKey = "";
  #layoutClient = new LayoutClient();
  /** @type {(text: string, font: "label" | "small") => number} */ #measure;
  /** How the view moves to the next scene. @type {Pick<ShownScene, "anchor" | "show">} */ #transition = { anchor: null, show: null };
  /** Increases with each scene, to detect that a newer one was started. */
  #drawNumber = 0;
  /**
   * `numRequested` counts the requested overviews; `newest` is this count when the newest overview
   * that has arrived was requested.
   */
  #overviews = { numRequested: 0, newest: 0 };
  /** Increases with each selection, to detect that a newer one was made. */
  #selectionNumber = 0;

  /**
   * @param {Host} host
   * @param {(text: string, font: "label" | "small") => number} measure
   */
  constructor(host, measure) {
    this.host = host;
    this.#measure = measure;
    options.recall(host);
  }

  /**
   * Starts loading, and follows changes of the address and the server until the tab closes.
   * @returns {Promise<void>}
   */
  async start() {
    const fetchRuns = async () => (await this.host.fetchJSON("runs")).sort(compareNames);
    this.runs.value = await fetchRuns();
    let { lists } = this.host.generations.value; // changes when the lists of runs and tags do
    const stops = [
      effect(() => void this.#loadOverview(this.run.value)),
      effect(() => {
        const choices = { open: this.open.value, movedToMain: this.movedToMain.value, movedToAuxiliary: this.movedToAuxiliary.value };
        // Reads `overview` so that changes in the log are drawn, too.
        if (this.overview.value && this.graphRef.value) void this.#draw(this.graphRef.value, choices);
      }),
      effect(() => {
        if (this.isTracing.value && this.graphRef.value && this.#scene.value) void this.#loadTrace(this.selected.value, this.graphRef.value, this.#scene.value);
      }),
      this.host.onReload(async (generations) => {
        if (generations.lists !== lists) {
          ({ lists } = generations);
          const runs = await fetchRuns().catch(() => this.runs.value);
          if (generations.lists === lists) this.runs.value = runs;
        }
        void this.#loadOverview(this.run.value);
      }),
    ];
    this.host.signal.addEventListener("abort", () => {
      for (const stop of stops) stop();
      this.#layoutClient.stop();
    });
  }

  /** Selects a run. @param {string} run */
  chooseRun(run) {
    this.#set({ run, graph: null, tag: null, ...CLEARED_SELECTION });
  }

  /** Selects a graph of the run. @param {string} graph  its id */
  chooseGraph(graph) {
    this.#set({ graph, ...CLEARED_SELECTION });
  }

  /** Selects the run metadata. @param {string} tag */
  chooseTag(tag) {
    this.#transition = { anchor: "", show: null };
    this.#set({ tag });
  }

  /** Selects a node or scope. @param {string | null} name  null for none */
  select(name) {
    this.#set({ node: name });
  }

  /** Opens a scope, or closes it and all open scopes inside. @param {string} name */
  toggle(name) {
    const open = this.open.peek();
    const isOpen = open.has(name);
    const rest = [...open].filter((other) => other !== name && !(isOpen && other.startsWith(`${name}/`)));
    this.#transition = { anchor: name, show: null };
    this.#set({ open: formatLists([isOpen ? rest : [...rest, name]]) });
  }

  /** Closes all scopes. */
  closeAll() {
    this.#set({ open: null });
  }

  /**
   * Moves a child to the auxiliary nodes or to the main graph.
   * @param {string} name
   * @param {boolean} isAuxiliary
   */
  setAuxiliary(name, isAuxiliary) {
    const without = (/** @type {ReadonlySet<string>} */ names) => [...names].filter((other) => other !== name);
    const [inside, apart] = [without(this.movedToMain.peek()), without(this.movedToAuxiliary.peek())];
    (isAuxiliary ? apart : inside).push(name);
    this.#transition = { anchor: name, show: null };
    this.#set({ in: formatLists([inside]), apart: formatLists([apart]) });
  }

  /** Opens the scopes around a node, selects it and brings it into view. @param {string} name */
  async reveal(name) {
    const graphRef = this.graphRef.peek();
    if (!graphRef) return;
    const number = ++this.#selectionNumber;
    /** @type {string[]} */
    const around = [];
    let path = "";
    /** @type {Kind} */
    let kind = "scope";
    // A scope on the way may be inside a series. Only the children of its parent show this.
    for (const part of [...scopesAround(name), name]) {
      const { children } = await this.fetchScope(graphRef, path, kind);
      if (!children.name.includes(part) && children.name.includes(seriesOf(part))) {
        around.push(seriesOf(part));
        await this.fetchScope(graphRef, seriesOf(part), "series");
      }
      if (part !== name) around.push(part);
      [path, kind] = [part, "scope"];
    }
    if (number !== this.#selectionNumber) return; // something else was selected in the meantime
    const open = new Set([...this.open.peek(), ...around]);
    if (open.size === this.open.peek().size) {
      const shown = this.shown.peek();
      if (shown) this.shown.value = { ...shown, anchor: "", show: name };
      this.select(name);
    } else {
      this.#transition = { anchor: null, show: name };
      this.#set({ node: name, open: formatLists([[...open]]) });
    }
  }

  /** Loads the overview again after an error. */
  retry() {
    this.error.value = "";
    this.#overviewRun = "";
    void this.#loadOverview(this.run.peek());
  }

  /**
   * Fetches a scope or series; each one once, until the graph changes.
   * @param {GraphRef} graphRef
   * @param {string} name
   * @param {Kind} kind
   * @returns {Promise<Scope>}
   */
  fetchScope(graphRef, name, kind) {
    const of = `${keyOf(graphRef)} ${contentOf(this.overview.peek())}`;
    if (of !== this.#scopesKey) this.#scopes.clear();
    this.#scopesKey = of;
    const key = `${kind} ${name}`;
    let scope = this.#scopes.get(key);
    if (!scope) {
      const params = { ...paramsOf(graphRef), ...childrenOf(name, kind) };
      scope = inTurn(this.host, () => this.host.fetchJSON("scope", params), this.host.signal);
      this.#scopes.set(key, scope);
      scope.catch(() => this.#scopes.delete(key));
    }
    return scope;
  }

  /** Loads the list of a run's graphs. @param {string} run */
  async #loadOverview(run) {
    if (run === "") {
      this.isBusy.value = false;
      return;
    }
    const isNew = this.#overviewRun !== run;
    if (isNew) {
      this.isBusy.value = true;
      this.error.value = "";
    }
    const number = ++this.#overviews.numRequested;
    try {
      /** @type {Overview} */
      const overview = await this.host.fetchJSON("overview", { run });
      if (run !== this.run.peek() || number < this.#overviews.newest) return;
      this.#overviews.newest = number;
      const isSame = !isNew && contentOf(overview) === contentOf(this.overview.peek());
      this.#overviewRun = run;
      this.#lastRun.value = run;
      if (isSame) return;
      if (!isNew) this.#transition = { anchor: "", show: null };
      this.overview.value = overview;
      if (overview.graphs.length === 0) this.#fail(new Error(`The run “${run}” has no graph.`));
    } catch (error) {
      // Keep the current drawing while the server cannot be reached.
      if (isNew && run === this.run.peek()) this.#fail(error);
    }
  }

  /**
   * Makes and shows the scene.
   * @param {GraphRef} graphRef
   * @param {import("./scope-layout.js").Choices} choices
   */
  async #draw(graphRef, choices) {
    const number = ++this.#drawNumber;
    const next = this.#transition;
    this.#transition = { anchor: null, show: null };
    const of = keyOf(graphRef);
    const isNew = this.shown.peek()?.of !== of;
    // A large scope that was closed before its layout is finished must not delay others.
    this.#layoutClient.cancelPending();
    this.isBusy.value = true;
    this.error.value = "";
    try {
      const lone = isNew && choices.open.size === 0 ? await this.#loneScopes(graphRef) : [];
      if (number !== this.#drawNumber) return;
      if (lone.length > 0) return this.#set({ open: formatLists([lone]) }); // and this draws
      const scene = await makeScene(choices, {
        fetchScope: (name, kind) => this.fetchScope(graphRef, name, kind),
        layOut: (job) => this.#layoutClient.layOut(job),
        measure: this.#measure,
      });
      if (number !== this.#drawNumber) return;
      this.shown.value = { scene, of, ...next };
      this.isBusy.value = false;
      const selected = this.selected.peek();
      if (isNew && selected !== null && !scene.boxes.has(selected)) await this.reveal(selected).catch(() => this.selected.peek() === selected && this.select(null));
    } catch (error) {
      if (number === this.#drawNumber) this.#fail(error);
    }
  }

  /**
   * The scope that is all there is in the graph, the one that is all there is in it, and so on. While
   * the first is closed, the drawing is a single box.
   * @param {GraphRef} graphRef
   */
  async #loneScopes(graphRef) {
    /** @type {string[]} */
    const names = [];
    for (;;) {
      const { children: { name, kind } } = await this.fetchScope(graphRef, names.at(-1) ?? "", "scope");
      if (name.length !== 1 || kind[0] !== "scope") return names;
      names.push(name[0]);
    }
  }

  /**
   * Loads the trace of a node.
   * @param {string | null} name
   * @param {GraphRef} graphRef
   * @param {Scene} scene
   */
  async #loadTrace(name, { run, graph }, scene) {
    // A series is not a node of the graph.
    if (name === null || scene.boxes.get(name)?.kind === "series") return;
    const open = [...scene.boxes.values()].filter((box) => box.open && box.message === "");
    const scopes = [childrenOf("", "scope"), ...open.map((box) => childrenOf(box.name, box.kind))];
    try {
      /** @type {{ names: string[], nodes: number }[]} */
      const traces = await Promise.all(
        scopes.map((scope) => inTurn(this.host, () => this.host.fetchJSON("trace", { run, graph, name, ...scope }), this.host.signal)),
      );
      const isCurrent = name === this.selected.peek() && scene === this.#scene.peek();
      if (isCurrent) this.#trace.value = { of: name, names: new Set(traces.flatMap(({ names }) => names)), nodes: traces[0].nodes };
    } catch {
      // The details pane requests the same node, and shows the error.
    }
  }

  /** Shows an error, unless a request was cancelled. @param {unknown} error */
  #fail(error) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    this.error.value = error instanceof Error ? error.message : String(error);
    this.isBusy.value = false;
  }

  /** The set of names in a setting. @param {"open" | "in" | "apart"} setting */
  #namesIn(setting) {
    const text = computed(() => this.host.settings.value[setting]);
    return computed(() => /** @type {ReadonlySet<string>} */ (new Set(parseLists(text.value).flat())));
  }

  /**
   * Changes settings in one step. The run is always set, too: the other settings refer to it.
   * @param {Record<string, string | null>} settings
   */
  #set(settings) {
    if ("node" in settings) this.#selectionNumber++;
    batch(() => {
      for (const [name, value] of Object.entries({ run: this.run.peek() || null, ...settings })) this.host.settings.set(name, value);
    });
  }
}
