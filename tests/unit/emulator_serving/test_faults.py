"""Faults are armed, matched, and used up."""

from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator.faults import Fault, Faults


def test_faults_are_used_up() -> None:
    faults = Faults()
    faults.inject(Fault("Commit", times=2))
    faults.inject(Fault("ExecuteStreamingSql", match="RENEW"))
    assert faults.take("ExecuteStreamingSql", "SELECT 1") is None
    assert faults.take("ExecuteStreamingSql", "SELECT RENEW") is not None
    assert [faults.take("Commit", "") is not None for _ in range(3)] == [True, True, False]
    assert not faults.armed


def test_the_first_fault_that_fits_is_taken_first() -> None:
    faults = Faults()
    special, general = Fault("Commit", "ABORTED", match="q"), Fault("Commit", "UNKNOWN")
    faults.inject(general)
    faults.inject(special)
    assert faults.take("Commit", "q") is general
    assert faults.take("Commit", "t") is None
    assert faults.take("Commit", "q") is special
    faults.inject(general)
    faults.clear()
    assert not faults.armed


def test_a_fault_that_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="NONSENSE"):
        Fault("Commit", code="NONSENSE")
    with pytest.raises(ValueError, match="does nothing"):
        Fault("Commit", code=None)
