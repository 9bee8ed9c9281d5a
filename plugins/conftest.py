"""Applies the fixtures of every test to the plugins' tests."""

from common_fixtures import *  # noqa: F403
