"""mindspore.boost: gradients summed over steps; other accelerations are Unsupported when they are used."""
from mindspore._drydock.lazy import module_getattr

__getattr__ = module_getattr(__name__, {"GradientAccumulation": "mindspore.boost.grad_accumulation"})
