/**
 * Reads the attributes that are wanted: from data/run_attributes, after each change only those of the
 * runs that changed; and from the runs' details, which the page has. Loaded when an attribute is
 * first wanted.
 */

import { batch, effect } from "@preact/signals-core";
import { MAX_QUERY_LENGTH, formatAttribute, formatName, nameOrGlob, parseAttribute } from "../../lib/queries/syntax.js";
import { ServerError, address } from "./server.js";
import { isLive } from "./tree.js";

/** @import { RunDetails } from "../../host.js" */
/** @import { Attribute } from "../../lib/queries/syntax.js" */
/** @import { AttributeValue, Attributes } from "./attributes.js" */
/** @import { ServerState } from "./server-state.js" */

/** Time from a failed request to the next attempt. */
const RETRY_DELAY_MS = 3000;
/** Number of attributes in a request; the server limits it. */
const MAX_ASKED = 100;
/** Number of attributes that are kept although nothing wants them any more. */
const MAX_UNWANTED = 30;

/**
 * What the server is asked for. `generation` is that of the last response, "" before the first; and
 * `readAt` is the page's generation when that was requested.
 * @typedef {{ text: string, attribute: Attribute | { kind: "has", name: string, stat: null, step: null }, generation: string, readAt: string }} Entry
 */

/** Keeps attributes up to date for as long as the page is open. @param {Attributes} attributes @param {ServerState} state */
export function keepReading(attributes, state) {
  /** The attributes of the server that are or were wanted, the longest unwanted first. @type {Map<string, Entry>} */
  const entries = new Map();
  let isBusy = false;
  /** The generation of the last response. */
  let generation = "";
  /** The generation of the lists when the names were last read. */
  let namesReadAt = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  effect(() => {
    const details = state.runDetails.value;
    const now = state.now.value;
    batch(() => {
      for (const text of attributes.wanted.value) {
        const valueOf = DETAILS.get(text);
        if (!valueOf) continue;
        const { values } = attributes.column(text);
        values.value = merged(null, [...details.keys()], Array.from(details.values(), (run) => valueOf(run, now)), values.peek());
      }
    });
  });
  effect(() => {
    // Read again after a change of the data, and when more attributes are wanted.
    void [state.generations.value, attributes.wanted.value, attributes.areNamesWanted.value];
    read();
  });

  /** Reads what is wanted and not up to date, unless that is being done. */
  async function read() {
    if (isBusy) return;
    isBusy = true;
    clearTimeout(timer);
    // The effect must not depend on what is read below.
    await null;
    try {
      while (await readOnce());
      attributes.error.value = null;
    } catch (error) {
      attributes.error.value = error instanceof ServerError ? error.message : "the server cannot be reached";
      timer = setTimeout(read, RETRY_DELAY_MS);
    }
    isBusy = false;
  }

  /** Sends the requests for what is not up to date; false if everything is. */
  async function readOnce() {
    const { all, lists } = state.generations.value;
    // The runs are not known yet.
    if (all === "") return false;
    const asked = wantedEntries().filter(({ readAt }) => readAt !== all);
    const readsNames = attributes.areNamesWanted.value && lists !== namesReadAt;
    const generations = new Set(asked.map(({ generation }) => generation));
    for (const since of generations) {
      const group = asked.filter(({ generation }) => generation === since).slice(0, MAX_ASKED);
      generation = await request(attributes, group, since, false);
      for (const entry of group) entry.readAt = all;
    }
    if (readsNames) {
      generation = await request(attributes, [], generation, true);
      namesReadAt = lists;
    }
    return generations.size > 0 || readsNames;
  }

  /** The wanted attributes that the server has; the texts that name none are left out. */
  function wantedEntries() {
    const wanted = [...attributes.wanted.value].filter((text) => !DETAILS.has(text)).flatMap((text) => {
      const entry = entries.get(text) ?? makeEntry(text);
      if (!entry) return [];
      entries.delete(text);
      entries.set(text, entry);
      return [entry];
    });
    for (const [text, entry] of entries) {
      if (entries.size <= wanted.length + MAX_UNWANTED) break;
      entries.delete(text);
      const { values, steps } = attributes.column(entry.text);
      [values.value, steps.value] = [null, null];
    }
    return wanted;
  }
}

/**
 * Asks the server about attributes, and stores the answer. Returns its generation.
 * @param {Attributes} attributes
 * @param {Entry[]} asked
 * @param {string} since
 * @param {boolean} names  whether to ask for all names
 * @returns {Promise<string>}
 */
