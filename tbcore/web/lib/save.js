/**
 * Downloads of files that are made in the page.
 */

/**
 * Downloads a file.
 * @param {string | Blob} content
 * @param {string} name  name of the file; unusual characters are replaced by `_`
 * @param {string} [type]  MIME type, if the content is text
 */
export function save(content, name, type = "text/plain") {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name.replace(/[^\w.-]+/g, "_") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/**
 * Formats rows as CSV. Cells are quoted only if necessary.
 * @param {readonly string[]} header
 * @param {Iterable<readonly (string | number)[]>} rows
 */
export function toCSV(header, rows) {
  /** @param {string | number} cell */
  const quoted = (cell) => (/[",\r\n]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
  return [header, ...rows].map((row) => `${row.map(quoted).join(",")}\r\n`).join("");
}
