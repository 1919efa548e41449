"""Exchanges between neighbours that the script chooses: checked here, recorded with the shapes they state.

The rows that each rank sends are its own business; all that a dry run follows is what comes out.
"""
from mindspore._drydock.errors import user_error
from mindspore._recording import tracing
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops.primitive import Primitive, attr_value

# Neighbours clockwise from the top; which of them lie above, below, left and right.
_SIDES = ((7, 0, 1), (3, 4, 5), (5, 6, 7), (1, 2, 3))
_NEIGHBOURS, _LENGTHS = 8, 4


class _Exchange(Primitive):
    """Keeps its arguments; they are checked when it is called, as in the reference."""

    def __init__(self, **settings):
        super().__init__(type(self).__name__)
        self.attrs.update(settings)

    def _need(self, kind, name, what, condition):
        if not condition:
            raise user_error(kind, "%s:%s" % (self.name, name), "%s of '%s' must be %s, not %r"
                             % (name, self.name, what, self.attrs[name]))

    def _list(self, name, kinds=(list,)):
        self._need(TypeError, name, "a %s" % " or ".join(k.__name__ for k in kinds), isinstance(self.attrs[name], kinds))
        return self.attrs[name]

    def _numbers(self, name):
        values = self._list(name)
        self._need(TypeError, name, "a list of whole numbers", all(type(value) is int for value in values))
        return values

    def _ranks(self, name):
        from mindspore import context
        ranks = self._numbers(name)
        real = [rank for rank in ranks if rank != -1]
        self._need(ValueError, name, "a list of different ranks below the number of ranks, or -1",
                   len(set(real)) == len(real) and all(0 <= rank < max(context.device_count(), 1) for rank in real))
        return ranks

    def _check_group(self):
        self._need(TypeError, "group", "a string", isinstance(self.attrs["group"], str))

    def _record(self, operands, types):
        attrs = {name: attr_value(value) for name, value in self.attrs.items()}
        return tracing.apply(self.name + "Explicit", operands, attrs, self, types=types)


class NeighborExchange(_Exchange):
    """See mindspore.ops.NeighborExchange."""

    def __init__(self, send_rank_ids, recv_rank_ids, recv_shapes, send_shapes, recv_type, group="hccl_world_group"):
        super().__init__(send_rank_ids=send_rank_ids, recv_rank_ids=recv_rank_ids, recv_shapes=recv_shapes,
                         send_shapes=send_shapes, recv_type=recv_type, group=group)

    def __call__(self, *args):
        inputs = tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        senders, receivers = self._numbers("send_rank_ids"), self._numbers("recv_rank_ids")
        shapes, sent = self._list("recv_shapes", (tuple,)), self._list("send_shapes", (tuple,))
        self._need(TypeError, "recv_type", "an element type", isinstance(self.attrs["recv_type"], mstype.Type))
        self._check_group()
        self._need(ValueError, "recv_shapes", "one shape per rank received from", len(shapes) == len(receivers))
        self._need(ValueError, "send_shapes", "one shape per rank sent to", len(sent) == len(senders))
        found = [list(t.shape) for t in inputs if isinstance(t, Tensor)]
        if found != [list(shape) for shape in sent]:
            raise user_error(ValueError, "NeighborExchange:send-shapes", "'NeighborExchange' got tensors of shapes %s, "
                             "send_shapes says %s" % (found, list(sent)))
        types = [(tuple(shape), self.attrs["recv_type"]) for shape in shapes]
        return tuple(self._record(list(inputs), types)) if types else ()


class NeighborExchangeV2(_Exchange):
    """See mindspore.ops.NeighborExchangeV2."""

    def __init__(self, send_rank_ids, send_lens, recv_rank_ids, recv_lens, data_format, group="hccl_world_group"):
        super().__init__(send_rank_ids=send_rank_ids, send_lens=send_lens, recv_rank_ids=recv_rank_ids,
                         recv_lens=recv_lens, data_format=data_format, group=group)

    def __call__(self, *tensors):
        x = tensors[0] if len(tensors) == 1 else None
        ranks = {}
        for kind in ("send", "recv"):
            ranks[kind] = self._ranks(kind + "_rank_ids")
            self._need(ValueError, kind + "_rank_ids", "a list of 8 ranks", len(ranks[kind]) == _NEIGHBOURS)
            lengths = self._numbers(kind + "_lens")
            self._need(ValueError, kind + "_lens", "a list of 4 lengths >= 0",
                       len(lengths) == _LENGTHS and all(length >= 0 for length in lengths))
        self._need(ValueError, "data_format", "'NCHW'", self.attrs["data_format"] == "NCHW")
        self._check_group()
        if not isinstance(x, Tensor) or x.ndim != 4:
            raise user_error(ValueError, "NeighborExchangeV2:rank", "'NeighborExchangeV2' takes one tensor of 4 dimensions")
        rows, columns = x.shape[2:]
        send = self.attrs["send_lens"]
        if max(send[:2]) > rows or max(send[2:]) > columns:
            raise user_error(ValueError, "NeighborExchangeV2:send_lens", "send_lens %s is more than the tensor of shape %s has"
                             % (send, x.shape))
        grown = [length if any(ranks["recv"][i] != -1 for i in side) else 0
                 for length, side in zip(self.attrs["recv_lens"], _SIDES)]
        shape = x.shape[:2] + (rows + grown[0] + grown[1], columns + grown[2] + grown[3])
        return self._record([x], [(shape, x.dtype)])[0]
