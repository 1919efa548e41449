"""Look-ups that add up the rows of a sample field by field."""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.nn.layer.basic import EmbeddingLookup, _positive
from mindspore.ops import operations as P


class MultiFieldEmbeddingLookup(EmbeddingLookup):
    """See mindspore.nn.MultiFieldEmbeddingLookup.

    construct(indices, values, field_ids), all (batch, length); the result is (batch, field_size, embedding_size).
    """

    def __init__(self, vocab_size, embedding_size, field_size, param_init="normal", target="CPU",
                 slice_mode="batch_slice", feature_num_list=None, max_norm=None, sparse=True, operator="SUM",
                 dtype=mstype.float32):
        super().__init__(vocab_size, embedding_size, param_init, target, slice_mode, feature_num_list, max_norm,
                         sparse, dtype=dtype)
        _positive("MultiFieldEmbeddingLookup", field_size=field_size)
        if max_norm is not None:
            raise Unsupported("mindspore.nn.MultiFieldEmbeddingLookup.max_norm")
        sums = {"SUM": "UnsortedSegmentSum", "MEAN": "UnsortedSegmentSum", "MAX": "UnsortedSegmentMax"}
        if operator not in sums:
            raise user_error(ValueError, "MultiFieldEmbeddingLookup:operator",
                             "operator must be 'SUM', 'MEAN' or 'MAX', not %r" % (operator,))
        self.operator = operator
        self.field_size = field_size
        self.mul = P.Mul()
        self.bias_add = P.Add()
        self.merge_op = getattr(P, sums[operator])()
        self.count_op = P.UnsortedSegmentSum()
        self._cut_fields(slice_mode)

    def _cut_fields(self, slice_mode):
        from mindspore import context
        if not context.cuts_operators():
            return
        n = context.device_count()
        # Cuts of (batch, length, embedding) behind the look-up.
        batch, length, columns = {"table_row_slice": (1, 1, 1), "table_column_slice": (1, 1, n),
                                  "batch_slice": (n, 1, 1), "field_slice": (1, n, 1)}[slice_mode]
        self.mul.shard(((batch, length, 1), (batch, length, columns)))
        self.bias_add.shard(((batch, 1), (batch, length)))
        self.merge_op.shard(((batch, length, columns), (batch, length)))
        self.count_op.shard(((batch, length, 1), (batch, length)))

    def construct(self, indices, values, field_ids):
        from mindspore.ops import functional as F
        rows = super().construct(indices)
        batch, length = indices.shape
        segments = batch * self.field_size
        first = Tensor([[i * self.field_size] for i in range(batch)], field_ids.dtype)
        ids = self.bias_add(first, field_ids)
        weights = F.reshape(values, (batch, length, 1))
        merged = self.merge_op(self.mul(weights, rows), ids, segments)
        if self.operator == "MEAN":
            merged = merged / F.maximum(self.count_op(weights, ids, segments), 1e-6)
        return F.reshape(merged, (batch, self.field_size, self.embedding_size))


__getattr__ = module_getattr("mindspore.nn")
