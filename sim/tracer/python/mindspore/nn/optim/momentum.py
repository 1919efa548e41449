"""Momentum, SGD and RMSProp. Source: mindspore/python/mindspore/nn/optim/{momentum,sgd,rmsprop}.py."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common.parameter import hyper_parameter
from mindspore.nn.optim.optimizer import Optimizer, backwards, check_number
from mindspore.ops import operations as P
from mindspore.ops.primitive import cast


def _check_flag(owner, name, value):
    if not isinstance(value, bool):
        raise user_error(TypeError, "%s:%s" % (owner, name), "%s must be True or False" % name)


class Momentum(Optimizer):
    """See mindspore.nn.Momentum."""

    def __init__(self, params, learning_rate, momentum, weight_decay=0.0, loss_scale=1.0, use_nesterov=False):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check_flag("Momentum", "use_nesterov", use_nesterov)
        self.momentum = hyper_parameter(check_number("Momentum", "momentum", momentum, low=0.0), "momentum")
        self.moments = self.states("moments")
        self.opt = P.ApplyMomentum(use_nesterov=use_nesterov)

    def update(self, gradients):
        gradients, rates = self.prepared(gradients)
        for parameter, moment, rate, gradient in backwards(self.parameters, self.moments, rates, gradients):
            self.opt(parameter, moment, rate, gradient, self.momentum)


class SGD(Optimizer):
    """See mindspore.nn.SGD."""

    def __init__(self, params, learning_rate=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False,
                 loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_number("SGD", "momentum", momentum, low=0.0)
        check_number("SGD", "dampening", dampening, low=0.0)
        _check_flag("SGD", "nesterov", nesterov)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise user_error(ValueError, "SGD:nesterov", "nesterov needs a momentum above 0 and dampening 0")
        if self.dynamic_weight_decay:
            raise user_error(TypeError, "SGD:weight_decay", "weight_decay of SGD must be a number")
        self.momentum = hyper_parameter(float(momentum), "momentum")
        self.accum = self.states("accum")
        self.stat = self.states("stat", init="ones")
        self.opt = P.SGD(float(dampening), 0.0, nesterov)

    def update(self, gradients):
        gradients, rates = self.prepared(gradients)
        for parameter, gradient, rate, accum, stat in backwards(self.parameters, gradients, rates, self.accum,
                                                                self.stat):
            self.opt(parameter, gradient, rate, accum, self.momentum, stat)


class RMSProp(Optimizer):
    """See mindspore.nn.RMSProp."""

    def __init__(self, params, learning_rate=0.1, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False,
                 centered=False, loss_scale=1.0, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check_flag("RMSProp", "centered", centered)
        for name, value in (("decay", decay), ("momentum", momentum), ("epsilon", epsilon)):
            check_number("RMSProp", name, value, low=0.0)
        self.centered = centered
        self.opt = P.ApplyCenteredRMSProp(use_locking) if centered else P.ApplyRMSProp(use_locking)
        if centered:
            self.mg = self.states("mean_grad")
        self.ms = self.states("mean_square", init="ones")
        self.moment = self.states("moment")
        self._numbers = (float(decay), float(momentum), float(epsilon))

    def update(self, gradients):
        gradients, rates = self.prepared(gradients)
        for i, gradient in backwards(range(len(gradients)), gradients):
            states = (self.parameters[i], self.ms[i], self.moment[i])
            if self.centered:
                self.opt(states[0], self.mg[i], *states[1:], gradient, rates[i], *self._numbers)
            else:
                self.opt(*states, cast(rates[i], gradient.dtype), gradient, *self._numbers)


__getattr__ = module_getattr("mindspore.nn")
