"""Optimizers."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.optim.adagrad import FTRL, Adagrad  # noqa: F401
from mindspore.nn.optim.adam import Adam, AdamWeightDecay, LazyAdam  # noqa: F401
from mindspore.nn.optim.lamb import Lamb  # noqa: F401
from mindspore.nn.optim.momentum import SGD, Momentum, RMSProp  # noqa: F401
from mindspore.nn.optim.optimizer import Optimizer, opt_init_args_register  # noqa: F401

LATER = {"LARS": "mindspore.nn.optim.lars", "AdaFactor": "mindspore.nn.optim.adafactor",
         "Adadelta": "mindspore.nn.optim.adagrad", "ProximalAdagrad": "mindspore.nn.optim.adagrad",
         "AdaMax": "mindspore.nn.optim.adam", "ASGD": "mindspore.nn.optim.composed",
         "Rprop": "mindspore.nn.optim.composed", "AdaSumByGradWrapCell": "mindspore.nn.optim.adasum",
         "AdaSumByDeltaWeightWrapCell": "mindspore.nn.optim.adasum"}

__getattr__ = module_getattr(__name__, LATER)
