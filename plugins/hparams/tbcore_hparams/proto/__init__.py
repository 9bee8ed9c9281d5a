"""Generated protobuf code for what is logged of hyperparameters, and what the HTTP API speaks.

CONTRIBUTING.md has the command that regenerates it, and says why the compiler is an old one.
"""
