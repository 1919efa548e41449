"""mindspore.device_context: settings of devices, which a dry run takes and does not need."""
from mindspore._drydock.lazy import module_getattr

__getattr__ = module_getattr(__name__)
