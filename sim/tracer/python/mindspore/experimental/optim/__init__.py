"""mindspore.experimental.optim: the base class, and the optimizers that mindspore.mint.optim has as well."""
from mindspore._drydock.lazy import module_getattr
from mindspore.experimental.optim.optimizer import Optimizer  # noqa: F401

__getattr__ = module_getattr(__name__, {name: "mindspore.experimental.optim.rules" for name in (
    "Adam", "AdamW", "SGD")})
