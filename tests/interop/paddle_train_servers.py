"""A job of Paddle with parameter servers, without any word of Drydock: two trainers fit y = x w over weights that the servers
hold. Needs a release whose public wheel has parameter servers (2.6.2)."""

import numpy as np
import paddle
from paddle.distributed import fleet
from paddle.distributed.fleet.base import role_maker

paddle.enable_static()
x = paddle.static.data("x", [None, 4], "float32")
y = paddle.static.data("y", [None, 1], "float32")
loss = paddle.mean(paddle.nn.functional.square_error_cost(paddle.static.nn.fc(x, 1), y))
fleet.init(role_maker.PaddleCloudRoleMaker(is_collective=False))
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
strategy.a_sync_configs = {"k_steps": 10}  # each trains by itself and sends differences
fleet.distributed_optimizer(paddle.optimizer.SGD(0.01), strategy).minimize(loss)
if fleet.is_server():
    print("SERVER %d of %d" % (fleet.server_index(), fleet.server_num()), flush=True)
    fleet.init_server()
    fleet.run_server()
else:
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())
    fleet.init_worker()
    random = np.random.default_rng(fleet.worker_index())
    weights = np.array([[1.0], [2.0], [-1.0], [0.5]], np.float32)
    losses = []
    for _ in range(1000):
        batch = random.normal(size=(32, 4)).astype(np.float32)
        losses.append(float(executor.run(feed={"x": batch, "y": batch @ weights}, fetch_list=[loss])[0]))
    print("TRAINER %d of %d" % (fleet.worker_index(), fleet.worker_num()), np.mean(losses[:5]), np.mean(losses[-5:]), flush=True)
    fleet.stop_worker()
