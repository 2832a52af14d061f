from __future__ import annotations

import pytest

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.emulator.helpers import Session

SCHEMA = (
    "CREATE TABLE Users (UserId INT64 NOT NULL, Name STRING(MAX)) PRIMARY KEY (UserId)",
    """CREATE QUEUE Mails (UserId INT64 NOT NULL, MailId STRING(36) NOT NULL, Payload JSON NOT NULL)
    PRIMARY KEY (UserId, MailId), INTERLEAVE IN PARENT Users ON DELETE CASCADE""",
    "CREATE QUEUE q (Id INT64 NOT NULL, Payload STRING(MAX) NOT NULL) PRIMARY KEY (Id)",
)


@pytest.fixture
def database(emulator: Emulator) -> Session:
    """A fresh database with queues, seen through the unmodified official client, at real time."""
    emulator.reset()
    return Session(emulator, emulator.create_database(statements=SCHEMA))
