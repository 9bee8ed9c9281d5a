"""Queries: texts that find runs by name, hyperparameters, values, tags and times.

`syntax` parses the texts, `attributes` has columns of the attributes of all runs, and `evaluation`
finds the runs that match a query. docs/queries.md describes the language, tests/queries.json has
cases for it, and tbcore/web/lib/queries/ implements it for the page.
"""
