"""Parts of Cell: walking over parameters and cells, names, and settings without effect on a trace."""
import functools

from mindspore._drydock import frames
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.session import session


def keep_arguments(cls):
    """Cells of mindspore.nn know what they were made with under the names of their arguments, as MindSpore's do: layer.group."""
    made = cls.__init__

    @functools.wraps(made)
    def __init__(self, *args, **kwargs):
        self.__dict__.setdefault("_made_with", (made, args, kwargs))  # of the class that was called; its bases get less
        made(self, *args, **kwargs)

    cls.__init__ = __init__


def arguments_of(cell):
    """Argument -> value of the call that made the cell, with defaults."""
    made, args, kwargs = cell.__dict__.get("_made_with") or (None, (), {})
    if type(made) is dict:
        return made
    kept = cell.__dict__.get("_settings")
    found = dict(kept) if isinstance(kept, dict) else {}
    if made is not None:
        import inspect
        bound = inspect.signature(made).bind(cell, *args, **kwargs)
        bound.apply_defaults()
        found.update(bound.arguments)
        for name, parameter in bound.signature.parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or found.get(name) is cell:
                del found[name]
        if "_params" in cell.__dict__:  # made to its end
            cell.__dict__["_made_with"] = found, (), {}
    return found


class ParameterNames:
    """Walks and names."""

    def cells_and_names(self, cells=None, name_prefix=""):
        seen = cells if cells is not None else set()
        left = [(name_prefix, self)]
        while left:  # no recursion: cells may lie in each other a thousand deep
            prefix, cell = left.pop()
            if id(cell) in seen:
                continue
            seen.add(id(cell))
            yield prefix, cell
            left += [(prefix + "." + name if prefix else name, child)
                     for name, child in reversed(list(cell._cells.items())) if child is not None]

    def parameters_and_names(self, name_prefix="", expand=True):
        seen = set()
        cells = self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]
        for prefix, cell in cells:
            for name, parameter in cell._params.items():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield (prefix + "." + name if prefix else name), parameter

    def get_parameters(self, expand=True):
        return (parameter for _, parameter in self.parameters_and_names(expand=expand))

    def parameters_dict(self, recurse=True):
        from collections import OrderedDict
        return OrderedDict((p.name, p) for p in self.get_parameters(expand=recurse))

    def parameters_broadcast_dict(self, recurse=True):
        return {name: p for name, p in self.parameters_dict(recurse).items() if not p.layerwise_parallel}

    def trainable_params(self, recurse=True):
        return [p for p in self.get_parameters(expand=recurse) if p.requires_grad]

    def untrainable_params(self, recurse=True):
        return [p for p in self.get_parameters(expand=recurse) if not p.requires_grad]

    def name_cells(self):
        from collections import OrderedDict
        return OrderedDict((name, cell) for name, cell in self._cells.items() if cell is not None)

    def cells(self):
        return self.name_cells().values()

    def get_cells(self):
        return self._cells

    def apply(self, fn):
        for child in self.cells():
            child.apply(fn)
        fn(self)
        return self

    def update_parameters_name(self, prefix="", recurse=True):
        if not isinstance(prefix, str):
            raise user_error(TypeError, "Cell:prefix", "a prefix must be a string")
        for path, parameter in self.parameters_and_names(expand=recurse):
            parameter.name = prefix + path

    def check_names(self):
        named = {}
        for parameter in self.get_parameters():
            first = named.setdefault(parameter.name, parameter)
            if first is not parameter:
                error = user_error(ValueError, "Parameter:duplicate-name",
                                   "two parameters of the network are named '%s'" % parameter.name,
                                   "give each Parameter its own name, or none")
                error.drydock_place = parameter.made_at()
                error.drydock_notes = ["the first of them is made at " + frames.place_text(first.made_at())]
                raise error

    def check_names_and_refresh_name(self):
        names = [parameter.name for parameter in self.get_parameters()]
        if len(set(names)) != len(names):
            self.update_parameters_name()

    @property
    def param_prefix(self):
        return self._param_prefix


