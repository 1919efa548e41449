"""Data sets: one row is enough; files are not read. Source: spec tracing-frontend 9.4."""
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


class _Settings:
    """config.set_...(): settings of a pipeline that does not run."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


config = _Settings()

__getattr__ = module_getattr(__name__)
