/**
 * Parts of the page that are fetched when they are first used.
 */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";

/**
 * Draws a component of a module that is not loaded yet; nothing until it is.
 * @param {{ load: () => Promise<any>, of: string, onClose?: () => void, [name: string]: unknown }} props  `of`: the
 *   component's name, `onClose`: called when it cannot be loaded; the component gets it and all others
 */
export function Later({ load, of, ...props }) {
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
