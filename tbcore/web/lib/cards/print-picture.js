/** Prints a picture alone, on a page of its size: the browser's print dialog makes a PDF of it. Loaded on the first print. */

/** The frame with the picture that was printed last. @type {HTMLIFrameElement | null} */
let frame = null;

/**
 * Opens the browser's print dialog for a picture. What it saves has the shapes and letters of the SVG, not their
 * pixels, and the browser embeds the fonts.
 * @param {string} svg  with width and height, in inches or else CSS pixels
 * @param {string} name  of the document, which dialogs offer as the name of the file
 */
export function printPicture(svg, name) {
  frame?.remove();
  frame = document.body.appendChild(document.createElement("iframe"));
  frame.title = name;
  frame.style.cssText = "position: fixed; width: 0; height: 0; border: 0; visibility: hidden";
  const { contentWindow, contentDocument } = /** @type {any} */ (frame);
  const picture = contentDocument.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
  const [width, height] = ["width", "height"].map((side) => picture.getAttribute(side).replace(/\d$/, "$&px"));
  const sheet = new contentWindow.CSSStyleSheet();
  // What is left of the line below the picture could begin a second page.
  sheet.replaceSync(`@page { size: ${width} ${height}; margin: 0 } body { margin: 0 } svg { display: block; position: absolute; width: 100%; height: 100% }`);
  contentDocument.adoptedStyleSheets = [sheet];
  contentDocument.title = name;
  contentDocument.body.append(picture);
  contentWindow.addEventListener("afterprint", () => frame?.remove());
  contentWindow.print();
}