class Settings:
    """Switches: training mode, flags, and what only matters on devices."""

    def set_train(self, mode=True):
        self.phase = "train" if mode else "predict"
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "training", bool(mode))
        return self

    def set_grad(self, flag=True, requires_grad=None):
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "requires_grad", flag if requires_grad is None else requires_grad)
        return self

    def add_flags(self, **flags):
        self._flags.update(flags)
        for name, value in flags.items():
            self.__dict__[name] = value
        return self

    def add_flags_recursive(self, **flags):
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self):
        return self._flags

    def offload(self, backward_prefetch="Auto"):
        session.warn_limit("offload() of cells is not modelled: memory is reported without it", at_line=True)

    def place(self, role, rank_id):
        raise Unsupported("mindspore.nn.Cell.place", "place() of cells on other processes is not handled; MindSpore 2.10 has no "
                          "Cell.place() any more", "leave place() out to see what one process needs for all of the network")

    def set_comm_fusion(self, fusion_type, recurse=True):
        if isinstance(fusion_type, bool) or not isinstance(fusion_type, int) or fusion_type < 0:
            raise user_error(ValueError, "Cell:comm-fusion", "a fusion type is a whole number >= 0")
        for parameter in self.trainable_params(recurse):
            parameter.comm_fusion = fusion_type
        return self

    def set_param_ps(self, recurse=True, init_in_server=False):
        for parameter in self.trainable_params(recurse):
            parameter.set_param_ps(init_in_server)

    @property
    def jit_config_dict(self):
        return self._jit_config_dict

    def set_jit_config(self, jit_config):
        """Settings of the network that this cell is the outermost of; the first ones hold."""
        if not self._jit_config_dict:
            self.__dict__["_jit_config_dict"] = jit_config.jit_config_dict

    def _setting_without_effect(self, *args, **kwargs):
        return self

    _get_attr_from_cell = set_data_parallel = set_broadcast_flag = flatten_weights = _setting_without_effect
    set_inputs = set_auto_parallel = set_boost = init_parameters_data = _setting_without_effect
    set_param_fl = set_parallel_input_with_inputs = _setting_without_effect
    register_forward_hook = register_forward_pre_hook = register_backward_hook = _setting_without_effect
    register_backward_pre_hook = set_mixed_precision_type = _setting_without_effect
    remove_redundant_parameters = update_cell_type = register_state_dict_pre_hook = _setting_without_effect
    register_state_dict_post_hook = register_load_state_dict_pre_hook = _setting_without_effect
    register_load_state_dict_post_hook = _setting_without_effect

    def get_inputs(self):
        return None

    def get_scope(self):
        return self._scope

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        found = {prefix + name: parameter for name, parameter in self.parameters_dict().items()}
        if destination is None:
            return found
        destination.update(found)
        return destination

    def register_buffer(self, name, tensor, persistent=True):
        """A tensor that belongs to the cell and is no parameter."""
        if not isinstance(name, str) or not name or "." in name:
            raise user_error(KeyError, "Cell:buffer-name", "%r cannot be the name of a buffer" % (name,))
        self.__dict__.setdefault("_buffers", {})[name] = tensor
        object.__setattr__(self, name, tensor)

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        for path, cell in self.cells_and_names(name_prefix=prefix) if recurse else [(prefix, self)]:
            for name in cell.__dict__.get("_buffers", ()):
                yield (path + "." if path else "") + name, cell.__dict__[name]

    def buffers(self, recurse=True):
        return (tensor for _, tensor in self.named_buffers(recurse=recurse))

    def get_sub_cell(self, target):
        return self._walk_to(target)

    def get_buffer(self, target):
        path, _, name = target.rpartition(".")
        return self._walk_to(path).__dict__["_buffers"][name]

    def get_parameter(self, target):
        path, _, name = target.rpartition(".")
        return self._walk_to(path)._params[name]

    def _walk_to(self, target):
        found = self
        for name in target.split(".") if target else ():
            if name not in found._cells:
                raise user_error(AttributeError, "Cell:path", "%s has no cell '%s'" % (type(found).__name__, name))
            found = found._cells[name]
        return found

    def load_state_dict(self, state_dict, strict=True):
        return [], []
