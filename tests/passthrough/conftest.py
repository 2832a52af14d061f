"""The two ways to the official emulator, as fixtures: each test that asks for ``route`` runs on both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.cloud.spanner_v1.database import Database
from sqlalchemy import Engine, MetaData

from sqlalchemy_spanner_queues.emulator import Emulator
from tests.passthrough.helpers import SCHEMA, Route, Twins, creating, make_twins


@pytest.fixture(scope="session")
def routes(emulator: Emulator) -> Iterator[dict[str, Route]]:
    """Both ways to the official emulator."""
    emulator.reset()
    routes = {
        "direct": Route("direct", emulator.upstream),
        "gateway": Route("gateway", emulator.host),
    }
    yield routes
    for route in routes.values():
        route.close()


@pytest.fixture(scope="module", params=["direct", "gateway"])
def route(request: pytest.FixtureRequest, routes: dict[str, Route]) -> Route:
    """One way after the other."""
    return routes[request.param]


@pytest.fixture
def database(route: Route) -> Iterator[Database]:
    """A fresh database with singers and albums, through the official client."""
    database = route.create_database(*SCHEMA)
    yield database
    database.drop()


@pytest.fixture
def metadata() -> MetaData:
    """The tables that ``engine`` finds; a module names its own."""
    return MetaData()


@pytest.fixture
def engine(route: Route, metadata: MetaData) -> Iterator[Engine]:
    """An engine over a fresh database with the module's tables."""
    # Statements that come with the database are fast; DDL that changes one is polled for.
    database = route.create_database(*creating(metadata))
    engine = route.create_engine(database)
    yield engine
    engine.dispose()
    database.drop()


@pytest.fixture
def twins(routes: dict[str, Route]) -> Iterator[Twins]:
    """Two databases with singers and albums, one direct and one through the gateway."""
    with make_twins(routes.values(), *SCHEMA) as twins:
        yield twins
