"""The former place of TensorBoard's and tbparse's classes, until version 0.2."""

raise ImportError("tbcore.compat is tbcore_compat now: pip install tbcore-compat")
