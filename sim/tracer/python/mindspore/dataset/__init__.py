"""Data sets: one row is enough; files are not read."""
from mindspore._drydock.lazy import module_getattr
from mindspore.common.seed import set_seed  # noqa: F401
from mindspore.dataset import transforms, vision  # noqa: F401
from mindspore.dataset.engine.datasets import BatchDataset, Dataset, RepeatDataset, zip  # noqa: F401
from mindspore.dataset.engine.generator import GeneratorDataset, NumpySlicesDataset  # noqa: F401
from mindspore.dataset.engine.samples import (Cifar10Dataset, Cifar100Dataset, FashionMnistDataset,  # noqa: F401
                                              ImageFolderDataset, MindDataset, MnistDataset, TFRecordDataset)
from mindspore.dataset.engine.schema import Schema  # noqa: F401
from mindspore.dataset.samplers import (DistributedSampler, RandomSampler, Sampler, SequentialSampler,  # noqa: F401
                                        SubsetRandomSampler, SubsetSampler, WeightedRandomSampler)


MappableDataset = SourceDataset = VisionBaseDataset = Dataset


class Shuffle:
    GLOBAL, FILES, INFILE, ADAPTIVE = "global", "file", "infile", "adaptive"


class DatasetCache:
    """A cache of rows; nothing is read that could be kept."""

    def __init__(self, session_id, size=0, spilling=False, hostname=None, port=None, num_connections=None, prefetch_size=None):
        self.session_id, self.size = session_id, size

    def get_stat(self):
        return None


class BatchInfo:
    """Where a batch is, as per_batch_map sees it."""

    def get_batch_num(self):
        return 0

    def get_epoch_num(self):
        return 0


class _Settings:
    """config.set_...(): settings of a pipeline that does not run."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


config = _Settings()

class PaddedDataset(Dataset):
    """Rows that fill up the last batch: those that are given."""

    def __init__(self, padded_samples):
        from mindspore._drydock.errors import user_error
        from mindspore.dataset import rows
        if not isinstance(padded_samples, list) or not padded_samples:
            raise user_error(TypeError, "PaddedDataset:samples", "PaddedDataset takes a list of rows, each a dict of columns")
        super().__init__(list(padded_samples[0]), rows.as_columns(tuple(padded_samples[0].values()), "PaddedDataset"), len(padded_samples))


class ConcatDataset(Dataset):
    """One data set behind the other, of equal columns."""

    def __init__(self, datasets):
        first = datasets[0]
        super().__init__(first._names, first._columns, sum(part.get_dataset_size() for part in datasets))


class BucketBatchByLengthDataset(BatchDataset):
    """What bucket_batch_by_length() gives."""


__getattr__ = module_getattr(__name__, {name: "mindspore.dataset.engine.known_sets" for name in (
    "KMnistDataset", "QMnistDataset", "EMnistDataset", "USPSDataset", "SVHNDataset", "STL10Dataset", "FakeImageDataset", "TextFileDataset",
    "CSVDataset", "DSCallback", "WaitedDSCallback")})
