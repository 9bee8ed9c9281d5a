// Answers queries that the page answers itself, for tests in Python. As a program, it reads and
// writes a line of JSON each: {query, tags} or {query, runs}, and {matches} with names,
// {error: {message, at}}, or {matches: null} if only the server has the answer.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { plainFilter } from "../../../tbcore/web/lib/queries/filter.js";
import { QueryError, parseQuery } from "../../../tbcore/web/lib/queries/tag-queries.js";

/** @param {{ query: string, tags: string[] }} question */
export function answerForTags({ query, tags }) {
  try {
    return { matches: tags.filter(parseQuery(query)) };
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    return { error: { message: error.message, at: error.at } };
  }
}

/** @param {string} query @param {string[]} names @param {"runs" | "tags"} subject */
function plainAnswer(query, names, subject) {
  const filter = plainFilter(query, subject);
  return { matches: filter && names.filter(filter.matches) };
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { query, tags, runs } = JSON.parse(line);
    process.stdout.write(`${JSON.stringify(tags ? answerForTags({ query, tags }) : plainAnswer(query, runs, "runs"))}\n`);
  }
}
