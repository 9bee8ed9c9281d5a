"""Generated protobuf code for layouts.

CONTRIBUTING.md has the command that regenerates it, and says why the compiler is an old one.
"""
