/**
 * The text tab: texts of the selected runs at one step, side by side for each tag.
 */

import { html } from "htm/preact";
import { Answers } from "tbcore/requests.js";
import { renderStepTab } from "tbcore/steps.js";
import { textTitle } from "tbcore/text-names.js";
import { Controls } from "./controls.js";
import { options } from "./options.js";
import { Search } from "./search.js";
import { Text } from "./text.js";
import { withTitles } from "./titles.js";

export default {
  /** @param {import("tbcore/host.js").Host} tabHost */
  async render(tabHost) {
    const host = withTitles(tabHost);
    options.recall(host);
    await host.css("./text.css");
    const search = new Search(host);
    const baseAnswers = new Answers(host, "step");
    return renderStepTab(host, {
      noun: "text",
      bytes: "individualText",
      titleOf: textTitle,
      Sample: (/** @type {import("tbcore/steps.js").SampleProps} */ props) => html`<${Text} ...${props} baseAnswers=${baseAnswers} search=${search} />`,
      Controls: () => html`<${Controls} host=${host} search=${search} />`,
      keys: [
        { key: "s", label: "Search texts", act: () => /** @type {HTMLElement | null} */ (host.element.querySelector(".text-search input"))?.focus() },
        { key: "d", label: "Switch between texts and their changes", act: () => toggleChanges(host) },
      ],
      ending: (contentType) => (contentType === "text/csv" ? ".csv" : ".txt"),
    });
  },
};

/** Switches between texts and their changes. @param {import("tbcore/host.js").Host} host */
function toggleChanges(host) {
  options.set(host, "show", options.parse(host.settings.value).show === "changes" ? "text" : "changes");
}
