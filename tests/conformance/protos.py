"""A protobuf message class, made without a compiler, and the proto bundle that Spanner needs for it."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from sqlalchemy import Engine


def _file() -> FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Parcel")
    fields = [
        ("label", FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.LABEL_OPTIONAL),
        ("grams", FieldDescriptorProto.TYPE_INT64, FieldDescriptorProto.LABEL_OPTIONAL),
        ("parts", FieldDescriptorProto.TYPE_BYTES, FieldDescriptorProto.LABEL_REPEATED),
    ]
    for number, (name, kind, label) in enumerate(fields, start=1):
        message.field.add(name=name, number=number, type=kind, label=label)
    return file


FILE = _file()
_pool = descriptor_pool.DescriptorPool()
_pool.Add(FILE)
Parcel: Any = message_factory.GetMessageClass(_pool.FindMessageTypeByName("shop.Parcel"))


def create_bundle(emulator: Any, engine: Engine) -> None:
    """Put the message's type into a database behind the gateway."""
    with engine.connect() as connection:
        path = connection.connection.driver_connection.database.name
    request = {
        "database": path,
        "statements": ["CREATE PROTO BUNDLE (`shop.Parcel`)"],
        "proto_descriptors": FileDescriptorSet(file=[FILE]).SerializeToString(),
    }
    emulator.client.database_admin_api.update_database_ddl(request=request).result(30)
