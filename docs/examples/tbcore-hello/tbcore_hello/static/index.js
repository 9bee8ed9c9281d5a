/** The tab: a table of the newest values of the selected runs. Plain DOM, no library. */

export default {
  /** @param {import("tbcore/host.js").Host} host */
  async render(host) {
    const table = document.createElement("table");
    table.className = "tb-table";
    host.element.append(table);

    async function draw() {
      const rows = await Promise.all(host.runs.value.map(async ({ name }) => {
        const latest = await host.fetchJSON("latest", { run: name });
        return Object.entries(latest).map(([tag, { step, value }]) => row(name, tag, step, value));
      }));
      table.replaceChildren(row("run", "tag", "step", "value"), ...rows.flat());
    }

    await draw(); // what goes wrong here is shown in the tab
    host.runs.subscribe(draw);
    host.onReload(draw);
  },
};

/** @param {unknown[]} cells  shown as text: names in a log can hold anything, markup too */
function row(...cells) {
  const tr = document.createElement("tr");
  for (const cell of cells) {
    tr.insertCell().textContent = String(cell);
  }
  return tr;
}
