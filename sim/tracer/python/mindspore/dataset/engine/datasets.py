"""Base of all data sets and the operations on them."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.rank import RankInt
from mindspore._drydock.session import session
from mindspore.dataset import rows

_pairs = zip  # the reference calls one of its functions zip, too


class Dataset:
    """A number of equal rows of named columns.

    Iteration gives `DRYDOCK_STEPS` batches (default 1) and ends, so that loops over epochs end too.
    """

    def __init__(self, names=(), columns=(), length=1):
        self._names = list(names)
        self._columns = list(columns)
        self._length = length
        self._batch_size = 1
        self._repeat_count = 1

    def _derive(self, kind=None, **changes):
        derived = (kind or Dataset).__new__(kind or Dataset)
        derived.__dict__.update(self.__dict__)
        derived.__dict__.update(changes)
        return derived

    # -- operations ---------------------------------------------------------------------------------
    def batch(self, batch_size, drop_remainder=False, num_parallel_workers=None, **kwargs):
        if callable(batch_size):
            batch_size = batch_size(None)
        if isinstance(batch_size, bool) or not isinstance(batch_size, int):
            raise user_error(TypeError, "batch:size-type", "batch() takes a whole number, not %r" % (batch_size,))
        batch_size = int(batch_size)
        if batch_size < 1:
            raise user_error(ValueError, "batch:size-range", "the batch size must be positive, not %d" % batch_size)
        length = self._length // batch_size if drop_remainder else -(-self._length // batch_size)
        if length == 0:
            raise user_error(RuntimeError, "batch:empty",
                             "a batch of %d rows from %d rows with drop_remainder gives nothing"
                             % (batch_size, self._length))
        columns = [rows.Column((min(batch_size, self._length),) + c.shape, c.dtype) for c in self._columns]
        return self._derive(BatchDataset, _columns=columns, _length=length, _batch_size=batch_size)

    def map(self, operations, input_columns=None, output_columns=None, **kwargs):
        from mindspore.dataset import mapping
        names = self._names[:1] if input_columns is None else (
            [input_columns] if isinstance(input_columns, str) else list(input_columns))
        inputs = [self._column(name) for name in names]
        outputs = mapping.apply(operations, inputs)
        wanted = names if output_columns is None else (
            [output_columns] if isinstance(output_columns, str) else list(output_columns))
        wanted = rows.check_names(wanted, len(outputs), "map()")
        return self._replace(names, wanted, outputs)

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
        names = [columns] if isinstance(columns, str) else list(columns)
        return self._derive(_names=names, _columns=[self._column(name) for name in names])

    def rename(self, input_columns, output_columns):
        old = [input_columns] if isinstance(input_columns, str) else list(input_columns)
        new = [output_columns] if isinstance(output_columns, str) else list(output_columns)
        renamed = dict(_pairs(old, new))
        return self._derive(_names=[renamed.get(name, name) for name in self._names])

    def repeat(self, count=None):
        count = 1 if count is None or count == -1 else count
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise user_error(ValueError, "repeat:count", "repeat() takes a positive number")
        return self._derive(RepeatDataset, _length=self._length * count, _repeat_count=count)

    def shuffle(self, buffer_size):
        if isinstance(buffer_size, bool) or not isinstance(buffer_size, int):
            raise user_error(TypeError, "shuffle:buffer-type", "shuffle() takes a whole number")
        if buffer_size < 2:
            raise user_error(ValueError, "shuffle:buffer-range", "the buffer of shuffle() must hold 2 rows or more")
        return self._derive()

    def take(self, count=-1):
        return self._derive(_length=self._length if count == -1 else min(count, self._length))

    def skip(self, count):
        return self._derive(_length=max(self._length - count, 0))

    def zip(self, datasets):
        others = datasets if isinstance(datasets, (tuple, list)) else (datasets,)
        return zip((self,) + tuple(others))

    def split(self, sizes, randomize=True):
        parts = [int(s * self._length) if isinstance(s, float) else s for s in sizes]
        return [self._derive(_length=part) for part in parts]

    def filter(self, predicate, input_columns=None, num_parallel_workers=None):
        return self._derive()

    def padded_batch(self, batch_size, drop_remainder=False, **kwargs):
        return self.batch(batch_size, drop_remainder)

    def add_sampler(self, new_sampler):
        return None

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
        for _ in range(min(session.steps, self._length)):
            yield [column.tensor() for column in self._columns]

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
    return Dataset(names, columns, min(dataset._length for dataset in datasets))


def shard_length(length, num_shards, shard_id):
    """Rows of one shard; checks the pair without asking which rank this is."""
    if (num_shards is None) != (shard_id is None):
        raise user_error(RuntimeError, "dataset:shards", "num_shards and shard_id go together")
    if num_shards is None:
        return length
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
    return -(-length // num_shards)


__getattr__ = module_getattr("mindspore.dataset")
