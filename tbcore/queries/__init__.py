"""Queries: texts that find runs by name, hyperparameters, values, tags and times.

`syntax` parses the texts, `attributes` has columns of the attributes of all runs, some of which are
inherited (`inheritance`), `evaluation` finds the runs that match a query, and `offers` says what
else may be meant. docs/queries.md describes the language, and tests/queries.json has cases for it.
The page finds plain words, globs and tags itself: tbcore/web/lib/queries/.
"""
