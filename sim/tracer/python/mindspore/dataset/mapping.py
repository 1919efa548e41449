"""map(): shapes and element types after a list of operations."""
from mindspore._drydock.errors import user_error
from mindspore.dataset import rows


class Operation:
    """A known transform: `columns(inputs)` gives the columns after it."""

    def columns(self, inputs):
        return inputs

    def __call__(self, *inputs):
        """Applied by hand in user code: stand-in values of the right form."""
        outputs = self.columns([rows.Column.of(item) for item in inputs])
        items = tuple(column.value() for column in outputs)
        return items[0] if len(items) == 1 else items


def apply(operations, inputs):
    """Columns after a function, an operation or a list of them."""
    items = operations if isinstance(operations, (list, tuple)) else [operations]
    if not items:
        raise user_error(ValueError, "map:operations", "map() needs operations")
    columns = list(inputs)
    for item in items:
        if isinstance(item, Operation):
            columns = item.columns(columns)
        elif callable(item):
            result = item(*[column.value() for column in columns])
            columns = rows.as_columns(result, "the function given to map()")
        else:
            raise user_error(TypeError, "map:operation-type", "map() takes functions, not %s" % type(item).__name__)
    return columns


def of_batch(function, inputs, count, info):
    """Columns after a function that takes the rows of a batch as lists, one per column, and the batch's place."""
    result = function(*[[column.value() for _ in range(count)] for column in inputs], info)
    lists = result if isinstance(result, tuple) else (result,)
    columns = []
    for items in lists:
        if not hasattr(items, "__len__") or len(items) == 0:
            raise user_error(RuntimeError, "batch:per-batch-map", "per_batch_map must give a list of rows per column")
        one = rows.Column.of(items[0])
        columns.append(rows.BatchColumn((len(items),) + one.shape, one.dtype))
    return columns
