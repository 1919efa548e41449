"""Wrappers that call a network once per part of a batch."""
import contextlib

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._recording import tracing
from mindspore._recording.gradient import phase
from mindspore.common import dtype as mstype
from mindspore.common.lazy_inline import is_shared
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.nn.layer.container import CellList
from mindspore.nn.wrap import _accumulation
from mindspore.ops import operations as P


def _check_count(owner, name, value):
    if isinstance(value, bool) or not isinstance(value, int):
        raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s must be a whole number, not %r"
                         % (name, owner, value))
    if value <= 0:
        raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must be positive, not %d"
                         % (name, owner, value))


class _MicroBatch(Cell):
    """Part `i` of every input, cut along dimension 0."""

    def __init__(self, micro_size):
        super().__init__()
        self.micro_size = micro_size
        self.strided_slice = P.StridedSlice()

    def construct(self, i, *inputs, **kwargs):
        parts = tuple(self._part(i, item) for item in inputs)
        if not kwargs:
            return parts
        return parts, {name: self._part(i, item) for name, item in kwargs.items()}

    def _part(self, i, item):
        if not isinstance(item, Tensor) or item.ndim == 0:
            return item
        rows = item.shape[0]
        if rows % self.micro_size:
            raise user_error(ValueError, "MicroBatch:not-divisible",
                             "a batch of %d rows cannot be cut into %d parts" % (rows, self.micro_size),
                             "choose a batch that is a multiple of the number of parts")
        count = rows // self.micro_size
        begin = (i * count,) + (0,) * (item.ndim - 1)
        end = ((i + 1) * count,) + item.shape[1:]
        return self.strided_slice(item, begin, end, (1,) * item.ndim)


@contextlib.contextmanager
def _scope_of(cell):
    """What is recorded inside belongs to the cell."""
    saved, session.scope = session.scope, cell.get_scope() or session.scope
    try:
        yield
    finally:
        session.scope = saved


def _first_name(network):
    return next((name for name, _ in network.cells_and_names() if name), "")


def _copies_are_known(config, stages, count):
    """Whether the compiler orders calls of a shared graph as the original does. See strategies/passes/schedule/sequence_calls.h."""
    scheduler = config.get("pipeline_scheduler", "1f1b")
    if scheduler == "zero_bubble_v":
        return False
    meets = count >= stages if scheduler == "seqpipe" else stages % 2 == 0 and count % stages == 0
    return not config.get("pipeline_interleave") or not scheduler.startswith("seq") or meets


def _check_shared(network, count):
    """Parts of an interleaved pipeline need the graph of the network as a whole, and so does level 3 of a sharded optimizer: without
    it the original's update gets a gradient of no shape. Source: mindspore/ccsrc/frontend/parallel/pipeline_transformer/
    pipeline_interleave.cc; tried with 2.10."""
    from mindspore import context
    config = context.get_auto_parallel_context("pipeline_config")
    stages = context.get_auto_parallel_context("pipeline_stages")
    if stages == 1 or not context.cuts_operators():
        return
    lazy = any(is_shared(cell) for _, cell in network.cells_and_names())
    if lazy and not _copies_are_known(config, stages, count):
        session.warn_limit("pipeline_scheduler '%s' of these stages and micro batches: copies between the calls of a shared cell are not "
                           "modelled" % config["pipeline_scheduler"])
    if context.optimizer_level() == 3 and not lazy:
        raise user_error(RuntimeError, "PipelineCell:lazy-inline",
                         "optimizer_level 'level3' in a pipeline needs a network whose graph is shared",
                         "write @lazy_inline above __init__ of %s, or use optimizer_level='level1'" % type(network).__name__)
    if config.get("pipeline_interleave") and not lazy:
        raise user_error(RuntimeError, "PipelineCell:interleave",
                         "an interleaved pipeline needs lazy_inline on the constructor of its network",
                         "write @lazy_inline above __init__ of %s, or set pipeline_interleave=False"
                         % type(network).__name__)


def _rolled(count):
    """True where a network is recorded for one micro batch, which stands for all."""
    from mindspore import context
    return count > 1 and context.cuts_operators()


def _one_of(item, count, shared):
    """One of `count` pieces of a tensor along dimension 0; `shared`: one graph is called for all of them."""
    if not isinstance(item, Tensor) or item.ndim == 0:
        return item
    rows = item.shape[0]
    if rows % count:
        fitting = next((more for more in range(count, rows) if rows % more == 0), rows)
        raise user_error(ValueError, "MicroBatch:not-divisible",
                         "a batch of %d rows cannot be cut into %d micro batches" % (rows, count),
                         "cut it into %d micro batches, or choose a batch that is a multiple of %d" % (fitting, count))
    attrs = {"micro_size": count, "shared_graph": True} if shared else {"micro_size": count}
    return tracing.apply("_MicroBatch", [item], attrs)[0]


