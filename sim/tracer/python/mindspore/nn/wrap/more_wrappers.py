"""Rarely used wrappers."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._recording import gradient
from mindspore.nn.cell import Cell
from mindspore.nn.wrap import _accumulation
from mindspore.nn.wrap.cell_wrapper import TrainOneStepCell, WithLossCell
from mindspore.nn.wrap.loss_scale import TrainOneStepWithLossScaleCell
from mindspore.ops import composite as C, operations as P


class _TrainGradAccuStepCell(TrainOneStepCell):
    """A training step whose network adds up the gradients of several micro batches."""

    def __init__(self, network, optimizer, sens=None):
        super().__init__(network, optimizer, sens)
        from mindspore import context
        self.accu_grads = _accumulation.accumulators(self.weights)
        self.opt_shard = context.get_auto_parallel_context("enable_parallel_optimizer")
        if not self.sense_flag:
            counts = [cell.micro_size for _, cell in network.cells_and_names() if hasattr(cell, "micro_size")]
            self.sens = 1 / (counts[0] if counts else 1.0)

    def construct(self, *inputs):
        loss = self.network(*inputs)
        start = self.sens if self.sense_flag else 1.0
        grads = gradient.gradients(gradient.first_output(loss, False), list(self.weights), start)
        with gradient.phase("backward"):
            accumulated = _accumulation.behind(self.accu_grads, grads)
            used = grads if self.opt_shard else accumulated
            if not self.sense_flag:
                used = [_accumulation.scaled(self.sens, one) for one in used]
        self.optimizer(tuple(used))
        with gradient.phase("optimizer"):
            if self.opt_shard:
                _accumulation.clear(accumulated, used)
            else:
                _accumulation.clear(used, grads)
        return loss


class _TrainGradAccuWithLossScaleCell(TrainOneStepWithLossScaleCell):
    """The same with a loss scale."""

    def __init__(self, network, optimizer, scale_sense):
        super().__init__(network, optimizer, scale_sense)
        from mindspore import context
        if not context.cuts_operators():
            raise user_error(ValueError, "_TrainGradAccuWithLossScaleCell:mode",
                             "gradients are accumulated in semi_auto_parallel and auto_parallel only")
        self.accu_grads = _accumulation.accumulators(self.weights)
        self.opt_shard = context.get_auto_parallel_context("enable_parallel_optimizer")

    def scale_back(self, grads):
        unscaled = _accumulation.unscaled_slice if self.opt_shard else _accumulation.unscaled
        return [unscaled(self.scale_sense, *pair) for pair in zip(grads, self.accu_grads)]


class _BroadCastCell(Cell):
    """construct() sends the parameters of rank 0 to all ranks, in float32."""

    def __init__(self, params):
        super().__init__(auto_prefix=False)
        from mindspore.communication import management
        self._params = tuple(params)
        self.broadcast = P.Broadcast(0, management.world_group())

    def construct(self):
        from mindspore.common import dtype as mstype
        from mindspore.ops import functional as F
        sent = self.broadcast(tuple(F.cast(p, mstype.float32) for p in self._params))
        return tuple(F.cast(value, p.dtype) for value, p in zip(sent, self._params))


class ForwardValueAndGrad(Cell):
    """See mindspore.nn.ForwardValueAndGrad: what the network gives, and the gradients by inputs, weights or both."""

    def __init__(self, network, weights=None, get_all=False, get_by_list=False, sens_param=False):
        super().__init__(auto_prefix=False)
        self.network, self.weights = network, weights
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    def construct(self, *inputs):
        grad = C.GradOperation(get_all=self.get_all, get_by_list=self.get_by_list, sens_param=self.sens_param)
        loss = self.network(*(inputs[:-1] if self.sens_param else inputs))
        return loss, grad(self.network, self.weights)(*inputs) if self.get_by_list else grad(self.network)(*inputs)


class WithGradCell(Cell):
    """See mindspore.nn.WithGradCell: the gradients of the loss by the trainable parameters."""

    def __init__(self, network, loss_fn=None, sens=None):
        super().__init__(auto_prefix=False)
        if not isinstance(network, Cell):
            raise user_error(TypeError, "WithGradCell:network", "network of WithGradCell must be a Cell, not %s" % type(network).__name__)
        self.network, self.loss_fn, self.sens = network, loss_fn, sens
        self.weights = tuple(network.trainable_params())
        self.grad = C.GradOperation(get_by_list=True, sens_param=sens is not None)
        self.network_with_loss = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.network_with_loss.set_train()

    def construct(self, *inputs):
        grad = self.grad(self.network_with_loss, self.weights)
        return grad(*inputs) if self.sens is None else grad(*inputs, self.sens)


__getattr__ = module_getattr("mindspore.nn")
