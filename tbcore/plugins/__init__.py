"""Plugins: finds, imports, checks and mounts them, and isolates their errors."""
