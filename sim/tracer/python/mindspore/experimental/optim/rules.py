"""Optimizers of mindspore.experimental.optim: small operators per parameter, where mint.optim has one fused kernel.

Source: mindspore/python/mindspore/experimental/optim (operators of a step).
"""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.parameter import hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.experimental.optim.optimizer import Optimizer
from mindspore.ops import operations as P
from mindspore.ops.primitive import operator


def _check_betas(owner, betas):
    if not isinstance(betas, tuple) or len(betas) != 2 or not all(0.0 <= beta < 1.0 for beta in betas):
        raise user_error(ValueError, owner + ":betas", "betas of %s must be two numbers in [0, 1), not %r" % (owner, betas))


class AdamW(Optimizer):
    """See mindspore.experimental.optim.AdamW."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False):
        _check_betas("AdamW", betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize))
        self.exp_avg, self.exp_avg_sq = self.states("exp_avg"), self.states("exp_avg_sq")
        self.max_exp_avg_sq = self.states("max_exp_avg_sq")
        self.state_step = hyper_parameter(0, "state_step", mstype.int32)
        self.increase_tensor = Tensor(1, mstype.int32)

    def construct(self, gradients):
        from mindspore.ops import functional as F
        P.AssignAdd()(self.state_step, self.increase_tensor)
        for number, group in enumerate(self.param_groups):
            beta1, beta2 = group["betas"]
            step = F.cast(self.state_step, mstype.float32)
            left = 1 - F.pow(Tensor(beta2, mstype.float32), step)
            size, root = group["lr"] / (1 - F.pow(Tensor(beta1, mstype.float32), step)), F.sqrt(left)
            keep = 1 - group["lr"] * group["weight_decay"]
            rows = zip(*(self.of_group(number, items) for items in (
                self.parameters, tuple(gradients), self.exp_avg, self.exp_avg_sq, self.max_exp_avg_sq)))
            for weight, gradient, first, second, largest in rows:
                gradient = -gradient if group["maximize"] else gradient
                decayed = F.mul(weight, keep)
                F.assign(first, first * beta1 + gradient * (1 - beta1))
                F.assign(second, operator("Addcmul")(second * beta2, gradient, gradient, Tensor(1 - beta2, mstype.float32)))
                spread = second
                if group["amsgrad"]:
                    spread = F.maximum(largest, second)
                    F.assign(largest, spread)
                F.assign(weight, decayed - F.mul(first / (F.sqrt(spread) / root + group["eps"]), size))
        return True


class Adam(Optimizer):
    """See mindspore.experimental.optim.Adam: the kernel of nn.Adam, decay as part of the gradient."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False, *, maximize=False):
        _check_betas("Adam", betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize))
        self.exp_avg, self.exp_avg_sq = self.states("exp_avg"), self.states("exp_avg_sq")
        self.max_exp_avg_sq = self.states("max_exp_avg_sq") if amsgrad else None
        self.state_step = hyper_parameter(0, "state_step", mstype.int32)
        self.increase_tensor = Tensor(1, mstype.int32)

    def construct(self, gradients):
        from mindspore.ops import functional as F
        P.AssignAdd()(self.state_step, self.increase_tensor)
        for number, group in enumerate(self.param_groups):
            beta1, beta2 = group["betas"]
            step = F.cast(self.state_step, mstype.float32)
            powers = [F.pow(Tensor(beta, mstype.float32), step) for beta in (beta1, beta2)]
            largest = self.max_exp_avg_sq if group["amsgrad"] else self.exp_avg_sq
            rows = zip(*(self.of_group(number, items) for items in (
                self.parameters, tuple(gradients), self.exp_avg, self.exp_avg_sq, largest)))
            for weight, gradient, first, second, most in rows:
                gradient = -gradient if group["maximize"] else gradient
                gradient = gradient + weight * group["weight_decay"] if group["weight_decay"] else gradient
                if group["amsgrad"]:
                    operator("ApplyAdamWithAmsgradV2")(weight, first, second, most, *powers, group["lr"], beta1, beta2, group["eps"],
                                                       gradient)
                else:
                    operator("Adam")(weight, first, second, *powers, group["lr"], beta1, beta2, group["eps"], gradient)
        return True


class SGD(Optimizer):
    """See mindspore.experimental.optim.SGD: the kernel of nn.SGD."""

    def __init__(self, params, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, *, maximize=False):
        if nesterov and (momentum <= 0 or dampening != 0):
            raise user_error(ValueError, "SGD:nesterov", "nesterov needs a momentum and no dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                      maximize=maximize))
        self.accum, self.stat = self.states("accum"), self.states("stat")

    def construct(self, gradients):
        for number, group in enumerate(self.param_groups):
            sgd = operator("SGD", dampening=float(group["dampening"]), weight_decay=float(group["weight_decay"]),
                           nesterov=bool(group["nesterov"]))
            rows = zip(*(self.of_group(number, items) for items in (self.parameters, tuple(gradients), self.accum, self.stat)))
            for weight, gradient, kept, stat in rows:
                gradient = -gradient if group["maximize"] else gradient
                sgd(weight, gradient, group["lr"], kept, Tensor(float(group["momentum"]), mstype.float32), stat)
        return True


__getattr__ = module_getattr("mindspore.experimental.optim")
