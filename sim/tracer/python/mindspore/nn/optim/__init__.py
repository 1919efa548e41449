"""Optimizers."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.optim.adam import Adam, AdamWeightDecay  # noqa: F401
from mindspore.nn.optim.lamb import FTRL, Adagrad, Lamb, LazyAdam  # noqa: F401
from mindspore.nn.optim.momentum import SGD, Momentum  # noqa: F401
from mindspore.nn.optim.optimizer import Optimizer, opt_init_args_register  # noqa: F401

__getattr__ = module_getattr(__name__, {
    "LARS": "mindspore.nn.optim.lars", "AdaFactor": "mindspore.nn.optim.adafactor",
    "AdaSumByGradWrapCell": "mindspore.nn.optim.adasum", "AdaSumByDeltaWeightWrapCell": "mindspore.nn.optim.adasum"})
