/**
 * Ranges of values that the cards of a tag share, so that their charts can be compared. A card takes
 * part as soon as its data is loaded.
 */

import { signal } from "@preact/signals-core";

/** @typedef {import("./types.js").Range} Range */

export class SharedRanges {
  /** @type {Map<string, import("@preact/signals-core").Signal<ReadonlyMap<string, Range>>>} */
  #ranges = new Map();

  /** The ranges of a tag by run. @param {string} tag @param {number} trim  each has its own ranges */
  #of(tag, trim) {
    const key = `${trim} ${tag}`;
    const ranges = this.#ranges.get(key) ?? signal(/** @type {ReadonlyMap<string, Range>} */ (new Map()));
    this.#ranges.set(key, ranges);
    return ranges;
  }

  /**
   * Sets the range of one run; null for a run without values.
   * @param {string} tag @param {number} trim @param {string} run @param {Range | null} range
   */
  set(tag, trim, run, range) {
    const ranges = this.#of(tag, trim);
    if (String(ranges.peek().get(run)) === String(range ?? undefined)) return;
    const next = new Map(ranges.peek());
    if (range) next.set(run, range);
    else next.delete(run);
    ranges.value = next;
  }

  /**
   * The range that contains those of the given runs. Components that call it are rendered again
   * when it changes.
   * @param {string} tag @param {number} trim @param {readonly { name: string }[]} runs
   * @returns {Range | null} null if none has a range yet
   */
  union(tag, trim, runs) {
    const ranges = this.#of(tag, trim).value;
    const known = runs.map(({ name }) => ranges.get(name)).filter((range) => range !== undefined);
    return known.length > 0 ? [Math.min(...known.map(([min]) => min)), Math.max(...known.map(([, max]) => max))] : null;
  }
}
