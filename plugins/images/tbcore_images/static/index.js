/**
 * The images tab: the pictures of the selected runs at one step, those of a tag side by side.
 */

import { renderStepTab } from "tbcore/lib/step-tab.js";
import { Controls } from "./controls.js";
import { endingOf } from "./look.js";
import { Picture } from "./picture.js";

/** What is kept in the browser too. Brightness is not: it would change how all later pictures look, unasked. */
const KEPT = ["size", "smooth"];

export default {
  /** @param {import("tbcore/host.js").Host} host */
  async render(host) {
    if (Object.keys(host.settings.value).length === 0) {
      for (const name of KEPT) if (name in host.preferences.value) host.settings.set(name, host.preferences.value[name]);
    }
    await host.css("./images.css");
    return renderStepTab(host, {
      noun: "picture",
      bytes: "individualImage",
      Sample: Picture,
      Controls,
      ending: endingOf,
      fetchAhead(url) {
        new Image().src = url;
      },
    });
  },
};
