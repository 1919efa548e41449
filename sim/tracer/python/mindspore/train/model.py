"""Model: training, evaluation and prediction with one call.

A network that is wrapped with AutoParallel brings its parallel settings: they hold while the Model is made and in each of
its calls. Source: mindspore/python/mindspore/train/model.py.
"""
import functools

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._recording import tracing
from mindspore.common.tensor import Tensor
from mindspore.context import ParallelMode  # noqa: F401
from mindspore.nn.cell import Cell
from mindspore.nn.wrap.cell_wrapper import WithEvalCell, WithLossCell
from mindspore.parallel._utils import parallel_settings
from mindspore.train import amp
from mindspore.train.callback import RunContext, callback_list


_NOT_GIVEN = object()


def _with_settings(method):
    """The parallel settings of the network hold in the method."""
    @functools.wraps(method)
    def inside(self, *args, **kwargs):
        with parallel_settings(self._network):
            return method(self, *args, **kwargs)

    return inside


class Model:
    """See mindspore.train.Model."""

    def __init__(self, network, loss_fn=None, optimizer=None, metrics=None, eval_network=None, eval_indexes=None,
                 amp_level="O0", boost_level="O0", loss_scale_manager=_NOT_GIVEN, **kwargs):
        if not isinstance(network, Cell):
            raise user_error(TypeError, "Model:network-type", "Model() takes a Cell, not %s" % type(network).__name__)
        for name, value in (("loss_fn", loss_fn), ("optimizer", optimizer), ("eval_network", eval_network)):
            if value is not None and not isinstance(value, Cell) and not callable(value):
                raise user_error(TypeError, "Model:%s-type" % name, "%s of Model must be a Cell" % name)
        amp._check_level("Model", amp_level)
        if optimizer is None and amp_level != "O0":
            raise user_error(ValueError, "Model:amp_level", "amp_level needs an optimizer")
        self._amp = {"level": amp_level}
        if loss_scale_manager is not _NOT_GIVEN:
            self._amp["loss_scale_manager"] = loss_scale_manager
        if kwargs.get("keep_batchnorm_fp32") is not None:
            self._amp["keep_batchnorm_fp32"] = kwargs["keep_batchnorm_fp32"]
        self._network = network
        self._loss_fn = loss_fn
        self._optimizer = optimizer
        self._metrics = metrics
        with parallel_settings(network):
            self._parallel_mode = _parallel_mode()
            self._train_network = self._build_train_network()
        self._train_network.__dict__["_jit_config_dict"] = network.jit_config_dict
        self._eval_network = eval_network
        self._predict_network = network

    def _build_train_network(self):
        network = self._network
        if self._optimizer is not None:
            return amp.build_train_network(network, self._optimizer, self._loss_fn, **self._amp)
        return network if self._loss_fn is None else WithLossCell(network, self._loss_fn)

    @property
    def train_network(self):
        return self._train_network

    @property
    def predict_network(self):
        return self._predict_network

    @property
    def eval_network(self):
        return self._eval_network

    @_with_settings
    def train(self, epoch, train_dataset, callbacks=None, dataset_sink_mode=False, sink_size=-1, initial_epoch=0):
        """One step of one epoch; callbacks are called as in a job of one step."""
        _check_count("epoch", epoch)
        _check_flag("dataset_sink_mode", dataset_sink_mode)
        _check_count("sink_size", sink_size, allow=-1)
        if isinstance(initial_epoch, bool) or not isinstance(initial_epoch, int) or not 0 <= initial_epoch < epoch:
            raise user_error(ValueError, "Model:initial_epoch", "initial_epoch must be from 0 to epoch - 1, not %r"
                             % (initial_epoch,))
        context = RunContext(_CallbackParameters(self, epoch, train_dataset, dataset_sink_mode))
        on_device = _device_target() != "CPU"  # a CPU has no queue of its own
        sinks = dataset_sink_mode and on_device
        # With a queue, what is left of a run is one launch per epoch.
        steps = (epoch - initial_epoch) * (1 if sinks else context.original_args().batch_num)
        with callback_list(callbacks) as hooks:
            self._train(context, hooks, (steps, sinks))

    def _train(self, context, hooks, launches):
        """The first step, which stands for all of them: (how many launches that are, whether its rows come from a queue)."""
        parameters = context.original_args()
        hooks.call("on_train_begin", context)
        hooks.call("on_train_epoch_begin", context)
        self._train_network.set_train()
        for row in _rows(parameters.train_dataset):
            row = _as_tuple(row)
            self._check_columns(row)
            hooks.call("on_train_step_begin", context)
            with tracing.standing_for(*launches):
                parameters.net_outputs = self._train_network(*row)
            hooks.call("on_train_step_end", context)
            break
        else:
            raise user_error(ValueError, "Model:empty-dataset", "the data set of Model.train() has no rows")
        hooks.call("on_train_epoch_end", context)
        hooks.call("on_train_end", context)

    @_with_settings
    def fit(self, epoch, train_dataset, valid_dataset=None, valid_frequency=1, callbacks=None,
            dataset_sink_mode=False, valid_dataset_sink_mode=False, sink_size=-1, initial_epoch=0):
        self.train(epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch)
        if valid_dataset is not None:
            self.eval(valid_dataset, callbacks, valid_dataset_sink_mode)

    @_with_settings
    def eval(self, valid_dataset, callbacks=None, dataset_sink_mode=False):
        """One step of the evaluation network; metrics are zero."""
        if self._eval_network is None:
            if self._loss_fn is None:
                raise user_error(ValueError, "Model:no-eval-network", "Model.eval() needs a loss_fn or an eval_network")
            self._eval_network = WithEvalCell(self._network, self._loss_fn)
        context = RunContext(_CallbackParameters(self, 1, valid_dataset, dataset_sink_mode))
        with callback_list(callbacks) as hooks:
            return self._eval(context, hooks)

    def _eval(self, context, hooks):
        parameters = context.original_args()
        hooks.call("on_eval_begin", context)
        hooks.call("on_eval_epoch_begin", context)
        self._eval_network.set_train(False)
        for row in _rows(parameters.train_dataset):
            hooks.call("on_eval_step_begin", context)
            parameters.net_outputs = self._eval_network(*_as_tuple(row))
            hooks.call("on_eval_step_end", context)
            break
        self._eval_network.set_train(True)
        names = self._metrics if isinstance(self._metrics, (set, list, tuple, dict)) else []
        found = parameters.metrics = {name: 0.0 for name in sorted(names, key=str)}
        hooks.call("on_eval_epoch_end", context)
        hooks.call("on_eval_end", context)
        return found

    @_with_settings
    def predict(self, *predict_data, **kwargs):
        self._predict_network.set_train(False)
        return self._predict_network(*predict_data)

    def build(self, train_dataset=None, valid_dataset=None, sink_size=-1, epoch=1, sink_mode=True):
        if train_dataset is not None:
            self.train(epoch, train_dataset, dataset_sink_mode=sink_mode, sink_size=sink_size)
        if valid_dataset is not None:
            self.eval(valid_dataset, dataset_sink_mode=sink_mode)

    @_with_settings
    def infer_train_layout(self, train_dataset, dataset_sink_mode=True, sink_size=-1):
        self.train(1, train_dataset)
        return self._train_network.parameter_layout_dict

    @_with_settings
    def infer_predict_layout(self, *predict_data, **kwargs):
        from mindspore import context
        if not context.cuts_operators():
            raise user_error(RuntimeError, "infer_predict_layout:mode", "infer_predict_layout() asks how parameters are cut, which is decided "
                             "in the modes semi_auto_parallel and auto_parallel only", "set parallel_mode before it")
        self.predict(*predict_data)
        return self._predict_network.parameter_layout_dict

    def _check_columns(self, row):
        if self._loss_fn is not None and len(row) != 2:
            raise user_error(ValueError, "Model:columns",
                             "with a loss_fn the data set must give 2 columns (data, label), not %d" % len(row))
        for item in row:
            if not isinstance(item, Tensor):
                raise user_error(TypeError, "Model:row-type", "the data set gave a %s instead of a Tensor"
                                 % type(item).__name__)