async function request(attributes, asked, since, names) {
  const of = (/** @type {string} */ kind) => asked.filter(({ attribute }) => attribute.kind === kind);
  const [hparams, values, has, steps] = [of("hparam"), of("value"), of("has"), of("fact")];
  const body = {
    since: since || undefined,
    names: names || undefined,
    hparams: hparams.map(({ attribute }) => attribute.name),
    values: values.map(({ attribute: { name: tag, stat, step } }) => ({ tag, stat, step: step ?? undefined })),
    has: has.map(({ attribute }) => attribute.name),
    last_steps: steps.length > 0 || undefined,
  };
  const response = await fetch(address("data/run_attributes"), { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw await ServerError.from(response);
  const answer = await response.json();
  const { runs, is_delta } = answer;
  batch(() => {
    if (names) attributes.names.value = answer.names;
    /** @type {Map<string, AttributeValue[]>} */
    const columns = new Map(Object.entries(answer.hparams ?? {}));
    for (const [i, entry] of hparams.entries()) store(entry, columns.get(body.hparams[i]) ?? []);
    for (const [i, entry] of values.entries()) store(entry, answer.values[i].map(toNumber), answer.steps[i]);
    for (const [i, entry] of has.entries()) store(entry, answer.has[i].map((/** @type {boolean} */ value) => value || null));
    for (const entry of steps) store(entry, answer.last_steps);
    if (asked.length > 0) storeUnknown(attributes, asked, answer.unknown);
  });
  return answer.generation;

  /** @param {Entry} entry @param {(AttributeValue | null)[]} values @param {(number | null)[]} [steps] */
  function store(entry, values, steps) {
    const column = attributes.column(entry.text);
    const [before, stepsBefore] = [column.values.peek(), column.steps.peek()];
    column.values.value = merged(is_delta ? before : null, runs, values, before);
    column.steps.value = merged(is_delta ? stepsBefore : null, steps ? runs : [], steps ?? [], stepsBefore);
    entry.generation = answer.generation;
  }
}

/** Stores which of the attributes that were asked for no run has. @param {Attributes} attributes @param {Entry[]} asked @param {any} answer */
function storeUnknown(attributes, asked, answer) {
  const unknown = new Map(attributes.unknown.peek());
  /** @type {Record<"hparam" | "value", Map<string, string[]>>} */
  const close = { hparam: new Map(Object.entries(answer?.hparams ?? {})), value: new Map(Object.entries(answer?.tags ?? {})) };
  for (const { text, attribute } of asked) {
    unknown.delete(text);
    const { kind } = attribute;
    /** @type {string[] | undefined} */
    let names;
    if (kind === "has") {
      const node = nameOrGlob(attribute.name);
      names = node.kind === "word" ? close.value.get(node.word) : undefined;
    } else if (kind !== "fact") names = close[kind].get(attribute.name);
    if (names) unknown.set(text, names.map((name) => (kind === "has" ? `has:${formatName(name)}` : formatAttribute({ ...attribute, kind, name }))));
  }
  attributes.unknown.value = unknown;
}

/** Attributes that the runs' details have: their value for a run, or null. @type {ReadonlyMap<string, (run: RunDetails, now: number) => AttributeValue | null>} */
const DETAILS = new Map(
  Object.entries({
    age: ({ last }, now) => (last === null ? null : now - last),
    took: ({ start, last }) => (start === null || last === null ? null : last - start),
    // Texts that name no attribute; queries use them.
    "has:nan": ({ nonfinite }) => (nonfinite ? true : null),
    "is:live": (run, now) => (isLive(run, now) ? true : null),
  }),
);

/** @param {string} text @returns {Entry | null} null if the text names no attribute */
function makeEntry(text) {
  // The server refuses longer names, and with them the whole request. No query has them, but a rule in a link may.
  if (text.startsWith("has:") && [...text].length <= MAX_QUERY_LENGTH) return { text, attribute: { kind: "has", name: text.slice(4), stat: null, step: null }, generation: "", readAt: "" };
  try {
    return { text, attribute: parseAttribute(text), generation: "", readAt: "" };
  } catch {
    return null;
  }
}

/**
 * The values of an attribute by run.
 * @template T
 * @param {ReadonlyMap<string, T> | null} base  the values of other runs
 * @param {readonly string[]} runs
 * @param {readonly (T | null)[]} values  of these runs; null for those that lack it
 * @param {ReadonlyMap<string, T> | null} last
 * @returns {ReadonlyMap<string, T>} `last` if the result is the same, so that nothing is computed again
 */
function merged(base, runs, values, last) {
  const result = new Map(base);
  for (const [i, run] of runs.entries()) {
    const value = values[i] ?? null;
    if (value === null) result.delete(run);
    else result.set(run, value);
  }
  const isSame = result.size === last?.size && [...result].every(([run, value]) => Object.is(value, last.get(run)));
  return isSame ? last : result;
}

/** A number of a response, in which non-finite ones are texts. @param {number | string | null} value */
function toNumber(value) {
  return value === null ? null : Number(value);
}
