"""mindspore.mint.distributed: PyTorch's names over mindspore.communication and the collectives of mindspore.ops."""
from mindspore._drydock.errors import Unsupported
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore.communication import management


class TCPStore:
    """Keys and values that processes share: those of the one process that is traced."""

    def __init__(self, host_name=None, port=None, world_size=None, is_master=False, timeout=300, wait_for_workers=True, **kwargs):
        self._values = {}

    def set(self, key, value):
        self._values[key] = value.encode() if isinstance(value, str) else value

    def get(self, key):
        return self._values.get(key, b"")

    def add(self, key, amount):
        number = int(self._values.get(key, b"0")) + amount
        self._values[key] = str(number).encode()
        return number

    def delete_key(self, key):
        return self._values.pop(key, None) is not None


class CommHandle:
    """What an asynchronous collective would be waited for by."""

    def wait(self):
        """Nothing to wait for."""


def init_process_group(backend="hccl", init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
                       pg_options=None, device_id=None):
    management.init()


def destroy_process_group(group=None):
    if group is not None:
        management.destroy_group(group)


def is_available():
    return True


def is_initialized():
    return session.communication_started


def get_rank(group=None):
    return management.get_rank(group)


def get_world_size(group=None):
    return management.get_group_size(group)


def get_backend(group=None):
    return management.GlobalComm.BACKEND


def get_global_rank(group, group_rank):
    return management.get_world_rank_from_group_rank(group, group_rank)


def get_group_rank(group, global_rank):
    return management.get_group_rank_from_world_rank(global_rank, group)


def get_process_group_ranks(group=None):
    from mindspore._recording import groups
    ranks = management._group_ranks(group)
    return list(range(session.world_size)) if ranks is None else groups.ranks_at(ranks, session.rank_number)


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None):
    ranks = list(range(session.world_size)) if ranks is None else list(ranks)
    name = "group_" + "_".join(str(rank) for rank in ranks)
    management.create_group(name, ranks)
    return name


def barrier(group=None, async_op=False, device_ids=None):
    """Nothing to wait for in a dry run."""


def _group(group):
    return group or management.world_group()


def _handle(async_op):
    return CommHandle() if async_op else None


def _into(target, result):
    """The result takes the place of a tensor of the script, which functions write to."""
    target._node, target._source, target._computed = result._node, None, None


def all_reduce(tensor, op="sum", group=None, async_op=False):
    from mindspore.ops import operations as P
    _into(tensor, P.AllReduce(str(op).lower(), _group(group))(tensor))
    return _handle(async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    from mindspore.ops import operations as P
    _into(output_tensor, P.AllGather(_group(group))(input_tensor))
    return _handle(async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    from mindspore import ops
    from mindspore.ops import operations as P
    parts = ops.split(P.AllGather(_group(group))(tensor), tensor.shape[0], 0)
    for target, part in zip(tensor_list, parts):
        _into(target, part)
    return _handle(async_op)


def reduce_scatter_tensor(output, input, op="sum", group=None, async_op=False):
    from mindspore.ops import operations as P
    _into(output, P.ReduceScatter(str(op).lower(), _group(group))(input))
    return _handle(async_op)


def reduce_scatter(output, input_list, op="sum", group=None, async_op=False):
    """The sum of what all ranks have in this rank's place of the list."""
    from mindspore import ops
    return reduce_scatter_tensor(output, ops.concat(tuple(input_list)), op, group, async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    from mindspore.ops import operations as P
    if output_split_sizes or input_split_sizes:
        raise Unsupported("mindspore.mint.distributed.all_to_all_single.split_sizes", "all_to_all_single() of parts of different size "
                          "is not recorded", "leave the split sizes out where all parts have one size")
    count = management.get_group_size(group)
    _into(output, P.AlltoAll(count, 0, 0, _group(group))(input))
    return _handle(async_op)


def broadcast(tensor, src=0, group=None, async_op=False):
    from mindspore.ops import operations as P
    _into(tensor, P.Broadcast(src, _group(group))((tensor,))[0])
    return _handle(async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    from mindspore import ops
    from mindspore.ops import operations as P
    parts = P.AlltoAll(len(input_tensor_list), 0, 0, _group(group))(ops.concat(input_tensor_list))
    for target, part in zip(output_tensor_list, ops.split(parts, input_tensor_list[0].shape[0], 0)):
        _into(target, part)
    return _handle(async_op)


def send(tensor, dst=0, group=None, tag=0):
    from mindspore.ops import operations as P
    P.Send(tag, dst, group=_group(group))(tensor)


def recv(tensor, src=0, group=None, tag=0):
    from mindspore.ops import operations as P
    _into(tensor, P.Receive(tag, src, list(tensor.shape), tensor.dtype, group=_group(group))(tensor))
    return src


def isend(tensor, dst=0, group=None, tag=0):
    send(tensor, dst, group, tag)
    return CommHandle()


def irecv(tensor, src=0, group=None, tag=0):
    recv(tensor, src, group, tag)
    return CommHandle()


def all_gather_object(object_list, obj, group=None):
    """Every rank has what this one has."""
    for position in range(len(object_list)):
        object_list[position] = obj


def broadcast_object_list(object_list, src=0, group=None, device=None):
    """What this rank has is what the source has."""


__getattr__ = module_getattr(__name__)
