"""Columns and number of the rows of MindRecord files, from their heads and their first row; no values are read.

A file begins with the length of its head (8 bytes), then the head in JSON: pages, schema, the names of all files of the set.
A column whose shape is left open (-1) has as many elements as in the first row. Where there is no data yet, a text file of
the same name can stand for it:

    {"rows": 1000, "columns": {"input_ids": {"type": "int32", "shape": [4097]}}}

Source: mindspore/ccsrc/minddata/mindrecord/io/shard_writer.cc, meta/shard_column.cc.
"""
import json
import os
import struct

from mindspore._drydock.errors import Unsupported, user_error
from mindspore.common import dtype as mstype
from mindspore.dataset.rows import Column

_MAX_HEAD = 1 << 26
TEXT = '{"rows": 1000, "columns": {"input_ids": {"type": "int32", "shape": [4097]}}}'
_BROKEN = (OSError, ValueError, KeyError, IndexError, TypeError, struct.error)


def read(files):
    """({column: Column}, rows) of one file, which may be one of a set, or of a list of files."""
    if isinstance(files, (str, os.PathLike)):
        head = _head_of(str(files))
        folder = os.path.dirname(str(files))
        others = [os.path.join(folder, name) for name in head.get("shard_addresses", ())]
        paths = others if others and all(map(os.path.exists, others)) else [str(files)]
    else:
        paths = [str(path) for path in files]
        if not paths:
            raise user_error(ValueError, "MindDataset:files", "MindDataset needs at least one file")
    heads = [_head_of(path) for path in paths]
    try:
        return _columns_of(paths[0], heads[0]), sum(map(_rows_of, heads))
    except _BROKEN:
        raise _not_a_record(paths[0]) from None


def declaration(path):
    """({column: Column}, rows) that a text file declares in place of data, None if it is no such file."""
    with open(path, "rb") as file:
        first = file.read(8)
    if first[:1] != b"{" or first[7:] == b"\0":
        return None
    head = _head_of(path)
    try:
        return _columns_of(path, head), _rows_of(head)
    except _BROKEN:
        raise _not_a_record(path) from None


def _head_of(path):
    if not os.path.exists(path):
        raise Unsupported("mindspore.dataset.MindDataset", "MindDataset: there is no file '%s', so its columns are not known"
                          % path, "declare them in a text file of that name: " + TEXT)
    try:
        with open(path, "rb") as file:
            first = file.read(8)
            if first[:1] == b"{" and first[7:] != b"\0":
                head = json.loads((first + file.read(_MAX_HEAD)).decode())
                return {"rows": int(head["rows"]), "schema": [{"schema": dict(head["columns"]), "blob_fields": []}]}
            length, = struct.unpack("<Q", first)
            return json.loads(file.read(min(length, _MAX_HEAD)).decode())
    except _BROKEN:
        raise _not_a_record(path) from None


def _not_a_record(path):
    return user_error(RuntimeError, "MindDataset:file", "'%s' is not a MindRecord file" % path,
                      "or let it be a text that declares the columns: " + TEXT)


def _rows_of(head):
    if "rows" in head:
        return head["rows"]
    return max((page["end_row_id"] for page in head["page"]), default=0)


def _columns_of(path, head):
    """Columns in the order of the schema."""
    schema = head["schema"][0]
    blobs = list(schema.get("blob_fields", ()))
    counts = _first_counts(path, head, blobs, schema["schema"]) if blobs else {}
    return {name: _column(name, field, counts) for name, field in schema["schema"].items()}


def _column(name, field, counts):
    if field["type"] in ("string", "bytes") and "shape" not in field:
        return Column((counts[name],), mstype.uint8) if name in counts else Column((), mstype.int32)
    shape = [int(extent) for extent in field.get("shape", ())]
    if -1 in shape:
        known = 1
        for extent in shape:
            known *= extent if extent != -1 else 1
        shape[shape.index(-1)] = counts[name] // max(known, 1)
    return Column(shape, mstype.dtype_named(field["type"]))


def _first_counts(path, head, blobs, fields):
    """{column: number of elements in the first row} of the columns that are stored as bytes."""
    pages = [page["page_id"] for page in head["page"] if page["page_type"] == "BLOB_DATA"]
    if not pages:
        return {}
    with open(path, "rb") as file:
        file.seek(head["header_size"] + min(pages) * head["page_size"])
        size, = struct.unpack("<Q", file.read(8))
        row = file.read(min(size, _MAX_HEAD))
    found, at = {}, 0
    for name in blobs:
        length = len(row)
        if len(blobs) > 1:
            length, = struct.unpack(">Q", row[at:at + 8])
            at += 8
        found[name] = _count(fields[name]["type"], row[at:at + 4], length)
        at += length
    return found


def _count(kind, start, length):
    """Elements of a column of `length` bytes; whole numbers are packed behind their count."""
    if kind in ("int32", "int64"):
        return struct.unpack(">I", start)[0]
    return length // {"float32": 4, "float64": 8}.get(kind, 1)
