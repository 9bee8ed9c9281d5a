"""Applies the fixtures of every test to the tests of extensions; `tbcore check` without plugins."""

import pytest
from common_fixtures import *  # noqa: F403
from installed_plugins import Distributions, distributions
from server_fixtures import *  # noqa: F403

__all__ = ["distributions", "installed"]


@pytest.fixture
def installed(distributions: Distributions) -> Distributions:
    """Installs distributions for one test, beside `tbcore check` alone."""
    distributions.add("tbcore-logs", "[tbcore.commands]\ncheck = tbcore_logs.commands.check:check")
    return distributions
