"""Constants of numpy that are too large for memory."""
import unittest

from helper import TraceTest

# Every triangle of every form, small ones taken for large, beside numpy's own.
ALL_TRIANGLES = """
from mindspore._drydock import large_arrays
large_arrays.LEAST_BYTES = 64
import numpy as np
wrong = tried = 0
for shape in ((9, 9), (5, 20), (20, 5)):
    for k in range(-25, 26):
        for name in ("tril", "triu"):
            large = np.full(shape, 3, np.int64)
            view = getattr(np, name)(large, k)
            tried += large.strides == (0, 0) and view.strides == (-8, 8)
            wrong += bool((view != getattr(np, name).__wrapped__(np.array(large), k)).any())
print(tried, wrong)
"""


class LargeArrays(TraceTest):
    def test_a_mask_of_17_gigabytes_is_a_tensor_and_takes_no_memory(self):
        run = self.trace("""
import resource
import numpy as np
from mindspore import Tensor, dtype as mstype
mask = Tensor(np.tril(np.ones(shape=(131072, 131072), dtype=np.int8)), dtype=mstype.float16)
print(mask.shape, mask.dtype, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1000000)
""")
        self.assertEqual(run.output.splitlines()[-1], "(131072, 131072) Float16 True")

    def test_triangles_are_those_of_numpy(self):
        run = self.trace(ALL_TRIANGLES)
        self.assertEqual(run.output.splitlines()[-1], "306 0")  # 3 shapes x 51 diagonals x 2

    def test_smaller_arrays_are_numpys_own(self):
        run = self.trace("""
import numpy as np
import mindspore
a = np.ones((4, 4)); a[0] = 2; b = np.tril(a, 1); b[3] = 5; c = np.full((2,), 7.0); c[0] = 1
print(a.sum(), b[0].tolist(), c.tolist())
""")
        # 4 twos and 12 ones; the first row of the triangle up to column 1.
        self.assertEqual(run.output.splitlines()[-1], "20.0 [2.0, 2.0, 0.0, 0.0] [1.0, 7.0]")


if __name__ == "__main__":
    unittest.main()
