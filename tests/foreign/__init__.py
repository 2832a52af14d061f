import pytest

pytest.register_assert_rewrite("tests.foreign.expectations", "tests.foreign.programs")
