"""Generated protobuf code for the logged layouts.

CONTRIBUTING.md has the command that regenerates it, and the reason for the old compiler.
"""
