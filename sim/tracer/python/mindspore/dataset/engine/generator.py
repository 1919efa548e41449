"""Data sets made by user code: one row is pulled from it."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.dataset import rows, samplers
from mindspore.dataset.engine import lengths
from mindspore.dataset.engine.datasets import Dataset, shard_size


def _first_row(source):
    """First row of a generator function, iterable or random-access object, and how many there are."""
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        if len(source) == 0:
            raise user_error(RuntimeError, "GeneratorDataset:empty", "the source of GeneratorDataset is empty")
        return source[0], lengths.Known(len(source))
    iterator = source() if callable(source) else source
    if not hasattr(iterator, "__next__"):
        if not hasattr(iterator, "__iter__"):
            raise user_error(TypeError, "GeneratorDataset:source",
                             "the source of GeneratorDataset must give rows, not be a %s" % type(source).__name__)
        iterator = iter(iterator)
    try:
        row = next(iterator)
    except StopIteration:
        raise user_error(RuntimeError, "GeneratorDataset:empty",
                         "the source of GeneratorDataset gives no rows") from None
    return row, lengths.Known(len(source)) if hasattr(source, "__len__") else lengths.Counted(iterator, 1)


class GeneratorDataset(Dataset):
    """See mindspore.dataset.GeneratorDataset."""

    def __init__(self, source, column_names=None, column_types=None, schema=None, num_samples=None,
                 num_parallel_workers=1, shuffle=None, sampler=None, num_shards=None, shard_id=None,
                 python_multiprocessing=True, max_rowsize=None, **kwargs):
        if column_names is None and schema is None:
            raise user_error(ValueError, "GeneratorDataset:columns", "GeneratorDataset needs column_names")
        row, size = _first_row(source)
        columns = rows.as_columns(row, "the source of GeneratorDataset")
        names = rows.check_names(column_names or ["column%d" % i for i in range(len(columns))], len(columns),
                                 "GeneratorDataset")
        if num_samples:
            size = lengths.at_most(size, num_samples)
        super().__init__(names, columns, shard_size(samplers.size_after(sampler, size), num_shards, shard_id))
        self.source = source


class NumpySlicesDataset(Dataset):
    """See mindspore.dataset.NumpySlicesDataset."""

    def __init__(self, data, column_names=None, num_samples=None, num_parallel_workers=1, shuffle=None, sampler=None,
                 num_shards=None, shard_id=None):
        if isinstance(data, dict):
            column_names = list(data) if column_names is None else column_names
            parts = list(data.values())
        else:
            parts = list(data) if isinstance(data, tuple) else [data]
        if not parts or any(len(part) == 0 for part in parts):
            raise user_error(ValueError, "NumpySlicesDataset:empty", "NumpySlicesDataset needs data")
        columns = rows.as_columns(tuple(part[0] for part in parts), "NumpySlicesDataset")
        names = ["column_%d" % i for i in range(len(columns))] if column_names is None else column_names
        size = lengths.Known(min(len(part) for part in parts))
        size = samplers.size_after(sampler, lengths.at_most(size, num_samples) if num_samples else size)
        super().__init__(rows.check_names(names, len(columns), "NumpySlicesDataset"), columns,
                         shard_size(size, num_shards, shard_id))


__getattr__ = module_getattr("mindspore.dataset")
