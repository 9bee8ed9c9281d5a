"""Applies the fixtures of every test to the core's tests."""

from common_fixtures import *  # noqa: F403
from server_fixtures import *  # noqa: F403
