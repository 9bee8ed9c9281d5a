"""Questions over HTTP, answered from the store and by plugins."""
