/** Globs match whole texts. Pure functions, no DOM. */

/** In a glob, what matches any characters, and what matches one. */
export const [ANY, ONE] = ["**", "??"];

/** A glob: characters, ANY and ONE. @typedef {readonly string[]} Glob */

/** A word as a glob; null if it has neither `*` nor `?`. @param {string} word */
export function globOf(word) {
  return /[*?]/.test(word) ? Array.from(word, (char) => (char === "*" ? ANY : char === "?" ? ONE : char)) : null;
}

/** Whether a glob matches the whole of a text. @param {Glob} glob @param {string} text */
export function matchesGlob(glob, text) {
  const chars = [...text];
  let [at, next] = [0, 0];
  // The last ANY, and where what follows it was last looked for.
  let [any, start] = [-1, 0];
  while (next < chars.length) {
    if (glob[at] === ANY) [any, start] = [at++, next];
    else if (glob[at] === ONE || glob[at] === chars[next]) [at, next] = [at + 1, next + 1];
    else if (any < 0) return false;
    else [at, next] = [any + 1, ++start];
  }
  while (glob[at] === ANY) at++;
  return at === glob.length;
}
