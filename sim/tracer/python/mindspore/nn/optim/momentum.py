"""Momentum and SGD."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common.parameter import hyper_parameter
from mindspore.nn.optim.optimizer import Optimizer, check_number
from mindspore.ops import operations as P


class Momentum(Optimizer):
    """See mindspore.nn.Momentum."""

    def __init__(self, params, learning_rate, momentum, weight_decay=0.0, loss_scale=1.0, use_nesterov=False):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if not isinstance(use_nesterov, bool):
            raise user_error(TypeError, "Momentum:use_nesterov", "use_nesterov must be True or False")
        self.momentum = hyper_parameter(check_number("Momentum", "momentum", momentum, low=0.0), "momentum")
        self.moments = self.states("moments")
        self.opt = P.ApplyMomentum(use_nesterov=use_nesterov)

    def update(self, gradients):
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            gradient = self.decayed(gradient, parameter, self.weight_decays[i])
            self.opt(parameter, self.moments[i], self.learning_rates[i], gradient, self.momentum)


class SGD(Optimizer):
    """See mindspore.nn.SGD."""

    def __init__(self, params, learning_rate=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False,
                 loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_number("SGD", "momentum", momentum, low=0.0)
        check_number("SGD", "dampening", dampening, low=0.0)
        if not isinstance(nesterov, bool):
            raise user_error(TypeError, "SGD:nesterov", "nesterov must be True or False")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise user_error(ValueError, "SGD:nesterov", "nesterov needs a momentum above 0 and dampening 0")
        self.momentum = hyper_parameter(float(momentum), "momentum")
        self.accum = self.states("accum")
        self.stat = self.states("stat")
        self._operators = {decay: P.SGD(float(dampening), float(decay), nesterov)
                           for decay in set(self.weight_decays) | {0.0}}

    def update(self, gradients):
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            gradient = self.decayed(gradient, parameter, 0.0)
            self._operators[self.weight_decays[i]](parameter, gradient, self.learning_rates[i], self.accum[i],
                                                   self.momentum, self.stat[i])


__getattr__ = module_getattr("mindspore.nn")
