"""The commands that print logs: `ls`, `show`, `tail`, `diff`, `export` and `report`.

`commands` declares them. What they print is what `tbcore.open` returns; the server needs none of
this.
"""
