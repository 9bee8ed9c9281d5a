/**
 * The options of the text tab, with their defaults and valid values.
 *
 * `show`: "text" (rendered Markdown), "source" (as logged) or "changes" (since the base step).
 * `from`: the base step: "before" (the previous step), "first", or "step" (the step `base`).
 */

import { Options } from "tbcore/options.js";

export const SHOW_CHOICES = /** @type {const} */ ([
  ["text", "Text", "Rendered as Markdown"],
  ["source", "Source", "Plain text, as logged"],
  ["changes", "Changes", "Differences from another step"],
]);

export const BASE_CHOICES = /** @type {const} */ ([
  ["before", "previous step"],
  ["first", "first step"],
  ["step", "step …"],
]);

export const options = new Options(
  { show: "text", from: "before", base: 0 },
  { show: SHOW_CHOICES.map(([name]) => name), from: BASE_CHOICES.map(([name]) => name) },
);

/**
 * The step that a text is compared with, as parameters of the server's route `step`.
 * @param {{ from: string, base: number }} options
 * @param {{ step: number, nth: number, first_step: number | null }} found
 * @returns {{ step: number, nth: number } | null} null if there is no earlier one
 */
export function baseOf({ from, base }, { step, nth, first_step }) {
  if (from === "step") return { step: Math.trunc(base), nth: 0 };
  if (from === "first") return first_step === null ? null : { step: first_step, nth: 0 };
  if (nth > 0) return { step, nth: nth - 1 };
  // The server responds with the last text that is not after the requested one.
  return first_step === null || step <= first_step ? null : { step: step - 1, nth: BEYOND_ANY_NTH };
}

/** More texts than are ever logged at one step. */
const BEYOND_ANY_NTH = 1e9;
