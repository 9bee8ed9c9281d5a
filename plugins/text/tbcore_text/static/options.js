/**
 * The options of the text tab, with their defaults and valid values.
 *
 * `show`: "text" (rendered Markdown), "source" (as logged) or "changes" (since the base step).
 * `from`: what changes are compared with: the step "before" (the previous one), the "first", or a
 * "step" (the step `base`), or another "run". Which run is the setting `run` in the address, since
 * other log directories have other runs; by default it is the first that is shown.
 */

import { Options } from "tbcore/options.js";

export const SHOW_CHOICES = /** @type {const} */ ([
  ["text", "Text", "Rendered as Markdown"],
  ["source", "Source", "Plain text, as logged"],
  ["changes", "Changes", "Differences from another step or run"],
]);

export const BASE_CHOICES = /** @type {const} */ ([
  ["before", "previous step"],
  ["first", "first step"],
  ["step", "step …"],
  ["run", "run …"],
]);

export const options = new Options(
  { show: "text", from: "before", base: 0 },
  { show: SHOW_CHOICES.map(([name]) => name), from: BASE_CHOICES.map(([name]) => name) },
);

/** The name of the run that others are compared with. @param {import("tbcore/host.js").Host} host */
export function baseRunOf({ settings, runs }) {
  return settings.value.run ?? runs.value[0]?.name ?? "";
}

/**
 * The step that a text is compared with, as parameters of the server's route `step`.
 * @param {{ from: string, base: number }} options
 * @param {{ step: number, nth: number, first_step: number | null }} found
 * @returns {{ step: number, nth: number } | null} null if there is no earlier one
 */
export function baseOf({ from, base }, { step, nth, first_step }) {
  if (from === "run") return { step, nth };
  if (from === "step") return { step: Math.trunc(base), nth: 0 };
  if (from === "first") return first_step === null ? null : { step: first_step, nth: 0 };
  if (nth > 0) return { step, nth: nth - 1 };
  // The server responds with the last text that is not after the requested one.
  return first_step === null || step <= first_step ? null : { step: step - 1, nth: BEYOND_ANY_NTH };
}

/** More texts than are ever logged at one step. */
const BEYOND_ANY_NTH = 1e9;
