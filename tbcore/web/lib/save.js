/**
 * Files for the reader's own disk.
 */

/**
 * @param {string | Blob} content
 * @param {string} name  of the file; what file systems do not like in it is replaced
 * @param {string} [type]  of a text
 */
export function save(content, name, type = "text/plain") {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name.replace(/[^\w.-]+/g, "_") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/**
 * Rows as CSV: the texts are quoted where they need it.
 * @param {readonly string[]} header
 * @param {Iterable<readonly (string | number)[]>} rows
 */
export function toCSV(header, rows) {
  /** @param {string | number} cell */
  const quoted = (cell) => (/[",\r\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
  return [header, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}
