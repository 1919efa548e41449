"""Settings of the strategy search."""
from mindspore._drydock.lazy import module_getattr
from mindspore.context import get_algo_parameters, reset_algo_parameters, set_algo_parameters  # noqa: F401

__getattr__ = module_getattr(__name__)
