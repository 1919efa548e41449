"""Callbacks: called once per traced step; those that write files write none."""
import contextlib

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._drydock.session import session
from mindspore._recording.gradient import phase


class RunContext:
    """Hands the parameters of a run to callbacks."""

    def __init__(self, original_args):
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self):
        return self._original_args

    def request_stop(self):
        self._stop_requested = True

    def get_stop_requested(self):
        return self._stop_requested


class Callback:
    """See mindspore.train.Callback; both generations of method names work."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def begin(self, run_context):
        return None

    def epoch_begin(self, run_context):
        return None

    def epoch_end(self, run_context):
        return None

    def step_begin(self, run_context):
        return None

    def step_end(self, run_context):
        return None

    def end(self, run_context):
        return None

    def on_train_begin(self, run_context):
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context):
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context):
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context):
        self.step_begin(run_context)

    def on_train_step_end(self, run_context):
        self.step_end(run_context)

    def on_train_end(self, run_context):
        self.end(run_context)

    def on_eval_begin(self, run_context):
        return None

    def on_eval_epoch_begin(self, run_context):
        return None

    def on_eval_epoch_end(self, run_context):
        return None

    def on_eval_step_begin(self, run_context):
        return None

    def on_eval_step_end(self, run_context):
        return None

    def on_eval_end(self, run_context):
        return None


class _CallbackList:
    """The callbacks of a run, each of which is a context manager: entered before the run begins, left in the other order."""

    def __init__(self, callbacks):
        self._callbacks = callbacks
        self._entered = contextlib.ExitStack()

    def __enter__(self):
        found = [(callback, self._entered.enter_context(callback)) for callback in self._callbacks]
        self._callbacks = [entered if isinstance(entered, Callback) else callback for callback, entered in found]
        return self

    def __exit__(self, *error):
        return self._entered.__exit__(*error)

    def call(self, name, run_context):
        for callback in self._callbacks:
            getattr(callback, name)(run_context)


def callback_list(callbacks):
    """None, one callback or a list of them."""
    items = [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for item in items:
        if not isinstance(item, Callback):
            raise user_error(TypeError, "Model:callback-type", "callbacks must be Callbacks, not %s"
                             % type(item).__name__, "make one: %s()" % item.__name__ if isinstance(item, type) else "")
    return _CallbackList(items)


def _check_interval(owner, name, value):
    if isinstance(value, bool) or not isinstance(value, int):
        raise user_error(TypeError, "%s:%s-type" % (owner, name), "%s of %s must be a whole number, not %r"
                         % (name, owner, value))
    if value < 1:
        raise user_error(ValueError, "%s:%s" % (owner, name), "%s of %s must be positive" % (name, owner))


class LossMonitor(Callback):
    """Prints the loss; in a dry run it is not known, so nothing is printed."""

    def __init__(self, per_print_times=1):
        if isinstance(per_print_times, bool) or not isinstance(per_print_times, int) or per_print_times < 0:
            raise user_error(ValueError, "LossMonitor:per_print_times", "per_print_times must be a whole number >= 0")


class TimeMonitor(Callback):
    """Prints times; nothing runs in a dry run."""

    def __init__(self, data_size=None, data_time=False):
        return None


def record_integrated_save(network, each_step):
    """What is cut of a network's parameters and of its optimizer is gathered on the device.

    Source: mindspore/python/mindspore/train/serialization.py (_get_merged_param_data).
    """
    from mindspore import context
    program = session.program
    if program is None or not context.cuts_operators():
        return
    held = [p for p in network.get_parameters() if program.holds(p)]
    if held:
        with phase("optimizer"):
            program.add_node("_SaveCheckpoint", [program.parameter(p) for p in held], {"each_step": each_step})


class CheckpointConfig:
    """See mindspore.train.CheckpointConfig; arguments are checked and kept."""

    def __init__(self, save_checkpoint_steps=1, save_checkpoint_seconds=0, keep_checkpoint_max=5,
                 keep_checkpoint_per_n_minutes=0, integrated_save=True, async_save=False, saved_network=None,
                 append_info=None, enc_key=None, enc_mode="AES-GCM", exception_save=False, crc_check=False,
                 map_param_inc=False, format="ckpt", num_files=None, remove_redundancy=False, **kwargs):
        for name, value in (("save_checkpoint_steps", save_checkpoint_steps),
                            ("keep_checkpoint_max", keep_checkpoint_max)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise user_error(ValueError, "CheckpointConfig:" + name, "%s must be a whole number >= 0" % name)
        self.save_checkpoint_steps, self.save_checkpoint_seconds = save_checkpoint_steps, save_checkpoint_seconds
        self.keep_checkpoint_max, self.keep_checkpoint_per_n_minutes = keep_checkpoint_max, keep_checkpoint_per_n_minutes
        self.integrated_save, self.async_save, self.saved_network = integrated_save, async_save, saved_network
        self.append_dict = append_info or []
        self.enc_key, self.enc_mode, self.exception_save, self.crc_check = enc_key, enc_mode, exception_save, crc_check
        self.map_param_inc, self.format, self.num_files = map_param_inc, format, num_files
        self.remove_redundancy = remove_redundancy

    def get_checkpoint_policy(self):
        return {name: getattr(self, name) for name in (
            "save_checkpoint_steps", "save_checkpoint_seconds", "keep_checkpoint_max", "keep_checkpoint_per_n_minutes",
            "saved_network")}


class ModelCheckpoint(Callback):
    """Saves checkpoints; none is written in a dry run."""

    def __init__(self, prefix="CKP", directory=None, config=None):
        if not isinstance(prefix, str) and not callable(prefix):
            raise user_error(TypeError, "ModelCheckpoint:prefix", "prefix of ModelCheckpoint must be a string")
        if isinstance(prefix, str) and (not prefix or "/" in prefix):
            raise user_error(ValueError, "ModelCheckpoint:prefix", "prefix of ModelCheckpoint must not be empty or hold '/'")
        if directory is not None and not isinstance(directory, str) and not callable(directory):
            raise user_error(TypeError, "ModelCheckpoint:directory", "directory of ModelCheckpoint must be a string")
        if config is not None and not isinstance(config, CheckpointConfig):
            raise user_error(TypeError, "ModelCheckpoint:config", "config of ModelCheckpoint must be a CheckpointConfig")
        session.warn("checkpoints are not written in a dry run")
        self.latest_ckpt_file_name = ""
        self._prefix, self._directory = prefix, directory or "./"
        self._config = config or CheckpointConfig()
        self._last_triggered_step = self._last_time = self._last_time_for_keep = 0
        self._graph_saved = self._need_remove_extra_ckpt = False

    def step_end(self, run_context):
        """The traced step stands for all; one that is not saved itself has the last save of the job behind it."""
        if self._config.integrated_save:
            network = self._config.saved_network or run_context.original_args().train_network
            record_integrated_save(network, self._config.save_checkpoint_steps == 1)


class _Silent(Callback):
    """A callback whose effect is output of a real run."""

    def __init__(self, *args, **kwargs):
        return None


class SummaryCollector(_Silent):
    pass


class EarlyStopping(_Silent):
    pass


class LearningRateScheduler(_Silent):
    pass


class OnRequestExit(_Silent):
    pass


class FlopsUtilizationCollector(_Silent):
    pass


class ReduceLROnPlateau(_Silent):
    pass


class LambdaCallback(_Silent):
    pass


class History(_Silent):
    pass


class BackupAndRestore(_Silent):
    pass


class TrainFaultTolerance(_Silent):
    """See mindspore.train.TrainFaultTolerance: nothing fails that could be tolerated."""

    @classmethod
    def get_optimizer_wrapper(cls, origin_opt_cls):
        """The optimizer as it is: its wrapper reports the start of each update to a watching process."""
        return origin_opt_cls


__getattr__ = module_getattr("mindspore.train")
