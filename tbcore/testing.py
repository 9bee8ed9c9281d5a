"""The former place of the test kit, until version 0.2."""

raise ImportError("tbcore.testing is tbcore_testing now: pip install tbcore-testing")
