/** The host of a plugin's page, which imports this module by a relative address. See docs/front_end.md. */

export { connect } from "./lib/frame/host.js";

/** @typedef {import("./lib/frame/host.js").FrameHost} FrameHost */
