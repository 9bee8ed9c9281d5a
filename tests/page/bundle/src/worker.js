/** A worker that adds two integers by WebAssembly, as in docs/front_end.md. */

const loaded = WebAssembly.instantiateStreaming(fetch(new URL("add.wasm", import.meta.url)));
onmessage = async ({ data }) => postMessage((await loaded).instance.exports.add(...data));
