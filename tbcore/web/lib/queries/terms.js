/**
 * The terms that only queries for runs have: what the help shows, what completes a query, and which queries
 * the server is asked again. `tbcore/queries/terms.py` and `syntax.py` parse them, and docs/queries.md has the
 * same examples with the same meanings.
 */

/**
 * @typedef {object} Term
 * @property {string} examples  separated by three blanks
 * @property {string} meaning
 * @property {Word[]} [words]  that complete queries
 *
 * @typedef {[text: string, what: string, changesWith?: "time" | "notes"]} Word  with what else than the data the runs
 *   change that a query with it finds. Words that change with notes complete queries only if there are notes
 */

/** @type {Term[]} */
export const TERMS = [
  { examples: "learning_rate>1e-3   optimizer=adam*", meaning: "a hyperparameter: = != < <= > >=" },
  {
    examples: "val/loss:last<0.5",
    meaning: "a value of a tag: last, min, max, at(1000), its change(1000) over the last 1000 steps, or nan: the first step that is not finite",
  },
  { examples: "has:val/loss   has:nan", meaning: "the run has the tag; it has NaN or infinite values", words: [["has:", "a tag, or nan"]] },
  {
    examples: "live   quiet",
    meaning: "the run is being written, or not",
    words: [["live", "being written", "time"], ["quiet", "not being written", "time"]],
  },
  {
    examples: "is:failed   is:finished",
    meaning: "its program logged that it failed, or ended without an error",
    words: [["is:failed", "logged that it failed"], ["is:finished", "logged that it ended"]],
  },
  { examples: "newest:10", meaning: "one of the ten runs with the latest events", words: [["newest:", "the runs with the latest events"]] },
  {
    examples: "is:starred   is:archived   #paper   note:bug",
    meaning: "what users noted: a star, put away, a label, a part of a note",
    words: [["is:starred", "starred runs", "notes"], ["is:archived", "archived runs", "notes"], ["#", "a label", "notes"], ["note:", "a part of a note", "notes"]],
  },
  {
    examples: "step>1000   age<2h   took>30m",
    meaning: "its highest step, time since its last event, duration: s m h d w",
    words: [["step", "last step"], ["age", "since the last event", "time"], ["took", "duration"]],
  },
];

/** All words. */
export const WORDS = TERMS.flatMap(({ words = [] }) => words);

/** A pattern for the words or signs that begin a term, such as `has:`. */
export const BEGINNINGS = [...new Set(WORDS.flatMap(([text]) => /^\w*[:#]/.exec(text) ?? []))].join("|");

/** Matches a query that finds other runs with the time, or with other notes, and maybe others. @param {"time" | "notes"} cause */
export function changesWith(cause) {
  const texts = WORDS.filter(([, , own]) => own === cause).map(([text]) => (/\w$/.test(text) ? `${text}\\b` : text));
  return new RegExp(`(?:^|\\W)(?:${texts.join("|")})`, "i");
}
