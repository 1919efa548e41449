"""Data sets: one row is enough; files are not read."""
from mindspore._drydock.lazy import module_getattr
from mindspore.dataset import transforms, vision  # noqa: F401
from mindspore.dataset.engine.datasets import BatchDataset, Dataset, RepeatDataset, zip  # noqa: F401
from mindspore.dataset.engine.generator import GeneratorDataset, NumpySlicesDataset  # noqa: F401
from mindspore.dataset.engine.samples import (Cifar10Dataset, Cifar100Dataset, FashionMnistDataset,  # noqa: F401
                                              ImageFolderDataset, MindDataset, MnistDataset, TFRecordDataset)
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


class Schema:
    """Names, element types and shapes of columns."""

    def __init__(self, schema_file=None):
        self.columns, self.num_rows, self.dataset_type = [], None, ""

    def add_column(self, name, de_type, shape=None):
        self.columns.append({"name": name, "type": de_type, "shape": shape})


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

__getattr__ = module_getattr(__name__)
