"""Payload types: what goes into a message comes out of it, equal in value and type, in every engine.

::

    payload: Mapped[Welcome] = payload_column(Json(Welcome))     # a dataclass, pydantic, msgspec, TypedDict
    payload: Mapped[dict[str, Any]] = payload_column(Json())     # plain JSON values
    payload: Mapped[bytes] = payload_column(Bytes())
    payload: Mapped[str] = payload_column(Text())
    payload: Mapped[Order] = payload_column(Proto(Order))        # a protobuf message class

Small payloads (under 4 KB) are recommended: https://docs.cloud.google.com/spanner/docs/queues/queues-overview
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from sqlalchemy.engine import Dialect
from sqlalchemy.types import LargeBinary, TypeDecorator, TypeEngine

from ._json import JsonCodec, decode_json, encode_json, json_codec
from ._wire import Wire
from .dialects import for_dialect
from .exc import PayloadError

T = TypeVar("T")


class ProtoMessage(Protocol):
    """What a protobuf message offers."""

    def SerializeToString(self) -> bytes: ...

    def ParseFromString(self, serialized: bytes) -> int: ...


M = TypeVar("M", bound=ProtoMessage)


class PayloadType(TypeDecorator[T], Generic[T]):
    """The common part of the payload types; use one of its subclasses.

    ``wire`` says how the payload is stored; ``encode`` and ``decode`` convert between the Python value and
    the stored one (bytes, str or plain JSON) and raise PayloadError with the value in ``raw``.
    """

    impl = LargeBinary
    cache_ok = True

    wire: Wire

    @abstractmethod
    def encode(self, value: T) -> object:
        """Return the stored form of a value."""

    @abstractmethod
    def decode(self, stored: Any) -> T:
        """Return the value for its stored form."""

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return for_dialect(dialect, "storing a payload").payload_type(self.wire)

    def process_bind_param(self, value: T | None, dialect: Dialect) -> Any:
        if value is None:
            raise PayloadError("a payload is never NULL; give the message one", raw=None, codec=repr(self))
        return self.encode(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> T | None:
        return None if value is None else self.decode(value)

    def _checked(self, value: Any, expected: type[Any]) -> Any:
        if not isinstance(value, expected):
            raise self._refuse(value, f"takes {expected.__name__}, not {type(value).__name__}")
        return value

    def _refuse(self, value: object, why: str) -> PayloadError:
        return PayloadError(f"{self!r}: {why}", raw=value, codec=repr(self))


def _positive(length: int | None) -> int | None:
    if length is not None and length < 1:
        raise ValueError(f"a payload's length is 1 or more, or None for the most there can be, not {length}")
    return length


def _shown(length: int | None) -> str:
    return "" if length is None else str(length)


class Bytes(PayloadType[bytes]):
    """Store bytes as they are: BYTES, bytea, BLOB.

    Example: ``payload_column(Bytes(1024))`` limits them to 1,024 bytes. Raises PayloadError for anything but
    bytes.

    https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
    """

    cache_ok = True

    def __init__(self, length: int | None = None) -> None:
        super().__init__()
        self.length = length
        self.wire = Wire("bytes", _positive(length))

    def encode(self, value: bytes) -> object:
        return self._checked(value, bytes)

    def decode(self, stored: Any) -> bytes:
        buffer: Any = stored
        if not isinstance(stored, bytes | bytearray | memoryview):
            raise self._refuse(stored, "the stored payload is no bytes")
        return bytes(buffer)

    def __repr__(self) -> str:
        return f"Bytes({_shown(self.length)})"


class Text(PayloadType[str]):
    """Store text: STRING, text or varchar, TEXT.

    Example: ``payload_column(Text(200))`` limits it to 200 characters. Raises PayloadError for anything but
    str.

    https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
    """

    cache_ok = True

    def __init__(self, length: int | None = None) -> None:
        super().__init__()
        self.length = length
        self.wire = Wire("text", _positive(length))

    def encode(self, value: str) -> object:
        text: str = self._checked(value, str)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self._refuse(value, f"cannot be stored: {error}") from error
        return text

    def decode(self, stored: Any) -> str:
        if not isinstance(stored, str):
            raise self._refuse(stored, "the stored payload is no text")
        return stored

    def __repr__(self) -> str:
        return f"Text({_shown(self.length)})"


class Json(PayloadType[T], Generic[T]):
    """Store JSON: JSON or jsonb.

    ``Json()`` takes plain JSON values (dict with str keys, list, str, int, float, bool; None inside).
    ``Json(T)`` takes a dataclass, a TypedDict, a pydantic model or a msgspec Struct, and gives the same type
    back. Example: ``payload: Mapped[Welcome] = payload_column(Json(Welcome))``.

    Raises PayloadError where a value would come back as something else (a tuple, a dict with int keys, NaN),
    or where the stored JSON does not fit the type (``raw`` holds it).

    https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
    """

    cache_ok = True

    def __init__(self, model: type[T] | None = None) -> None:
        super().__init__()
        self.model = model
        self.wire = Wire("json")
        self._codec: JsonCodec | None = None

    def encode(self, value: T) -> object:
        return encode_json(self._loaded_codec(), value, repr(self))

    def decode(self, stored: Any) -> T:
        decoded: T = decode_json(self._loaded_codec(), stored, repr(self))
        return decoded

    def _loaded_codec(self) -> JsonCodec:
        # Late, so that declaring a model imports no codec library.
        if self._codec is None:
            self._codec = json_codec(self.model)
        return self._codec

    def __repr__(self) -> str:
        return f"Json({self.model.__name__ if self.model is not None else ''})"


class Proto(PayloadType[M], Generic[M]):
    """Store a protobuf message: a proto column in GoogleSQL, bytea in PostgreSQL, BLOB in SQLite.

    Example: ``payload_column(Proto(Order))`` names the GoogleSQL column type after the message's full name,
    which has to be in the database's proto bundle. Raises PayloadError for another message class, and where
    the stored bytes are no such message (``raw`` holds them).

    https://docs.cloud.google.com/spanner/docs/reference/standard-sql/data-definition-language
    """

    cache_ok = True

    def __init__(self, message: type[M]) -> None:
        super().__init__()
        self.message = message
        descriptor = getattr(message, "DESCRIPTOR", None)
        if descriptor is None:
            raise TypeError(f"Proto() takes a generated protobuf message class, not {message!r}")
        self.wire = Wire("proto", proto_name=str(descriptor.full_name))

    def encode(self, value: M) -> object:
        message: M = self._checked(value, self.message)
        return message.SerializeToString()

    def decode(self, stored: Any) -> M:
        message = self.message()
        try:
            message.ParseFromString(stored)
        except Exception as error:
            raise self._refuse(stored, f"the stored payload cannot be parsed: {error}") from error
        return message

    def __repr__(self) -> str:
        return f"Proto({self.message.__name__})"
