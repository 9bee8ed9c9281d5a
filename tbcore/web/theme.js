/**
 * Sets the theme before anything is painted. A classic script in the head of the page, because a module would run too
 * late and the page would flash. The page's state changes it later through the same attribute.
 */
{
  let choice = null;
  try {
    choice = localStorage.getItem("tbcore.theme");
  } catch {
    // storage is blocked: the system's theme
  }
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = choice === "dark" || choice === "light" ? choice : system;
}
