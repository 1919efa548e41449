"""Lamb, FTRL, Adagrad and relatives."""
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.nn.optim.adam import Adam, _check_betas
from mindspore.nn.optim.optimizer import Optimizer, check_number
from mindspore.ops import operations as P
from mindspore.ops.primitive import Primitive


class Lamb(Optimizer):
    """See mindspore.nn.Lamb; one update operator per parameter."""

    def __init__(self, params, learning_rate, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        _check_betas("Lamb", beta1, beta2, eps)
        self.beta1 = Tensor(beta1, mstype.float32)
        self.beta2 = Tensor(beta2, mstype.float32)
        self.eps = Tensor(eps, mstype.float32)
        self.moments1 = self.states("lamb_m")
        self.moments2 = self.states("lamb_v")
        self.opt = P.Lamb()

    def update(self, gradients):
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            self.opt(parameter, self.moments1[i], self.moments2[i], self.learning_rates[i], self.beta1, self.beta2,
                     self.eps, Tensor(self.weight_decays[i], mstype.float32), self.global_step, gradient)


class LazyAdam(Adam):
    """See mindspore.nn.LazyAdam; with dense gradients it is Adam."""

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, use_locking=False,
                 use_nesterov=False, weight_decay=0.0, loss_scale=1.0):
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale)
        self.target = "Ascend"


class FTRL(Optimizer):
    """See mindspore.nn.FTRL."""

    def __init__(self, params, initial_accum=0.1, learning_rate=0.001, lr_power=-0.5, l1=0.0, l2=0.0,
                 use_locking=False, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_number("FTRL", "initial_accum", initial_accum, low=0.0)
        check_number("FTRL", "lr_power", lr_power, high=0.0)
        self.l1 = Tensor(check_number("FTRL", "l1", l1, low=0.0), mstype.float32)
        self.l2 = Tensor(check_number("FTRL", "l2", l2, low=0.0), mstype.float32)
        self.lr_power = Tensor(lr_power, mstype.float32)
        self.accum = self.states("moments")
        self.linear = self.states("linear")
        self.opt = P.ApplyFtrl(use_locking=use_locking)
        self.sparse_opt = Primitive("FusedSparseFtrl")  # for gradients by rows, which a dry run takes as dense
        self.target = "Ascend"

    def update(self, gradients):
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            gradient = self.decayed(gradient, parameter, self.weight_decays[i])
            self.opt(parameter, self.accum[i], self.linear[i], gradient, self.learning_rates[i], self.l1, self.l2,
                     self.lr_power)


class Adagrad(Optimizer):
    """See mindspore.nn.Adagrad."""

    def __init__(self, params, accum=0.1, learning_rate=0.001, update_slots=True, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_number("Adagrad", "accum", accum, low=0.0)
        self.accum = self.states("accum")
        self.opt = P.ApplyAdagrad(update_slots=update_slots)

    def update(self, gradients):
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            gradient = self.decayed(gradient, parameter, self.weight_decays[i])
            self.opt(parameter, self.accum[i], self.learning_rates[i], gradient)


__getattr__ = module_getattr("mindspore.nn")
