/** Compare: what differs between the runs or groups that are shown, side by side. */

import "@preact/signals";
import { html } from "htm/preact";
import { render } from "preact";
import { options } from "./options.js";
import { Tab } from "./tab.js";

export default {
  /** @param {import("tbcore/host.js").Host} host */
  async render(host) {
    options.recall(host);
    await host.css("./compare.css");
    const toggle = () => options.set(host, "all", !options.parse(host.settings.value).all);
    host.keys([{ key: "d", label: "Switch between differences and everything", act: toggle }]);
    render(html`<${Tab} host=${host} />`, host.element);
    return () => render(null, host.element);
  },
};
