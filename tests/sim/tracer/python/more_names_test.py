"""Functions, layers, losses and data sets that scripts meet less often: they record, and results have the shapes that the arithmetic
beside each row gives (numpy's rules, where none is)."""
import unittest

from helper import TraceTest

HEAD = '''
import mindspore as ms
import mindspore.numpy as mnp
from mindspore import dataset as ds, mindrecord, mint, nn, ops, Tensor


def T(*shape, d=ms.float32):
    return Tensor(shape=shape, dtype=d)


m, z, img, row, whole = T(4, 6), T(2, 4, 6), T(2, 3, 16, 16), T(6), T(4, 6, d=ms.int32)
'''

# expression, shape of the (first) result
ROWS = [
    ("ops.atleast_1d(T())", (1,)), ("ops.atleast_2d(row)", (1, 6)), ("ops.atleast_3d(m)", (4, 6, 1)), ("ops.atleast_3d(row)", (1, 6, 1)),
    ("ops.ravel(z)", (48,)), ("ops.swapdims(z, 0, 2)", (6, 4, 2)), ("ops.adjoint(z)", (2, 6, 4)), ("ops.flipud(m)", (4, 6)),
    ("ops.rot90(m, 1, (0, 1))", (6, 4)), ("ops.rot90(m, 2, (0, 1))", (4, 6)), ("ops.rot90(m, -1, (0, 1))", (6, 4)),
    # 6 columns in 4 parts: 2, 2, 1, 1; in 8: six of 1, two of 0; between 1 and 4: 3
    ("ops.tensor_split(m, 4, 1)[1]", (4, 2)), ("ops.tensor_split(m, 4, 1)[2]", (4, 1)), ("ops.tensor_split(m, 8, 1)[7]", (4, 0)),
    ("ops.hsplit(m, (1, 4))[1]", (4, 3)), ("ops.vsplit(m, 2)[0]", (2, 6)), ("ops.dsplit(z, 3)[2]", (2, 4, 2)),
    ("ops.block_diag(m, row, T(2, 3))", (7, 15)),  # 4 + 1 + 2 rows, 6 + 6 + 3 columns
    ("ops.row_stack((m, row))", (5, 6)), ("ops.diagflat(row, -2)", (8, 8)), ("ops.diag_embed(m, 1)", (4, 7, 7)),
    ("ops.diag_embed(m, 0, 0, 2)", (6, 4, 6)), ("ops.aminmax(m)[0]", (6,)), ("ops.aminmax(m, axis=1, keepdims=True)[1]", (4, 1)),
    ("ops.tril_indices(3, 3)", (2, 6)), ("ops.triu_indices(3, 4, 1)", (2, 6)), ("ops.msort(m)", (4, 6)),
    ("ops.mirror_pad(m, Tensor([[1, 1], [2, 0]]), 'REFLECT')", (6, 8)),
    ("ops.space_to_batch_nd(img, [2, 2], [[0, 0], [2, 0]])", (8, 3, 8, 9)), ("ops.batch_to_space_nd(T(8, 3, 8, 9), [2, 2], [[0, 0], [2, 0]])", (2, 3, 16, 16)),
    ("ops.max_unpool2d(T(2, 3, 8, 8), T(2, 3, 8, 8, d=ms.int64), 2)", (2, 3, 16, 16)), ("ops.max_unpool1d(T(3, 8), T(3, 8, d=ms.int64), 2)", (3, 16)),
    ("ops.mv(m, row)", (4,)), ("ops.addmv(T(4), m, row, alpha=2.0)", (4,)), ("ops.addr(m, T(4), row)", (4, 6)),
    ("ops.addbmm(T(4, 5), z, T(2, 6, 5))", (4, 5)), ("ops.inner(m, T(3, 6))", (4, 3)), ("ops.kron(m, T(2, 3))", (8, 18)), ("ops.kron(m, row)", (4, 36)),
    ("ops.vecdot(m, m)", (4,)), ("ops.bidense(m, T(4, 5), T(3, 6, 5), T(3))", (4, 3)), ("ops.cov(m)", (4, 4)), ("ops.vander(row, 3)", (6, 3)),
    ("ops.nansum(z, (0, 2))", (4,)), ("ops.dist(m, m)", ()), ("ops.matrix_norm(z)", (2,)), ("ops.matrix_norm(z, 1, (0, 1), True)", (1, 1, 6)),
    ("ops.exp2(m)", (4, 6)), ("ops.ldexp(m, m)", (4, 6)), ("ops.remainder(m, row)", (4, 6)), ("ops.arctan2(m, row)", (4, 6)),
    ("ops.bitwise_left_shift(whole, 2)", (4, 6)), ("ops.lcm(whole, whole)", (4, 6)), ("ops.rrelu(m)", (4, 6)), ("ops.celu(m)", (4, 6)),
    ("ops.lp_pool2d(img, 2, 2)", (2, 3, 8, 8)), ("ops.lp_pool1d(m, 2, 3)", (4, 2)), ("ops.fills(m, 2)", (4, 6)),
    ("ops.conv3d_transpose(T(2, 3, 5, 5, 5), T(3, 4, 3, 3, 3), stride=2)", (2, 4, 11, 11, 11)),  # 4 * 2 + 3
    ("ops.cosine_embedding_loss(m, m, T(4, d=ms.int32), reduction='none')", (4,)), ("ops.margin_ranking_loss(row, row, row)", ()),
    ("ops.hinge_embedding_loss(m, m, reduction='none')", (4, 6)), ("ops.gaussian_nll_loss(m, m, m)", ()),
    ("ops.multilabel_soft_margin_loss(m, m, reduction='none')", (4,)), ("ops.triplet_margin_loss(m, m, m)", ()),
    ("ops.multi_margin_loss(m, T(4, d=ms.int64), reduction='none')", (4,)), ("ops.slogdet(T(2, 3, 3))[1]", (2,)),
    ("ops.matrix_solve(T(3, 3), T(3, 2))", (3, 2)), ("ops.pdist(m)", (6,)), ("ops.eigvals(T(2, 3, 3))", (2, 3)), ("ops.nanmedian(m, 0)[0]", (6,)),
    ("ops.blackman_window(9)", (9,)), ("ops.laplace((4, 6), Tensor(0.0), Tensor(1.0))", (4, 6)), ("ops.affine_grid(T(2, 2, 3), (2, 3, 8, 9))", (2, 8, 9, 2)),
    ("ops.fractional_max_pool2d(img, 2, output_ratio=0.5)", (2, 3, 8, 8)), ("ops.expand_as(row, m)", (4, 6)), ("ops.type_as(whole, m)", (4, 6)),
    ("Tensor(ops.scalar_add(2, 3))", ()), ("ops.tuple_getitem((m, row), 1)", (6,)), ("ops.vjp(nn.ReLU(), m)[0]", (4, 6)),
    ("ops.vjp(nn.ReLU(), m)[1](m)[0]", (4, 6)),
    # layers; windows of 2 in 16
    ("nn.CELU()(m)", (4, 6)), ("nn.Softmax2d()(img)", (2, 3, 16, 16)), ("nn.ChannelShuffle(3)(img)", (2, 3, 16, 16)), ("nn.RReLU()(m)", (4, 6)),
    ("nn.LPPool2d(2, 2)(img)", (2, 3, 8, 8)), ("nn.MaxUnpool2d(2)(T(2, 3, 8, 8), T(2, 3, 8, 8, d=ms.int64))", (2, 3, 16, 16)),
    ("nn.Moments(axis=(0, 2))(z)[1]", (4,)), ("nn.ImageGradients()(img)[1]", (2, 3, 16, 16)), ("nn.L1Regularizer(0.1)(m)", ()),
    ("nn.Roll([1, 2], [0, 1])(m)", (4, 6)), ("nn.BiDense(6, 5, 3)(m, T(4, 5))", (4, 3)), ("nn.BiDense(6, 5, 3)(z, T(2, 4, 5))", (2, 4, 3)),
    ("nn.TimeDistributed(nn.Dense(6, 3), 1)(z)", (2, 4, 3)), ("nn.TimeDistributed(nn.Dense(6, 3), 1, 0)(z)", (2, 4, 3)),
    ("nn.LRN()(img)", (2, 3, 16, 16)), ("nn.MatrixDiag()(m)", (4, 6, 6)), ("nn.FractionalMaxPool2d(2, 8)(img)", (2, 3, 8, 8)),
    ("nn.MultiLabelSoftMarginLoss()(m, m)", ()), ("nn.TripletMarginLoss()(m, m, m)", ()), ("nn.TripletMarginWithDistanceLoss()(m, m, m)", ()),
    ("nn.MultiMarginLoss(reduction='none')(m, T(4, d=ms.int64))", (4,)), ("nn.MultilabelMarginLoss()(m, whole)", ()),
    ("nn.SampledSoftmaxLoss(3, 9)(T(9, 6), T(9), T(4, 1, d=ms.int32), m)", (4,)),
    ("nn.CTCLoss()(T(7, 2, 5), T(2, 3, d=ms.int32), T(2, d=ms.int32), T(2, d=ms.int32))", ()),
    # numpy
    ("mnp.append(m, m, 1)", (4, 12)), ("mnp.append(m, m)", (48,)), ("mnp.atleast_3d(row)", (1, 6, 1)), ("mnp.rollaxis(z, 2)", (6, 2, 4)),
    ("mnp.rollaxis(z, 0, 2)", (4, 2, 6)), ("mnp.ix_(row, T(3))[1]", (1, 3)), ("mnp.apply_along_axis(lambda x: x[:2], 0, m)", (2, 6)),
    ("mnp.broadcast_arrays(m, row)[1]", (4, 6)), ("mnp.hanning(9)", (9,)), ("mnp.tri(3, 4)", (3, 4)), ("mnp.tril_indices_from(T(3, 3))[0]", (6,)),
    ("mnp.indices((2, 3))[1]", (2, 3)), ("mnp.mgrid[0:2, 0:3]", (2, 2, 3)), ("mnp.ogrid[0:2, 0:3][1]", (1, 3)), ("mnp.vander(row, 3)", (6, 3)),
    ("mnp.cbrt(m)", (4, 6)), ("mnp.fix(m)", (4, 6)), ("mnp.ediff1d(m, to_end=[1.0, 2.0])", (25,)), ("mnp.gradient(m)[1]", (4, 6)),
    ("mnp.nansum(m, 1)", (4,)), ("mnp.nanmean(z, (0, 1), keepdims=True)", (1, 1, 6)), ("mnp.nanvar(m, 0)", (6,)), ("mnp.ptp(m, 0)", (6,)),
    ("mnp.average(m, 1, row)", (4,)), ("mnp.array_equal(m, m)", ()), ("mnp.inner(z, T(3, 6))", (2, 4, 3)), ("mnp.kron(m, T(2, 3))", (8, 18)),
    ("mnp.multi_dot((m, T(6, 2), T(2, 5)))", (4, 5)), ("mnp.multi_dot((row, T(6, 2), T(2)))", ()), ("mnp.cov(m)", (4, 4)),
    ("mnp.matrix_power(T(3, 3), 3)", (3, 3)), ("Tensor(mnp.isscalar(3.0))", ()),
    # mint
    ("mint.addmv(T(4), m, row)", (4,)), ("mint.mv(m, row)", (4,)), ("mint.nansum(z, dim=1)", (2, 6)), ("mint.kthvalue(m, 2)[0]", (4,)),
    ("mint.triangular_solve(T(3, 2), T(3, 3))[0]", (3, 2)), ("mint.nn.MaxUnpool2d(2)(T(2, 3, 8, 8), T(2, 3, 8, 8, d=ms.int64))", (2, 3, 16, 16)),
    # data sets: the documented forms; 60,000 rows on 8 ranks are 7,500
    ("next(iter(ds.KMnistDataset('no-folder', 'train').batch(4)))[0]", (4, 28, 28, 1)),
    ("next(iter(ds.SVHNDataset('no-folder').batch(4)))[0]", (4, 32, 32, 3)), ("next(iter(ds.STL10Dataset('no-folder').batch(4)))[0]", (4, 96, 96, 3)),
    ("next(iter(ds.FakeImageDataset(10, (8, 9, 3)).batch(4)))[0]", (4, 8, 9, 3)),
    ("T(ds.KMnistDataset('no-folder', 'train', num_shards=8, shard_id=0).get_dataset_size())", (7500,)),
]


