"""Statements of SQLAlchemy Core."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    bindparam,
    case,
    delete,
    except_,
    exists,
    func,
    insert,
    intersect,
    literal,
    not_,
    or_,
    select,
    text,
    true,
    tuple_,
    union,
    union_all,
    update,
)

from tests.passthrough.helpers import Route, creating

METADATA = MetaData()
SALES = Table(
    "sales",
    METADATA,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("region", String(20)),
    Column("amount", BigInteger),
)
ARCHIVE = Table(
    "archive",
    METADATA,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("note", String(100)),
)
ID, REGION, AMOUNT = SALES.c.id, SALES.c.region, SALES.c.amount


@pytest.fixture(scope="module")
def engine(route: Route) -> Iterator[Engine]:
    """An engine over a database with sales, which no test changes for good."""
    database = route.create_database(*creating(METADATA))
    engine = route.create_engine(database)
    rows = [(1, "north", 10), (2, "north", 20), (3, "south", 30), (4, "south", None), (5, None, 50)]
    with engine.begin() as connection:
        connection.execute(insert(SALES), [dict(zip(SALES.c.keys(), row, strict=True)) for row in rows])
    yield engine
    engine.dispose()
    database.drop()


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    """A connection that is rolled back in the end."""
    with engine.connect() as connection:
        yield connection


def test_insert_from_select(connection: Connection) -> None:
    query = select(ID, REGION).where(AMOUNT > 10)
    connection.execute(insert(ARCHIVE).from_select(["id", "note"], query))
    assert connection.execute(select(ARCHIVE).order_by(ARCHIVE.c.id)).all() == [
        (2, "north"),
        (3, "south"),
        (5, None),
    ]


def test_insert_of_several_rows_in_one_statement(connection: Connection) -> None:
    rows = [{"id": id, "note": f"n{id}"} for id in range(3)]
    returned = connection.execute(insert(ARCHIVE).values(rows).returning(ARCHIVE.c.note))
    assert sorted(returned.scalars()) == ["n0", "n1", "n2"]


def test_executemany_is_a_batch(connection: Connection) -> None:
    connection.execute(insert(ARCHIVE), [{"id": id, "note": "x"} for id in range(100)])
    statement = update(ARCHIVE).where(ARCHIVE.c.id == bindparam("which")).values(note=bindparam("new"))
    connection.execute(statement, [{"which": id, "new": f"y{id}"} for id in range(0, 100, 10)])
    changed = select(func.count()).where(ARCHIVE.c.note != "x")
    assert connection.scalar(changed) == 10


def test_update_and_delete_return_rows(connection: Connection) -> None:
    statement = update(SALES).where(REGION == "north").values(amount=AMOUNT + 1).returning(ID, AMOUNT)
    assert sorted(connection.execute(statement).all()) == [(1, 11), (2, 21)]
    assert connection.execute(delete(SALES).where(ID == 5).returning(SALES)).all() == [(5, None, 50)]


def test_row_count(connection: Connection) -> None:
    assert connection.execute(update(SALES).where(REGION == "north").values(amount=0)).rowcount == 2
    assert connection.execute(delete(SALES).where(true())).rowcount == 5


def test_group_by_and_having(connection: Connection) -> None:
    query = select(REGION, func.sum(AMOUNT), func.count(), func.count(AMOUNT)).group_by(REGION)
    query = query.having(func.count() > 1).order_by(REGION)
    assert connection.execute(query).all() == [("north", 30, 2, 2), ("south", 30, 2, 1)]


def test_common_table_expression(connection: Connection) -> None:
    totals = select(REGION, func.sum(AMOUNT).label("total")).group_by(REGION).cte("totals")
    query = select(ID, totals.c.total).join(totals, totals.c.region == REGION).order_by(ID)
    assert connection.execute(query).all() == [(1, 30), (2, 30), (3, 30), (4, 30)]


def test_subqueries(connection: Connection) -> None:
    largest = select(func.max(AMOUNT)).scalar_subquery()
    other = SALES.alias()
    bigger = exists().where(other.c.region == REGION, other.c.amount > AMOUNT)
    assert connection.scalars(select(ID).where(largest == AMOUNT)).all() == [5]
    assert connection.scalars(select(ID).where(bigger)).all() == [1]
    assert connection.scalars(select(ID).where(ID.in_(select(ID).where(AMOUNT < 30))).order_by(ID)).all() == [
        1,
        2,
    ]


def test_unions(connection: Connection) -> None:
    north, south = select(REGION).where(REGION == "north"), select(REGION).where(REGION == "south")
    both = select(REGION).where(REGION.is_not(None))
    assert sorted(connection.scalars(union(north, south))) == ["north", "south"]
    assert len(connection.scalars(union_all(north, south, north)).all()) == 6
    assert connection.scalars(intersect(both, south)).all() == ["south"]
    assert connection.scalars(except_(both, south)).all() == ["north"]


def test_joins(connection: Connection) -> None:
    connection.execute(insert(ARCHIVE), [{"id": 1, "note": "one"}, {"id": 9, "note": "nine"}])
    left = select(ID, ARCHIVE.c.note).outerjoin(ARCHIVE, ARCHIVE.c.id == ID).where(ID <= 2).order_by(ID)
    assert connection.execute(left).all() == [(1, "one"), (2, None)]
    full = select(func.count()).select_from(SALES.join(ARCHIVE, ARCHIVE.c.id == ID, full=True))
    assert connection.scalar(full) == 6


def test_limit_and_offset(connection: Connection) -> None:
    query = select(ID).order_by(ID)
    assert connection.scalars(query.limit(2)).all() == [1, 2]
    assert connection.scalars(query.limit(2).offset(3)).all() == [4, 5]
    assert connection.scalars(query.offset(4)).all() == [5]


def test_conditions(connection: Connection) -> None:
    query = select(ID).order_by(ID)
    assert connection.scalars(query.where(ID.in_([1, 4, 7]))).all() == [1, 4]
    assert connection.scalars(query.where(ID.in_([]))).all() == []
    assert connection.scalars(query.where(ID.between(2, 3))).all() == [2, 3]
    assert connection.scalars(query.where(REGION.like("n%"))).all() == [1, 2]
    assert connection.scalars(query.where(or_(AMOUNT.is_(None), not_(REGION != "north")))).all() == [1, 2, 4]


def test_expressions(connection: Connection) -> None:
    size = case((AMOUNT >= 30, "big"), (AMOUNT.is_(None), "none"), else_="small").label("size")
    assert connection.scalars(select(size).order_by(ID)).all() == ["small", "small", "big", "none", "big"]
    text_ = func.concat(func.upper(REGION), literal("-"), func.lpad(func.format("%d", ID), 3, "0"))
    assert connection.scalars(select(text_).where(ID == 1)).all() == ["NORTH-001"]


def test_distinct_and_labels(connection: Connection) -> None:
    query = select(REGION.label("where from")).distinct().where(REGION.is_not(None)).order_by(text("1"))
    result = connection.execute(query)
    assert list(result.keys()) == ["where from"]
    assert result.scalars().all() == ["north", "south"]


def test_literal_values_in_the_text(connection: Connection) -> None:
    query = select(ID, literal("it is")).where(REGION == "south", AMOUNT == 30)
    compiled = query.compile(connection, compile_kwargs={"literal_binds": True})
    assert "'south'" in str(compiled)
    assert connection.exec_driver_sql(str(compiled)).all() == [(3, "it is")]


def test_textual_sql_with_parameters(connection: Connection) -> None:
    query = text("SELECT id FROM sales WHERE region = :region AND amount > :least")
    assert connection.scalars(query, {"region": "north", "least": 15}).all() == [2]


def test_a_function_without_a_table(connection: Connection) -> None:
    assert sorted(connection.scalars(select(func.unnest(text("[1, 2]")).column_valued()))) == [1, 2]
    assert connection.scalar(select(func.abs(-3))) == 3


def test_rows_as_mappings(connection: Connection) -> None:
    rows = connection.execute(select(SALES).where(ID == 1)).mappings().all()
    assert rows == [{"id": 1, "region": "north", "amount": 10}]


def test_comparison_of_tuples(connection: Connection) -> None:
    pair = tuple_(ID, REGION).in_([(1, "north"), (2, "south")])
    assert connection.scalars(select(ID).where(pair)).all() == [1]


def test_ten_thousand_rows(connection: Connection) -> None:
    numbers = func.generate_array(1, 10_000)
    result = connection.scalars(select(func.unnest(numbers).column_valued("n")).order_by(text("n")))
    assert result.all() == list(range(1, 10_001))
