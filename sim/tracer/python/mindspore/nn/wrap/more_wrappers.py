"""Rarely used wrappers."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.cell import Cell
from mindspore.nn.wrap.cell_wrapper import TrainOneStepCell
from mindspore.ops import operations as P


class _TrainGradAccuStepCell(TrainOneStepCell):
    """A training step whose network adds up the gradients of several parts of a batch."""

    def __init__(self, network, optimizer, sens=1.0):
        super().__init__(network, optimizer, sens)


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
        return tuple(F.cast(self.broadcast(F.cast(p, mstype.float32)), p.dtype) for p in self._params)


__getattr__ = module_getattr("mindspore.nn")
