"""A collective job of Paddle without any word of Drydock: rank + 1, added over all ranks."""

import paddle
import paddle.distributed as dist

dist.init_parallel_env()
total = paddle.to_tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print("SUM %d of %d is %d" % (dist.get_rank(), dist.get_world_size(), total.numpy()[0]), flush=True)
