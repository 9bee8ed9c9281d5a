/** Requests for the data of cards. */
export * from "./lib/requests.js";
