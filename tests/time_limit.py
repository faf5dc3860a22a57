"""How long a test may take: a test that hangs fails under its own name, and the others run.

The limits are for hangs alone. They hold on a machine that is several times overloaded, so they decide no test.
A test that needs longer has its own marker: `@pytest.mark.timeout(SECONDS)`.
"""

import hypothesis
import pytest

LIMIT = 900.0
"""Seconds, with the fixtures that are set up for the test: a server, a browser, an emulator."""
LONG_LIMIT = 4 * 3600.0
"""Seconds of a test of `make prove`."""

hypothesis.settings.register_profile("tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("timeout") is None:
            limit = LONG_LIMIT if item.get_closest_marker("prove") else LIMIT
            item.add_marker(pytest.mark.timeout(limit))
