"""Columns of one row: shapes and element types, values only where the script made them."""
from mindspore._drydock.errors import user_error
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor


class Column:
    """One column of a row: shape, element type, and the script's own data if it was kept."""

    def __init__(self, shape, dtype, data=None):
        self.shape = tuple(shape)
        self.dtype = dtype
        self.data = data

    @staticmethod
    def of(value):
        """Column of a value that user code produced."""
        if isinstance(value, Column):
            return value
        if isinstance(value, Tensor):
            return Column(value.shape, value.dtype)
        if isinstance(value, str):
            return Column((), mstype.int32)
        if isinstance(value, float):
            return Column((), mstype.float64, value)
        shape, dtype = values.describe(value)
        return Column(shape, dtype, value if values.count(shape) <= values.MAX_KEPT_ELEMENTS else None)

    def tensor(self):
        return Tensor(shape=self.shape, dtype=self.dtype)

    def value(self):
        """What user code gets for this column: its own data, or zeros."""
        if self.data is not None:
            return self.data
        return values.as_array(values.zeros(self.shape, self.dtype), self.shape, self.dtype)


class BatchColumn(Column):
    """A column whose shape holds the rows of a batch already."""


def as_columns(row, source):
    """Columns of a row produced by user code."""
    items = row if isinstance(row, (tuple, list)) else (row,)
    try:
        return [Column.of(item) for item in items]
    except TypeError as error:
        raise user_error(TypeError, "dataset:row-type", "%s gave a row that is not data: %s" % (source, error)) from None


def check_names(names, count, what):
    """Column names as a list; their number must fit the row."""
    names = [names] if isinstance(names, str) else list(names)
    for name in names:
        if not isinstance(name, str):
            raise user_error(TypeError, "dataset:column-name", "column names of %s must be texts, not %r" % (what, name))
    if len(names) != count:
        raise user_error(RuntimeError, "dataset:column-count",
                         "%s has %d column names but its rows have %d columns" % (what, len(names), count),
                         "give one name for each column; a row with several is a tuple")
    return names
