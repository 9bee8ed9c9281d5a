"""Applies the fixtures of every test to the plugins' tests."""

from every_test import *  # noqa: F403
