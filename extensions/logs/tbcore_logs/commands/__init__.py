"""The commands as they are declared: a module for each, whose docstring is its line in `--help`.

What a command does is in `tbcore_logs.printing`, and imported when the command is run.
"""
