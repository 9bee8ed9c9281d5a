/**
 * The audio tab: the clips of the selected runs at one step, those of a tag side by side.
 */

import { renderStepTab } from "tbcore/lib/step-tab.js";
import { Player } from "./player.js";
import { endingOf } from "./types.js";

export default {
  /** @param {import("tbcore/host.js").Host} host */
  async render(host) {
    await host.css("./audio.css");
    return renderStepTab(host, { noun: "clip", bytes: "individualAudio", Sample: Player, ending: endingOf, stays: true });
  },
};
