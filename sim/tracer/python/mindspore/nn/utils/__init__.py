"""Helpers of mindspore.nn."""
import contextlib

from mindspore._drydock.lazy import module_getattr


@contextlib.contextmanager
def no_init_parameters():
    """Parameters made inside stay uninitialised; the trace never initialises any."""
    yield


__getattr__ = module_getattr("mindspore.nn.utils")
