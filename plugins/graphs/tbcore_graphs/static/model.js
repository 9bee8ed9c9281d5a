/**
 * What the tab shows: the run, the graph, the scopes that are open, and the drawing that is made of them. What the reader
 * chooses is in the address; everything else follows from it.
 */

import { batch, computed, effect, signal } from "@preact/signals-core";
import { formatLists, parseLists } from "tbcore/lib/name-lists.js";
import { Options } from "tbcore/lib/options.js";
import { Queue } from "tbcore/lib/queue.js";
import { Layouter } from "./layouter.js";
import { scopeOf, scopesAround, seriesOf } from "./paths.js";
import { MAX_CHILDREN, makeScene } from "./scene.js";

/**
 * @typedef {import("./types.js").Host} Host
 * @typedef {import("./types.js").Scope} Scope
 * @typedef {import("./types.js").Kind} Kind
 * @typedef {import("./types.js").Overview} Overview
 * @typedef {import("./scene.js").Scene} Scene
 *
 * @typedef {object} Place  a graph, and the metadata that goes with it
 * @property {string} run
 * @property {string} graph  its id
 * @property {string} tag  of run metadata; "" where there is none
 *
 * @typedef {object} Trace  what a node needs: all that its inputs lead back to
 * @property {string} of  its full name
 * @property {ReadonlySet<string>} names  of the boxes that hold any of it
 * @property {number} nodes  of the graph, itself among them
 *
 * @typedef {object} Shown  a drawing, and how to get to it from the one before
 * @property {Scene} scene
 * @property {string} of  tells graphs apart
 * @property {string | null} keep  what stays where it is; "" for everything
 * @property {string | null} show  what is brought into sight
 */

export const options = new Options({ color: "structure", trace: /** @type {boolean} */ (false) }, { color: ["structure", "device", "compute", "memory"] });

/** The id of the graph that belongs to the run as a whole. */
const MAIN = "graph";
/** What is chosen in one graph means nothing in another. */
const NOTHING_CHOSEN = { node: null, open: null, in: null, apart: null };

export class Model {
  /** @type {Host} */ host;
  /** Names of the runs that have a graph. */
  runs = signal(/** @type {string[]} */ ([]));
  /** What is shown stays, whatever is logged or checked meanwhile, until the reader chooses another run. */
  #lastRun = signal("");
  overview = signal(/** @type {Overview | null} */ (null));
  shown = signal(/** @type {Shown | null} */ (null));
  error = signal("");
  isBusy = signal(true);

