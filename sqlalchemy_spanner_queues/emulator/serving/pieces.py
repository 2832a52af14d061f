"""Cut a value into pieces, as Spanner does with large ones; a client merges them to the same value again.

The rules of merging: strings are concatenated; lists are concatenated, and the last element of the one
is merged with the first of the other when it is a string or a list. So a list that is cut after a whole
string goes on with an empty one.

https://docs.cloud.google.com/spanner/docs/reference/rpc/google.spanner.v1#partialresultset
"""

from __future__ import annotations

from google.protobuf.struct_pb2 import ListValue, Value


def pieces(value: Value, size: int) -> list[Value]:
    """Cut a string or list so that a piece has at most ``size`` characters, if it can be cut there.

    ::

        pieces(Value(string_value="abcde"), 2)      # "ab", "cd", "e"
        pieces(["abc", "d"] as a list value, 2)     # ["ab"], ["c"], ["", "d"]
    """
    if value.HasField("string_value"):
        text = value.string_value
        cuts = range(0, max(len(text), 1), size)
        return [Value(string_value=text[start : start + size]) for start in cuts]
    return _Cutter(size).cut(value) if value.HasField("list_value") else [value]


class _Cutter:
    def __init__(self, size: int) -> None:
        self._size = size
        self._room = size
        self._open: list[ListValue] = []
        self._pieces: list[Value] = []

    def cut(self, whole: Value) -> list[Value]:
        self._start_piece(depth=1)
        self._write_elements(whole.list_value)
        return self._pieces

    def _start_piece(self, depth: int) -> None:
        piece = Value(list_value=ListValue())
        self._pieces.append(piece)
        self._open = [piece.list_value]
        for _ in range(depth - 1):
            self._open.append(_add_list(self._open[-1]))
        self._room = self._size

    def _write_elements(self, elements: ListValue) -> None:
        for element in elements.values:
            if self._room <= 0:
                self._cut_between()
            if element.HasField("list_value"):
                self._open.append(_add_list(self._open[-1]))
                self._write_elements(element.list_value)
                self._open.pop()
            elif element.HasField("string_value"):
                self._write_string(element.string_value)
            else:
                self._open[-1].values.append(element)
                self._room -= 1

    def _write_string(self, text: str) -> None:
        for index, piece in enumerate(_cut_text(text, self._room, self._size)):
            if index:
                self._start_piece(len(self._open))
            self._append_text(piece)
            self._room -= max(len(piece), 1)

    def _append_text(self, text: str) -> None:
        self._open[-1].values.append(Value(string_value=text))

    def _cut_between(self) -> None:
        innermost = self._open[-1].values
        rest = _continuation(innermost[-1]) if innermost else None
        if rest is not None:
            self._start_piece(len(self._open))
            self._open[-1].values.extend(rest)


def _add_list(outer: ListValue) -> ListValue:
    outer.values.append(Value(list_value=ListValue()))
    return outer.values[-1].list_value


def _cut_text(text: str, room: int, size: int) -> list[str]:
    # A list that could not be cut in time has no room left; it goes on in the same piece.
    first = max(room, 1)
    return [text[:first], *(text[start : start + size] for start in range(first, len(text), size))]


def _continuation(last: Value) -> list[Value] | None:
    """Return what a list goes on with after this element: something that adds nothing to it.

    None when clients disagree about it: numbers, and lists that end in something that cannot be merged.
    """
    if last.HasField("string_value"):
        return [Value(string_value="")]
    if last.HasField("list_value"):
        elements = last.list_value.values
        rest = _continuation(elements[-1]) if elements else None
        return [Value(list_value=ListValue(values=rest))] if rest else None
    return None if last.HasField("number_value") else []
