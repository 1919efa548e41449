"""Pipeline and accumulation cells are not in the stand-in yet."""
from mindspore._drydock.lazy import module_getattr

__getattr__ = module_getattr(__name__)
