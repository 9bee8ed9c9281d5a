/**
 * How a tab shows what it shows: in the address, so that a link shows the same, and the last choices in the browser, for
 * pages that are opened without.
 *
 *     const options = new Options({ x: "step", trim: 0, tails: true }, { x: ["step", "relative", "wall_time"] });
 *     options.recall(host); // once, in render
 *     const { x, trim } = options.parse(host.settings.value);
 *     options.set(host, "x", "relative");
 */

/** @typedef {Pick<import("tbcore/host.js").Host, "settings" | "preferences">} Kept */

/** @template {Record<string, string | number | boolean>} T */
export class Options {
  #defaults;
  #choices;
  #limits;

  /**
   * @param {T} defaults  also says of each option which type it has
   * @param {Readonly<Record<string, readonly unknown[]>>} [choices]  values that an option may have, where not all
   * @param {Readonly<Record<string, readonly [least: number, most: number]>>} [limits]  of numbers, which are brought in
   */
  constructor(defaults, choices = {}, limits = {}) {
    this.#defaults = defaults;
    this.#choices = choices;
    this.#limits = limits;
  }

  /**
   * The options; what cannot be read is as if it were not there.
   * @param {Readonly<Record<string, string>>} texts  of the address
   * @returns {T}
   */
  parse(texts) {
    /** @type {Record<string, unknown>} */
    const options = { ...this.#defaults };
    for (const [name, fallback] of Object.entries(this.#defaults)) {
      const text = texts[name];
      if (text === undefined) continue;
      const value = typeof fallback === "boolean" ? text === "true" : typeof fallback === "number" ? Number(text) : text;
      const isAllowed = this.#choices[name]?.includes(value) ?? (typeof value !== "number" || Number.isFinite(value));
      if (!isAllowed) continue;
      const [least, most] = this.#limits[name] ?? [];
      options[name] = least === undefined ? value : Math.min(most, Math.max(least, Number(value)));
    }
    return /** @type {T} */ (options);
  }

  /**
   * @template {keyof T & string} Name
   * @param {Kept} host
   * @param {Name} name
   * @param {T[Name]} value
   */
  set(host, name, value) {
    const text = value === this.#defaults[name] ? null : String(value);
    host.settings.set(name, text);
    host.preferences.set(name, text);
  }

  /** Takes the choices that were made last, when the address has nothing but the tab. @param {Kept} host */
  recall(host) {
    // A link shows what it says, also where it says nothing.
    if (Object.keys(host.settings.value).length > 0 || globalThis.location?.hash.includes("&")) return;
    for (const [name, text] of Object.entries(host.preferences.value)) {
      if (name in this.#defaults) host.settings.set(name, text);
    }
  }
}
