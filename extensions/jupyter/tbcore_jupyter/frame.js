// Shows a server's page in the output of a cell, at the first address that the browser can use:
// that of a proxy, or the server's own.
async ({ id, host, port, path, hash, proxy, madeAt }) => {
  const root = document.getElementById(id);
  const [frame, button, link, hint] = ["iframe", "button", "a", "span"].map((name) =>
    root.querySelector(name),
  );
  // A notebook keeps its output. When it is opened again later, anybody's server may have the port,
  // and a page of it behind Jupyter's proxy could do what the user can: that needs a click.
  if (Math.abs(Date.now() - madeAt) > 60_000) {
    button.hidden = false;
    await new Promise((resolve) => button.addEventListener("click", resolve, { once: true }));
    button.hidden = true;
  }
  const show = (base) => {
    const url = new URL(base.replace(/\/$/, "") + path, location.href);
    link.href = url + hash;
    frame.src = `${url}?embed${hash}`;
    frame.hidden = false;
  };
  if (globalThis.google?.colab) {
    show(await google.colab.kernel.proxyPort(port, { cache: true }));
    return;
  }
  const config = document.getElementById("jupyter-config-data");
  const jupyter = config ? JSON.parse(config.textContent).baseUrl : document.body.dataset.baseUrl;
  const proxied = proxy || (jupyter ? `${jupyter}proxy/${port}` : "");
  const test = proxied && fetch(`${proxied.replace(/\/$/, "")}${path}healthz`).catch(() => null);
  if ((await test)?.ok) {
    hint.remove();
    show(proxied);
  } else if (!/^https?:$/.test(location.protocol)) {
    show(`http://${host}:${port}`); // an editor, which forwards ports by itself
  } else if (/^(localhost|127\.0\.0\.1)$/.test(location.hostname)) {
    // The notebook's own name, if the server has both names, as by default.
    show(`http://${host === "localhost" ? location.hostname : host}:${port}`);
  }
}
