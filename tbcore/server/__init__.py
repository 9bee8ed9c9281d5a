"""The HTTP server: the page, the data of the store, and the routes of plugins."""
