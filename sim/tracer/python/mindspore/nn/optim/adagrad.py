"""Adagrad and its relatives, FTRL. Source: mindspore/python/mindspore/nn/optim/{ada_grad,adadelta,ftrl,proximal_ada_grad}.py."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.nn.optim.optimizer import Optimizer, backwards, check_number
from mindspore.ops import operations as P
from mindspore.ops.primitive import Primitive


class Adagrad(Optimizer):
    """See mindspore.nn.Adagrad."""

    def __init__(self, params, accum=0.1, learning_rate=0.001, update_slots=True, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_number("Adagrad", "accum", accum, low=0.0)
        self.accum = self.states("accum")
        self.opt = P.ApplyAdagrad(update_slots=update_slots)

    def update(self, gradients):
        gradients, rates = self.prepared(gradients)
        for parameter, accum, rate, gradient in backwards(self.parameters, self.accum, rates, gradients):
            self.opt(parameter, accum, rate, gradient)


class Adadelta(Optimizer):
    """See mindspore.nn.Adadelta."""

    def __init__(self, params, learning_rate=1.0, rho=0.9, epsilon=1e-6, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho = check_number("Adadelta", "rho", rho, low=0.0, high=1.0)
        self.epsilon = check_number("Adadelta", "epsilon", epsilon, low=0.0)
        self.accum = self.states("accum")
        self.accum_update = self.states("accum_update")
        self.opt = P.ApplyAdadelta()

    def update(self, gradients):
        gradients, rates = self.prepared(gradients)
        for parameter, accum, update, rate, gradient in backwards(self.parameters, self.accum, self.accum_update,
                                                                  rates, gradients):
            self.opt(parameter, accum, update, rate, self.rho, self.epsilon, gradient)


class ProximalAdagrad(Optimizer):
    """See mindspore.nn.ProximalAdagrad."""

    def __init__(self, params, accum=0.1, learning_rate=0.001, l1=0.0, l2=0.0, use_locking=False, loss_scale=1.0,
                 weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_number("ProximalAdagrad", "accum", accum, low=0.0)
        self.l1 = Tensor(check_number("ProximalAdagrad", "l1", l1, low=0.0), mstype.float32)
        self.l2 = Tensor(check_number("ProximalAdagrad", "l2", l2, low=0.0), mstype.float32)
        self.accum = self.states("accum")
        self.opt = P.ApplyProximalAdagrad(use_locking=use_locking)

    def update(self, gradients):
        gradients, rates = self.prepared(gradients)
        for parameter, accum, rate, gradient in backwards(self.parameters, self.accum, rates, gradients):
            self.opt(parameter, accum, rate, self.l1, self.l2, gradient)


class FTRL(Optimizer):
    """See mindspore.nn.FTRL; every parameter decays, whatever its name."""

    def __init__(self, params, initial_accum=0.1, learning_rate=0.001, lr_power=-0.5, l1=0.0, l2=0.0,
                 use_locking=False, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr:
            raise user_error(ValueError, "FTRL:learning_rate", "FTRL takes one constant learning rate")
        check_number("FTRL", "initial_accum", initial_accum, low=0.0)
        self._numbers = (check_number("FTRL", "l1", l1, low=0.0), check_number("FTRL", "l2", l2, low=0.0),
                         check_number("FTRL", "lr_power", lr_power, high=0.0))
        self.moments = self.states("moments")
        self.linear = self.states("linear")
        if not self.is_group:
            self.decay_flags = (True,) * self.param_length
        self.opt = P.ApplyFtrl(use_locking=use_locking)
        self.sparse_opt = Primitive("FusedSparseFtrl")  # for gradients by rows, which a dry run takes as dense

    def update(self, gradients):
        gradients, rates = self.prepared(gradients)
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            self.opt(parameter, self.moments[i], self.linear[i], gradient, rates[i], *self._numbers)


__getattr__ = module_getattr("mindspore.nn")
