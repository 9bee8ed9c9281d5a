/**
 * The rules for groups that are one word, and look at the names of runs alone. Pure functions, no DOM.
 */

/** @typedef {(run: string) => string} Grouper  run to name of its group */

/** A word for the repetitions of an experiment, with a number: `seed=3`, `_s3`, `-fold2`. */
export const SEED = /(^|[_\-. ,+])(?:seed|s|fold|trial|rep|repeat|replica|try)[=_\-:]?\d+(?=$|[_\-. ,+])/gi;
/** An integer at the end, but not the end of a decimal number: neither the 1 of `0.1` nor the 4 of `1e-4`. */
export const NUMBER = /(?<![\d.]|\d[eE])[_\-. #=:]?(?<!\d[eE]-)\d+$/;
/** A part of one training, as the last segment of a run. */
export const PART = /\/(?:train(?:ing)?|evaluation|eval|val(?:id(?:ation)?)?|test(?:ing)?|dev)$/i;

/** Maps one-word rules to their titles and groupers. @type {Record<string, { title: string, group: Grouper }>} */
export const WORDS = {
  seeds: { title: "Average over seeds", group: (run) => stripSegments(run, (segment) => segment.replace(SEED, "")) },
  numbers: { title: "Average over trailing numbers", group: (run) => stripSegments(run, (segment) => segment.replace(NUMBER, "")) },
};

/**
 * Strips each path segment of a run. Separators that remain at the ends are removed; an empty
 * segment becomes `*`.
 * @type {(run: string, strip: (segment: string) => string) => string}
 */
function stripSegments(run, strip) {
  return run
    .split("/")
    .map((segment) => {
      const rest = strip(segment);
      return rest === segment ? segment : rest.replace(/^[_\-. ,+]+|[_\-. ,+=:#]+$/g, "") || "*";
    })
    .join("/");
}

/** The name of a run without the last segment if that is a part of a training, such as `train` or `eval`. @param {string} run */
export function withoutPart(run) {
  return run.replace(PART, "");
}