class _CallbackParameters:
    """What callbacks see of the run."""

    def __init__(self, model, epoch, dataset, dataset_sink_mode):
        self.train_network = model.train_network
        self.network = model._network
        self.optimizer = model._optimizer
        self.loss_fn = model._loss_fn
        self.parallel_mode = model._parallel_mode
        self.mode = "train"
        self.epoch_num = epoch
        self.batch_num = _size(dataset)
        self.cur_epoch_num = 1
        self.cur_step_num = 1
        self.net_outputs = None
        self.train_dataset = dataset
        self.dataset_sink_mode = dataset_sink_mode
        self.device_number = 1
        self.list_callback = None

    def __getattr__(self, name):
        return None

    def get(self, name, default=None):
        return self.__dict__.get(name, default)


def _parallel_mode():
    from mindspore import context
    return context.get_auto_parallel_context("parallel_mode")


def _device_target():
    from mindspore import context
    return context.get_context("device_target")


def _size(dataset):
    return dataset.get_dataset_size() if hasattr(dataset, "get_dataset_size") else 1


def _rows(dataset):
    if hasattr(dataset, "create_tuple_iterator"):
        return dataset.create_tuple_iterator()
    if hasattr(dataset, "create_dict_iterator"):
        return (tuple(row.values()) for row in dataset.create_dict_iterator())
    if not hasattr(dataset, "__iter__"):
        raise user_error(TypeError, "Model:dataset-type", "Model.train() takes a data set, not %s"
                         % type(dataset).__name__)
    return iter(dataset)


def _as_tuple(row):
    return tuple(row.values()) if isinstance(row, dict) else tuple(row) if isinstance(row, (list, tuple)) else (row,)


def _check_count(name, value, allow=None):
    if isinstance(value, bool) or not isinstance(value, int):
        raise user_error(TypeError, "Model:%s-type" % name, "%s must be a whole number, not %r" % (name, value),
                         "did you swap the arguments? train(epoch, train_dataset)" if name == "epoch" and hasattr(value, "create_dict_iterator") else "")
    if value < 1 and value != allow:
        raise user_error(ValueError, "Model:%s-range" % name, "%s must be positive, not %d" % (name, value))


def _check_flag(name, value):
    if not isinstance(value, bool):
        raise user_error(TypeError, "Model:%s-type" % name, "%s must be True or False, not %r" % (name, value))


__getattr__ = module_getattr("mindspore.train")
