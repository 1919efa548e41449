"""Collectives as functions: results are new tensors, in a pair with a handle where MindSpore gives one."""
from mindspore._drydock.lazy import module_getattr


def _group(group):
    from mindspore.communication import management
    return group or management.world_group()


def _with_handle(result, async_op):
    from mindspore.mint.distributed import CommHandle
    return result, CommHandle() if async_op else None


def barrier(group=None):
    """Nothing to wait for in a dry run."""
    return None


def all_reduce(tensor, op="sum", group=None, async_op=False):
    from mindspore.ops import operations as P
    return _with_handle(P.AllReduce(op, _group(group))(tensor), async_op)


def all_gather_into_tensor(tensor, group=None, async_op=False):
    """Records an AllGather along dimension 0."""
    from mindspore.ops import operations as P
    return _with_handle(P.AllGather(_group(group))(tensor), async_op)


def reduce_scatter_tensor(tensor, op="sum", group=None, async_op=False):
    """Records a ReduceScatter along dimension 0."""
    from mindspore.ops import operations as P
    return _with_handle(P.ReduceScatter(op, _group(group))(tensor), async_op)


def broadcast(tensor, src=0, group=None):
    from mindspore.ops import operations as P
    return P.Broadcast(src, _group(group))((tensor,))[0]


def send(tensor, dst=0, group=None, tag=0):
    from mindspore.mint import distributed
    distributed.send(tensor, dst, group, tag)


def recv(tensor, src=0, group=None, tag=0):
    from mindspore.ops import operations as P
    return P.Receive(tag, src, list(tensor.shape), tensor.dtype, group=_group(group))(tensor)


def isend(tensor, dst=0, group=None, tag=0):
    from mindspore.mint import distributed
    return distributed.isend(tensor, dst, group, tag)


def irecv(tensor, src=0, group=None, tag=0):
    return _with_handle(recv(tensor, src, group, tag), True)


def all_to_all_single_with_output_shape(output_shape, tensor, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Equal parts of the tensor for all ranks, one of each back."""
    from mindspore._drydock.errors import Unsupported
    from mindspore.communication import management
    from mindspore.ops import operations as P
    if output_split_sizes or input_split_sizes:
        raise Unsupported("mindspore.communication.comm_func.all_to_all_single_with_output_shape.split_sizes")
    return _with_handle(P.AlltoAll(management.get_group_size(group), 0, 0, _group(group))(tensor), async_op)


__getattr__ = module_getattr(__name__)
