/**
 * The display options of a tab. They are kept in the URL, so that a link restores them, and in the
 * browser, as defaults for the next page whose URL has no settings.
 *
 *     const choices = { x: ["step", "relative", "wall_time"] };
 *     const options = new Options({ x: "step", trim: 0, tails: true }, choices);
 *     options.recall(host); // once, in render
 *     const { x, trim } = options.parse(host.settings.value);
 *     options.set(host, "x", "relative");
 */

/** @typedef {Pick<import("../host.js").Host, "settings" | "preferences">} OptionsHost */

/** The options of one tab. @template {Record<string, string | number | boolean>} T */
export class Options {
  #defaults;
  #choices;
  #limits;

  /**
   * @param {T} defaults  their types are the types of the options
   * @param {Readonly<Record<string, { includes(value: unknown): boolean }>>} [choices]  allowed
   *   values of some options: an array, or any object with `includes`
   * @param {Readonly<Record<string, readonly [min: number, max: number]>>} [limits]  limits of some
   *   numeric options; a value outside them becomes the nearest limit
   */
  constructor(defaults, choices = {}, limits = {}) {
    this.#defaults = defaults;
    this.#choices = new Map(Object.entries(choices));
    this.#limits = new Map(Object.entries(limits));
  }

  /**
   * Parses all options. Missing and invalid options have their default values.
   * @param {Readonly<Record<string, string>>} texts  `host.settings.value`
   * @returns {T}
   */
  parse(texts) {
    /** @type {Map<string, unknown>} */
    const options = new Map(Object.entries(this.#defaults));
    for (const [name, text] of Object.entries(texts)) {
      const fallback = options.get(name);
      if (fallback === undefined) continue;
      const value = typeof fallback === "boolean" ? text === "true" : typeof fallback === "number" ? Number(text) : text;
      const isAllowed = this.#choices.get(name)?.includes(value) ?? (typeof value !== "number" || Number.isFinite(value));
      if (!isAllowed) continue;
      const [min, max] = this.#limits.get(name) ?? [];
      options.set(name, min === undefined ? value : Math.min(Number(max), Math.max(min, Number(value))));
    }
    return /** @type {T} */ (Object.fromEntries(options));
  }

  /**
   * Sets an option, in the URL and in the browser.
   * @template {keyof T & string} Name
   * @param {OptionsHost} host
   * @param {Name} name
   * @param {T[Name]} value
   */
  set(host, name, value) {
    if (!Object.hasOwn(this.#defaults, name)) throw new Error(`there is no option ${name}; there are ${Object.keys(this.#defaults).join(", ")}`);
    const text = value === this.#defaults[name] ? null : String(value);
    host.settings.set(name, text);
    host.preferences.set(name, text);
  }

  /** Restores the last options from the browser if the URL has no settings. @param {OptionsHost} host */
  recall(host) {
    // A link must look the same for everyone: options that the link lacks have their default
    // values.
    if (Object.keys(host.settings.value).length > 0 || globalThis.location?.hash.includes("&")) return;
    for (const [name, text] of Object.entries(host.preferences.value)) {
      if (Object.hasOwn(this.#defaults, name)) host.settings.set(name, text);
    }
  }
}
