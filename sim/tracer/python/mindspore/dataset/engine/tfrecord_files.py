"""Columns and number of the rows of TFRecord files, from their first row and the lengths of all; no values are kept.

A record is its length (8 bytes), a checksum (4), the row, another checksum (4). The row is a message Example: a map from names
to lists of bytes, floats or whole numbers. Where there is no data yet, a text file of the same name can stand for it, as for
MindRecord (record_files.py). Source: mindspore/ccsrc/minddata/dataset/engine/datasetops/source/tf_reader_op.cc.
"""
import glob
import gzip
import mmap
import os
import struct
import zlib

from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.session import session
from mindspore.common import dtype as mstype
from mindspore.dataset.engine import record_files
from mindspore.dataset.rows import Column

_MAX_ROW = 1 << 26
_MAX_COUNTED = 1 << 20  # rows of a file; beyond that their number follows from their mean length
_HEAD, _AROUND = 12, 16  # bytes in front of a row, and around it
_BYTES, _FLOATS, _INTS = 1, 2, 3
_TYPES = {_BYTES: "uint8", _FLOATS: "float32", _INTS: "int64"}
_ALLOWED = {_BYTES: ("uint8", "int8", "string"), _FLOATS: ("float32",),
            _INTS: tuple(sign + "int" + bits for sign in ("", "u") for bits in ("8", "16", "32", "64"))}


class _Broken(Exception):
    """The bytes are no TFRecord file."""


def read(patterns, schema, compression):
    """({column: Column}, [(file, rows)])"""
    paths = _find(patterns, schema)
    first = None
    counts = []
    for path in paths:
        declared = record_files.declaration(path)
        if declared is not None:
            columns, rows = declared
        else:
            try:
                columns, rows = (_first_row(path, compression) if first is None else None), _rows(path, compression)
            except (_Broken, OSError, EOFError, zlib.error, struct.error):
                raise user_error(RuntimeError, "TFRecordDataset:file", "'%s' is no TFRecord file%s"
                                 % (path, " compressed by " + compression if compression else ""),
                                 "or let it be a text that declares the columns: " + record_files.TEXT) from None
        first = columns if first is None else first
        counts.append((path, rows))
    if schema is None:
        return {name: first[name] if isinstance(first[name], Column) else _column(name, first[name], None, None)
                for name in sorted(first)}, counts
    return {column["name"]: _declared_column(column, first) for column in schema.columns}, counts


def _find(patterns, schema):
    paths = []
    for pattern in patterns if isinstance(patterns, list) else [patterns]:
        found = [path for path in glob.glob(str(pattern), recursive=True) if os.path.isfile(path)]
        if not found:
            raise Unsupported("mindspore.dataset.TFRecordDataset", "TFRecordDataset: no file '%s', so its %s not known"
                              % (pattern, "columns are" if schema is None else "number of rows is"),
                              "declare them in a text file of that name: " + record_files.TEXT)
        paths += found
    if not paths:
        raise user_error(ValueError, "TFRecordDataset:files", "TFRecordDataset needs at least one file")
    return sorted(paths)


# ---- Records ----------------------------------------------------------------------------------------

def _opened(path, compression):
    if compression == "GZIP":
        return gzip.open(path, "rb")
    if compression == "ZLIB":
        return _Inflated(path)
    return open(path, "rb")


class _Inflated:
    """A zlib stream as a file."""

    def __init__(self, path):
        self._file, self._zip, self._left = open(path, "rb"), zlib.decompressobj(), b""

    def read(self, count):
        parts = []
        while count > 0:
            if not self._left:
                more = self._zip.unconsumed_tail or self._file.read(1 << 16)
                if not more:
                    break
                self._left = self._zip.decompress(more, 1 << 20)
                continue
            parts.append(self._left[:count])
            self._left = self._left[len(parts[-1]):]
            count -= len(parts[-1])
        return b"".join(parts)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()


def _first_row(path, compression):
    """{column: (kind, elements, greatest length of its byte strings)}"""
    with _opened(path, compression) as file:
        head = file.read(_HEAD)
        if len(head) < _HEAD:
            raise _Broken
        length, = struct.unpack_from("<Q", head)
        row = file.read(min(length, _MAX_ROW))
    if len(row) != length:
        raise _Broken
    return _example(row)


