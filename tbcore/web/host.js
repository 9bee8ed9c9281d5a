/**
 * The types of the contract between the page and a plugin's module; docs/front_end.md describes it.
 * The module has one default export, a PluginModule. Modules refer to the types as
 * `import("tbcore/host.js").Host`, so browsers never load this file.
 */

/**
 * A value that changes. `subscribe` calls back at once and after each change, until the tab closes
 * or the function that it returns is called. In a preact component it is enough to read `value`:
 * the component is rendered again after each change.
 * @template T
 * @typedef {{ readonly value: T, subscribe(callback: (value: T) => void): () => void }} Readable
 */

/**
 * @typedef {import("./lib/queries/filter.js").Filter} Filter
 * @typedef {Record<string, string | number | boolean | null | undefined>} Params
 *
 * @typedef {Readable<Readonly<Record<string, string>>> & { set(name: string, value: string | null): void }} Settings
 *   short strings by name; null restores the default
 */

/**
 * What a plugin's module can use of the page.
 * @typedef {object} Host
 * @property {string} name  the plugin's name
 * @property {HTMLElement} element  the element to draw in, inside the plugin's own shadow root,
 *   which has the shared styles of `components.css`
 * @property {(path: string, init?: RequestInit) => Promise<Response>} fetch  sends a request below
 *   `data/plugin/<name>/`, like the browser's `fetch`; aborted when the tab closes
 * @property {(path: string, params?: Params) => Promise<any>} fetchJSON  sends a GET request there;
 *   rejects with a ServerError that has the server's message and `status`. An object has no
 *   prototype, so that `tags[run]` is undefined for each run that is not a key
 * @property {(path: string, params?: Params) => string} url  the URL of such a request, for images
 *   and downloads
 * @property {(textOrUrl: string | URL) => Promise<void>} css  adds a style sheet to the shadow root:
 *   CSS text, or a URL relative to the module
 * @property {Readable<readonly Run[]>} runs  the runs to show, in the order of the run list
 * @property {Readable<readonly Run[]>} wantedRuns  `runs` without the limit to the newest 100 runs
 *   or groups that match the run filter; without those that the user unchecked. For a tab that can
 *   show any number of runs
 * @property {Readable<ReadonlySet<string>>} archived  the names of the runs that were put away: they are
 *   in no average. None while archived runs are shown
 * @property {Readable<Grouping | null>} groups  the members of `runs` by group; null if the user
 *   has not grouped them
 * @property {(rule: string) => Promise<Readable<PartsOfRuns>>} groupsBy  the parts of all runs by another
 *   rule than that of the list, for charts of a part each; "" to know which rules there may be
 * @property {(isMeant?: (run: string) => boolean, isSaid?: (group: string) => boolean) => Promise<string[]>} leftOut
 *   what is not shown, in words for the note of a figure: groups in part, and runs that are unchecked,
 *   older than the newest, or put away. `isMeant`: the runs that count, such as those with a tag; `isSaid`: the
 *   groups of which the note says how many runs were put away
 * @property {Readable<string | null> & { set(name: string | null): void }} hoveredRun  name of the
 *   run under the pointer, in the run list or in a chart, or of the group while runs are grouped
 * @property {(names: string | readonly string[]) => void} checkOnly  shows this run, or these runs,
 *   and hides all others
 * @property {Readable<Filter> & { set(text: string): void }} tagFilter  which tags to show; see
 *   `FilterBox` of `tbcore/ui.js`
 * @property {Readable<number | null> & { set(step: number | null): void }} step  the step that all
 *   tabs show, an integer: of each run what it logged last at or before it. null for the latest
 * @property {Settings} settings  the plugin's settings in the address: what the tab shows
 * @property {Settings} preferences  the plugin's settings in the browser, for all log directories
 * @property {Settings} memory  the plugin's settings in the browser, for this log directory alone
 * @property {(keys: readonly Key[]) => void} keys  sets the tab's keyboard shortcuts; a second call
 *   replaces the first
 * @property {Readable<Theme>} theme
 * @property {Readable<string | null>} notice  the last text that the plugin passed to
 *   `multiplexer.notify`; null before
 * @property {Readable<Generations>} generations  of the server's current data
 * @property {(callback: (generations: Generations) => void) => () => void} onReload  calls back
 *   when the server has new data; data whose generation is unchanged need not be fetched again
 * @property {(error: unknown) => void} showError  shows an error in the tab instead of the plugin
 * @property {AbortSignal} signal  aborted when the tab closes
 *
 * @typedef {void | (() => void)} Cleanup  called when the tab closes
 * @typedef {{ render: (host: Host) => Cleanup | Promise<Cleanup> }} PluginModule
 */

