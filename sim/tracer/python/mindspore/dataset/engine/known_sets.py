"""Data sets whose form and number of rows are known, and those whose files of text say it."""
import glob
import os

from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.dataset import samplers
from mindspore.dataset.engine import lengths
from mindspore.dataset.engine.datasets import Dataset, shard_size
from mindspore.dataset.engine.samples import _KnownDataset
from mindspore.dataset.rows import Column

_LABEL = ("label", (), mstype.uint32)


class _Images(_KnownDataset):
    """Without a usage all parts are read."""

    def __init__(self, dataset_dir, usage=None, num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None, num_shards=None,
                 shard_id=None, cache=None):
        super().__init__(dataset_dir, "all" if usage is None else usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards,
                         shard_id, cache)


class KMnistDataset(_Images):
    """Grey images of 28 x 28."""

    _kind, _classes = "KMnistDataset", 10
    _known_columns = (("image", (28, 28, 1), mstype.uint8), _LABEL)
    _lengths = {"train": 60000, "test": 10000, "all": 70000}


class QMnistDataset(_Images):
    """Grey images of 28 x 28; a label, or 8 numbers about who wrote it."""

    _kind, _classes = "QMnistDataset", 10
    _lengths = {"train": 60000, "test": 60000, "test10k": 10000, "test50k": 50000, "nist": 402953, "all": 120000}

    def __init__(self, dataset_dir, usage=None, compat=True, num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None,
                 num_shards=None, shard_id=None, cache=None):
        self._known_columns = (("image", (28, 28, 1), mstype.uint8), ("label", () if compat else (8,), mstype.uint32))
        if usage in (None, "all"):  # which of the files are read
            raise Unsupported("mindspore.dataset.QMnistDataset.usage")
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)


class EMnistDataset(_Images):
    """Grey images of 28 x 28 of letters and digits, in one of six selections."""

    _kind = "EMnistDataset"
    _known_columns = KMnistDataset._known_columns
    _splits = {"byclass": (697932, 116323), "bymerge": (697932, 116323), "balanced": (112800, 18800), "letters": (124800, 20800),
               "digits": (240000, 40000), "mnist": (60000, 10000)}

    def __init__(self, dataset_dir, name, usage=None, num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None,
                 num_shards=None, shard_id=None, cache=None):
        if name not in self._splits:
            raise user_error(ValueError, "EMnistDataset:name", "name of EMnistDataset must be one of %s, not %r"
                             % (", ".join(self._splits), name))
        train, test = self._splits[name]
        self._lengths = {"train": train, "test": test, "all": train + test}
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)


class USPSDataset(_Images):
    """Grey images of 16 x 16."""

    _kind, _classes = "USPSDataset", 10
    _known_columns = (("image", (16, 16, 1), mstype.uint8), _LABEL)
    _lengths = {"train": 7291, "test": 2007, "all": 9298}

    def __init__(self, dataset_dir, usage=None, num_samples=None, num_parallel_workers=None, shuffle="global", num_shards=None,
                 shard_id=None, cache=None):
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, None, num_shards, shard_id)


class SVHNDataset(_Images):
    """Colour images of 32 x 32."""

    _kind, _classes = "SVHNDataset", 10
    _known_columns = (("image", (32, 32, 3), mstype.uint8), _LABEL)
    _lengths = {"train": 73257, "test": 26032, "extra": 531131, "all": 630420}

    def __init__(self, dataset_dir, usage=None, num_samples=None, num_parallel_workers=1, shuffle=None, sampler=None, num_shards=None,
                 shard_id=None):
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)


class STL10Dataset(_Images):
    """Colour images of 96 x 96."""

    _kind, _classes = "STL10Dataset", 10
    _known_columns = (("image", (96, 96, 3), mstype.uint8), _LABEL)
    _lengths = {"train": 5000, "test": 8000, "unlabeled": 100000, "train+unlabeled": 105000, "all": 113000}


