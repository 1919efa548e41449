"""Data sets of known form: rows of the documented columns, without reading files."""
import os

from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore.common import dtype as mstype
from mindspore.dataset import samplers
from mindspore.dataset.engine import lengths
from mindspore.dataset.engine.datasets import Dataset, shard_size
from mindspore.dataset.rows import Column


def _check_folder(kind, folder, files):
    """A folder that exists must hold the data set; one that does not is replaced by made-up rows."""
    if folder is None or not os.path.exists(str(folder)):
        problem = "no folder is given" if folder is None else "folder '%s' does not exist" % folder
        session.warn("%s: %s; rows of the documented shape are made up" % (kind, problem))
        return
    if not os.path.isdir(folder):
        raise user_error(ValueError, kind + ":not-a-folder", "'%s' is not a folder" % folder)
    present = os.listdir(folder)
    if files and not any(name.startswith(prefix) for name in present for prefix in files):
        raise user_error(RuntimeError, kind + ":no-files",
                         "folder '%s' holds no %s files (expected names like '%s')" % (folder, kind, files[0]),
                         "point the path at the folder with the data set's files")


class _KnownDataset(Dataset):
    """Columns, lengths and file names are class facts."""

    _kind = ""
    _known_columns = ()
    _lengths = {"train": 1, "test": 1, "all": 1}
    _files = ()
    _classes = 0

    def __init__(self, dataset_dir=None, usage=None, num_samples=None, num_parallel_workers=None, shuffle=None,
                 sampler=None, num_shards=None, shard_id=None, cache=None, **kwargs):
        if usage is not None and usage not in self._lengths:
            raise user_error(ValueError, self._kind + ":usage", "usage of %s must be one of %s, not %r"
                             % (self._kind, ", ".join(sorted(self._lengths)), usage))
        _check_folder(self._kind, dataset_dir, self._files)
        size = lengths.Known(self._lengths.get(usage or "train"))
        size = samplers.size_after(sampler, lengths.at_most(size, num_samples) if num_samples else size)
        super().__init__([name for name, _, _ in self._known_columns],
                         [Column(shape, dtype) for _, shape, dtype in self._known_columns],
                         shard_size(size, num_shards, shard_id))


    def num_classes(self):
        if not self._classes:
            raise Unsupported("mindspore.dataset.%s.num_classes" % self._kind)
        return self._classes


class MnistDataset(_KnownDataset):
    """Images of 28 x 28 grey values."""

    _kind = "MnistDataset"
    _known_columns = (("image", (28, 28, 1), mstype.uint8), ("label", (), mstype.uint32))
    _lengths = {"train": 60000, "test": 10000, "all": 70000}
    _files = ("train-images", "t10k-images")
    _classes = 10


class FashionMnistDataset(MnistDataset):
    """The same form as MNIST."""

    _kind = "FashionMnistDataset"


class Cifar10Dataset(_KnownDataset):
    """Colour images of 32 x 32."""

    _kind = "Cifar10Dataset"
    _known_columns = (("image", (32, 32, 3), mstype.uint8), ("label", (), mstype.uint32))
    _lengths = {"train": 50000, "test": 10000, "all": 60000}
    _files = ("data_batch", "test_batch")
    _classes = 10


class Cifar100Dataset(_KnownDataset):
    """Colour images of 32 x 32 with two labels."""

    _kind = "Cifar100Dataset"
    _known_columns = (("image", (32, 32, 3), mstype.uint8), ("coarse_label", (), mstype.uint32),
                      ("fine_label", (), mstype.uint32))
    _lengths = {"train": 50000, "test": 10000, "all": 60000}
    _files = ("train", "test")
    _classes = 100


class ImageFolderDataset(_KnownDataset):
    """Images in a folder per class: number and size are those of the files. Where the folder is not there, ImageNet's."""

    _kind = "ImageFolderDataset"
    _known_columns = (("image", (224, 224, 3), mstype.uint8), ("label", (), mstype.int32))
    _lengths = {"train": 1281167}
    _classes = 1000

    def __init__(self, dataset_dir, num_samples=None, num_parallel_workers=None, shuffle=None, sampler=None,
                 extensions=None, class_indexing=None, decode=False, num_shards=None, shard_id=None, cache=None,
                 decrypt=None):
        if dataset_dir is not None and os.path.isdir(str(dataset_dir)):
            self._read(str(dataset_dir))
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)

    def _read(self, folder):
        """What the files say, for this data set only."""
        from mindspore.dataset.engine import image_files
        images = image_files.images_of(folder)
        if not images:
            raise user_error(RuntimeError, "ImageFolderDataset:no-files", "folder '%s' holds no images in folders of "
                             "their classes" % folder, "one folder per class, with the images in it")
        self._lengths = {"train": len(images)}
        self._classes = len(image_files.classes_of(folder))
        size = image_files.size_of(images[0])
        if size is not None:
            self._known_columns = (("image", tuple(size) + (3,), mstype.uint8), ("label", (), mstype.int32))


class MindDataset(Dataset):
    """Rows of MindRecord files."""

    def __init__(self, dataset_files, columns_list=None, num_parallel_workers=None, shuffle=None, num_shards=None,
                 shard_id=None, sampler=None, padded_sample=None, num_padded=None, num_samples=None, cache=None):
        from mindspore.dataset.engine import record_files
        columns, rows = record_files.read(dataset_files)
        names = list(columns) if columns_list is None else list(columns_list)
        for name in names:
            if name not in columns:
                raise user_error(RuntimeError, "MindDataset:unknown-column", "the files of MindDataset have no column '%s'"
                                 % name, "their columns: " + ", ".join(columns))
        size = lengths.Known(rows + (num_padded or 0))
        size = samplers.size_after(sampler, lengths.at_most(size, num_samples) if num_samples else size)
        super().__init__(names, [columns[name] for name in names], shard_size(size, num_shards, shard_id))


class TFRecordDataset(Dataset):
    """Rows of TFRecord files. Ranks take whole files, or with shard_equal_rows as many rows each."""

    def __init__(self, dataset_files, schema=None, columns_list=None, num_samples=None, num_parallel_workers=None,
                 shuffle=True, num_shards=None, shard_id=None, shard_equal_rows=False, cache=None, compression_type=None):
        from mindspore.dataset.engine import tfrecord_files
        from mindspore.dataset.engine.schema import Schema
        if compression_type not in (None, "", "GZIP", "ZLIB"):
            raise user_error(ValueError, "TFRecordDataset:compression", "compression_type must be '', 'GZIP' or 'ZLIB', not %r"
                             % (compression_type,))
        schema = Schema(schema) if isinstance(schema, (str, os.PathLike)) else schema
        columns, files = tfrecord_files.read(dataset_files, schema, compression_type or "")
        names = list(columns_list or columns)
        for name in names:
            if name not in columns:
                raise user_error(RuntimeError, "TFRecordDataset:unknown-column", "the files of TFRecordDataset have no column '%s'"
                                 % name, "their columns: " + ", ".join(columns))
        num_samples = num_samples or (schema.num_rows if schema is not None else None)
        by_row = shard_equal_rows or cache is not None or (compression_type and num_samples)
        size = shard_size(lengths.Known(sum(rows for _, rows in files)), num_shards, shard_id)
        if num_shards is not None and not by_row:  # the ranks' files are told apart by nothing but their rows
            size = lengths.Known(sum(rows for _, rows in files[0::num_shards]))
        super().__init__(names, [columns[name] for name in names],
                         lengths.at_most(size, num_samples) if num_samples else size)


__getattr__ = module_getattr("mindspore.dataset")
