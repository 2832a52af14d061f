"""Receiving: the receiver, its transports for each engine, its stream reader, its lease keeper."""

from .receiver import Receiver

__all__ = ["Receiver"]
