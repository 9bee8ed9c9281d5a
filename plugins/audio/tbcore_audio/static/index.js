/**
 * The audio tab: clips of the selected runs at one step, side by side for each tag.
 */

import { renderStepTab } from "tbcore/steps.js";
import { fileExtension } from "./file-extension.js";
import { Player } from "./player.js";

export default {
  /** @param {import("tbcore/host.js").Host} host */
  async render(host) {
    await host.css("./audio.css");
    return renderStepTab(host, { noun: "clip", bytes: "individualAudio", Sample: Player, ending: fileExtension, stays: true });
  },
};
