"""Training steps that scale the loss."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._recording import branches, gradient
from mindspore._recording.gradient import phase
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter, hyper_parameter
from mindspore.common.tensor import Tensor
from mindspore.context import get_context
from mindspore.nn.cell import Cell
from mindspore.nn.wrap.cell_wrapper import TrainOneStepCell
from mindspore.ops import composite as C, functional as F, operations as P
from mindspore.ops.primitive import cast

_grad_scale = C.MultitypeFuncGraph("grad_scale")


@_grad_scale.register("Tensor", "Tensor")
def tensor_grad_scale(scale, grad):
    return grad * cast(P.Reciprocal()(scale), grad.dtype)


grad_scale = _grad_scale
shard_grad_scale = C.MultitypeFuncGraph("shard_grad_scale")


@shard_grad_scale.register("Tensor", "Tensor", "Tensor")
def _scale_part(scale, grad, accu_grad):
    """The part of a gradient that a shard of the optimizer has summed; the sum starts anew."""
    scaled = cast(grad, mstype.float32) * cast(P.Reciprocal()(scale), mstype.float32)
    return F.depend(scaled, P.Assign()(accu_grad, P.ZerosLike()(accu_grad)))


class DynamicLossScaleUpdateCell(Cell):
    """See mindspore.nn.DynamicLossScaleUpdateCell."""

    def __init__(self, loss_scale_value, scale_factor, scale_window):
        super().__init__()
        self.scale_window = Tensor(scale_window, mstype.int32)
        self.scale_factor = Tensor(scale_factor, mstype.float32)
        self.shrink = Tensor(1.0 / scale_factor, mstype.float32)
        self.loss_scale_value = loss_scale_value
        self.cur_iter = Parameter(Tensor(1, mstype.int32), name="current_iterator_step")
        self.last_overflow_iter = Parameter(Tensor(0, mstype.int32), name="last_overflow_iterator_step")
        for parameter in (self.cur_iter, self.last_overflow_iter):
            parameter.role = "hyper"
        self.select, self.max, self.less_equal = P.Select(), P.Maximum(), P.LessEqual()
        self.logic_and, self.logic_not, self.logic_or = P.LogicalAnd(), P.LogicalNot(), P.LogicalOr()
        self.minimum_loss_scale = Tensor(1.0, mstype.float32)

    def get_loss_scale(self):
        return self.loss_scale_value

    def get_update_cell(self):
        return self

    def construct(self, loss_scale, overflow):
        if loss_scale.shape:
            overflow = F.reshape(overflow, loss_scale.shape)
        smaller = self.select(overflow, self.max(loss_scale * self.shrink, self.minimum_loss_scale), loss_scale)
        larger_now = self.less_equal(self.scale_window, self.cur_iter - self.last_overflow_iter)
        last = self.select(self.logic_or(overflow, larger_now), self.cur_iter, self.last_overflow_iter)
        last = F.assign(self.last_overflow_iter, last)
        grows = self.logic_and(larger_now, self.logic_not(overflow))
        F.assign(loss_scale, self.select(grows, smaller * self.scale_factor, smaller))
        F.assign(self.cur_iter, F.depend(self.cur_iter + 1, last))
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

    The flag of the device tells whether a result overflowed; it is read, cleared, and added up over all processes, behind the
    gradients. Nothing overflows in a dry run: the update happens. With one thread of the runtime it is a graph of its own
    (IsEnableControlFlowInline in mindspore/ccsrc/backend/ms_backend/ms_backend_base.cc).
    """

    def __init__(self, network, optimizer, scale_sense):
        super().__init__(network, optimizer, sens=None)
        self.hyper_map = C.HyperMap()
        self.base = Tensor(1, mstype.float32)
        self.base0 = Tensor(0, mstype.int32)
        self.reduce_sum, self.reduce_all = P.ReduceSum(keep_dims=False), P.ReduceAll(keep_dims=False)
        self.less_equal, self.equal, self.logic_not = P.LessEqual(), P.Equal(), P.LogicalNot()
        self.is_distributed = self.parallel_mode != "stand_alone"
        self.allreduce = P.AllReduce() if self.is_distributed else None
        self.loss_scaling_manager = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            self.scale_sense = hyper_parameter(float(scale_sense.get_loss_scale()), "scale_sense")
        elif isinstance(scale_sense, Tensor):
            if scale_sense.shape not in ((), (1,)):
                raise user_error(ValueError, "TrainOneStepWithLossScaleCell:scale-shape",
                                 "scale_sense must have shape () or (1,), not %s" % (scale_sense.shape,))
            self.scale_sense = Parameter(Tensor(shape=scale_sense.shape, dtype=mstype.float32), name="scale_sense")
            self.scale_sense.role = "hyper"
        else:
            raise user_error(TypeError, "TrainOneStepWithLossScaleCell:scale-type",
                             "scale_sense must be a Cell or a Tensor, not %s" % type(scale_sense).__name__)

    def set_sense_scale(self, sens):
        return None

    def start_overflow_check(self, pre_cond, compute_input):
        return _status(), compute_input  # the flag of the device is cleared where it was read

    def get_overflow_status(self, status, compute_output):
        status = F.depend(_status() if status is None else status, compute_output)
        found = P.NPUGetFloatStatusV2()(status)
        if self.is_distributed:
            flag = self.equal(self.base0, self.allreduce(found))
            flag = F.depend(flag, P.NPUClearFloatStatusV2()(F.depend(status, flag)))
        else:
            found = F.depend(found, P.NPUClearFloatStatusV2()(F.depend(status, found)))
            flag = self.equal(self.base0, found)
        return self.logic_not(self.reduce_all(flag))

    def process_loss_scale(self, overflow):
        if self.loss_scaling_manager is not None:
            return self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow

    def scale_back(self, grads):
        scale = P.Reciprocal()(self.scale_sense)
        return [grad * cast(scale, grad.dtype) for grad in grads]

    def construct(self, *inputs):
        loss = self.network(*inputs)
        first = gradient.first_output(loss, False)
        grads = gradient.gradients(first, list(self.weights), _as_first(self.scale_sense, first))
        with phase("backward"):
            grads = self.scale_back(grads)
        grads = self.grad_reducer(tuple(grads))
        cond = self.get_overflow_status(_status(), grads)
        overflow = self.process_loss_scale(cond)
        if get_context("runtime_num_threads") > 1:  # the branch is part of the one graph
            self.optimizer(grads)
        else:
            branches.guarded(overflow, lambda: self.optimizer(grads))
        return loss, cond, self.scale_sense


def _status():
    """What the kernels of the overflow flag are called with."""
    return Tensor([0] * 8, mstype.int32)


def _as_first(scale, first):
    """The scale in the form of the first output, with which the backward part starts."""
    scale = cast(scale, first.dtype)
    return scale if scale.shape == first.shape else F.broadcast_to(scale, first.shape)


__getattr__ = module_getattr("mindspore.nn")
