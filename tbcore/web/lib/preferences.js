/**
 * What a reader prefers, kept in the browser: short strings by name, a set of them for each owner. Unlike what is in the
 * address they hold for every log directory, and a link does not carry them.
 */

import { signal } from "@preact/signals-core";

/**
 * @typedef {Readonly<Record<string, string>>} Values
 * @typedef {object} Preferences
 * @property {import("@preact/signals-core").ReadonlySignal<Values>} values
 * @property {(name: string, value: string | null) => void} set  null: back to the default
 */

/**
 * @param {string} owner  a plugin's name, or the part of the shell
 * @returns {Preferences}
 */
export function openPreferences(owner) {
  const key = `tbcore.preferences.${owner}`;
  const values = signal(read(key));
  return {
    values,
    set(name, value) {
      // Read again: another tab of this browser may have written since.
      const { [name]: _, ...rest } = { ...values.value, ...read(key) };
      values.value = value === null ? rest : { ...rest, [name]: value };
      try {
        localStorage.setItem(key, JSON.stringify(values.value));
      } catch {
        // storage is blocked or full: the choice holds for this page
      }
    },
  };
}

/**
 * @param {string} key
 * @returns {Values} empty when there is nothing, or nothing readable
 */
function read(key) {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? "{}");
    return Object.fromEntries(Object.entries(stored).filter(([, value]) => typeof value === "string"));
  } catch {
    return {};
  }
}
