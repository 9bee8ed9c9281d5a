/**
 * What waits until it is needed: components whose module is loaded when they are first drawn, and
 * elements that are drawn when they are near the visible part of the page.
 */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";

/**
 * Loads a module and renders a component of it. Renders nothing until the module is loaded.
 *
 * `load` imports the module, and `of` is the name of the component. All other props are passed to
 * the component. `onClose` is also called if the module cannot be loaded.
 * @param {{ load: () => Promise<any>, of: string, onClose?: () => void, [name: string]: unknown }} props
 */
export function Lazy({ load, of, ...props }) {
  const [Component, setComponent] = useState(/** @type {unknown} */ (null));
  useEffect(() => {
    load().then(
      (module) => setComponent(() => module[of]),
      (error) => {
        console.warn(error);
        props.onClose?.();
      },
    );
  }, []);
  return Component ? html`<${Component} ...${props} />` : null;
}

/** One window height above or below is near, so that charts are ready when they are scrolled to. */
const MARGIN = "100% 0px";
/** @type {WeakMap<Element, (near: boolean) => void>} */
const callbacks = new WeakMap();
/** @type {IntersectionObserver | undefined} */
let observer;

/**
 * Calls back with whether an element is near the visible part of the page: soon after this call,
 * and after each change.
 * @param {Element} element
 * @param {(near: boolean) => void} callback
 * @returns {() => void} stops the calls
 */
export function watchNear(element, callback) {
  callbacks.set(element, callback);
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const entry of entries) callbacks.get(entry.target)?.(entry.isIntersecting);
    },
    { rootMargin: MARGIN },
  );
  observer.observe(element);
  return () => {
    callbacks.delete(element);
    observer?.unobserve(element);
  };
}

/** Whether an element is displayed and near the visible part right now. @param {Element} element */
export function isNear(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  return height > 0 && bottom > -innerHeight && top < 2 * innerHeight;
}

/** Preact hook: whether an element is near the visible part. @param {{ current: Element | null }} ref */
export function useNear(ref) {
  const [near, setNear] = useState(false);
  useEffect(() => (ref.current ? watchNear(ref.current, setNear) : undefined), []);
  return near;
}
