"""mindspore.nn.probability: the distributions that have closed forms."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.probability import distribution  # noqa: F401
from mindspore.nn.probability.distribution import (Categorical, Distribution, Exponential, Gumbel, Normal,  # noqa: F401
                                                   Uniform)

__getattr__ = module_getattr(__name__)
