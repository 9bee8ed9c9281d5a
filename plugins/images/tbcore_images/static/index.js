/**
 * The images tab: images of the selected runs at one step, side by side for each tag.
 */

import { html } from "htm/preact";
import { Answers } from "tbcore/requests.js";
import { renderStepTab } from "tbcore/steps.js";
import { Controls } from "./controls.js";
import { fileExtension } from "./display-options.js";
import { ImageSample } from "./image-sample.js";

/**
 * Settings that the browser remembers. Brightness and contrast are not among them: they belong to
 * one view.
 */
const REMEMBERED_SETTINGS = /** @type {const} */ (["size", "smooth", "across"]);

/** Number of steps that are shown side by side. */
const NUM_STEPS_ACROSS = 6;

export default {
  /** @param {import("tbcore/host.js").Host} host */
  async render(host) {
    if (Object.keys(host.settings.value).length === 0) {
      for (const name of REMEMBERED_SETTINGS) if (name in host.preferences.value) host.settings.set(name, host.preferences.value[name]);
    }
    await host.css("./images.css");
    const answers = new Answers(host, "step");
    return renderStepTab(host, {
      noun: "image",
      bytes: "individualImage",
      Sample: (/** @type {import("tbcore/steps.js").SampleProps} */ props) => html`<${ImageSample} ...${props} answers=${answers} />`,
      Controls,
      ending: fileExtension,
      plays: true,
      numSteps: ({ across }) => (across === "true" ? NUM_STEPS_ACROSS : 1),
      keys: [{ key: "↑ ↓", label: "Previous or next run, of an enlarged image" }, { key: "Page ↑ ↓", label: "Previous or next image of the same step, enlarged" }],
      fetchAhead(url) {
        new Image().src = url;
      },
    });
  },
};
