/**
 * Reads the attributes that are wanted: from data/run_attributes, after each change only those of the
 * runs that changed; and from the runs' details, which the page has.
 */

import { batch, effect } from "@preact/signals-core";
import { keepUpToDate } from "../../lib/requests.js";
import { askAboutRuns, reasonOf } from "./run-attributes.js";

/** @import { RunDetails } from "../../host.js" */
/** @import { AttributeValue, Attributes } from "./attributes.js" */
/** @import { ServerState } from "./server-state.js" */

/** Number of attributes in a request; the server limits it. */
const MAX_ASKED = 100;
/** Number of attributes that are kept although nothing wants them any more. */
const MAX_UNWANTED = 30;

/**
 * What the server is asked for. `generation` is that of the last response, "" before the first; and
 * `readAt` is the page's generation when that was requested. `isLate` is whether the server could not
 * compute it in time.
 * @typedef {{ text: string, generation: string, readAt: string, isLate?: boolean }} Entry
 */

/** Keeps attributes up to date for as long as the page is open. @param {Attributes} attributes @param {ServerState} state */
export function keepReading(attributes, state) {
  /** The attributes of the server that are or were wanted, the longest unwanted first. @type {Map<string, Entry>} */
  const entries = new Map();
  /** The generation of the last response. */
  let generation = "";
  /** The generation of the lists when the names were last read. */
  let namesReadAt = "";
  /** Number of attributes in a request: fewer if the server could not compute all in time. */
  let maxAsked = MAX_ASKED;
  const read = keepUpToDate(
    async () => {
      while (await readOnce());
      attributes.error.value = null;
    },
    { onError: (error) => void (attributes.error.value = reasonOf(error)) },
  );

  effect(() => {
    const details = state.runDetails.value;
    const now = state.now.value;
    batch(() => {
      for (const text of attributes.wanted.value) {
        const name = text.toLowerCase();
        const valueOf = DETAILS.get(name);
        if (!valueOf) continue;
        const { meaning, values } = attributes.column(text);
        if (!meaning.peek()) meaning.value = { text: name, attribute: { kind: "fact", name, stat: null, step: null } };
        values.value = merged(null, [...details.keys()], Array.from(details.values(), (run) => valueOf(run, now)), values.peek());
      }
    });
  });
  effect(() => {
    // Read again after a change of the data, and when more attributes are wanted.
    void [state.generations.value, attributes.wanted.value, attributes.areNamesWanted.value];
    read();
  });

  /** Sends the requests for what is not up to date; false if everything is. */
  async function readOnce() {
    const { all, lists } = state.generations.value;
    // The runs are not known yet.
    if (all === "") return false;
    const asked = wantedEntries().filter(({ readAt }) => readAt !== all);
    const readsNames = attributes.areNamesWanted.value && lists !== namesReadAt;
    const generations = new Set(asked.map(({ generation }) => generation));
    for (const since of generations) {
      const group = asked.filter(({ generation }) => generation === since).slice(0, maxAsked);
      generation = await request(attributes, group, since, false);
      const late = group.filter((entry) => entry.isLate);
      if (late.length > 0) maxAsked = Math.max(1, Math.floor(group.length / 2));
      for (const entry of group) if (!entry.isLate || group.length === 1) entry.readAt = all;
    }
    if (readsNames) {
      generation = await request(attributes, [], generation, true);
      namesReadAt = lists;
    }
    return generations.size > 0 || readsNames;
  }

  /** The wanted attributes that the server has. */
  function wantedEntries() {
    const wanted = [...attributes.wanted.value].filter((text) => !DETAILS.has(text.toLowerCase())).map((text) => {
      const entry = entries.get(text) ?? { text, generation: "", readAt: "" };
      entries.delete(text);
      entries.set(text, entry);
      return entry;
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
  const answer = await askAboutRuns({ since: since || undefined, names: names || undefined, columns: asked.length > 0 ? asked.map(({ text }) => text) : undefined });
  batch(() => {
    if (names) attributes.names.value = answer.names;
    const unknown = new Map(attributes.unknown.peek());
    for (const [i, entry] of asked.entries()) {
      const column = answer.columns[i];
      storeColumn(entry, column);
      if (column.unknown) unknown.set(entry.text, column.unknown);
      else unknown.delete(entry.text);
    }
    if (asked.length > 0) attributes.unknown.value = unknown;
  });
  return answer.generation;

  /** @param {Entry} entry @param {any} read */
  function storeColumn(entry, { error, is_late: isLate = false, values = [], steps, text, kind, name, stat, step }) {
    const { runs, is_delta } = answer;
    entry.isLate = isLate;
    const column = attributes.column(entry.text);
    const [before, stepsBefore] = [column.values.peek(), column.steps.peek()];
    const known = column.meaning.peek();
    if (error !== undefined && (!isLate || asked.length === 1)) column.meaning.value ??= { error };
    // One that was late once may come later.
    if (error === undefined && !(known && "attribute" in known)) column.meaning.value = { text, attribute: { kind, name, stat, step } };
    if (isLate) return;
    column.values.value = merged(is_delta ? before : null, runs, stat ? values.map(toNumber) : values, before);
    column.steps.value = merged(is_delta ? stepsBefore : null, steps ? runs : [], steps ?? [], stepsBefore);
    entry.generation = answer.generation;
  }
}

/** Attributes that the runs' details have: their value for a run, or null. @type {ReadonlyMap<string, (run: RunDetails, now: number) => AttributeValue | null>} */
const DETAILS = new Map(
  Object.entries({
    age: ({ last }, now) => (last ? now - last : null),
    took: ({ start, last }) => (start === null || last === null ? null : last - start),
  }),
);

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