  run = computed(() => {
    const runs = this.runs.value;
    for (const wanted of [this.host.settings.value.run, this.#lastRun.value]) if (runs.includes(wanted)) return wanted;
    return this.host.runs.value.find(({ name }) => runs.includes(name))?.name ?? runs[0] ?? "";
  });
  /** The place as text: a place that is chosen again is no change. */
  #placeText = computed(() => {
    const overview = this.overview.value;
    if (!overview || this.#overviewOf !== this.run.value || overview.graphs.length === 0) return "";
    const { graph: wanted, tag } = this.host.settings.value;
    const ids = graphChoices(overview).map(({ id }) => id);
    const tags = overview.metadata_tags.map((entry) => entry.tag);
    return JSON.stringify([this.run.value, ids.includes(wanted) ? wanted : ids[0], tags.includes(tag) ? tag : (tags[0] ?? "")]);
  });
  /** @type {import("@preact/signals-core").ReadonlySignal<Place | null>} */
  place = computed(() => {
    if (this.#placeText.value === "") return null;
    const [run, graph, tag] = JSON.parse(this.#placeText.value);
    return { run, graph, tag };
  });
  selected = computed(() => this.host.settings.value.node ?? null);
  isTracing = computed(() => options.parse(this.host.settings.value).trace);
  #scene = computed(() => this.shown.value?.scene);
  #trace = signal(/** @type {Trace | null} */ (null));
  /** Of what is selected; null while that is not known or not asked for. */
  traced = computed(() => (this.isTracing.value && this.#trace.value?.of === this.selected.value ? this.#trace.value : null));
  open = this.#namesIn("open");
  broughtIn = this.#namesIn("in");
  setApart = this.#namesIn("apart");

  #overviewOf = "";
  /** @type {Map<string, Promise<Scope>>} */ #scopes = new Map();
  #scopesOf = "";
  #queue = new Queue(4);
  #layouter = new Layouter();
  /** @type {(text: string, font: "label" | "small") => number} */ #measure;
  /** @type {Pick<Shown, "keep" | "show">} */ #next = { keep: null, show: null };
  #turn = 0;
  /** Of the overviews: how many were asked for, and which of them is the newest that came. */
  #overviews = { numAsked: 0, newest: 0 };
  /** Rises with everything that is chosen. */
  #choice = 0;

  /**
   * @param {Host} host
   * @param {(text: string, font: "label" | "small") => number} measure
   */
  constructor(host, measure) {
    this.host = host;
    this.#measure = measure;
    options.recall(host);
  }

  /** Fetches, and follows the address and the server until the tab closes. @returns {Promise<void>} */
  async start() {
    this.runs.value = await this.host.fetchJSON("runs");
    let { lists } = this.host.generations.value;
    const stops = [
      effect(() => void this.#loadOverview(this.run.value)),
      effect(() => {
        const wishes = { open: this.open.value, broughtIn: this.broughtIn.value, setApart: this.setApart.value };
        // What has changed in the log is drawn anew, too.
        if (this.overview.value && this.place.value) void this.#draw(this.place.value, wishes);
      }),
      effect(() => {
        if (this.isTracing.value && this.place.value && this.#scene.value) void this.#loadTrace(this.selected.value, this.place.value, this.#scene.value);
      }),
      this.host.onReload(async (generations) => {
        if (generations.lists !== lists) {
          ({ lists } = generations);
          const runs = await this.host.fetchJSON("runs").catch(() => this.runs.value);
          if (generations.lists === lists) this.runs.value = runs;
        }
        void this.#loadOverview(this.run.value);
      }),
    ];
    this.host.signal.addEventListener("abort", () => {
      for (const stop of stops) stop();
      this.#layouter.stop();
    });
  }

  /** @param {string} run */
  chooseRun(run) {
    this.#set({ run, graph: null, tag: null, ...NOTHING_CHOSEN });
  }

  /** @param {string} graph */
  chooseGraph(graph) {
    this.#set({ graph, ...NOTHING_CHOSEN });
  }

  /** @param {string} tag */
  chooseTag(tag) {
    this.#next = { keep: "", show: null };
    this.#set({ tag });
  }

  /** @param {string | null} name */
  select(name) {
    this.#set({ node: name });
  }

  /** Opens a scope, or closes it with all that is open inside. @param {string} name */
  toggle(name) {
    const open = this.open.peek();
    const isOpen = open.has(name);
    const rest = [...open].filter((other) => other !== name && !(isOpen && other.startsWith(`${name}/`)));
    this.#next = { keep: name, show: null };
    this.#set({ open: formatLists([isOpen ? rest : [...rest, name]]) });
  }

  closeAll() {
    this.#set({ open: null });
  }

  /** Draws a child apart from the flow, or in it. @param {string} name @param {boolean} isApart */
  moveApart(name, isApart) {
    const without = (/** @type {ReadonlySet<string>} */ names) => [...names].filter((other) => other !== name);
    const [inside, apart] = [without(this.broughtIn.peek()), without(this.setApart.peek())];
    (isApart ? apart : inside).push(name);
    this.#next = { keep: name, show: null };
    this.#set({ in: formatLists([inside]), apart: formatLists([apart]) });
  }

  /** Opens what a node is in, and brings it into sight. @param {string} name */
  async reveal(name) {
    const place = this.place.peek();
    if (!place) return;
    const choice = ++this.#choice;
    /** @type {string[]} */
    const around = [];
    let path = "";
    /** @type {Kind} */
    let kind = "scope";
    for (const part of [...scopesAround(name), name]) {
      const { children } = await this.fetchScope(place, path, kind);
      if (!children.name.includes(part) && children.name.includes(seriesOf(part))) {
        around.push(seriesOf(part));
        await this.fetchScope(place, seriesOf(part), "series");
      }
      if (part !== name) around.push(part);
      [path, kind] = [part, "scope"];
    }
    if (choice !== this.#choice) return; // something else was chosen meanwhile
    const open = new Set([...this.open.peek(), ...around]);
    if (open.size === this.open.peek().size) {
      const shown = this.shown.peek();
      if (shown) this.shown.value = { ...shown, keep: "", show: name };
      this.select(name);
    } else {
      this.#next = { keep: null, show: name };
      this.#set({ node: name, open: formatLists([[...open]]) });
    }
  }

  retry() {
    this.error.value = "";
    this.#overviewOf = "";
    void this.#loadOverview(this.run.peek());
  }

  /**
   * @param {Place} place
   * @param {string} name
   * @param {Kind} kind
   * @returns {Promise<Scope>}
   */
  fetchScope(place, name, kind) {
    const of = `${keyOf(place)} ${contentOf(this.overview.peek())}`;
    if (of !== this.#scopesOf) this.#scopes.clear();
    this.#scopesOf = of;
    const key = `${kind} ${name}`;
    let scope = this.#scopes.get(key);
    if (!scope) {
      const params = { ...paramsOf(place), ...childrenOf(name, kind) };
      scope = this.#queue.add(() => this.host.fetchJSON("scope", params), this.host.signal);
      this.#scopes.set(key, scope);
      scope.catch(() => this.#scopes.delete(key));
    }
    return scope;
  }

  /** @param {string} run */
  async #loadOverview(run) {
    if (run === "") {
      this.isBusy.value = false;
      return;
    }
    const isNew = this.#overviewOf !== run;
    if (isNew) {
      this.isBusy.value = true;
      this.error.value = "";
    }
    const number = ++this.#overviews.numAsked;
    try {
      /** @type {Overview} */
      const overview = await this.host.fetchJSON("overview", { run });
      if (run !== this.run.peek() || number < this.#overviews.newest) return;
      this.#overviews.newest = number;
      const isSame = !isNew && contentOf(overview) === contentOf(this.overview.peek());
      this.#overviewOf = run;
      this.#lastRun.value = run;
      if (isSame) return;
      if (!isNew) this.#next = { keep: "", show: null };
      this.overview.value = overview;
      if (overview.graphs.length === 0) this.#fail(new Error(`The run “${run}” has no graph.`));
    } catch (error) {
      // What is drawn stays while the server is away.
      if (isNew && run === this.run.peek()) this.#fail(error);
    }
  }

  /**
   * @param {Place} place
   * @param {import("./scene.js").Wishes} wishes
   */
  async #draw(place, wishes) {
    const turn = ++this.#turn;
    const next = this.#next;
    this.#next = { keep: null, show: null };
    const of = keyOf(place);
    const isNew = this.shown.peek()?.of !== of;
    // A scope that takes long, and was closed again, must not keep others waiting.
    this.#layouter.giveUp();
    this.isBusy.value = true;
    this.error.value = "";
    try {
      const scene = await makeScene(wishes, {
        fetchScope: (name, kind) => this.fetchScope(place, name, kind),
        layOut: (job) => this.#layouter.layOut(job),
        measure: this.#measure,
      });
      if (turn !== this.#turn) return;
      this.shown.value = { scene, of, ...next };
      this.isBusy.value = false;
      const selected = this.selected.peek();
      if (isNew && selected !== null && !scene.boxes.has(selected)) await this.reveal(selected).catch(() => this.selected.peek() === selected && this.select(null));
    } catch (error) {
      if (turn === this.#turn) this.#fail(error);
    }
  }

  /** @param {string | null} name @param {Place} place @param {Scene} scene */
  async #loadTrace(name, { run, graph }, scene) {
    // A series has no name in the graph.
    if (name === null || scene.boxes.get(name)?.kind === "series") return;
    const open = [...scene.boxes.values()].filter((box) => box.open && box.message === "");
    const scopes = [childrenOf("", "scope"), ...open.map((box) => childrenOf(box.name, box.kind))];
    try {
      /** @type {{ names: string[], nodes: number }[]} */
      const answers = await Promise.all(
        scopes.map((scope) => this.#queue.add(() => this.host.fetchJSON("trace", { run, graph, name, ...scope }), this.host.signal)),
      );
      const isWanted = name === this.selected.peek() && scene === this.#scene.peek();
      if (isWanted) this.#trace.value = { of: name, names: new Set(answers.flatMap(({ names }) => names)), nodes: answers[0].nodes };
    } catch {
      // The pane asks about the same node, and says what is wrong.
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    this.error.value = error instanceof Error ? error.message : String(error);
    this.isBusy.value = false;
  }

  /** @param {string} setting */
  #namesIn(setting) {
    const text = computed(() => this.host.settings.value[setting]);
    return computed(() => /** @type {ReadonlySet<string>} */ (new Set(parseLists(text.value).flat())));
  }

  /** Changes the address once. What is chosen belongs to a run, which it names too. @param {Record<string, string | null>} settings */
  #set(settings) {
    if ("node" in settings) this.#choice++;
    batch(() => {
      for (const [name, value] of Object.entries({ run: this.run.peek() || null, ...settings })) this.host.settings.set(name, value);
    });
  }
}

/** The graphs of a run, and those of the functions in their libraries. @param {Overview} overview */
export function graphChoices({ graphs }) {
  const functions = graphs.flatMap((graph) =>
    graph.functions.map((name) => ({ id: functionGraph(graph.id, name), title: name, of: graph.id })),
  );
  return [...graphs.map(({ id, title }) => ({ id, title, of: null })), ...functions];
}

/** The id of the graph of a function in the library of a graph. @param {string} graph @param {string} name */
export function functionGraph(graph, name) {
  return graph === MAIN ? `function:${name}` : `${graph}/function:${name}`;
}

/** What the server's routes are asked with. @param {Place} place */
export function paramsOf({ run, graph, tag }) {
  return { run, graph, tag: tag || undefined };
}

/** Which children the server is asked about: those of a scope or series. @param {string} name @param {Kind} kind */
function childrenOf(name, kind) {
  const isSeries = kind === "series";
  return { path: isSeries ? scopeOf(name) : name, series: isSeries ? name : undefined, limit: MAX_CHILDREN };
}

/** @param {Place} place */
function keyOf({ run, graph, tag }) {
  return JSON.stringify([run, graph, tag]);
}

/** Equal for two that say the same; the generation rises with every point that is logged. @param {Overview | null} overview */
function contentOf(overview) {
  return JSON.stringify([overview?.version, overview?.metadata_tags]);
}