class FakeImageDataset(_KnownDataset):
    """Images of noise: size, number and classes are what the script says."""

    _kind = "FakeImageDataset"

    def __init__(self, num_images=1000, image_size=(224, 224, 3), num_classes=10, base_seed=0, num_samples=None, num_parallel_workers=None,
                 shuffle=None, sampler=None, num_shards=None, shard_id=None, cache=None):
        for name, value in (("num_images", num_images), ("num_classes", num_classes)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise user_error(ValueError, "FakeImageDataset:" + name, "%s of FakeImageDataset must be a positive whole number, not %r"
                                 % (name, value))
        if len(image_size) != 3:
            raise user_error(ValueError, "FakeImageDataset:image_size", "image_size must be height, width and channels, not %r" % (image_size,))
        self._classes = num_classes
        size = lengths.Known(num_images)
        size = samplers.size_after(sampler, lengths.at_most(size, num_samples) if num_samples else size)
        Dataset.__init__(self, ["image", "label"], [Column(tuple(image_size), mstype.uint8), Column((), mstype.uint32)],
                         shard_size(size, num_shards, shard_id))


def _files_of(kind, files):
    """Paths in order; patterns stand for the files that they name."""
    found = []
    for one in [files] if isinstance(files, str) else list(files):
        named = sorted(glob.glob(one))
        if not named or not all(os.path.isfile(path) for path in named):
            raise user_error(ValueError, kind + ":no-file", "there is no file '%s'" % one)
        found += named
    return found


class TextFileDataset(Dataset):
    """One row for each line that is not empty."""

    def __init__(self, dataset_files, num_samples=None, num_parallel_workers=None, shuffle="global", num_shards=None, shard_id=None,
                 cache=None):
        rows = sum(len(_lines(path)) for path in _files_of("TextFileDataset", dataset_files))
        size = lengths.Known(rows)
        super().__init__(["text"], [Column.of("")], shard_size(lengths.at_most(size, num_samples) if num_samples else size, num_shards, shard_id))


def _lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return [line.rstrip("\r\n") for line in file if line.strip("\r\n")]


class CSVDataset(Dataset):
    """One row for each line; the defaults of the columns say what they hold, texts where there are none."""

    def __init__(self, dataset_files, field_delim=",", column_defaults=None, column_names=None, num_samples=None, num_parallel_workers=None,
                 shuffle="global", num_shards=None, shard_id=None, cache=None):
        if not isinstance(field_delim, str) or len(field_delim) != 1:
            raise user_error(ValueError, "CSVDataset:field_delim", "field_delim must be one character, not %r" % (field_delim,))
        files = _files_of("CSVDataset", dataset_files)
        lines = [_lines(path) for path in files]
        names = list(column_names) if column_names is not None else lines[0][0].split(field_delim) if lines[0] else []
        count = sum(len(one) - (column_names is None and bool(one)) for one in lines)  # without names each file begins with them
        defaults = list(column_defaults) if column_defaults is not None else [""] * len(names)
        if len(defaults) != len(names):
            raise user_error(ValueError, "CSVDataset:column_defaults", "CSVDataset has %d columns and %d defaults" % (len(names), len(defaults)))
        kinds = {float: mstype.float32, int: mstype.int32, str: None}
        columns = []
        for default in defaults:
            if type(default) not in kinds:
                raise user_error(TypeError, "CSVDataset:column_defaults", "defaults are numbers and texts, not %r" % (default,))
            columns.append(Column.of("") if isinstance(default, str) else Column((), kinds[type(default)]))
        size = lengths.Known(count)
        super().__init__(names, columns, shard_size(lengths.at_most(size, num_samples) if num_samples else size, num_shards, shard_id))


class DSCallback:
    """See mindspore.dataset.DSCallback: what a subclass does at the begin and end of epochs and steps of a pipeline that does not run."""

    def __init__(self, step_size=1):
        if isinstance(step_size, bool) or not isinstance(step_size, int) or step_size < 1:
            raise user_error(ValueError, "DSCallback:step_size", "step_size must be a positive whole number, not %r" % (step_size,))
        self.step_size = step_size

    def ds_begin(self, ds_run_context):
        """Before the first epoch."""

    def ds_epoch_begin(self, ds_run_context):
        """Before each epoch."""

    def ds_epoch_end(self, ds_run_context):
        """Behind each epoch."""

    def ds_step_begin(self, ds_run_context):
        """Before each step."""

    def ds_step_end(self, ds_run_context):
        """Behind each step."""


class WaitedDSCallback(DSCallback):
    """See mindspore.dataset.WaitedDSCallback."""

    def sync_epoch_begin(self, train_run_context, ds_run_context):
        """Between two epochs of training."""

    def sync_step_begin(self, train_run_context, ds_run_context):
        """Between two steps of training."""


__getattr__ = module_getattr("mindspore.dataset")
