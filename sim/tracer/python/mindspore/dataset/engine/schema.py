"""What a schema says of the columns of a data set: names, element types, shapes.

    {"datasetType": "TF", "numRows": 100, "columns": {"ids": {"type": "int64", "rank": 1, "shape": [128]}}}

`columns` may also be a list, each with its name. A shape of null is one that the file decides.
Source: mindspore/ccsrc/minddata/dataset/engine/data_schema.cc.
"""
import json
import os

from mindspore._drydock.errors import user_error
from mindspore.common import dtype as mstype

_MAX_BYTES = 1 << 24
_FORM = '{"columns": {"ids": {"type": "int64", "rank": 1, "shape": [128]}}}'


def _fail(message, hint="it looks like " + _FORM):
    return user_error(RuntimeError, "Schema:form", message, hint)


class Schema:
    """See mindspore.dataset.Schema."""

    def __init__(self, schema_file=None):
        self.schema_file = schema_file or ""
        self.columns, self.num_rows, self.dataset_type = [], None, ""
        if schema_file:
            self.from_json(_read(str(schema_file)))

    def add_column(self, name, de_type, shape=None):
        if not isinstance(name, str) or not name:
            raise user_error(TypeError, "Schema:name", "the name of a column must be a text, not %r" % (name,))
        if de_type is None:
            raise user_error(TypeError, "Schema:type", "column '%s' needs an element type" % name)
        if shape is not None and not (isinstance(shape, (list, tuple)) and all(type(extent) is int for extent in shape)):
            raise user_error(TypeError, "Schema:shape", "the shape of column '%s' must be a list of whole numbers, not %r"
                             % (name, shape))
        text = de_type == "string" or getattr(de_type, "name", "") == "String"
        self.columns.append({"name": name, "type": "string" if text else mstype.dtype_of(de_type).name.lower(),
                             "shape": None if shape is None else [int(extent) for extent in shape]})

    def parse_columns(self, columns):
        if isinstance(columns, dict):
            columns = [dict(_dict_of(column), name=name) for name, column in columns.items()]
        if not isinstance(columns, (list, tuple)) or not columns:
            raise _fail("the columns of a schema must be a list or a dict of columns")
        for column in map(_dict_of, columns):
            for needed in ("name", "type"):
                if needed not in column:
                    raise _fail("a column of the schema has no '%s': %s" % (needed, json.dumps(column)))
            shape = column.get("shape")
            if shape is None and column.get("rank") == 0:
                shape = []
            self.add_column(column["name"], column["type"], shape)

    def from_json(self, json_obj):
        fields = _dict_of(json_obj)
        if "columns" not in fields:
            raise _fail("the schema has no 'columns'")
        rows = fields.get("numRows")
        if rows is not None and (type(rows) is not int or rows < 0):
            raise _fail("'numRows' of the schema must be a whole number, not %r" % (rows,))
        self.columns, self.num_rows, self.dataset_type = [], rows or None, fields.get("datasetType", "")
        self.parse_columns(fields["columns"])

    def to_json(self):
        columns = {column["name"]: dict({"type": column["type"], "rank": 1 if column["shape"] is None else len(column["shape"])},
                                        **({} if column["shape"] is None else {"shape": column["shape"]}))
                   for column in self.columns}
        return json.dumps(dict({"columns": columns}, **({"numRows": self.num_rows} if self.num_rows else {})), indent=2)

    __str__ = to_json

    @staticmethod
    def get_num_rows(schema):
        return (schema if isinstance(schema, Schema) else Schema(schema)).num_rows or 0


def _dict_of(value):
    if not isinstance(value, dict):
        raise _fail("a schema and its columns are dicts, not %r" % (value,))
    return value


def _read(path):
    if not os.path.isfile(path):
        raise user_error(ValueError, "Schema:file", "the schema file '%s' does not exist" % path,
                         "a schema can also be made: schema = ds.Schema(); schema.add_column('ids', ms.int64, [128])")
    try:
        with open(path, "rb") as file:
            return json.loads(file.read(_MAX_BYTES).decode())
    except (OSError, ValueError):
        raise _fail("'%s' is no schema in JSON" % path) from None
