"""Base of all data sets and the operations on them."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.rank import RankInt
from mindspore._drydock.session import STEPS_THAT_MATTER, session
from mindspore.dataset import rows, samplers
from mindspore.dataset.engine import lengths
from mindspore.dataset.engine.more_operations import MoreOperations

_pairs = zip  # the reference calls one of its functions zip, too


class Dataset(MoreOperations):
    """A number of equal rows of named columns.

    Iteration gives `DRYDOCK_STEPS` batches (default 1) and ends, so that loops over epochs end too.
    """

    def __init__(self, names=(), columns=(), length=1):
        self._names = list(names)
        self._columns = list(columns)
        self._size = lengths.Known(length) if isinstance(length, int) else length
        self._batch_size = 1
        self._repeat_count = 1

    @property
    def _length(self):
        return lengths.total(self._size)

    @property
    def dataset_size(self):
        return self._length

    @dataset_size.setter
    def dataset_size(self, count):  # as trainers do that leave rows out
        self._size = lengths.Known(int(count))

    def _derive(self, kind=None, **changes):
        derived = (kind or Dataset).__new__(kind or Dataset)
        derived.__dict__.update(self.__dict__)
        derived.__dict__.update(changes)
        return derived

    # -- operations ---------------------------------------------------------------------------------
    def batch(self, batch_size, drop_remainder=False, num_parallel_workers=None, per_batch_map=None, input_columns=None,
              output_columns=None, **kwargs):
        if callable(batch_size):
            batch_size = batch_size(_BatchInfo())
        if isinstance(batch_size, bool) or not isinstance(batch_size, int):
            raise user_error(TypeError, "batch:size-type", "batch() takes a whole number, not %r" % (batch_size,))
        batch_size = int(batch_size)
        if batch_size < 1:
            raise user_error(ValueError, "batch:size-range", "the batch size must be positive, not %d" % batch_size)
        count = self._size.up_to(batch_size)  # the rows of the first batch
        if drop_remainder and count < batch_size or count == 0:
            raise user_error(RuntimeError, "batch:empty",
                             "a batch of %d rows from %d rows with drop_remainder gives nothing" % (batch_size, count))
        size = lengths.after(self._size, lambda rows: rows // batch_size if drop_remainder else -(-rows // batch_size),
                             lambda limit: limit * batch_size)
        source = self
        if per_batch_map is not None:
            from mindspore.dataset import mapping
            names = self._names[:1] if input_columns is None else _names_of(input_columns)
            columns = mapping.of_batch(per_batch_map, [self._column(name) for name in names], count, _BatchInfo())
            wanted = names if output_columns is None else _names_of(output_columns)
            source = self._replace(names, rows.check_names(wanted, len(columns), "batch()"), columns)
        columns = [c if isinstance(c, rows.BatchColumn) else rows.Column((count,) + c.shape, c.dtype)
                   for c in source._columns]
        return source._derive(BatchDataset, _columns=columns, _size=size, _batch_size=batch_size)

    def map(self, operations, input_columns=None, output_columns=None, column_order=None, **kwargs):
        from mindspore.dataset import mapping
        names = self._names[:1] if input_columns is None else _names_of(input_columns)
        inputs = [self._column(name) for name in names]
        outputs = mapping.apply(operations, inputs)
        wanted = names if output_columns is None else _names_of(output_columns)
        wanted = rows.check_names(wanted, len(outputs), "map()")
        made = self._replace(names, wanted, outputs)
        return made if column_order is None or isinstance(column_order, int) else made.project(column_order)

    def _replace(self, old, new, columns):
        """The columns `old` replaced, at the place of the first of them."""
        first = self._names.index(old[0])
        kept = [(n, c) for n, c in _pairs(self._names, self._columns) if n not in old]
        before = sum(1 for n in self._names[:first] if n not in old)
        pairs = kept[:before] + list(_pairs(new, columns)) + kept[before:]
        return self._derive(_names=[n for n, _ in pairs], _columns=[c for _, c in pairs])

    def _column(self, name):
        if name not in self._names:
            raise user_error(RuntimeError, "dataset:unknown-column", "the data set has no column '%s'" % name,
                             "its columns: " + ", ".join(self._names))
        return self._columns[self._names.index(name)]

    def project(self, columns):
        names = _names_of(columns)
        return self._derive(_names=names, _columns=[self._column(name) for name in names])

    def rename(self, input_columns, output_columns):
        renamed = dict(_pairs(_names_of(input_columns), _names_of(output_columns)))
        return self._derive(_names=[renamed.get(name, name) for name in self._names])

    def repeat(self, count=None):
        count = 1 if count is None or count == -1 else count
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise user_error(ValueError, "repeat:count", "repeat() takes a positive number")
        size = lengths.after(self._size, lambda rows: rows * count, lambda limit: limit)
        return self._derive(RepeatDataset, _size=size, _repeat_count=count)

    def shuffle(self, buffer_size):
        if isinstance(buffer_size, bool) or not isinstance(buffer_size, int):
            raise user_error(TypeError, "shuffle:buffer-type", "shuffle() takes a whole number")
        if buffer_size < 2:
            raise user_error(ValueError, "shuffle:buffer-range", "the buffer of shuffle() must hold 2 rows or more")
        return self._derive()

    def take(self, count=-1):
        return self._derive() if count == -1 else self._derive(_size=lengths.at_most(self._size, count))

    def skip(self, count):
        return self._derive(_size=lengths.after(self._size, lambda rows: max(rows - count, 0),
                                                lambda limit: limit + count))

    def zip(self, datasets):
        others = datasets if isinstance(datasets, (tuple, list)) else (datasets,)
        return zip((self,) + tuple(others))

    def split(self, sizes, randomize=True):
        parts = [int(s * self._length) if isinstance(s, float) else s for s in sizes]
        return [self._derive(_size=lengths.Known(part)) for part in parts]

    def filter(self, predicate, input_columns=None, num_parallel_workers=None):
        return self._derive()

    def add_sampler(self, new_sampler):
        self._size = samplers.size_after(new_sampler, self._size)

    use_sampler = add_sampler

    def reset(self):
        return None

    def set_init_step(self, init_step):
        return None

    # -- facts --------------------------------------------------------------------------------------
    def get_dataset_size(self):
        return self._length

    def get_batch_size(self):
        return self._batch_size

    def get_repeat_count(self):
        return self._repeat_count

    def get_col_names(self):
        return list(self._names)

    column_names = property(get_col_names)

    def output_shapes(self, estimate=False):
        return [list(column.shape) for column in self._columns]

    def output_types(self):
        return [column.dtype for column in self._columns]

    def __len__(self):
        return self._length

    # -- iteration ----------------------------------------------------------------------------------
    def _rows(self, num_epochs=1):
        steps = lengths.at_least(self._size, STEPS_THAT_MATTER)
        for _ in range(self._size.up_to(session.steps)):
            row = [column.tensor() for column in self._columns]
            for tensor in row:
                tensor.steps = steps
            yield row

    def create_tuple_iterator(self, columns=None, num_epochs=-1, output_numpy=False, do_copy=False):
        source = self if columns is None else self.project(columns)
        for row in source._rows():
            yield [tensor.asnumpy() for tensor in row] if output_numpy else row

    def create_dict_iterator(self, num_epochs=-1, output_numpy=False, do_copy=False):
        names = list(self._names)
        for row in self._rows():
            yield {n: t.asnumpy() if output_numpy else t for n, t in _pairs(names, row)}

    def __iter__(self):
        return self.create_tuple_iterator()


class BatchDataset(Dataset):
    """A batched data set."""


class RepeatDataset(Dataset):
    """A repeated data set."""


class MappableDataset(Dataset):
    """Base of data sets with random access."""


class SourceDataset(Dataset):
    """Base of data sets that read files."""


def zip(datasets):  # noqa: A001 (the reference's name)
    """Columns of all data sets side by side."""
    names = [name for dataset in datasets for name in dataset._names]
    columns = [column for dataset in datasets for column in dataset._columns]
    sizes = [dataset._size for dataset in datasets]
    if all(isinstance(size, lengths.Known) for size in sizes):
        return Dataset(names, columns, min(size.rows for size in sizes))
    return Dataset(names, columns, lengths.Changed(lambda limit: min(size.up_to(limit) for size in sizes)))


def _names_of(columns):
    return [columns] if isinstance(columns, str) else list(columns)


class _BatchInfo:
    """What functions that are called per batch learn: it is the first one."""

    def get_epoch_num(self):
        return 0

    def get_batch_num(self):
        return 0


def shard_size(size, num_shards, shard_id):
    """Rows of one shard; checks the pair without asking which rank this is."""
    if (num_shards is None) != (shard_id is None):
        raise user_error(RuntimeError, "dataset:shards", "num_shards and shard_id go together")
    if num_shards is None:
        return size
    if isinstance(num_shards, bool) or not isinstance(num_shards, int):
        raise user_error(TypeError, "dataset:shards", "num_shards must be a whole number")
    if num_shards < 1:
        raise user_error(ValueError, "dataset:shards", "num_shards must be positive, not %d" % num_shards)
    if type(shard_id) is not RankInt:
        if isinstance(shard_id, bool) or not isinstance(shard_id, int):
            raise user_error(TypeError, "dataset:shards", "shard_id must be a whole number")
        if not 0 <= shard_id < num_shards:
            raise user_error(ValueError, "dataset:shards", "shard_id must be from 0 to %d, not %d"
                             % (num_shards - 1, shard_id))
    return lengths.shared(size, num_shards)


__getattr__ = module_getattr("mindspore.dataset")
