"""The system column of a queue: its deliver time, set by the sender or by the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import (
    TIMESTAMP,
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    FetchedValue,
    LargeBinary,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeDecorator, TypeEngine

from ._wire import Wire
from .definition import DELIVER_TIME, find_definition, underlying_table
from .dialects import for_dialect
from .exc import DeliverTimeError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def check_delay(by: Any) -> None:
    if not isinstance(by, timedelta):
        raise DeliverTimeError(f"a delay is a timedelta, not {by!r}")
    if by < timedelta(0):
        raise DeliverTimeError(f"a delay is 0 or more, not {by}")


@dataclass(frozen=True)
class Delay:
    """A deliver time relative to the database's clock at the moment of the INSERT."""

    NONE: ClassVar[Delay]

    by: timedelta

    def __post_init__(self) -> None:
        check_delay(self.by)


Delay.NONE = Delay(timedelta(0))


def aware(value: object) -> datetime:
    """Return a deliver time that names an instant; raise DeliverTimeError for a naive one."""
    if not isinstance(value, datetime):
        raise DeliverTimeError(f"a deliver time is a timezone-aware datetime, not {value!r}")
    if value.utcoffset() is None:
        raise DeliverTimeError(
            f"{value!r} has no time zone; use e.g. datetime.now(timezone.utc) + timedelta(...), or for a"
            " deliver time delay=timedelta(...), which the database's clock counts"
        )
    return value.astimezone(UTC)


class Instant(TypeDecorator[datetime]):
    """An aware datetime in UTC, the same instant in every engine; naive ones are refused."""

    impl = TIMESTAMP(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return for_dialect(dialect, "comparing a deliver time").deliver_time_type()

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        return None if value is None else aware(value)


class ExactBytes(TypeDecorator[bytes]):
    """Bytes that come back as they were written: Spanner's dialect returns them in base64."""

    impl = LargeBinary
    cache_ok = True

    def __init__(self, length: int | None = None) -> None:
        super().__init__(length)
        self._length = length

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return for_dialect(dialect, "a key of bytes").payload_type(Wire("bytes", self._length))


class DeliverTimeType(TypeDecorator[datetime]):
    """A deliver time: an aware datetime, or on the way in a Delay that the database's clock counts.

    One number carries both, so that any mix of messages is one statement and one batch: microseconds since
    the epoch when positive, otherwise the delay's microseconds, negated.
    """

    impl = BigInteger
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        stored = for_dialect(dialect, "a deliver time").deliver_time_type()
        return stored.dialect_impl(dialect).result_processor(dialect, coltype)

    def bind_processor(self, dialect: Dialect) -> Any:
        offset = for_dialect(dialect, "a deliver time").clock_offset

        def process(value: datetime | timedelta | Delay | None) -> int | None:
            if value is None:
                return None
            if isinstance(value, timedelta):
                value = Delay(value)
            if isinstance(value, Delay):
                return -((value.by + offset(dialect)) // _MICROSECOND)
            return max((aware(value) - _EPOCH) // _MICROSECOND, 1)

        return process

    def bind_expression(self, bindparam: BindParameter[datetime]) -> ColumnElement[datetime]:
        return DeliverTimeBind(bindparam)

    def coerce_compared_value(self, op: Any, value: Any) -> TypeEngine[Any]:
        return Instant()


class DeliverTimeBind(ColumnElement[datetime]):
    """The expression that turns the number of a deliver time into the database's timestamp."""

    inherit_cache = False

    def __init__(self, bind: BindParameter[datetime]) -> None:
        self.bind = bind
        self.type = bind.type


@compiles(DeliverTimeBind)
def _compile_bind(element: DeliverTimeBind, compiler: SQLCompiler, **kw: Any) -> str:
    return for_dialect(compiler.dialect, "a deliver time").deliver_time_sql(
        compiler.process(element.bind, **kw)
    )


class DeliverTimeColumn(Column[datetime]):
    """The system column, whose name follows the dialect; CREATE QUEUE never declares it."""

    inherit_cache = True

    @classmethod
    def make(cls) -> DeliverTimeColumn:
        return cls(
            DELIVER_TIME,
            DeliverTimeType(),
            FetchedValue(),
            key="deliver_time",
            nullable=False,
            info={"system": True},
        )

    @classmethod
    def adopt(cls, declared: Column[Any]) -> Column[Any]:
        """Turn a declared column of this name into the system column; it must be the same object."""
        declared.__class__ = cls
        declared.name = DELIVER_TIME
        declared.type = DeliverTimeType()
        declared.nullable = False
        declared.primary_key = False
        declared.server_default = FetchedValue()
        return declared


@compiles(DeliverTimeColumn)
def _compile_column(element: DeliverTimeColumn, compiler: SQLCompiler, **kw: Any) -> str:
    text = compiler.visit_column(element, **kw)
    if find_definition(underlying_table(element.table)) is None:
        return text  # a subquery's column has the name that SQLAlchemy gave it
    return for_dialect(compiler.dialect, "a queue's deliver time").system_column_sql(text)
