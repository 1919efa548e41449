"""JitConfig under the reference's module name."""
from mindspore._drydock.lazy import module_getattr
from mindspore.common.api import JitConfig  # noqa: F401

__getattr__ = module_getattr(__name__)
