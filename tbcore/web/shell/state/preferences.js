/**
 * User preferences, kept in the browser's localStorage: short texts by name, separately for each
 * plugin and for parts of the shell. Unlike settings in the URL, they apply to all log directories
 * and are not part of links.
 */

import { signal } from "@preact/signals-core";

/**
 * @typedef {Readonly<Record<string, string>>} Values
 * @typedef {object} Preferences
 * @property {import("@preact/signals-core").ReadonlySignal<Values>} values
 * @property {(name: string, value: string | null) => void} set  null resets to the default
 */

/**
 * Opens the preferences of a plugin or of a part of the shell.
 * @param {string} owner  name of the plugin or part
 * @returns {Preferences}
 */
export function openPreferences(owner) {
  const key = `tbcore.preferences.${owner}`;
  const values = signal(read(key));
  return {
    values,
    set(name, value) {
      // Read again, because another tab of the browser may have changed them.
      const { [name]: _, ...rest } = { ...values.value, ...read(key) };
      values.value = value === null ? rest : { ...rest, [name]: value };
      try {
        localStorage.setItem(key, JSON.stringify(values.value));
      } catch {
        // localStorage is blocked or full: the value applies to this page only
      }
    },
  };
}

/** The stored values; empty if there are none or they cannot be read. @param {string} key @returns {Values} */
function read(key) {
  try {
    const stored = JSON.parse(localStorage.getItem(key) ?? "{}");
    return Object.fromEntries(Object.entries(stored).filter(([, value]) => typeof value === "string"));
  } catch {
    return {};
  }
}
