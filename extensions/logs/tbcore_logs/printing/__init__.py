"""The implementations of the commands: print logs as tables, lines, files and drawings."""
