"""AdaSum: sums of gradients that depend on the angle between them. Cells can be made, their step is not recorded."""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.cell import Cell
from mindspore.nn.optim.optimizer import Optimizer


class _AdaSum(Cell):
    def __init__(self, optimizer):
        super().__init__(auto_prefix=False)
        name = type(self).__name__
        if not isinstance(optimizer, Optimizer):
            raise user_error(TypeError, name + ":optimizer", "%s takes an optimizer, not %s"
                             % (name, type(optimizer).__name__))
        self.optimizer = optimizer
        self.parameters = optimizer.parameters
        self.global_step = optimizer.global_step

    def construct(self, gradients):
        raise Unsupported("mindspore.nn." + type(self).__name__, "the exchange of gradients of AdaSum is not recorded",
                          "use the inner optimizer for the dry run")


class AdaSumByGradWrapCell(_AdaSum):
    """See mindspore.nn.AdaSumByGradWrapCell."""


class AdaSumByDeltaWeightWrapCell(_AdaSum):
    """See mindspore.nn.AdaSumByDeltaWeightWrapCell."""


__getattr__ = module_getattr("mindspore.nn")
