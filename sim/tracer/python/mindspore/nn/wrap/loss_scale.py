"""Training steps that scale the loss. Source: spec tracing-frontend 8 and 11."""
from mindspore._drydock import gradient
from mindspore._drydock.errors import user_error
from mindspore._drydock.gradient import phase
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter, hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.nn.wrap.cell_wrapper import TrainOneStepCell
from mindspore.ops import composite as C, functional as F, operations as P

_grad_scale = C.MultitypeFuncGraph("grad_scale")


@_grad_scale.register("Tensor", "Tensor")
def tensor_grad_scale(scale, grad):
    return grad * F.cast(F.reciprocal(scale), grad.dtype)


class DynamicLossScaleUpdateCell(Cell):
    """See mindspore.nn.DynamicLossScaleUpdateCell; a dry run sees no overflow."""

    def __init__(self, loss_scale_value, scale_factor, scale_window):
        super().__init__()
        self.scale_window = Tensor(scale_window, mstype.int32)
        self.scale_factor = Tensor(scale_factor, mstype.float32)
        self.loss_scale_value = loss_scale_value
        self.cur_iter = Parameter(Tensor(1, mstype.int32), name="current_iterator_step", requires_grad=False)
        self.last_overflow_iter = Parameter(Tensor(0, mstype.int32), name="last_overflow_iterator_step",
                                            requires_grad=False)
        for parameter in (self.cur_iter, self.last_overflow_iter):
            parameter.role = "hyper"

    def get_loss_scale(self):
        return self.loss_scale_value

    def get_update_cell(self):
        return self

    def construct(self, loss_scale, overflow):
        F.assign(self.cur_iter, self.cur_iter + 1)
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """See mindspore.nn.FixedLossScaleUpdateCell."""

    def __init__(self, loss_scale_value):
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self):
        return self.loss_scale_value

    def construct(self, _, overflow):
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """See mindspore.nn.TrainOneStepWithLossScaleCell: a step whose gradients are scaled back before the update.

    The overflow check of the gradients is recorded as no overflow; the update happens.
    """

    def __init__(self, network, optimizer, scale_sense):
        super().__init__(network, optimizer, sens=None)
        self.hyper_map = C.HyperMap()
        self.base = Tensor(1, mstype.float32)
        self.reduce_sum = P.ReduceSum(keep_dims=False)
        self.less_equal = P.LessEqual()
        self.grad = C.GradOperation(get_by_list=True, sens_param=True)
        self.loss_scaling_manager = None
        self.is_distributed = self.reducer_flag
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            self.scale_sense = hyper_parameter(float(scale_sense.get_loss_scale()), "scale_sense")
        elif isinstance(scale_sense, Tensor):
            if scale_sense.shape not in ((), (1,)):
                raise user_error(ValueError, "TrainOneStepWithLossScaleCell:scale-shape",
                                 "scale_sense must have shape () or (1,), not %s" % (scale_sense.shape,))
            self.scale_sense = Parameter(Tensor(shape=scale_sense.shape, dtype=mstype.float32), name="scale_sense",
                                         requires_grad=False)
            self.scale_sense.role = "hyper"
        else:
            raise user_error(TypeError, "TrainOneStepWithLossScaleCell:scale-type",
                             "scale_sense must be a Cell or a Tensor, not %s" % type(scale_sense).__name__)

    def set_sense_scale(self, sens):
        return None

    def start_overflow_check(self, pre_cond, compute_input):
        return False, compute_input

    def get_overflow_status(self, status, compute_output):
        return Tensor(False, mstype.bool_)

    def process_loss_scale(self, overflow):
        if self.loss_scaling_manager is not None:
            return self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow

    def construct(self, *inputs):
        loss = self.network(*inputs)
        first = gradient.first_output(loss, False)
        scaling = F.fill(first.dtype, first.shape, 1.0) * F.cast(self.scale_sense, first.dtype)
        grads = gradient.gradients(first, list(self.weights), scaling)
        with phase("backward"):
            grads = [tensor_grad_scale(self.scale_sense, g) for g in grads]
        grads = self.grad_reducer(tuple(grads))
        self.optimizer(grads)
        return loss, self.get_overflow_status(None, None), self.scale_sense


__getattr__ = module_getattr("mindspore.nn")
