/**
 * The dialog about the log directory: what was read, problems, data that no plugin shows, and the
 * installed plugins. Loaded when it is first opened.
 */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { formatBytes, plural } from "../../format.js";
import { Icon } from "../../lib/ui/icons.js";
import { UnshownList } from "../empty-states.js";
import { PLUGINS_PAGE } from "../state/state.js";

/**
 * The dialog.
 * @param {object} props
 * @param {import("../state/state.js").State} props.state
 * @param {() => void} props.onClose
 */
export function InfoDialog({ state, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => dialog.current?.showModal(), []);
  const frontends = state.frontends.value;
  const status = state.status.value;
  /** A click outside the dialog closes it. @param {MouseEvent} event */
  const onClick = (event) => event.target === dialog.current && dialog.current?.close();
  const showPlugins = () => {
    dialog.current?.close();
    state.openTab(PLUGINS_PAGE);
  };
  return html`<dialog ref=${dialog} aria-label="About this log directory" onClose=${onClose} onClick=${onClick}>
    <div class="dialog">
      <header>
        <h1>About this log directory</h1>
        <button type="button" class="tb-icon-button" aria-label="Close" onClick=${() => dialog.current?.close()}>
          <${Icon} name="close" />
        </button>
      </header>
      ${status &&
      html`<pre>${status.logdirs.join("\n")}</pre>
        <p>
          ${plural(status.num_runs, "run")} from ${plural(status.num_files, "event file")} in
          ${" "}${plural(status.num_directories, "directory", "directories")}, ${formatBytes(status.bytes_read)} read.
        </p>`}
      ${status && html`<${Problems} status=${status} />`}
      ${frontends &&
      frontends.unshown.length > 0 &&
      html`<h2>Data that no installed plugin shows</h2>
        <${UnshownList} unshown=${frontends.unshown} />`}
      ${frontends &&
      html`<h2>Plugins</h2>
        <table>
          <tbody>
            ${frontends.plugins.map((plugin) => {
              const { title, distribution, active } = plugin;
              const error = plugin.error ?? plugin.activity_error;
              return html`<tr>
                <td>${title}</td>
                <td class="tb-dim">${distribution}</td>
                <td>${error ? html`<span class="bad-text">${error}</span>` : active ? "has data" : "no data"}</td>
              </tr>`;
            })}
          </tbody>
        </table>
        <p>
          <button type="button" class="tb-button" onClick=${showPlugins}>Plugin timings, errors and options</button>
        </p>
        <p class="tb-dim">tbcore ${frontends.version}</p>`}
    </div>
  </dialog>`;
}

/**
 * A list of problems with the log directory.
 * @param {{ status: import("../state/state.js").Status }} props
 */
function Problems({ status }) {
  const lines = [...status.missing.map((path) => `log directory does not exist: ${path}`), ...status.problems];
  if (lines.length === 0) return null;
  return html`<h2>Problems</h2>
    <ul class="problems">
      ${lines.map((line) => html`<li>${line}</li>`)}
    </ul>`;
}
