"""Small substitutes for helper modules of the suite that would drag in unrelated code."""
import os
import sys
import types


class LazyModule(types.ModuleType):
    """A module whose attributes are made on first use."""

    def __init__(self, name, makers):
        super().__init__(name)
        self.__dict__["_makers"] = makers

    def __getattr__(self, name):
        maker = self.__dict__["_makers"].get(name)
        if maker is None:
            raise AttributeError("module '%s' has no attribute '%s'" % (self.__name__, name))
        value = maker()
        setattr(self, name, value)
        return value


def make_virtual_loss():
    """A loss primitive of shape [1] whose gradient has the shape of its input."""
    from mindspore.ops import PrimitiveWithInfer, prim_attr_register  # pylint: disable=import-error

    class VirtualLossGrad(PrimitiveWithInfer):
        """Gradient node: shape and dtype of the forward input."""

        @prim_attr_register
        def __init__(self):
            pass

        def infer_shape(self, *shapes):
            return shapes[0]

        def infer_dtype(self, *dtypes):
            return dtypes[0]

    class VirtualLoss(PrimitiveWithInfer):
        """Forward node: one element, dtype of the input."""

        @prim_attr_register
        def __init__(self):
            pass

        def infer_shape(self, shape):
            return [1]

        def infer_dtype(self, dtype):
            return dtype

        def get_bprop(self):
            grad = VirtualLossGrad()
            return lambda x, out, dout: (grad(x, out, dout),)

    return VirtualLoss


def make_mind_data():
    """A data set without data: the duck type that the tests hand to Model.train."""

    class MindData:
        """Yields tensors of given shapes and numpy types."""

        def __init__(self, size=1, batch_size=None, repeat_count=1, np_types=None,
                     output_shapes=None, input_indexs=()):
            self.size, self.batch, self.repeat = size, batch_size, repeat_count
            self.kinds, self.shapes, self.input_indexs = np_types, output_shapes, input_indexs
            self.queue_name, self.send_epoch_end, self.position = "", True, 0

        def get_dataset_size(self):
            return self.size

        def get_repeat_count(self):
            return self.repeat

        def get_batch_size(self):
            return self.batch

        def output_types(self):
            return self.kinds

        def output_shapes(self):
            return self.shapes

        def device_que(self, send_epoch_end=True, create_data_info_queue=False, queue_name=""):
            self.queue_name = queue_name or "peer-suite-queue"
            self.send_epoch_end = send_epoch_end
            return self

        def create_tuple_iterator(self, num_epochs=-1, do_copy=True):
            return iter(self)

        def get_init_step(self):
            return 0

        def reset(self):
            self.position = 0

        def nothing(self, *args, **kwargs):
            return None

        send = stop_send = release = continue_send = nothing
        get_data_info = get_mbuf_queue_size = get_send_info = nothing

        def __len__(self):
            return self.size

        def __iter__(self):
            return self

        def __next__(self):
            import numpy
            from mindspore import Tensor  # pylint: disable=import-error
            if self.position > self.size:
                raise StopIteration
            self.position += 1
            return tuple(Tensor(numpy.zeros(shape, kind))
                         for shape, kind in zip(self.shapes, self.kinds))

        next = __next__

    return MindData


def make_hccl_modules():
    """hccl_test.manage.api: a process-wide rank and rank count that tests set."""
    package = types.ModuleType("hccl_test")
    package.__path__ = []
    manage = types.ModuleType("hccl_test.manage")
    manage.__path__ = []
    api = types.ModuleType("hccl_test.manage.api")

    class Hccl:
        """Singleton."""

        instance = None

        def __new__(cls):
            if cls.instance is None:
                cls.instance = super().__new__(cls)
                cls.instance.rank_id, cls.instance.rank_size = 0, 1
                cls.instance.local_rank_id = 0
            return cls.instance

    def is_world(group):
        return group is None or any(
            x in group for x in ("hccl_world_group", "nccl_world_group"))

    def get_rank_size(group=None):
        if not is_world(group):
            return int(group.split("-", 1)[0])
        from mindspore.parallel._auto_parallel_context import (  # pylint: disable=import-error
            auto_parallel_context)
        context = auto_parallel_context()
        return context.get_device_num() if context.get_device_num_is_set() else Hccl().rank_size

    def get_rank_id(group=None):
        rank = Hccl().rank_id
        return rank if is_world(group) else rank % get_rank_size(group)

    api.Hccl, api.get_rank_size, api.get_rank_id = Hccl, get_rank_size, get_rank_id
    api.get_local_rank_id = lambda group=None: Hccl().local_rank_id
    api.get_world_rank_from_group_rank = lambda group, rank: rank
    api.get_group_rank_from_world_rank = lambda rank, group: rank
    api.create_group = lambda group, rank_size, rank_ids: None
    api.destroy_group = lambda group: None
    package.manage, manage.api = manage, api
    return {"hccl_test": package, "hccl_test.manage": manage, "hccl_test.manage.api": api}


def install_substitutes(suite):
    """Registers small substitutes; a helper that the checkout has is left alone."""
    # The suite's root package imports an interpreter of operators: not needed here.
    vm = types.ModuleType("tests.vm_impl.vm")
    vm_package = types.ModuleType("tests.vm_impl")
    vm_package.__path__ = []
    vm_package.vm = vm
    sys.modules["tests.vm_impl"] = vm_package
    sys.modules["tests.vm_impl.vm"] = vm
    # Of this module (hundreds of operators in its body) the suite uses one class.
    if not os.path.exists(os.path.join(suite, "tests", "ut", "python", "ops", "__init__.py")):
        ops = types.ModuleType("tests.ut.python.ops")
        ops.__path__ = []
        sys.modules["tests.ut.python.ops"] = ops
    sys.modules["tests.ut.python.ops.test_math_ops"] = LazyModule(
        "tests.ut.python.ops.test_math_ops", {"VirtualLoss": make_virtual_loss})
    if not os.path.exists(os.path.join(suite, "tests", "dataset_mock.py")):
        sys.modules["tests.dataset_mock"] = LazyModule(
            "tests.dataset_mock", {"MindData": make_mind_data})
    if not os.path.exists(os.path.join(
            suite, "tests", "ut", "python", "hccl_test", "manage", "api.py")):
        sys.modules.update(make_hccl_modules())
