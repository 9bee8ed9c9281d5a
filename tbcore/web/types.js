/**
 * The agreement between the shell and a plugin's module.
 *
 * A module has one default export:
 *
 *     export default {
 *       // @param {import("tbcore/host.js").Host} host
 *       async render(host) {
 *         host.element.textContent = JSON.stringify(await host.fetchJSON("tags"));
 *         return () => {}; // undoes what render did
 *       },
 *     };
 *
 * `render` is called when the plugin's tab opens, and what it returns when the tab closes. What goes wrong in a plugin is
 * shown in its own tab; the shell and other tabs go on.
 *
 * Here are types only, so that no browser loads them: modules name them as `import("tbcore/host.js").Host`.
 */

/**
 * A value that changes. `subscribe` calls back at once and after each change, until the function it returns is called
 * or the tab closes. In a preact component, reading `value` is enough.
 * @template T
 * @typedef {{ readonly value: T, subscribe(callback: (value: T) => void): () => void }} Readable
 */

/**
 * @typedef {import("./lib/filter.js").Filter} Filter
 * @typedef {Record<string, string | number | boolean | null | undefined>} Params
 */

/**
 * Short strings by name, kept in the address so that a link restores the view, or in the browser as preferences.
 * @typedef {object} Settings
 * @property {Readonly<Record<string, string>>} value
 * @property {(callback: (value: Readonly<Record<string, string>>) => void) => () => void} subscribe
 * @property {(name: string, value: string | null) => void} set  null: back to the default
 */

/**
 * Everything a plugin's module is given.
 * @typedef {object} Host
 * @property {string} name  of the plugin
 * @property {HTMLElement} element  where to draw; inside a shadow root of the plugin's own, with the shared styles of
 *   `tbcore/lib/components.css`
 * @property {(path: string, init?: RequestInit) => Promise<Response>} fetch  a request below `data/plugin/<name>/`, like
 *   the browser's own fetch; ends when the tab closes
 * @property {(path: string, params?: Params) => Promise<any>} fetchJSON  GET below `data/plugin/<name>/`; rejects with
 *   a ServerError that has the server's message and `status`
 * @property {(path: string, params?: Params) => string} url  the same address as text, for images and downloads
 * @property {(textOrUrl: string | URL) => Promise<void>} css  adds a style sheet to the plugin's shadow root: CSS text, or
 *   an address relative to the module
 * @property {Readable<readonly Run[]>} runs  the runs to show, with their colours, in natural order
 * @property {Readable<readonly Run[]>} wantedRuns  the same without the limit to the newest runs that holds while the reader
 *   has not chosen any: for a tab that can show any number
 * @property {Readable<Grouping | null>} groups  the same runs by group; null when the reader has not grouped them
 * @property {Readable<string | null> & { set(name: string | null): void }} hoveredRun  the run pointed at, in the run
 *   list or in a chart: draw it strong, and set it when the pointer is on a run of yours
 * @property {(name: string) => void} checkOnly  shows this run and no other
 * @property {Readable<Filter> & { set(text: string): void }} tagFilter  which tags to show; see
 *   `tbcore/lib/filter-box.js`
 * @property {Settings} settings  this plugin's own, in the address: what is looked at
 * @property {Settings} preferences  this plugin's own, in the browser: how the reader likes it, for all log directories
 * @property {(keys: readonly Key[]) => void} keys  names the keys that the tab understands, for the help window and to be
 *   called; replaces those named before
 * @property {Readable<Theme>} theme  "light" or "dark"
 * @property {Readable<Generations>} generations  what the server has now
 * @property {(callback: (generations: Generations) => void) => () => void} onReload  calls back when the server has
 *   something new: what has the same generation as before need not be asked for again
 * @property {(error: unknown) => void} showError  shows an error in the tab instead of the plugin
 * @property {AbortSignal} signal  aborted when the tab closes
 *
 * @typedef {object} PluginModule
 * @property {(host: Host) => Cleanup | Promise<Cleanup>} render
 * @typedef {void | (() => void)} Cleanup
 */

/**
 * @typedef {"light" | "dark"} Theme
 *
 * @typedef {object} Plugin  one entry of data/frontends
 * @property {string} name
 * @property {string} title
 * @property {string | null} module  address of its ES module; null for a plugin without a tab
 * @property {boolean} active  whether it has anything to show
 * @property {string | null} error  why it could not be loaded
 * @property {string | null} activity_error  what its hook `is_active` raised; null when it answered
 * @property {string} [traceback]  where the error was raised, or ""; only with `--dev`
 * @property {string} distribution
 * @property {string} description
 * @property {Readonly<Record<string, string>>} how_to_log  name of a framework to a few lines of a program
 *
 * @typedef {object} Unshown  data that no installed plugin shows
 * @property {string} kind
 * @property {number} num_tags
 * @property {number} num_runs
 * @property {string} example_run
 * @property {string} example_tag
 * @property {string | null} install  the distribution that would show it
 *
 * @typedef {object} Frontends  what data/frontends says
 * @property {string} version
 * @property {string} logdir
 * @property {string} window_title
 * @property {Plugin[]} plugins
 * @property {Unshown[]} unshown
 *
 * @typedef {object} Generations  what has been loaded; two that are equal stand for the same data
 * @property {string} all
 * @property {string} lists  of the list of runs and of the tags in each run
 * @property {(run: string) => string} of  of one run
 *
 * @typedef {object} Run  a run that is shown
 * @property {string} name
 * @property {string} color  `#rrggbb`, for the theme in force; that of its group where runs are grouped
 * @property {string | null} group  name of its group; null where runs are not grouped
 *
 * @typedef {object} RunGroup
 * @property {string} name
 * @property {string} color
 * @property {Run[]} runs  those that are shown; never empty
 *
 * @typedef {object} Grouping
 * @property {string} rule  as it stands in the address
 * @property {RunGroup[]} groups  in natural order
 *
 * @typedef {object} Key  a key of the keyboard that does something
 * @property {string} key  as KeyboardEvent.key has it: "f", "/", "ArrowLeft"
 * @property {string} label  what it does, for the help window
 * @property {(event: KeyboardEvent) => void} [act]  called when it is pressed outside of text fields; without one the
 *   plugin listens itself, and the help window lists the key
 *
 * @typedef {object} RunDetails  what data/run_details says of a run; times in seconds since the epoch, null if unknown
 * @property {number | null} start  of its first event
 * @property {number | null} last  of its last event
 * @property {number | null} modified  when its newest file was written to
 * @property {{ num_tags: number, tags: string[], first_steps: (number | null)[] } | undefined} nonfinite  tags with NaN or
 *   infinities, some of them by name, and the steps at which those begin
 */

export {};
