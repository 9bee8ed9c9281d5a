/** The progress of the first pass over the log directory, below the top bar. Loaded while there is one. */

import { html } from "htm/preact";

/** The bar; `text` says the same in words. @param {{ status: import("./state/server.js").Status, text: string }} props */
export function Progress({ status, text }) {
  const share = status.bytes_total > 0 ? Math.min(1, status.bytes_read / status.bytes_total) : 0;
  return html`<div
    class="progress"
    role="progressbar"
    aria-label="Reading event files"
    aria-valuemin="0"
    aria-valuemax="100"
    aria-valuenow=${Math.round(share * 100)}
    aria-valuetext=${text}
  >
    <div style=${{ width: `${share * 100}%` }}></div>
  </div>`;
}
