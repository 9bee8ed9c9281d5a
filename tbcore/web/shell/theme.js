/**
 * Sets the theme before the first paint, and the query, in which `embed` hides the bars. Moves the
 * secret with which notes can be changed from the address to the browser's storage. This is a
 * classic script in the head, because a module would run after the first paint and the page would
 * flash. `reader-state.js` sets the theme again later.
 */

{
  let choice = null;
  try {
    choice = localStorage.getItem("tbcore.theme");
  } catch {
    // Storage is blocked: use the system's theme.
  }
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = choice === "dark" || choice === "light" ? choice : system;
  document.documentElement.dataset.query = location.search;
  const takeSecret = () => {
    const secret = /^#write=([\w-]+)$/.exec(location.hash);
    if (!secret) return;
    history.replaceState(null, "", location.pathname + location.search);
    try {
      localStorage.setItem("tbcore.writeToken", secret[1]);
    } catch {
      // Storage is blocked: notes can only be read.
    }
  };
  takeSecret();
  addEventListener("hashchange", takeSecret); // The address was pasted into an open page.
}
