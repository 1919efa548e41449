"""AdaFactor: second moments as one vector per row and one per column. Source: mindspore/python/mindspore/nn/optim/adafactor.py."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.initializer import initializer
from mindspore.common.parameter import Parameter, ParameterTuple, hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.nn.optim.optimizer import Optimizer, check_number
from mindspore.ops import operations as P
from mindspore.ops.primitive import cast, operator


def _state(prefix, parameter, shape, dtype):
    made = Parameter(initializer(0, list(shape), dtype), name=prefix + parameter.name, requires_grad=False)
    made.role, made.origin = "optimizer_state", parameter
    return made


def _flags(**flags):
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise user_error(TypeError, "AdaFactor:" + name, "%s of AdaFactor must be True or False, not %r"
                             % (name, value))


def _inverse(x):
    """1 / x, as two kernels."""
    return operator("Muls")(operator("Reciprocal")(x), other=1.0)


def _mean(x, axis, keep_dims=False):
    """Mean of rows or columns: over the ranks, too, where they are cut."""
    return P.ReduceMean(keep_dims=keep_dims).add_prim_attr("keep_alive", True)(x, axis)


def _mean_square_root(x):
    return P.Sqrt()(P.ReduceMean()(P.Square()(x)))


class AdaFactor(Optimizer):
    """See mindspore.nn.AdaFactor."""

    _support_parallel_optimizer = True

    def __init__(self, params, learning_rate=None, eps=(1e-30, 1e-3), clip_threshold=1.0, decay_rate=0.8, beta1=0.9,
                 weight_decay=0.0, scale_parameter=True, relative_step=True, warmup_init=False, compression=False,
                 loss_scale=1.0):
        _flags(scale_parameter=scale_parameter, relative_step=relative_step, warmup_init=warmup_init,
               compression=compression)
        if learning_rate is not None and relative_step:
            raise user_error(ValueError, "AdaFactor:relative_step", "AdaFactor takes a learning_rate or relative_step, not both")
        if warmup_init and not relative_step:
            raise user_error(ValueError, "AdaFactor:warmup_init", "warmup_init of AdaFactor needs relative_step=True")
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale)
        check_number("AdaFactor", "clip_threshold", clip_threshold, low=0.0)
        check_number("AdaFactor", "decay_rate", decay_rate, low=0.0, high=1.0)
        self._beta1 = check_number("AdaFactor", "beta1", 0.0 if beta1 is None else beta1, low=0.0, high=1.0)
        self.eps = Tensor([float(eps[0]), float(eps[1])], mstype.float32)
        self.clip_threshold = Tensor(float(clip_threshold), mstype.float32)
        self.decay_rate = Tensor(-float(decay_rate), mstype.float32)
        scheduled = isinstance(learning_rate, (Cell, Tensor, list, tuple))
        self.relative_step = relative_step and not scheduled
        self.scale_parameter = scale_parameter and not scheduled
        self.warmup_init, self.compression = warmup_init, compression
        self._decay_of_all = float(weight_decay)
        self.step = hyper_parameter([0.0], "afactor_step")
        self._make_states()

    def _make_states(self):
        """One vector or number per state that the shape does not ask for."""
        if self._beta1 > 0:
            self.exp_avg = self.states("exp_avg")
        rows, columns, squares = [], [], []
        for p in self.parameters:
            many = len(p.shape) > 1
            rows.append(_state("exp_avg_sq_row_", p, p.shape[:-1] if many else (1,), p.dtype))
            columns.append(_state("exp_avg_sq_col_", p, p.shape[:-2] + p.shape[-1:] if many else (1,), p.dtype))
            squares.append(_state("exp_avg_sq_", p, (1,) if many else p.shape,
                                  mstype.float16 if self.compression and not many else p.dtype))
        self.exp_avg_sq_row = ParameterTuple(rows)
        self.exp_avg_sq_col = ParameterTuple(columns)
        self.exp_avg_sq = ParameterTuple(squares)

    def update(self, gradients):
        rates = self.rates_of_step()
        self.count_step()
        step = P.AssignAdd()(self.step, Tensor(1.0, mstype.float32))
        if self.relative_step:
            rates = [self._relative_rate(step)] * len(rates)
        beta2 = 1.0 - P.Pow()(step, self.decay_rate)
        shared = {"beta2": beta2, "rest": 1.0 - beta2, "eps": self._eps(0),
                  "least": self._eps(1) if self.scale_parameter else None}
        for i, gradient in enumerate(gradients):
            self._step(i, gradient, rates[i], shared)

    def _relative_rate(self, step):
        least = operator("Muls")(step, other=1e-6) if self.warmup_init else Tensor(0.01, mstype.float32)
        return P.Minimum()(least, _inverse(P.Sqrt()(operator("Muls")(step, other=1.0))))

    def _eps(self, i):
        return P.StridedSlice(252, 252, 0, 0, 1)(self.eps, (i,), (i + 1,), (1,))

    def _step(self, i, gradient, rate, shared):
        gradient = cast(gradient, mstype.float32) if gradient.dtype is mstype.float16 else gradient
        parameter = self.parameters[i]
        weight = cast(parameter, mstype.float32) if parameter.dtype is mstype.float16 else parameter
        if self.scale_parameter:
            rate = P.Mul()(rate, P.Maximum()(shared["least"], _mean_square_root(weight)))
        square = P.Add()(P.Pow()(gradient, Tensor(2.0, gradient.dtype)), shared["eps"])
        step = P.Mul()(self._inverse_root(i, square, gradient, shared), gradient)
        length = P.Div()(_mean_square_root(step), self.clip_threshold)
        step = P.Mul()(P.Div()(step, P.Maximum()(length, Tensor(1.0, mstype.float32))), rate)
        if self._beta1 > 0:
            step = self._smoothed(self.exp_avg[i], step)
        if self._decay_of_all:
            weight = P.Add()(weight, P.Mul()(P.Mul()(weight, Tensor(-self._decay_of_all, mstype.float32)), rate))
        P.Assign()(parameter, cast(P.Sub()(weight, step), parameter.dtype))

    def _smoothed(self, state, step):
        """The step averaged with those before, which is read back."""
        made = P.Add()(P.Mul()(state, Tensor(self._beta1, mstype.float32)),
                       P.Mul()(step, Tensor(1.0 - self._beta1, mstype.float32)))
        P.Assign()(state, cast(made, state.dtype))
        return state

    @staticmethod
    def _average(state, value, gradient, shared):
        made = P.Add()(P.Mul()(cast(state, gradient.dtype), shared["beta2"]), P.Mul()(value, shared["rest"]))
        P.Assign()(state, cast(made, state.dtype))
        return state

    def _inverse_root(self, i, square, gradient, shared):
        """1 / root of the second moments, which rows and columns stand for."""
        if len(self.parameters[i].shape) < 2:
            return _inverse(P.Sqrt()(self._average(self.exp_avg_sq[i], square, gradient, shared)))
        row = self._average(self.exp_avg_sq_row[i], _mean(square, -1), gradient, shared)
        column = self._average(self.exp_avg_sq_col[i], _mean(square, -2), gradient, shared)
        of_rows = _inverse(P.Sqrt()(P.Div()(row, _mean(row, -1, True))))
        of_columns = _inverse(P.Sqrt()(P.ExpandDims()(column, -2)))
        return P.Mul()(P.ExpandDims()(of_rows, -1), of_columns)


__getattr__ = module_getattr("mindspore.nn")
