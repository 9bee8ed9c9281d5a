/** The command that deletes the files of archived runs. Pure functions, no DOM. */

/** A word of a command line for `sh`. @param {string} text */
export function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

/**
 * The command for a log directory.
 * @param {string} logdir  an absolute path, which never begins with a dash
 * @param {readonly string[]} command  the words that run tbcore
 */
export function deletingLine(logdir, command) {
  return `${command.map(quoted).join(" ")} ls ${quoted(logdir)} --where is:archived --files -0 | xargs -0 -r rm --`;
}
