"""Data-set classes."""
from mindspore._drydock.lazy import Stub, module_getattr
from mindspore.dataset.engine.datasets import BatchDataset, Dataset, RepeatDataset  # noqa: F401

_others = module_getattr(__name__)


def __getattr__(name):
    """Data sets and samplers of mindspore.dataset are here as well."""
    found = _others(name)
    if name[:1].isupper() and isinstance(found, Stub):
        from mindspore import dataset
        return getattr(dataset, name, found)
    return found
