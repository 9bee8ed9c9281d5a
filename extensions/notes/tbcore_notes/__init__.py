"""Notes on runs: stars, labels, names, colours and texts, kept in files that are only added to.

    records.py     what a line of a file says, and what values are valid
    files.py       the files of one directory: reads what is new, and adds lines
    store.py       the notes on the runs of one log directory, from several such directories
    compacting.py  leaves out of these files what later notes have replaced
    notes.py       those of one or several log directories, for queries and programs
    defaults.py    what `tbcore.json` in a log directory suggests to show
    http.py        `data/notes` and others: what the page reads, and who may change it
    command.py     `tbcore notes`

No file is ever locked or changed by two processes, so the files may be on a network file system.
"""
