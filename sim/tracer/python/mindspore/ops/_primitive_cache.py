"""Cached primitives."""
from mindspore._drydock.lazy import module_getattr


def _get_cache_prim(cls):
    """Makes primitives of a class; the graph does not care whether they are shared."""
    return cls


__getattr__ = module_getattr(__name__)
