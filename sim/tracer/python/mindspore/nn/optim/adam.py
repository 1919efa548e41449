"""Adam and its relatives. Source: mindspore/python/mindspore/nn/optim/adam.py, adamax.py, lazyadam.py (operators of a step)."""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.parameter import hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.optim.optimizer import Optimizer, check_number
from mindspore.ops import operations as P
from mindspore.ops.primitive import Primitive, cast, operator


def _check_betas(owner, beta1, beta2, eps):
    for name, value in (("beta1", beta1), ("beta2", beta2)):
        check_number(owner, name, value, kinds=(float,))
        if not 0.0 < value < 1.0:
            raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must be in (0, 1), not %s"
                             % (name, owner, value))
    if check_number(owner, "eps", eps) <= 0:
        raise user_error(ValueError, owner + ":eps-range", "eps of %s must be positive" % owner)


class _Moments(Optimizer):
    """Optimizers with two moments."""

    def _set_numbers(self, beta1, beta2, eps, shape=()):
        _check_betas(type(self).__name__, beta1, beta2, eps)
        for name, value in (("beta1", beta1), ("beta2", beta2), ("eps", eps)):
            setattr(self, name, Tensor([value] if shape else value, mstype.float32))

    def _next_power(self, power, beta):
        """The power of a beta in this step, which is kept, too."""
        raised = power * beta
        P.Assign()(power, raised)
        return raised


class Adam(_Moments):
    """See mindspore.nn.Adam."""

    _power_shape = ()

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, use_locking=False,
                 use_nesterov=False, weight_decay=0.0, loss_scale=1.0, use_amsgrad=False, **kwargs):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        unknown = set(kwargs) - {"use_lazy", "use_offload"}
        if unknown:
            raise user_error(KeyError, "Adam:arguments", "Adam has no argument %r" % sorted(unknown)[0])
        if kwargs.get("use_offload"):
            raise Unsupported("mindspore.nn.Adam", "use_offload of Adam is not supported")
        self._set_numbers(beta1, beta2, eps)
        one = [1.0] if self._power_shape else 1.0
        self.beta1_power = hyper_parameter(one, "beta1_power")
        self.beta2_power = hyper_parameter(one, "beta2_power")
        self.moment1 = self.states("moment1")
        self.moment2 = self.states("moment2")
        self.use_amsgrad = use_amsgrad
        if use_amsgrad:
            self.vhat = self.states("vhat")
        self.opt = P.ApplyAdamWithAmsgradV2(use_locking) if use_amsgrad else P.Adam(use_locking, use_nesterov)
        self.sparse_opt = Primitive("FusedSparseAdam")  # for gradients by rows, which a dry run takes as dense

    def update(self, gradients):
        gradients, rates = self.prepared(gradients)
        powers = [self._next_power(self.beta1_power, self.beta1), self._next_power(self.beta2_power, self.beta2)]
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            states = [self.moment1[i], self.moment2[i]] + ([self.vhat[i]] if self.use_amsgrad else [])
            self.opt(parameter, *states, *powers, rates[i], self.beta1, self.beta2, self.eps, gradient)


class LazyAdam(Adam):
    """See mindspore.nn.LazyAdam; with dense gradients it is Adam."""

    _power_shape = (1,)

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, use_locking=False,
                 use_nesterov=False, weight_decay=0.0, loss_scale=1.0):
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale)


class AdamWeightDecay(_Moments):
    """See mindspore.nn.AdamWeightDecay."""

    _support_parallel_optimizer = True

    def __init__(self, params, learning_rate=1e-3, beta1=0.9, beta2=0.999, eps=1e-6, weight_decay=0.0):
        super().__init__(learning_rate, params, weight_decay)
        self._set_numbers(beta1, beta2, eps, (1,))
        self.moments1 = self.states("adam_m")
        self.moments2 = self.states("adam_v")
        self.fused_opt = P.AdamWeightDecay()
        if self.is_group:
            self.fused_opt.add_prim_attr("by_groups", True)

    def update(self, gradients):
        decays, rates = self.decays_of_step(), self.rates_of_step()
        self.count_step()
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            self.fused_opt(parameter, self.moments1[i], self.moments2[i], rates[i], self.beta1, self.beta2, self.eps,
                           decays[i] if self.decay_flags[i] else 0.0, cast(gradient, parameter.dtype))


class AdaMax(_Moments):
    """See mindspore.nn.AdaMax."""

    def __init__(self, params, learning_rate=0.001, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0,
                 loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._set_numbers(beta1, beta2, eps)
        self.beta1_power = hyper_parameter([1.0], "beta1_power")
        self.moment1 = self.states("moment1")
        self.moment2 = self.states("moment2")
        self.opt = P.ApplyAdaMax()

    def update(self, gradients):
        gradients, rates = self.prepared(gradients)
        P.Assign()(self.beta1_power, operator("InplaceMul")(self.beta1_power, self.beta1))
        for i, (parameter, gradient) in enumerate(zip(self.parameters, gradients)):
            self.opt(parameter, self.moment1[i], self.moment2[i], self.beta1_power, rates[i], self.beta1, self.beta2,
                     self.eps, gradient)


__getattr__ = module_getattr("mindspore.nn")
