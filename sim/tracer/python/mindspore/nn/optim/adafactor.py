"""AdaFactor: second moments as one vector per row and one per column."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.initializer import initializer
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.optim.optimizer import Optimizer, check_number


def _state(prefix, parameter, shape, dtype):
    made = Parameter(initializer(0, list(shape), dtype), name=prefix + parameter.name, requires_grad=False)
    made.role, made.origin = "optimizer_state", parameter
    return made


def _flags(**flags):
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise user_error(TypeError, "AdaFactor:" + name, "%s of AdaFactor must be True or False, not %r"
                             % (name, value))


class AdaFactor(Optimizer):
    """See mindspore.nn.AdaFactor; rates that follow the step count are recorded as numbers."""

    def __init__(self, params, learning_rate=None, eps=(1e-30, 1e-3), clip_threshold=1.0, decay_rate=0.8, beta1=0.9,
                 weight_decay=0.0, scale_parameter=True, relative_step=True, warmup_init=False, compression=False,
                 loss_scale=1.0):
        _flags(scale_parameter=scale_parameter, relative_step=relative_step, warmup_init=warmup_init,
               compression=compression)
        if learning_rate is not None and relative_step:
            raise user_error(ValueError, "AdaFactor:relative_step", "AdaFactor takes a learning_rate or relative_step, not both")
        if warmup_init and not relative_step:
            raise user_error(ValueError, "AdaFactor:warmup_init", "warmup_init of AdaFactor needs relative_step=True")
        super().__init__(0.01 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        check_number("AdaFactor", "clip_threshold", clip_threshold, low=0.0)
        check_number("AdaFactor", "decay_rate", decay_rate, low=0.0, high=1.0)
        self.beta1 = check_number("AdaFactor", "beta1", beta1, low=0.0, high=1.0)
        self.eps = (float(eps[0]), float(eps[1]))
        self.clip_threshold, self.scale_parameter = float(clip_threshold), scale_parameter
        self.beta2 = Tensor(decay_rate, mstype.float32)
        self._make_states(mstype.float16 if compression else mstype.float32)

    def _make_states(self, dtype):
        states = []
        for p in self.parameters:
            held = {}
            if self.beta1 > 0:
                held["mean"] = _state("exp_avg_", p, p.shape, dtype)
            if len(p.shape) >= 2:
                held["row"] = _state("exp_avg_sq_row_", p, p.shape[:-1], dtype)
                held["column"] = _state("exp_avg_sq_col_", p, p.shape[:-2] + p.shape[-1:], dtype)
            else:
                held["square"] = _state("exp_avg_sq_", p, p.shape, dtype)
            states.append(held)
        self.__dict__["_held"] = states

    def update(self, gradients):
        for i, gradient in enumerate(gradients):
            self._step(i, self.decayed(gradient, self.parameters[i], 0.0))

    def _step(self, i, gradient):
        from mindspore.ops import functional as F
        weight, held, rate = self.parameters[i], self._held[i], self.learning_rates[i]
        gradient = F.cast(gradient, mstype.float32)
        step = gradient * self._inverse_root(held, F.square(gradient) + self.eps[0])
        step = step / F.maximum(self._length(step) / self.clip_threshold, 1.0)
        if self.scale_parameter:
            rate = rate * F.maximum(self._length(weight), self.eps[1])
        step = step * rate
        if "mean" in held:
            step = self._average(held["mean"], step, self.beta1)
        if self.weight_decays[i]:
            step = step + weight * (rate * self.weight_decays[i])
        F.assign(weight, weight - F.cast(step, weight.dtype))

    @staticmethod
    def _length(x):
        """Root of the mean square."""
        from mindspore.ops import functional as F
        return F.sqrt(F.mean(F.square(x)))

    @staticmethod
    def _average(state, value, beta):
        from mindspore.ops import functional as F
        made = F.cast(state, mstype.float32) * beta + value * (1.0 - beta)
        F.assign(state, F.cast(made, state.dtype))
        return made

    def _inverse_root(self, held, square):
        """1 / root of the second moments, which rows and columns stand for."""
        from mindspore.ops import functional as F
        if "square" in held:
            return F.rsqrt(self._average(held["square"], square, self.beta2))
        row = self._average(held["row"], F.mean(square, -1), self.beta2)
        column = self._average(held["column"], F.mean(square, -2), self.beta2)
        of_rows = F.rsqrt(row / F.mean(row, -1, True))
        return F.expand_dims(of_rows, -1) * F.expand_dims(F.rsqrt(column), -2)


__getattr__ = module_getattr("mindspore.nn")
