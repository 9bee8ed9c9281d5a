/**
 * How texts are shown. Pure.
 *
 * `show`: "text" (markdown), "source" (as logged), "changes" (what is different from another step).
 * `from`: which that is: "before", "first", or "step", which is `base`.
 */

import { Options } from "tbcore/lib/options.js";

export const SHOW = /** @type {const} */ ([
  ["text", "Text", "Markdown, drawn"],
  ["source", "Source", "As it was logged, without markdown"],
  ["changes", "Changes", "What is different from another step"],
]);

export const FROM = /** @type {const} */ ([
  ["before", "the step before"],
  ["first", "the first step"],
  ["step", "step …"],
]);

export const options = new Options(
  { show: "text", from: "before", base: 0 },
  { show: SHOW.map(([name]) => name), from: FROM.map(([name]) => name) },
);

/**
 * Which step a text is compared with, as the server's `step` is asked.
 * @param {{ from: string, base: number }} options
 * @param {{ step: number, nth: number, first_step: number | null }} found
 * @returns {{ step: number, nth: number } | null} null: there is none before it
 */
export function baseOf({ from, base }, { step, nth, first_step }) {
  if (from === "step") return { step: Math.trunc(base), nth: 0 };
  if (from === "first") return first_step === null ? null : { step: first_step, nth: 0 };
  if (nth > 0) return { step, nth: nth - 1 };
  // The server takes the last that does not come after it.
  return first_step === null || step <= first_step ? null : { step: step - 1, nth: MANY };
}

/** More than are ever logged with one step. */
const MANY = 1e9;
