/**
 * Finds the location of a syntax error in a module. Browsers report it only in the window's error
 * event for a `<script>` element, so the module is loaded once more by such an element.
 * @param {URL} moduleUrl
 * @returns {Promise<string>} "" if the browser does not report it
 */
export function findSyntaxError(moduleUrl) {
  return new Promise((resolve) => {
    const url = new URL(moduleUrl);
    url.searchParams.set("location", "");
    const script = Object.assign(document.createElement("script"), { type: "module", src: url.href });
    /** @param {ErrorEvent} event */
    const onError = ({ filename, lineno, colno }) => resolve(`${filename.split("?")[0]}:${lineno}:${colno}`);
    window.addEventListener("error", onError, { once: true });
    script.onload = script.onerror = () => {
      window.removeEventListener("error", onError);
      script.remove();
      resolve("");
    };
    document.head.append(script);
  });
}
