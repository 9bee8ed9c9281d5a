"""The conformance suite: what every plugin should hold to, checked on yours.

    pytest --pyargs tbcore.testing.conformance --plugin NAME

NAME is that of an installed plugin, or the path of a folder with one. The suite writes log
directories of its own, serves them, asks every route of the plugin, and opens its tab in Chromium
where `playwright` is installed. Each message says what to do. docs/testing.md has the details.
"""
