"""mindspore.experimental."""
from mindspore._drydock.lazy import module_getattr

__getattr__ = module_getattr(__name__)
