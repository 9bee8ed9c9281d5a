/**
 * Old names that plugins still use: told once for each plugin and name, in the console and on the page of the plugins.
 *
 * The core calls `warnDeprecated` where an old name is still served. The plugin is the one whose module is nearest in the
 * stack of the call.
 */

/** @typedef {{ name: string, instead: string, count: number }} Deprecation */

/** @type {Map<string, Map<string, Deprecation>>} by plugin, then by name */
const used = new Map();

/**
 * @param {string} name  what is used, such as `host.old()`
 * @param {string} instead  what to do, such as `use host.new()`
 * @param {string} [stack]  of the call
 */
export function warnDeprecated(name, instead, stack = new Error().stack ?? "") {
  const plugin = pluginOf(stack);
  const ofPlugin = used.get(plugin ?? "") ?? new Map();
  used.set(plugin ?? "", ofPlugin);
  const known = ofPlugin.get(name);
  ofPlugin.set(name, { name, instead, count: (known?.count ?? 0) + 1 });
  if (!known) console.warn(`${plugin ? `plugin "${plugin}"` : "a module"} uses ${name}, which will go: ${instead}`);
}

/**
 * What a plugin has used since the page was opened.
 * @param {string} plugin
 * @returns {Deprecation[]}
 */
export function deprecationsOf(plugin) {
  return [...(used.get(plugin)?.values() ?? [])];
}

/** @param {string} stack */
function pluginOf(stack) {
  const found = /\/static\/plugins\/([^/\s]+)\//.exec(stack);
  return found && decodeURIComponent(found[1]);
}
