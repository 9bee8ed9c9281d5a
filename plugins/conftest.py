"""What holds for every test holds for those of the plugins."""

from every_test import *  # noqa: F403
