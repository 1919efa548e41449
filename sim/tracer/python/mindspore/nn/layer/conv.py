"""Nothing of this module is in the stand-in yet."""
from mindspore._drydock.lazy import module_getattr

__getattr__ = module_getattr("mindspore.nn")
