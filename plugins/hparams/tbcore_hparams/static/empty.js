/**
 * What to say where there is nothing to show.
 */

import { html } from "htm/preact";

const KERAS = `from tensorboard.plugins.hparams import api as hp

hparams = {"lr": 1e-3, "optimizer": "adam"}
model.fit(..., callbacks=[
    tf.keras.callbacks.TensorBoard(logdir),
    hp.KerasCallback(logdir, hparams),
])`;
const PYTORCH = `writer = SummaryWriter(logdir)
writer.add_hparams(
    {"lr": 1e-3, "optimizer": "adam"},
    {"val/accuracy": accuracy},
)`;

/** No run has logged any. */
export function NoHparams() {
  return html`<div class="empty">
    <h2>No hyperparameters were logged</h2>
    <p>Log them once for each run, with one directory a run. They show here within seconds.</p>
    <div class="samples">
      <figure><figcaption>TensorFlow, Keras</figcaption><pre>${KERAS}</pre></figure>
      <figure><figcaption>PyTorch</figcaption><pre>${PYTORCH}</pre></figure>
    </div>
  </div>`;
}

/** @param {{ tab: import("./tab.js").Tab }} props */
export function NoRows({ tab }) {
  const { candidates, view } = tab;
  if (candidates.length === 0) {
    return html`<p class="tb-nothing">No session is checked in the list of runs. Check one there, or change its filter.</p>`;
  }
  return html`<p class="tb-nothing">
    None of ${candidates.length} rows passes ${view.filters.length === 1 ? "the filter" : `all ${view.filters.length} filters`}.
    <button type="button" class="tb-button" onClick=${() => tab.set("filter", null)}>Clear the filters</button>
  </p>`;
}
