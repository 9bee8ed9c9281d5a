"""The conformance suite: tests that every plugin should pass.

    pytest --pyargs tbcore_testing.conformance --plugin NAME

NAME is the name of an installed plugin, or the path of a folder with a plugin. The suite writes log
directories and serves them, sends requests to all routes of the plugin, and opens its tab in
Chromium if `playwright` is installed. The message of each failure says what to do. See
docs/testing.md.
"""