/**
 * @typedef {"light" | "dark"} Theme
 *
 * @typedef {object} Plugin  a plugin, as listed by data/frontends
 * @property {string} name
 * @property {string} title
 * @property {string | null} module  URL of its ES module; null for a plugin without a tab
 * @property {string} page  address of its web application if it has no tab; else ""
 * @property {boolean} active  whether it has data to show
 * @property {string | null} error  why it could not be loaded; null if it was
 * @property {string | null} activity_error  what its hook `is_active` raised; null if it returned
 * @property {string} [traceback]  traceback of the error, "" if it has none; only with `--dev`
 * @property {string} distribution  the Python distribution that it belongs to
 * @property {string} description
 * @property {string} run_action  what it does with a run, as a verb; "" for nothing
 * @property {Readonly<Record<string, string>>} how_to_log  a few lines of code by framework
 *
 * @typedef {object} Unshown  one kind of data that no installed plugin shows
 * @property {string} kind
 * @property {number} num_tags
 * @property {number} num_runs
 * @property {string} example_run
 * @property {string} example_tag
 * @property {string | null} install  the distribution of a plugin for it; null if none is known
 *
 * @typedef {object} Frontends  the response of data/frontends
 * @property {string} version
 * @property {string} logdir
 * @property {string} window_title
 * @property {Plugin[]} plugins
 * @property {Unshown[]} unshown
 *
 * @typedef {object} Generations  versions of the server's data; equal versions mean equal data
 * @property {string} all  version of all data
 * @property {string} lists  version of the list of runs and of the tags in each run
 * @property {(run: string) => string} of  returns the version of one run's data
 *
 * @typedef {object} Run  a run that is shown
 * @property {string} name
 * @property {string} label  the name to show for it: that which a user has given to it, or else `name`
 * @property {string} color  `#rrggbb` for the current theme; its group's colour if runs are grouped
 * @property {string | null} group  name of its group; null if runs are not grouped
 *
 * @typedef {object} RunGroup
 * @property {string} name
 * @property {string} color  `#rrggbb` for the current theme
 * @property {Run[]} runs  the shown runs of the group; never empty
 *
 * @typedef {object} Grouping
 * @property {string} rule  as in the address
 * @property {"mean" | "median" | "iqm"} average  which average of their runs' values groups show
 * @property {string} averageName  in words: "mean", "median" or "interquartile mean"
 * @property {"deviation" | "error" | "interval" | "quartiles" | "range"} spread  what is beside it, and what bands around it cover
 * @property {string} spreadName  in words, such as "± standard deviation (n − 1)"
 * @property {RunGroup[]} groups  in the order of the run list
 * @property {ReadonlyMap<string, readonly string[]>} archived  the names of the runs that were put away,
 *   by group: they are in no average. None while archived runs are shown
 *
 * @typedef {object} PartsOfRuns
 * @property {ReadonlyMap<string, string> | null} groupOf  the name of each run's part; a run in none has
 *   its own. null until it is known, and if the rule is invalid
 * @property {string | null} error  why the rule is invalid
 * @property {readonly string[]} suggested  rules by hyperparameters whose values differ, such as
 *   `by:lr`; only for the rule ""
 *
 * @typedef {object} Key  a keyboard shortcut
 * @property {string} key  a value of KeyboardEvent.key: "f", "/", "ArrowLeft"
 * @property {string} label  what it does, for the help dialog
 * @property {(event: KeyboardEvent) => void} [act]  called when the key is pressed outside of text
 *   fields; without it the key is only listed in the help dialog, and the plugin listens for it
 *
 * @typedef {object} RunDetails  a run's details from data/run_details; times in seconds since the
 *   epoch, null if unknown
 * @property {number | null} start  wall time of its first event
 * @property {number | null} last  wall time of its last event
 * @property {number | null} modified  when its newest file was last modified
 * @property {Nonfinite | undefined} nonfinite  its tags with NaN or infinite values
 * @property {{ file: string, has_times: boolean, id: string, state: string } | undefined} [source]  the file that another program
 *   logged it to, below the log directory, and what it says: `finished`, `failed`, `running`, or nothing
 *
 * @typedef {object} Nonfinite
 * @property {number} num_tags  number of tags with NaN or infinite values
 * @property {string[]} tags  names of some of these tags
 * @property {(number | null)[]} first_steps  the first such step of each of `tags`
 * @property {(string | null)[]} [first_values]  "NaN", "Infinity" or "-Infinity" at this step
 */

