/** The selection of points with the keys. Pure functions, no DOM. */

import { isHitOf, nearestIndex } from "./hover.js";

/**
 * @typedef {import("./types.js").Hit} Hit
 * @typedef {import("./types.js").Item} Item
 * @typedef {import("./types.js").Scene} Scene
 * @typedef {import("./types.js").Selection} Selection
 */

/** A key that is unique among the items of a chart. @param {Item} item */
export function itemKey(item) {
  const { key, name } = /** @type {{ key?: string, name: string }} */ (item.line ?? item.band ?? item);
  return key ?? name;
}

/** The item of a selected point. @param {Scene} scene @param {Selection | null} selected */
export function itemOf({ items }, selected) {
  return items.find((item) => itemKey(item) === selected?.key);
}

/**
 * The selection after a key was pressed.
 * @param {Scene} scene  with at least one item
 * @param {Selection | null} selected @param {string} key
 * @param {Hit | undefined} hit  the point nearest to the pointer
 * @param {boolean} isZoomed
 * @returns {Selection | null} null if the key does not select
 */
export function selectionAfter(scene, selected, key, hit, isZoomed) {
  if (key === "ArrowLeft" || key === "ArrowRight") return walk(scene, selected, key === "ArrowLeft" ? -1 : 1, 1, hit, isZoomed);
  if (key === "Home" || key === "End") return walk(scene, selected, key === "Home" ? -1 : 1, Infinity, hit, isZoomed);
  if (key === "ArrowUp" || key === "ArrowDown") return changeLine(scene, selected, key === "ArrowUp" ? -1 : 1);
  return null;
}

/**
 * Moves the selection along its line.
 * @param {Scene} scene @param {Selection | null} selected @param {-1 | 1} direction
 * @param {number} count  number of points; Infinity for the line's end
 * @param {Hit | undefined} hit @param {boolean} isZoomed @returns {Selection}
 */
function walk(scene, selected, direction, count, hit, isZoomed) {
  const { items, x } = scene;
  const lastItem = items[items.length - 1];
  if (!selected) {
    // Start at the pointer, or else at the edge of the view from which the key moves inwards.
    const pointed = hit && items.find((item) => isHitOf(hit, item));
    if (pointed) return { key: itemKey(pointed), index: hit.index };
    if (isZoomed && count !== Infinity) {
      const index = nearestIndex(lastItem.xs, x.range[direction > 0 ? 0 : 1], lastItem.segments);
      return { key: itemKey(lastItem), index: Math.max(0, index) };
    }
  }
  const item = itemOf(scene, selected) ?? lastItem;
  const last = item.xs.length - 1;
  // Without a selection, ← starts at the last point and → at the first; Home and End go to the
  // first and the last.
  const startsAtLast = direction < 0 !== (count === Infinity);
  const index = selected ? selected.index + direction * count : startsAtLast ? last : 0;
  return { key: itemKey(item), index: Math.min(last, Math.max(0, index)) };
}

/**
 * Moves the selection to the next line, near the same x.
 * @param {Scene} scene @param {Selection | null} selected @param {-1 | 1} direction
 * @returns {Selection}
 */
function changeLine(scene, selected, direction) {
  const { items } = scene;
  const current = itemOf(scene, selected);
  const index = current ? items.indexOf(current) : -1;
  const next = items[(index + direction + items.length) % items.length];
  const x = current && selected ? current.xs[selected.index] : Number.MAX_VALUE;
  return { key: itemKey(next), index: Math.max(0, nearestIndex(next.xs, x, next.segments)) };
}

/**
 * The x of the next point of any line, for moving a pin.
 * @param {Scene} scene
 * @param {number} start  in axis coordinates
 * @param {-1 | 1} direction
 * @returns {number | null} in axis coordinates; null if there is none
 */
export function nextX({ axisItems }, start, direction) {
  let next = NaN;
  for (const { xs } of axisItems) {
    for (const x of xs) {
      // The tolerance is larger than the logarithm's rounding errors, because of which the same x
      // could otherwise count as the next.
      const isBeyond = direction * (x - start) > Math.abs(start) * 1e-14;
      if (isBeyond && Number.isFinite(x) && !(direction * (x - next) >= 0)) next = x;
    }
  }
  return Number.isFinite(next) ? next : null;
}
