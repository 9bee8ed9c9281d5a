/** What the notes on runs say. Pure functions, no DOM. */

/**
 * @typedef {object} NoteRecord  what somebody noted about one field of a run
 * @property {any} value  of a note, its first line, at most 200 characters
 * @property {boolean} [is_cut]  whether there is more of a note
 * @property {number} time  in seconds since the epoch
 * @property {string} by  such as `alice@laptop`
 * @property {boolean} is_own  whether the user of the server wrote it
 *
 * @typedef {"starred" | "archived" | "labels" | "note" | "display_name" | "color"} Field
 * @typedef {Readonly<Partial<Record<Field, NoteRecord>>>} Fields  the records of a run
 * @typedef {ReadonlyMap<string, Fields>} Records  by run
 *
 * @typedef {object} Change  of some runs, as `data/notes` takes it
 * @property {readonly string[]} runs
 * @property {Partial<Record<Field, unknown>>} [set]
 * @property {readonly string[]} [add_labels]
 * @property {readonly string[]} [remove_labels]
 * @property {readonly string[]} [ids]  of what each of `runs` is read from: it changes nothing if a name is that of another run by then
 */

/** The fields that are set to nothing. @type {Fields} */
const NONE = {};

/** The records with those of an answer. @param {Records} before @param {{ is_delta: boolean, runs: Record<string, Fields> }} answer @returns {Records} */
export function merged(before, { is_delta, runs }) {
  return new Map([...(is_delta ? before : []), ...Object.entries(runs)]);
}

/** The records as they will be after changes that are on their way. @param {Records} records @param {readonly Change[]} changes @param {number} time @returns {Records} */
export function changed(records, changes, time) {
  if (changes.length === 0) return records;
  const next = new Map(records);
  for (const { runs, set = {}, add_labels = [], remove_labels = [] } of changes) {
    for (const run of runs) {
      const fields = next.get(run) ?? NONE;
      /** @type {Record<string, unknown>} */
      const values = { ...set };
      if (add_labels.length + remove_labels.length > 0) {
        const labels = [...new Set([...labelsOf(fields), ...add_labels])];
        values.labels = labels.filter((label) => !remove_labels.includes(label));
      }
      const made = Object.entries(values).map(([field, value]) => [field, { value, time, by: "", is_own: true }]);
      next.set(run, { ...fields, ...Object.fromEntries(made) });
    }
  }
  return next;
}

/** @param {Fields} [fields] @returns {readonly string[]} */
export function labelsOf({ labels } = NONE) {
  return labels?.value ?? [];
}

/**
 * Who archived a run: "" if the user of the server did, null if it is not archived.
 * @param {Fields} [fields]
 */
export function archivedBy({ archived } = NONE) {
  if (!archived?.value) return null;
  return archived.is_own ? "" : archived.by;
}

/** Whether a query is about archived runs, which the list shows then. @param {string} query */
export function asksForArchived(query) {
  return /(?:^|[\s|(])is:archived(?![^\s|)])/i.test(query.replace(/"[^"]*"/g, ""));
}

/** The labels of all runs, those of most runs first. @param {Records} records */
export function allLabels(records) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const fields of records.values()) for (const label of labelsOf(fields)) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([label]) => label);
}

/** The words that complete queries. @param {Records} records @returns {[text: string, what: string][]} */
export function wordsOf(records) {
  return allLabels(records).map((label) => [`#${label}`, "label"]);
}
