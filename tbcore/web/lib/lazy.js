/**
 * Tells an element when it comes near the visible part of the page, so that only charts that can be seen soon exist.
 */

import { useEffect, useState } from "preact/hooks";

/** One screen height ahead: fast scrolling finds charts that are ready. */
const MARGIN = "100% 0px";

/** @type {WeakMap<Element, (near: boolean) => void>} */
const callbacks = new WeakMap();
const observer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) callbacks.get(entry.target)?.(entry.isIntersecting);
  },
  { rootMargin: MARGIN },
);

/**
 * Calls back now and whenever the element comes near the visible part of the page or leaves it.
 * @param {Element} element
 * @param {(near: boolean) => void} callback
 * @returns {() => void} stops
 */
export function watchNear(element, callback) {
  callbacks.set(element, callback);
  observer.observe(element);
  return () => {
    callbacks.delete(element);
    observer.unobserve(element);
  };
}

/**
 * Whether an element that is shown is near the visible part of the page, by where it is now.
 * @param {Element} element
 */
export function isNear(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  return height > 0 && bottom > -innerHeight && top < 2 * innerHeight;
}

/**
 * Whether the element of a component is near the visible part of the page.
 * @param {{ current: Element | null }} ref
 */
export function useNear(ref) {
  const [near, setNear] = useState(false);
  useEffect(() => (ref.current ? watchNear(ref.current, setNear) : undefined), []);
  return near;
}
