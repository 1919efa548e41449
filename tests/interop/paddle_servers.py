"""A job of Paddle with parameter servers, as far as the public wheel goes, which has none: every process lets Paddle say
what it is, by the environment it was given; servers then wait to be ended. As trainers of a real job do, ours stay until
all servers are there (files in the folder READY): the launcher ends servers when the last trainer is gone."""

import os
import time

import paddle
from paddle.distributed import fleet
from paddle.distributed.fleet.base import role_maker

paddle.enable_static()
fleet.init(role_maker.PaddleCloudRoleMaker(is_collective=False))
if fleet.is_server():
    print("SERVER %d of %d" % (fleet.server_index(), fleet.server_num()), flush=True)
    open(os.path.join(os.environ["READY"], str(fleet.server_index())), "w").close()
    time.sleep(600)
else:
    while len(os.listdir(os.environ["READY"])) < len(fleet.server_endpoints()):
        time.sleep(0.1)
    print("TRAINER %d of %d" % (fleet.worker_index(), fleet.worker_num()), len(fleet.server_endpoints()), flush=True)
