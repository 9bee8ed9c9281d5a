/** The dialog with the command that deletes the files of archived runs. The page and the server delete nothing. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { formatBytes, formatName, plural } from "tbcore/format.js";
import { copy } from "tbcore/ui.js";
import { deletingLine } from "./shell-line.js";

/** What the command names. @typedef {{ command: readonly string[], files: readonly Files[] }} Answer */
/** What it names in a log directory. @typedef {{ logdir: string, is_remote: boolean, num_runs: number, num_files: number, num_bytes: number, left_out: { reason: string, num_runs: number }[] }} Files */

/** @param {import("./dialogs.js").DialogProps} props */
export function FilesDialog({ store }) {
  const [answer, setAnswer] = useState(/** @type {Answer | null} */ (null));
  const [error, setError] = useState("");
  useEffect(() => void store.files().then(setAnswer, ({ message }) => setError(message)), []);
  if (error) return html`<p class="tb-notes-error" role="alert">The files cannot be counted: ${error}</p>`;
  if (!answer) return html`<p role="status">Looking at the files…</p>`;
  const { command, files } = answer;
  const parts = files.map((each) => html`<${Command} ...${each} command=${command} />`);
  if (!files.some((each) => each.num_files > 0)) return html`<p>tbcore deletes no logs. Its command that names files for deletion has nothing to name now.</p>${parts}`;
  return html`<p>tbcore deletes no logs. This command does, on the server's machine, for the user who runs the server:</p>
    ${parts}
    <p class="tb-dim">It names event files only, of runs that this user archived, and it asks nothing. To see the list first, leave out <code>-0</code> and all after it.</p>`;
}

/** The command for a log directory, and what it names; or why it names nothing. @param {Files & { command: readonly string[] }} props */
function Command({ command, logdir, is_remote: isRemote, num_runs: numRuns, num_files: numFiles, num_bytes: numBytes, left_out: leftOut }) {
  const [isCopied, setCopied] = useState(false);
  if (isRemote) return html`<p><bdi>${formatName(logdir)}</bdi> is on another machine: there is no such command for it.</p>`;
  const reasons = leftOut.map(({ reason, num_runs: count }) => html`<li>${plural(count, "run")} left out: ${formatName(reason)}</li>`);
  if (numFiles === 0) {
    const why = reasons.length > 0 ? "nothing to delete now." : "no run is archived.";
    return html`<p role="status"><bdi>${formatName(logdir)}</bdi>: ${why}</p>${reasons.length > 0 && html`<ul>${reasons}</ul>`}`;
  }
  const line = deletingLine(logdir, command);
  const onCopy = async () => {
    await copy(line);
    setCopied(true);
  };
  // A line breaks between words, and not after a dash.
  const words = formatName(line).split(" ").map((word, i) => html`${i > 0 && " "}<span>${word}</span>`);
  return html`<pre>${words}</pre>
    <p role="status">Now it would delete <b>${plural(numFiles, "file")}</b> of <b>${plural(numRuns, "run")}</b>, ${formatBytes(numBytes)}.</p>
    ${reasons.length > 0 && html`<ul>${reasons}</ul>`}
    <footer><button type="button" class="tb-button primary" onClick=${onCopy}>${isCopied ? "Copied" : "Copy the line that deletes their files"}</button></footer>`;
}
