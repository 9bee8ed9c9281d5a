/**
 * Ranges of values that the cards of a tag share, so that their charts can be compared. A card takes
 * part as soon as its data is loaded.
 */

import { signal } from "@preact/signals-core";
import { union } from "../chart/axes.js";

/** @typedef {import("../chart/types.js").Range} Range */

export class SharedRanges {
  /** @type {Map<string, import("@preact/signals-core").Signal<ReadonlyMap<string, Range>>>} */
  #ranges = new Map();

  /** The ranges of a key by run. @param {string} key */
  #of(key) {
    const ranges = this.#ranges.get(key) ?? signal(/** @type {ReadonlyMap<string, Range>} */ (new Map()));
    this.#ranges.set(key, ranges);
    return ranges;
  }

  /**
   * Sets the range of one run; null for a run without values.
   * @param {string} key  the tag, and all else on which its ranges depend
   * @param {string} run @param {Range | null} range
   */
  set(key, run, range) {
    const ranges = this.#of(key);
    if (String(ranges.peek().get(run)) === String(range ?? undefined)) return;
    const next = new Map(ranges.peek());
    if (range) next.set(run, range);
    else next.delete(run);
    ranges.value = next;
  }

  /**
   * The range that contains those of the given runs. Components that call it are rendered again
   * when it changes.
   * @param {string} key @param {readonly { name: string }[]} runs
   * @returns {Range | null} null if none has a range yet
   */
  union(key, runs) {
    const ranges = this.#of(key).value;
    return union(runs.map(({ name }) => ranges.get(name) ?? null));
  }
}
