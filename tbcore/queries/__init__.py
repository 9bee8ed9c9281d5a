"""Queries: texts that find runs by name, hyperparameters, values, tags and times.

`syntax` reads the texts, `attributes` makes columns of what is known of all runs, and `evaluation`
says which runs a query finds. docs/queries.md describes the language, tests/queries.json has cases
for it, and tbcore/web/lib/queries/ is the same for the page.
"""
