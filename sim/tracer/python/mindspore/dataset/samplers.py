"""Samplers: which rows a rank reads does not matter for shapes."""
from mindspore._drydock.lazy import module_getattr


class _Sampler:
    def __init__(self, *args, **kwargs):
        return None


class DistributedSampler(_Sampler):
    pass


class RandomSampler(_Sampler):
    pass


class SequentialSampler(_Sampler):
    pass


class SubsetSampler(_Sampler):
    pass


__getattr__ = module_getattr("mindspore.dataset")
