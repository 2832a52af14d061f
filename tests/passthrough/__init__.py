"""Whatever has nothing to do with queues is the same through the gateway as without it."""

import pytest

pytest.register_assert_rewrite("tests.passthrough.helpers")
