"""Collectives as functions."""
from mindspore._drydock.lazy import module_getattr


def barrier(group=None):
    """Nothing to wait for in a dry run."""
    return None


__getattr__ = module_getattr(__name__)