/**
 * What an extension that keeps notes adds to the page: the default export of `index.js` in the folder
 * that `tbcore/store/notes.py` names. The page loads it at once if something is noted, or else when
 * the first tab is drawn. `view` returns the fragment of the view with a name, for an address with
 * `?view=NAME`; it rejects with what is wrong.
 * @typedef {{ start: (page: NotesPage) => Promise<Notes>, view: (name: string, url: NotesPage["url"]) => Promise<string> }} NotesModule
 *
 * @typedef {object} NotesPage  what it can use of the page
 * @property {Readable<readonly string[]>} runs  the names of all runs, also of those that are put away
 * @property {(run: string) => boolean} isChosen  whether the reader, or a link, has checked this one run
 * @property {Readable<ReadonlyMap<string, RunDetails>>} details
 * @property {Readable<number>} generation  that of the notes on the server
 * @property {Readable<string> & { set(text: string): void, finds(run: string): boolean }} query  the query for runs
 * @property {Readable<string>} address  the fragment of the address of what is shown
 * @property {() => Promise<string>} picture  the fragment of an address that shows the same in every browser,
 *   with all that this one has kept for itself, such as colours
 * @property {(fragment: string) => void} open  shows what a fragment says, as a link does
 * @property {Readable<string | null> & { forget: () => void }} leftOff  the fragment of what the reader chose at
 *   the last visit, on an address without choices; null if there is none, and once the reader has made others
 * @property {() => boolean} isPlain  whether the address was one without choices, and the reader has
 *   made none, neither now nor at the last visit
 * @property {(fragment: string) => void} openPlain  shows what a fragment says in place of a plain
 *   address. It is no choice of the reader
 * @property {() => string} logdir
 * @property {(path: string, params?: Params) => string} url  the URL of an address of the server
 * @property {(url: URL) => Promise<void>} css  adds a style sheet to the page, once
 * @property {boolean} isEmbedded  whether the page shows the tab alone
 * @property {() => void} focusList  focuses the current row of the run list, or its filter if there is none, if nothing has the focus
 *
 * @typedef {object} Notes
 * @property {Readable<ReadonlyMap<string, Noted>>} runs  those with a name or a colour; another map only if one changes
 * @property {Readable<ReadonlySet<string>>} hidden  the runs that are put away; another set only if it changes
 * @property {(runs: readonly string[]) => unknown} mark  draws what stands after the name of a run in the run list, or after
 *   that of a closed folder or group of these runs
 * @property {Readable<unknown>} bar  what stands beside the button that copies a link; null for nothing
 * @property {Readable<unknown>} foot  what stands below the run list; null for nothing
 * @property {(runs: readonly string[], item: MenuItem) => unknown} menu  draws items of the menu of these runs
 * @property {Readable<((run: string, color: string | null) => void) | null>} setColor  keeps the colour of a run;
 *   null if it cannot be kept
 * @property {readonly Pick<Key, "key" | "label">[]} keys  keys of the focused row in the run list, for the help dialog
 * @property {(key: string, runs: readonly string[]) => boolean} onKey  acts if a key is one of these
 * @property {Readable<readonly (readonly [text: string, what: string])[] | null>} words  what completes queries for runs, such as labels
 *
 * @typedef {object} Noted  about one run
 * @property {string} [label]  the name to show for it
 * @property {string} [color]  `#rrggbb`
 * @property {string} [title]  the tooltip of its name in the run list
 *
 * @typedef {(text: string, act: () => unknown, label?: string) => unknown} MenuItem  draws a button
 *   that closes the menu and then acts
 */

export {};
