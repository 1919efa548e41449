"""mindspore._extends: helpers that user code imports."""
from mindspore._drydock.lazy import module_getattr

__path__ = []


def cell_attr_register(fn=None, attrs=None):
    """Decorator of a cell's __init__ that lets equal cells share a compiled graph; each is recorded here."""
    return fn if fn is not None else lambda function: function


__getattr__ = module_getattr(__name__)