class _Parts(Cell):
    """Calls the network for every part and adds up the results."""

    def __init__(self, network, count, slice_attrs, add_attr, count_name):
        super().__init__(auto_prefix=False)
        owner = type(self).__name__
        if not isinstance(network, Cell):
            raise user_error(TypeError, owner + ":network-type", "%s takes a Cell, not %s"
                             % (owner, type(network).__name__))
        _check_count(owner, count_name, count)
        self.network = network
        self._count = count
        self.micro_inputs = CellList()
        self.add_list = []
        for i in range(count):
            part = _MicroBatch(count)
            for name, value in slice_attrs.items():
                part.strided_slice.add_prim_attr(name, value)
            self.micro_inputs.append(part)
            self.add_list.append(P.Add().add_prim_attr(add_attr, i))

    def construct(self, *args, **kwargs):
        total = None
        for i in range(self._count):
            inside = self.micro_inputs[i](i, *args, **kwargs)
            inside, named = inside if kwargs else (inside, {})
            result = self.network(*inside, **named)
            total = result if total is None else self.add_list[i](total, result)
        return total


class _MicroBatches(_Parts):
    """Parts that run one after the other and whose gradients are added up: recorded once for all of them."""

    def construct(self, *args, **kwargs):
        if not _rolled(self._count):
            return super().construct(*args, **kwargs)
        with _scope_of(self.micro_inputs[0]):
            shared = any(is_shared(cell) for _, cell in self.network.cells_and_names())
            args = [_one_of(item, self._count, shared) for item in args]
            kwargs = {name: _one_of(item, self._count, shared) for name, item in kwargs.items()}
        session.in_micro_batch = shared  # else the graphs of all are one, and what depends on no piece is there once, as recorded
        try:
            result = self.network(*args, **kwargs)
        finally:
            session.in_micro_batch = False
        return tracing.map_tensors(result, lambda item, name: tracing.apply("_MicroSum", [item], {})[0], "loss")


class PipelineCell(_MicroBatches):
    """See mindspore.nn.PipelineCell: `micro_size` parts run through the stages one after the other."""

    def __init__(self, network, micro_size, stage_config=None, segment_config=None):
        super().__init__(network, micro_size, {"micro_size": micro_size}, "pipeline_end", "micro_size")
        self.micro_size = micro_size
        self._apply("stage_config", stage_config, "pipeline_stage")
        self._apply("segment_config", segment_config, "pipeline_segment")

    def _apply(self, argument, config, attribute):
        """Gives cells what a configuration {name of a cell: number} says; the network itself by its text."""
        config = dict(config or {})
        for name, cell in self.network.cells_and_names():
            if name and name in config:
                setattr(cell, attribute, config.pop(name))
        if config and str(self.network) in config:
            setattr(self.network, attribute, config.pop(str(self.network)))
        if config:
            raise user_error(KeyError, "PipelineCell:" + argument.replace("_", "-"),
                             "the network has no cell named '%s'" % next(iter(config)),
                             "the names are those of cells_and_names(), such as '%s'" % _first_name(self.network))

    def construct(self, *args, **kwargs):
        _check_shared(self.network, self._count)
        return super().construct(*args, **kwargs)


Pipeline = PipelineCell


class MicroBatchInterleaved(_Parts):
    """See mindspore.nn.MicroBatchInterleaved: parts whose computation hides the communication of others."""

    def __init__(self, network, interleave_num=2):
        super().__init__(network, interleave_num,
                         {"strided_slice_flag": True, "interleave_num": interleave_num},
                         "micro_interleaved_add_flag", "interleave_num")
        self.interleave_num = interleave_num


class GradAccumulationCell(_MicroBatches):
    """See mindspore.parallel.nn.GradAccumulation."""

    def __init__(self, network, micro_size):
        super().__init__(network, micro_size, {"grad_accu_num": micro_size}, "forward_end", "micro_size")
        self.micro_size = micro_size

    def construct(self, *args, **kwargs):
        self._check_sharded_optimizer()
        return super().construct(*args, **kwargs)

    def _check_sharded_optimizer(self):
        """Levels 2 and 3 accumulate in graphs that micro batches share (parallel_preprocessor.cc)."""
        from mindspore import context
        level = context.optimizer_level()
        shared = any(is_shared(cell) for _, cell in self.cells_and_names())
        if _rolled(self._count) and level > 1 and not shared:
            raise user_error(RuntimeError, "GradAccumulation:lazy-inline",
                             "optimizer_level 'level%d' with accumulated gradients needs a network whose graph is shared"
                             % level, "write @lazy_inline above __init__ of the network, or use optimizer_level='level1'")


GradAccumulation = GradAccumulationCell


class PipelineGradReducer(Cell):
    """See mindspore.parallel.nn.PipelineGradReducer: the accumulated gradients, scaled, for a training step of one's own."""

    def __init__(self, parameters, scale_sense=1.0, opt_shard=None):
        super().__init__(auto_prefix=False)
        from mindspore import context
        self.accu_grads = _accumulation.accumulators(parameters)
        self.degree = Tensor(1, mstype.float32)
        self.scale_sense = Parameter(Tensor(scale_sense, mstype.float32), name="scale_sense")
        self.scale_sense.role = "hyper"
        self.opt_shard = context.get_auto_parallel_context("enable_parallel_optimizer") if opt_shard is None else opt_shard

    def construct(self, grads):
        with phase("backward"):
            scale = self.scale_sense * self.degree
            unscaled = _accumulation.unscaled_slice if self.opt_shard else _accumulation.unscaled
            return tuple(unscaled(scale, *pair) for pair in zip(grads, self.accu_grads))


__getattr__ = module_getattr("mindspore.nn")
