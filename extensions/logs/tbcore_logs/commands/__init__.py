"""The declarations of the commands, one module each; its docstring is the line in `tbcore --help`.

The implementations are in `tbcore_logs.printing`, and imported when a command is run.
"""
