/** The command that names the files of archived runs. Loaded with what archives, and where archived runs show. */

/** The command that names the files of archived runs. @param {string} logdir  of the server */
export function filesCommand(logdir) {
  // Of several directories, each has a command of its own.
  if (!logdir || /[,:`]/.test(logdir)) return "tbcore notes files LOGDIR";
  if (logdir.startsWith("-")) return filesCommand(`./${logdir}`);
  return `tbcore notes files ${/^[\w./~-]+$/.test(logdir) ? logdir : `'${logdir.replaceAll("'", "'\\''")}'`}`;
}

/**
 * Which archived runs' files that command can name.
 * @param {ReadonlyMap<string, string>} archived  by run: see `archivedBy`
 * @param {boolean} owns  whether the reader is the user of the server
 * @param {string} logdir
 */
export function filesText(archived, owns, logdir) {
  const num = [...archived.values()].filter((by) => by === "").length;
  const these = num === archived.size ? "these" : num === 0 ? "none of these" : `${num.toLocaleString("en")} of these`;
  const whose = owns ? "you archived" : "the user of this server archived, by a command or in a page of their own; not of what is archived here";
  return `\`${filesCommand(logdir)}\` prints how to delete the event files over a day old of ${these}${owns && num === archived.size ? "" : `, only of what ${whose}`}.`;
}
