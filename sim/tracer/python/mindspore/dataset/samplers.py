"""Samplers: which rows a rank reads does not matter for shapes, but their number does."""
from mindspore._drydock.lazy import module_getattr
from mindspore.dataset.engine import lengths


class Sampler:
    """Base of all: takes every row once, or `num_samples` of them."""

    def __init__(self, num_samples=None):
        self.num_samples = num_samples

    def size_after(self, size):
        """Number of rows of a data set that is read through this sampler."""
        return lengths.at_most(size, self.num_samples) if self.num_samples else size


class DistributedSampler(Sampler):
    def __init__(self, num_shards, shard_id, shuffle=True, num_samples=None, offset=-1):
        super().__init__(num_samples)
        self.num_shards, self.shard_id = num_shards, shard_id

    def size_after(self, size):
        from mindspore.dataset.engine.datasets import shard_size
        return super().size_after(shard_size(size, self.num_shards, self.shard_id))


class RandomSampler(Sampler):
    def __init__(self, replacement=False, num_samples=None, shuffle=None):
        super().__init__(num_samples)


class SequentialSampler(Sampler):
    def __init__(self, start_index=None, num_samples=None):
        super().__init__(num_samples)


class SubsetSampler(Sampler):
    def __init__(self, indices, num_samples=None):
        super().__init__(num_samples)
        self.indices = indices

    def size_after(self, size):
        return super().size_after(lengths.Known(len(self.indices) if hasattr(self.indices, "__len__") else 1))


SubsetRandomSampler = SubsetSampler


class WeightedRandomSampler(Sampler):
    def __init__(self, weights, num_samples=None, replacement=True):
        super().__init__(num_samples)


def size_after(sampler, size):
    """Rows through a sampler: one of these, or an object of the script that gives indices."""
    if sampler is None:
        return size
    if hasattr(sampler, "size_after"):
        return sampler.size_after(size)
    return lengths.Known(len(sampler)) if hasattr(sampler, "__len__") else size


__getattr__ = module_getattr("mindspore.dataset")
