"""mindspore.common."""
from mindspore._drydock.lazy import module_getattr
from mindspore.common import initializer, lazy_inline  # noqa: F401
from mindspore.common.api import JitConfig, jit, jit_class, ms_function, ms_memory_recycle, mutable, set_recursion_limit  # noqa: F401
from mindspore.common.dtype import *  # noqa: F401,F403
from mindspore.common.parameter import Parameter, ParameterTuple  # noqa: F401
from mindspore.common.recompute import recompute  # noqa: F401
from mindspore.common.seed import get_seed, set_seed  # noqa: F401
from mindspore.common.tensor import Tensor, from_numpy, tensor  # noqa: F401

__getattr__ = module_getattr(__name__, dict(
    {"RowTensor": "mindspore.common.sparse_tensor", "Generator": "mindspore.common.generator", "default_generator": "mindspore.common.generator",
     "is_tensor": "mindspore.ops", "Symbol": "mindspore.common.symbol", "no_inline": "mindspore.common.api", "set_dump": "mindspore.common.api",
     "set_recursion_limit": "mindspore.common.api"},
    **{name: "mindspore.common.dtype" for name in ("bool", "int", "float")},
    **{name: "mindspore.common.seed" for name in ("get_rng_state", "initial_seed", "manual_seed", "set_rng_state")}))
