/** Renders a complete tab. @param {import("../../host.js").Host} host @param {import("./step-tab.js").MediaKind} kind */
export async function renderStepTab(host, kind) {
  const tab = await import("./step-tab.js");
  return tab.renderStepTab(host, kind);
}
