"""Data-set classes."""
from mindspore.dataset.engine.datasets import BatchDataset, Dataset, RepeatDataset  # noqa: F401
