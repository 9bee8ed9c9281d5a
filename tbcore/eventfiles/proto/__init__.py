"""Generated protobuf code for what event files hold.

Written by an old compiler on purpose, so that it runs with every protobuf runtime that the
package allows. CONTRIBUTING.md has the command that regenerates it.
"""
