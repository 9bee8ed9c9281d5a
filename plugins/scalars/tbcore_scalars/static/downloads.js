/**
 * Files for the reader's own disk.
 */

/**
 * @param {string | Blob} content
 * @param {string} name
 * @param {string} type
 */
export function saveText(content, name, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name.replace(/[^\w.-]+/g, "_") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/**
 * All points of some tags in some runs.
 * @param {import("./types.js").Host} host
 * @param {readonly string[]} tags
 * @param {readonly string[]} runs
 * @param {"csv" | "json"} format
 * @param {string} name  of the file, without its ending
 */
export async function saveNumbers(host, tags, runs, format, name) {
  const response = await host.fetch("download", { method: "POST", body: JSON.stringify({ tags, runs, format }) });
  if (!response.ok) throw new Error((await response.text()).trim());
  saveText(await response.blob(), `${name}.${format}`, "");
}
