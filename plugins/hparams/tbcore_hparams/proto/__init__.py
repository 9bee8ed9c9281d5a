"""Generated protobuf code for the messages of the HTTP API.

CONTRIBUTING.md has the command that regenerates it, and the reason for the old compiler.
"""
