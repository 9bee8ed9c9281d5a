/** Requests to the server. All URLs are relative to the page, so they also work under a path prefix. */

/** An error response of the server. Its `message` is the first line of a plain-text response, or else the status. */
export class ServerError extends Error {
  /**
   * @param {string} message  one line, for the user
   * @param {number} status  HTTP status code
   * @param {string} [details]  the response's text after its first line
   */
  constructor(message, status, details = "") {
    super(message);
    this.name = "ServerError";
    this.status = status;
    this.details = details;
  }

  /**
   * Returns the error for a response, whose body it reads.
   * @param {Response} response  with a status outside 200 to 299
   * @returns {Promise<ServerError>}
   */
  static async from(response) {
    const text = (await response.text().catch(() => "")).trim();
    const isPlain = (response.headers.get("Content-Type") ?? "").startsWith("text/plain");
    const [line, ...rest] = isPlain ? text.split("\n") : [""];
    const message = line.slice(0, 500) || `${response.status} ${response.statusText}`.trim();
    return new ServerError(message, response.status, rest.join("\n").trim());
  }
}

/**
 * Returns the absolute URL of a path below the page's own URL.
 * @param {string} path
 * @param {Record<string, string | number | boolean | null | undefined>} [params]  the query; null
 *   and undefined are left out
 * @returns {string}
 */
export function address(path, params = {}) {
  const url = new URL(path, new URL(".", document.baseURI));
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined) url.searchParams.append(name, String(value));
  }
  return url.href;
}

/**
 * Removes the prototype of a parsed JSON object whose keys are names from a log, and returns the
 * object. Afterwards it has undefined for every name that is not a key, even for `__proto__` or
 * `toString`. Other values are returned unchanged.
 * @template T
 * @param {T} value
 * @returns {T}
 */
export function withoutPrototype(value) {
  const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
  return isObject ? Object.setPrototypeOf(value, null) : value;
}

/**
 * Sends a GET request and returns the parsed JSON.
 * @param {string} url
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 * @throws {ServerError} when the response is an HTTP error
 */
export async function getJSON(url, init) {
  const response = await fetch(url, init);
  if (!response.ok) throw await ServerError.from(response);
  return response.json();
}
