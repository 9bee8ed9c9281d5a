/**
 * Sets the theme before the first paint, and the query, in which `embed` hides the bars. This is a
 * classic script in the head, because a module would run after the first paint and the page would
 * flash. `reader-state.js` sets the theme again later.
 */

{
  const { dataset } = document.documentElement;
  // A view may have any name.
  dataset.query = location.search.replace(/view=[^&]*/, "");
  dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  try {
    const choice = localStorage.getItem("tbcore.theme");
    if (choice === "dark" || choice === "light") dataset.theme = choice;
  } catch {
    // Storage is blocked: use the system's theme.
  }
}
