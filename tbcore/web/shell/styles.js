/**
 * Style sheets for documents and shadow roots. A sheet is fetched once and shared by all roots that
 * adopt it. Unlike inline styles, adopted sheets comply with a strict Content-Security-Policy.
 */

/** The fetched sheets by URL. @type {Map<string, Promise<CSSStyleSheet>>} */
const sheets = new Map();

/**
 * Fetches a sheet and adds it to the root of a node; resolves when the styles apply.
 * @param {Node} node  a document, a shadow root, or any node in one
 * @param {string | URL} url
 */
export async function adoptStyles(node, url) {
  const address = String(url);
  let loading = sheets.get(address);
  if (!loading) {
    loading = load(address);
    sheets.set(address, loading);
    loading.catch(() => sheets.delete(address)); // fetch it again next time
  }
  adopt(node, await loading);
}

/** Adds a style sheet to the root of a node. @param {Node} node @param {string} text */
export function adoptStyleText(node, text) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  adopt(node, sheet);
}

/** Adds a sheet to the root of a node, unless it has it. @param {Node} node @param {CSSStyleSheet} sheet */
function adopt(node, sheet) {
  const root = node.getRootNode();
  if (!(root instanceof ShadowRoot || root instanceof Document)) return;
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}

/** Fetches a sheet. @param {string} address */
async function load(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`style sheet ${address}: status ${response.status}`);
  const sheet = new CSSStyleSheet({ baseURL: response.url });
  return sheet.replace(await response.text());
}
