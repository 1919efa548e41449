"""mindspore.mint.optim: one fused kernel per parameter. Source: mindspore/python/mindspore/mint/optim (operators of a step)."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore.common import dtype as mstype
from mindspore.common.parameter import hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.experimental.optim.optimizer import Optimizer
from mindspore.ops import operations as P
from mindspore.ops.primitive import operator


def _check(owner, numbers, flags):
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s must be a number, not %r" % (name, owner, value))
        if value < 0:
            raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must not be negative" % (name, owner))
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s must be True or False" % (name, owner))


class AdamW(Optimizer):
    """See mindspore.mint.optim.AdamW."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False):
        name = type(self).__name__
        _check(name, {"lr": lr, "eps": eps, "weight_decay": weight_decay}, {"amsgrad": amsgrad, "maximize": maximize})
        if not isinstance(betas, tuple) or len(betas) != 2 or not all(0.0 <= beta < 1.0 for beta in betas):
            raise user_error(ValueError, name + ":betas", "betas of %s must be two numbers in [0, 1), not %r" % (name, betas))
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize))
        self.exp_avg = self.states("exp_avg")
        self.exp_avg_sq = self.states("exp_avg_sq")
        self.max_exp_avg_sq = self.states("max_exp_avg_sq") if any(g["amsgrad"] for g in self.param_groups) else None
        self.state_step = hyper_parameter([-1.0], "state_step")
        self.increase_tensor = Tensor(1, mstype.float32)

    def _gradient(self, group, weight, gradient):
        return gradient, group["weight_decay"]

    def construct(self, gradients):
        P.AssignAdd()(self.state_step, self.increase_tensor)
        largest = self.max_exp_avg_sq or self.exp_avg_sq
        for number, group in enumerate(self.param_groups):
            beta1, beta2 = group["betas"]
            rows = zip(*(self.of_group(number, items) for items in
                         (self.parameters, tuple(gradients), self.exp_avg, self.exp_avg_sq, largest)))
            for weight, gradient, first, second, most in rows:
                gradient, decay = self._gradient(group, weight, gradient)
                operator("AdamW")(weight, first, second, most if group["amsgrad"] else second, gradient, self.state_step,
                                  group["lr"], beta1, beta2, decay, group["eps"], group["amsgrad"], group["maximize"])
        return True


class Adam(AdamW):
    """See mindspore.mint.optim.Adam: decay is part of the gradient."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, *, maximize=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def _gradient(self, group, weight, gradient):
        if group["weight_decay"]:
            gradient = operator("AddExt")(gradient, weight, alpha=group["weight_decay"])
        return gradient, 0.0


class SGD(Optimizer):
    """See mindspore.mint.optim.SGD."""

    def __init__(self, params, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False):
        _check("SGD", {"lr": lr, "momentum": momentum, "weight_decay": weight_decay},
               {"nesterov": nesterov, "maximize": maximize})
        if nesterov and (momentum <= 0 or dampening != 0):
            raise user_error(ValueError, "SGD:nesterov", "nesterov needs a momentum and no dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize))
        self.momentum_buf = self.states("momentum_buf")
        self.step_t = hyper_parameter(0, "step_t", mstype.int32)
        self.increase_tensor = Tensor(1, mstype.int32)

    def construct(self, gradients):
        add, assign = operator, P.Assign()
        for number, group in enumerate(self.param_groups):
            momentum = group["momentum"]
            rows = zip(*(self.of_group(number, items) for items in (self.parameters, tuple(gradients), self.momentum_buf)))
            for weight, gradient, kept in rows:
                gradient = -gradient if group["maximize"] else gradient
                if group["weight_decay"]:
                    gradient = add("AddExt")(gradient, weight, alpha=group["weight_decay"])
                if momentum:
                    session.warn_limit("the first step of mint.optim.SGD, which differs from all others, is not recorded")
                    assign(kept, add("AddExt")(kept * momentum, gradient, alpha=1 - group["dampening"]))
                    gradient = add("AddExt")(gradient, kept, alpha=momentum) if group["nesterov"] else kept
                assign(weight, add("AddExt")(weight, gradient, alpha=-float(group["lr"].asnumpy())))
        P.AssignAdd()(self.step_t, self.increase_tensor)
        return True


__getattr__ = module_getattr(__name__)