def _rows(path, compression):
    if compression:
        return _rows_of_stream(path, compression)
    size = os.path.getsize(path)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = rows = 0
        while at < size and rows < _MAX_COUNTED:
            if at + _AROUND > size:
                raise _Broken
            at += _AROUND + struct.unpack_from("<Q", data, at)[0]
            rows += 1
    if at > size:
        raise _Broken
    if at < size:
        rows = rows * size // at
        session.warn("TFRecordDataset: '%s' is taken to have %d rows, from the mean length of the first %d"
                     % (path, rows, _MAX_COUNTED))
    return rows


def _rows_of_stream(path, compression):
    with _opened(path, compression) as file:
        rows = 0
        while rows < _MAX_COUNTED:
            head = file.read(_HEAD)
            if not head:
                return rows
            left = struct.unpack_from("<Q", head)[0] + _AROUND - _HEAD
            while left > 0:
                part = len(file.read(min(left, 1 << 20)))
                if part == 0:
                    raise _Broken
                left -= part
            rows += 1
    session.warn("TFRecordDataset: '%s' has %d rows or more; it is taken to have %d" % (path, rows, rows))
    return rows


# ---- Rows -------------------------------------------------------------------------------------------

def _varint(data, at):
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise _Broken
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def _fields(data):
    """(number, wire type, content) of a message of protocol buffers."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            content, at = _varint(data, at)
        else:
            length = {1: 8, 5: 4}.get(wire)
            if wire == 2:
                length, at = _varint(data, at)
            if length is None or at + length > len(data):
                raise _Broken
            content, at = data[at:at + length], at + length
        yield key >> 3, wire, content


def _message(data, wanted):
    """Contents of the fields `wanted`, which are messages or byte strings."""
    for number, wire, content in _fields(data):
        if number == wanted:
            if wire != 2:
                raise _Broken
            yield content


def _example(row):
    found = {}
    for features in _message(row, 1):
        for entry in _message(features, 1):
            name = b"".join(list(_message(entry, 1))[-1:]).decode("utf-8", "replace")
            for feature in list(_message(entry, 2))[-1:]:
                for kind, wire, content in _fields(feature):
                    if kind in _TYPES and wire == 2:
                        found[name] = (kind,) + _counted(kind, content)
    if not found:
        raise _Broken
    return found


def _counted(kind, data):
    """(elements, greatest length of a byte string) of a list."""
    count = longest = 0
    for number, wire, content in _fields(data):
        if number != 1:
            continue
        if kind == _BYTES:
            count, longest = count + 1, max(longest, len(content) if wire == 2 else 0)
        elif wire != 2:
            count += 1
        elif kind == _FLOATS:
            count += len(content) // 4
        else:
            count += sum(byte < 128 for byte in content)
    return count, longest


# ---- Columns ----------------------------------------------------------------------------------------

def _declared_column(column, first):
    name = column["name"]
    if name not in first:
        raise user_error(RuntimeError, "TFRecordDataset:unknown-column", "the files of TFRecordDataset have no column '%s'"
                         % name, "their columns: " + ", ".join(sorted(first)))
    if isinstance(first[name], Column):  # of a declaration: its shape, unless the schema has one
        shape = first[name].shape if column["shape"] is None else column["shape"]
        return Column(shape, mstype.int32 if column["type"] == "string" else mstype.dtype_named(column["type"]))
    return _column(name, first[name], column["type"], column["shape"])


def _column(name, found, dtype, shape):
    kind, count, longest = found
    dtype = dtype or _TYPES[kind]
    if dtype not in _ALLOWED[kind]:
        raise user_error(RuntimeError, "TFRecordDataset:type", "column '%s' is declared %s, but its files hold %s"
                         % (name, dtype, {_BYTES: "bytes", _FLOATS: "floats", _INTS: "whole numbers"}[kind]),
                         "declare it " + " or ".join(_ALLOWED[kind][:3]))
    elements = count * longest if kind == _BYTES and dtype != "string" else count
    shape = [-1] if shape is None else list(shape)
    known = 1
    for extent in shape:
        known *= max(extent, 1) if extent < 0 else extent
    if shape.count(-1) == 1 and known > 0 and elements % known == 0:
        shape[shape.index(-1)] = elements // known
    elif -1 in shape or known != elements:
        raise user_error(RuntimeError, "TFRecordDataset:shape", "column '%s' is declared with shape %s, but its first row has %d "
                         "elements" % (name, shape, elements), "declare shape [%d]" % elements)
    return Column(shape, mstype.int32 if dtype == "string" else mstype.dtype_named(dtype))
