"""Gradients summed over several steps; the optimizer runs in the last of them. The step that is recorded is the one that updates."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._recording.gradient import phase
from mindspore.nn.cell import Cell
from mindspore.ops import composite as C, functional as F, operations as P

gradient_accumulation_op = C.MultitypeFuncGraph("gradient_accumulation_op")
gradient_clear_op = C.MultitypeFuncGraph("gradient_clear_op")


@gradient_accumulation_op.register("Int", "Tensor", "Tensor")
def _add(accumulation_step, cumulative_grad, grad):
    return P.AssignAdd()(cumulative_grad, grad / accumulation_step)


@gradient_clear_op.register("Tensor")
def _clear(cumulative_grad):
    return P.Assign()(cumulative_grad, P.ZerosLike()(cumulative_grad))


class GradientAccumulation(Cell):
    """See mindspore.boost.GradientAccumulation."""

    def __init__(self, max_accumulation_step, optimizer):
        super().__init__(auto_prefix=False)
        if isinstance(max_accumulation_step, bool) or not isinstance(max_accumulation_step, int) or max_accumulation_step < 1:
            raise user_error(ValueError, "GradientAccumulation:steps", "max_accumulation_step must be a whole number of at least 1, not %r"
                             % (max_accumulation_step,))
        self._steps, self.optimizer, self.weights = max_accumulation_step, optimizer, optimizer.parameters
        self._grad_accumulation = self.weights.clone(prefix="grad_accumulation", init="zeros")

    def construct(self, loss, grads):
        for total, grad in zip(self._grad_accumulation, grads):
            loss = F.depend(loss, gradient_accumulation_op(self._steps, total, grad))
        with phase("optimizer"):
            loss = F.depend(loss, self.optimizer(self._grad_accumulation))
            for total in self._grad_accumulation:
                loss = F.depend(loss, gradient_clear_op(total))
        return loss


__getattr__ = module_getattr("mindspore.boost")
