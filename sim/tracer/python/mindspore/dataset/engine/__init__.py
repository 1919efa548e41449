"""Data-set classes."""
from mindspore._drydock.lazy import module_getattr
from mindspore.dataset.engine.datasets import BatchDataset, Dataset, RepeatDataset  # noqa: F401

__getattr__ = module_getattr(__name__)
