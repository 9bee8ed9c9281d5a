/** The tab of a plugin of TensorBoard: a frame, which shows its page or what is wrong with its process. */

/** Time between two looks at the process while the tab is open. */
const LOOK_INTERVAL_MS = 5000;

/** @typedef {{ fault: string, warning: string }} State */

export default {
  /** @param {import("tbcore/host.js").Host} host */
  async render(host) {
    const tab = new URL(`../../../${host.name}/tbcore-tab.html`, new URL(host.url(""), location.href)).href;
    const line = document.createElement("p");
    line.className = "tb-content tb-dim";
    line.setAttribute("role", "status");
    line.hidden = true;
    const frame = document.createElement("iframe");
    frame.title = `Page of the plugin ${host.name}`;
    frame.sandbox.value = "allow-scripts allow-same-origin allow-forms allow-downloads";
    frame.style.cssText = "display: block; width: 100%; height: calc(100vh - var(--tb-bar-height)); border: 0";

    let fault = "";
    /** Shows what is not limited, and a fault that the frame does not show yet. */
    async function look() {
      /** @type {State} */
      const state = await host.fetchJSON("state");
      line.textContent = state.warning;
      line.hidden = !state.warning;
      if (state.fault && state.fault !== fault) frame.src = tab;
      fault = state.fault;
    }
    const ignored = () => {}; // The shell says that the server does not respond.
    frame.onload = () => void look().catch(ignored);
    const timer = setInterval(() => void look().catch(ignored), LOOK_INTERVAL_MS);
    frame.src = tab;
    host.element.replaceChildren(line, frame);
    return () => clearInterval(timer);
  },
};
