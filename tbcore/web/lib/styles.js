/**
 * Style sheets for a document or a shadow root. A sheet is fetched once and shared by everybody who adopts it; nothing
 * here needs an inline style, so it works under a strict Content-Security-Policy.
 */

/** @type {Map<string, Promise<CSSStyleSheet>>} */
const sheets = new Map();

/**
 * Adopts a sheet, unless the root has it already.
 * @param {Node} node  a document, a shadow root, or any node in one
 * @param {string | URL} url
 * @returns {Promise<void>} when the sheet is in force
 */
export async function adoptStyles(node, url) {
  const address = String(url);
  let loading = sheets.get(address);
  if (!loading) {
    loading = load(address);
    sheets.set(address, loading);
    loading.catch(() => sheets.delete(address)); // asked again next time
  }
  adopt(node, await loading);
}

/**
 * Adopts a sheet given as text.
 * @param {Node} node
 * @param {string} text
 */
export function adoptStyleText(node, text) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  adopt(node, sheet);
}

/**
 * @param {Node} node
 * @param {CSSStyleSheet} sheet
 */
function adopt(node, sheet) {
  const root = node.getRootNode();
  if (!(root instanceof ShadowRoot || root instanceof Document)) return;
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}

/** @param {string} address */
async function load(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`style sheet ${address}: status ${response.status}`);
  const sheet = new CSSStyleSheet({ baseURL: response.url });
  return sheet.replace(await response.text());
}
