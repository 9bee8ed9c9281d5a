/**
 * Components that are loaded when they are first used.
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
