"""ASGD and Rprop, whose steps consist of plain operators. Source: mindspore/python/mindspore/nn/optim/asgd.py, rprop.py.

Both do something else in their first step; recorded is one of the others, which is what a job repeats.
"""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter, ParameterTuple
from mindspore.common.tensor import Tensor
from mindspore.nn.optim.optimizer import Optimizer
from mindspore.ops import operations as P
from mindspore.ops.primitive import cast


def _small(prefix, weight, value):
    parameter = Parameter(Tensor(value, mstype.float32), name=prefix + weight.name, requires_grad=False)
    parameter.role = "hyper"
    return parameter


def _note_first_step(name):
    session.warn_limit("the first step of %s, which differs from all others, is not recorded" % name)


class ASGD(Optimizer):
    """See mindspore.nn.ASGD."""

    def __init__(self, params, learning_rate=0.1, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        for name, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0)):
            if not isinstance(value, float):
                raise user_error(TypeError, "ASGD:%s-type" % name, "%s of ASGD must be a float, not %r" % (name, value))
        self.lambd, self.alpha = lambd, alpha
        self.t0 = Tensor([t0], mstype.float32)
        self.mu = ParameterTuple(_small("mu_", p, 1.0) for p in self.parameters)
        self.eta = ParameterTuple(_small("eta_", p, 0.0) for p in self.parameters)
        self.ax = self.states("ax_")

    def update(self, gradients):
        _note_first_step("ASGD")
        gradients, rates = self.prepared(gradients)
        assign, squeeze = P.Assign(), P.Squeeze()
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            rate, eta, average = squeeze(rates[i]), self.eta[i], self.ax[i]
            weight = cast(parameter, mstype.float32)
            weight = weight * (1.0 - self.lambd * eta) - eta * cast(gradient, mstype.float32)
            assign(parameter, cast(weight, parameter.dtype))
            assign(average, parameter)
            step = cast(squeeze(self.global_step), mstype.float32)
            assign(eta, rate / P.Pow()(1.0 + self.lambd * rate * step, self.alpha))
            assign(self.mu[i], 1.0 / squeeze(P.Maximum()(1.0, step - self.t0)))


class Rprop(Optimizer):
    """See mindspore.nn.Rprop."""

    def __init__(self, params, learning_rate=0.1, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0), weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        for name, pair in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(pair, tuple):
                raise user_error(TypeError, "Rprop:%s-type" % name, "%s of Rprop must be a tuple, not %r" % (name, pair))
            if len(pair) != 2:
                raise user_error(ValueError, "Rprop:%s-length" % name, "%s of Rprop must hold two numbers" % name)
        if not 0.0 < etas[0] < 1.0 < etas[1] or step_sizes[0] > step_sizes[1]:
            raise user_error(ValueError, "Rprop:range", "Rprop needs 0 < etas[0] < 1 < etas[1] and step_sizes in ascending order")
        self.etas, self.step_sizes = etas, step_sizes
        self.prev = self.states("prev")
        self.step_size = self.states("step_size")

    def update(self, gradients):
        from mindspore.ops import functional as F
        _note_first_step("Rprop")
        gradients, _ = self.prepared(gradients)
        select, sign_of, assign = P.Select(), P.Sign(), P.Assign()
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            kind = parameter.dtype if parameter.dtype.name in ("float16", "bfloat16") else mstype.float32
            step, gradient, before = (cast(x, kind) for x in (self.step_size[i], gradient, self.prev[i]))
            sign = sign_of(gradient * before)
            for found, factor in ((sign > 0, self.etas[1]), (sign < 0, self.etas[0]), (sign == 0, 1.0)):
                sign = select(found, F.fill(kind, sign.shape, factor), sign)
            step = F.clip_by_value(step * sign, self.step_sizes[0], self.step_sizes[1])
            gradient = select(sign == self.etas[0], F.fill(kind, sign.shape, 0.0), gradient)
            weight = cast(parameter, kind) - sign_of(gradient) * step
            for target, value in ((parameter, weight), (self.prev[i], gradient), (self.step_size[i], step)):
                assign(target, cast(value, target.dtype))


__getattr__ = module_getattr("mindspore.nn")