class MoreNames(TraceTest):
    def test_expressions_have_the_expected_shapes(self):
        source = HEAD
        for i, (expression, _) in enumerate(ROWS):
            source += ("try:\n    made = %s\n    print('row', %d, tuple(made.shape))\nexcept Exception as error:\n    print('row', %d, repr(error))\n"
                       % (expression, i, i))
        source += "nn.ReLU()(m)\n"
        output = self.trace(source, ranks=1).output
        found = {int(line.split()[1]): line.split(None, 2)[2] for line in output.splitlines() if line.startswith("row ")}
        for i, (expression, shape) in enumerate(ROWS):
            with self.subTest(expression):
                self.assertEqual(found.get(i), str(shape))

    def test_mistakes_are_the_scripts(self):
        """Each ends with an error of the script's, not with a limit of ours."""
        for line in ("ops.hsplit(row, 2)", "ops.rot90(m, 1, (0, 0))", "ops.kron(m, 2)", "ops.inner(m, T(3, 5))", "nn.ChannelShuffle(0)",
                     "nn.ChannelShuffle(2)(img)", "nn.Softmax2d()(m)", "nn.Roll([1], [0, 1])", "mnp.rollaxis(2, 0)", "ops.matrix_norm(row)",
                     "ds.CSVDataset('no-file.csv')", "ds.EMnistDataset('no-folder', 'words')", "nn.BiDense(0, 1, 1)",
                     "ops.mirror_pad(m, Tensor([[1, 1], [2, 0]]), 'CIRCLE')", "ops.lp_pool2d(img, 0, 2)"):
            error = self.error(HEAD + line + "\n")
            with self.subTest(line):
                self.assertEqual(error["family"], "user")


if __name__ == "__main__":
    unittest.main()
