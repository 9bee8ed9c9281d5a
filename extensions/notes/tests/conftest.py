"""Applies the fixtures of every test to the tests of extensions."""

from common_fixtures import *  # noqa: F403
from server_fixtures import *  # noqa: F403
