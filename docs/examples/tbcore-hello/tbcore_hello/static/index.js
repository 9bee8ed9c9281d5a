/** The tab: a table with the latest values of the checked runs. Plain DOM, no library. */

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

    await draw(); // the tab shows an error that is raised here
    host.runs.subscribe(draw);
    host.onReload(draw);
  },
};

/**
 * A table row.
 * @param {unknown[]} cells  shown as text: names in a log can contain anything, including markup
 */
function row(...cells) {
  const tr = document.createElement("tr");
  for (const cell of cells) {
    tr.insertCell().textContent = String(cell);
  }
  return tr;
}
