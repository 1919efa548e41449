"""Adam and AdamWeightDecay."""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.parameter import hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.optim.optimizer import Optimizer, check_number
from mindspore.ops import operations as P
from mindspore.ops.primitive import Primitive


def _check_betas(owner, beta1, beta2, eps):
    for name, value in (("beta1", beta1), ("beta2", beta2)):
        check_number(owner, name, value, kinds=(float,))
        if not 0.0 < value < 1.0:
            raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must be in (0, 1), not %s"
                             % (name, owner, value))
    if check_number(owner, "eps", eps) <= 0:
        raise user_error(ValueError, owner + ":eps-range", "eps of %s must be positive" % owner)


class Adam(Optimizer):
    """See mindspore.nn.Adam."""

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, use_locking=False,
                 use_nesterov=False, weight_decay=0.0, loss_scale=1.0, use_amsgrad=False, use_lazy=False,
                 use_offload=False, **kwargs):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _check_betas("Adam", beta1, beta2, eps)
        if use_amsgrad or use_lazy or use_offload:
            raise Unsupported("mindspore.nn.Adam", "use_amsgrad, use_lazy and use_offload of Adam are not supported")
        self.beta1 = Tensor(beta1, mstype.float32)
        self.beta2 = Tensor(beta2, mstype.float32)
        self.eps = Tensor(eps, mstype.float32)
        self.beta1_power = hyper_parameter(1.0, "beta1_power")
        self.beta2_power = hyper_parameter(1.0, "beta2_power")
        self.moment1 = self.states("moment1")
        self.moment2 = self.states("moment2")
        self.opt = P.Adam(use_locking, use_nesterov)
        self.sparse_opt = Primitive("FusedSparseAdam")  # for gradients by rows, which a dry run takes as dense
        self.assign = P.Assign()

    def update(self, gradients):
        beta1_power = self.beta1_power * self.beta1
        self.assign(self.beta1_power, beta1_power)
        beta2_power = self.beta2_power * self.beta2
        self.assign(self.beta2_power, beta2_power)
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            gradient = self.decayed(gradient, parameter, self.weight_decays[i])
            self.opt(parameter, self.moment1[i], self.moment2[i], beta1_power, beta2_power, self.learning_rates[i],
                     self.beta1, self.beta2, self.eps, gradient)


class AdamWeightDecay(Optimizer):
    """See mindspore.nn.AdamWeightDecay."""

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        _check_betas("AdamWeightDecay", beta1, beta2, eps)
        self.beta1 = Tensor(beta1, mstype.float32)
        self.beta2 = Tensor(beta2, mstype.float32)
        self.eps = Tensor(eps, mstype.float32)
        self.moments1 = self.states("adam_m")
        self.moments2 = self.states("adam_v")
        self.fused_opt = P.AdamWeightDecay()

    def update(self, gradients):
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            self.fused_opt(parameter, self.moments1[i], self.moments2[i], self.learning_rates[i], self.beta1,
                           self.beta2, self.eps, Tensor(self.weight_decays[i], mstype.float32), gradient)


__getattr__ = module_getattr("mindspore.nn")
