/**
 * Watches which elements are near the visible part of the page, so that charts need to exist only
 * while they are visible or may soon be.
 */

import { useEffect, useState } from "preact/hooks";

/**
 * "Near" is one window height above or below, so that charts are ready when they are scrolled to.
 */
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
 * Calls back with whether an element is near the visible part of the page: soon after this call,
 * and after each change.
 * @param {Element} element
 * @param {(near: boolean) => void} callback
 * @returns {() => void} stops the calls
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
 * Whether an element is displayed and near the visible part of the page right now.
 * @param {Element} element
 */
export function isNear(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  return height > 0 && bottom > -innerHeight && top < 2 * innerHeight;
}

/**
 * Preact hook: whether an element of the component is near the visible part of the page.
 * @param {{ current: Element | null }} ref
 */
export function useNear(ref) {
  const [near, setNear] = useState(false);
  useEffect(() => (ref.current ? watchNear(ref.current, setNear) : undefined), []);
  return near;
}
