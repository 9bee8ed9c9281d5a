"""TensorBoard's own page at `/tensorboard/`, and each of its installed plugins as a tab.

    browser -- HTTP --> tbcore: proxy.py -- unix socket --> child.py: TensorBoard's code
                        tbcore: data.py  <-- unix socket -- provider.py: its DataProvider

The code of TensorBoard and of its plugins runs in processes of their own, which start at the first
visit. They read the data of the server through a socket, so that they neither read the event files
again nor need credentials for remote logs. The server imports neither TensorBoard nor a plugin, and
they import nothing of the server: so the hooks are in `plugin.py`, and not here.
"""
