"""Networks around networks: loss, training step, evaluation."""
import os

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._recording import gradient, tracing
from mindspore.nn.cell import Cell
from mindspore.nn.layer.basic import Identity
from mindspore.nn.wrap.grad_reducer import DistributedGradReducer
from mindspore.ops import composite, operations as P


def _check_cell(owner, name, value):
    if not isinstance(value, Cell):
        raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s must be a Cell, not %s"
                         % (name, owner, type(value).__name__))


class WithLossCell(Cell):
    """See mindspore.nn.WithLossCell."""

    def __init__(self, backbone, loss_fn):
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data, label):
        out = self._backbone(data)
        return self._loss_fn(out, label)

    @property
    def backbone_network(self):
        return self._backbone


class WithEvalCell(Cell):
    """See mindspore.nn.WithEvalCell."""

    def __init__(self, network, loss_fn, add_cast_fp32=False):
        super().__init__(auto_prefix=False)
        self._network = network
        self._loss_fn = loss_fn

    def construct(self, data, label):
        outputs = self._network(data)
        return self._loss_fn(outputs, label), outputs, label


class TrainOneStepCell(Cell):
    """See mindspore.nn.TrainOneStepCell: loss, gradients, reduction, update."""

    def __init__(self, network, optimizer, sens=None, return_grad=False):
        super().__init__(auto_prefix=False)
        _check_cell("TrainOneStepCell", "network", network)
        _check_cell("TrainOneStepCell", "optimizer", optimizer)
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        self.weights = optimizer.parameters
        self.return_grad = return_grad
        if sens == 0:
            raise user_error(ValueError, "TrainOneStepCell:sens", "sens must not be 0")
        self.sense_flag = sens is not None
        self.sens = 1.0 if sens is None else sens
        self.grad = composite.GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = composite.GradOperation(get_by_list=True)
        self._add_reducer()
        self.use_graceful_exit = os.environ.get("MS_ENABLE_GRACEFUL_EXIT") == "1"

    def _add_reducer(self):
        from mindspore import context
        self.parallel_mode = context.get_auto_parallel_context("parallel_mode")
        self.reducer_flag = self.parallel_mode in ("data_parallel", "hybrid_parallel")
        self.grad_reducer = Identity()
        if self.reducer_flag:
            self.mean = context.get_auto_parallel_context("gradients_mean")
            self.degree = context.device_count()
            self.grad_reducer = DistributedGradReducer(self.weights)

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads = gradient.gradients(gradient.first_output(loss, False), list(self.weights), self.sens)
        grads = self.grad_reducer(tuple(grads))
        self.optimizer(grads)
        if not self.return_grad:
            return loss
        return loss, {weight.name: grad for weight, grad in zip(self.weights, grads)}


class VirtualDatasetCell(Cell):
    """Marks the inputs as a data set; in a dry run every input is one."""

    def __init__(self, backbone):
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._virtual_dataset = P._VirtualDataset()

    def construct(self, *inputs):
        if self._virtual_dataset.attrs.get("repeat_dim_direct") == "right":
            tracing.current_program().dataset_repeat_on_right = True
        return self._backbone(*inputs)


_VirtualDatasetCell = VirtualDatasetCellTriple = VirtualDatasetCell


class GetNextSingleOp(Cell):
    """See mindspore.nn.GetNextSingleOp."""

    def __init__(self, dataset_types, dataset_shapes, queue_name):
        super().__init__()
        self.get_next = P.GetNext(dataset_types, dataset_shapes, len(dataset_types), queue_name)

    def construct(self):
        return self.get_next()


def __getattr__(name):
    if name in ("PipelineCell", "MicroBatchInterleaved", "GradAccumulationCell", "_MicroBatch"):
        from mindspore.nn.wrap import micro_batch
        return getattr(micro_batch, name)
    if name in ("_TrainGradAccuStepCell", "_BroadCastCell"):
        from mindspore.nn.wrap import more_wrappers
        return getattr(more_wrappers, name)
    return module_getattr("mindspore.nn")(name)
