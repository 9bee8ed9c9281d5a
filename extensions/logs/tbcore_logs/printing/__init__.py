"""What the commands print: what `tbcore.open` returns, as tables, lines, files and drawings."""
