/**
 * Warnings about deprecated names that plugins use, in the console and on the plugins page. The core
 * calls `warnDeprecated` wherever it still supports an old name.
 */

/** @typedef {{ name: string, instead: string, count: number }} Deprecation */

/** @type {Map<string, Map<string, Deprecation>>} by plugin ("" if unknown), then by name */
const used = new Map();

/**
 * Records the use of a deprecated name, and logs a warning the first time.
 * @param {string} name  what was used, such as `host.old()`
 * @param {string} instead  what to do, such as `use host.new()`
 * @param {string} [stack]  call stack, as `Error.stack` has it
 */
export function warnDeprecated(name, instead, stack = new Error().stack ?? "") {
  const plugin = pluginOf(stack);
  const ofPlugin = used.get(plugin ?? "") ?? new Map();
  used.set(plugin ?? "", ofPlugin);
  const known = ofPlugin.get(name);
  ofPlugin.set(name, { name, instead, count: (known?.count ?? 0) + 1 });
  if (!known) console.warn(`${plugin ? `plugin "${plugin}"` : "a module"} uses ${name}, which is deprecated: ${instead}`);
}

/** The deprecated names that a plugin has used. @param {string} plugin @returns {Deprecation[]} */
export function deprecationsOf(plugin) {
  return [...(used.get(plugin)?.values() ?? [])];
}

/** The plugin whose module is nearest in a call stack; null if there is none. @param {string} stack */
function pluginOf(stack) {
  const match = /\/static\/plugins\/([^/\s]+)\//.exec(stack);
  return match && decodeURIComponent(match[1]);
}
