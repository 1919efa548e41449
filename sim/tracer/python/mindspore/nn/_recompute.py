"""Recomputation of cells: which operators run a second time in backward.

A cell that is recomputed has a scope of its own, which the compiler looks at: "recompute_Default/...". What the outermost one returns
is kept, since the next layer reads it anyhow: the operators that make it are told so when the call ends. Source: mindspore
python/mindspore/nn/cell.py (Cell.recompute), ccsrc/frontend/optimizer/irpass/recompute_prepare.h.
"""
from mindspore._drydock.errors import user_error
from mindspore._drydock.session import session
from mindspore.common.tensor import Tensor

SCOPE = "recompute_"
_SETTINGS = ("mp_comm_recompute", "parallel_optimizer_comm_recompute", "recompute_slice_activation")


class Recomputation:
    """The part of Cell that is about recomputation."""

    def recompute(self, **settings):
        for name, value in settings.items():
            if name not in _SETTINGS:
                raise user_error(ValueError, "Cell:recompute", "recompute() has no argument '%s'" % name,
                                 "its arguments are " + ", ".join(_SETTINGS))
            if not isinstance(value, bool):
                raise user_error(TypeError, "Cell:recompute-type", "'%s' of recompute() is True or False, not %r"
                                 % (name, value))
        self._recompute()
        if "mp_comm_recompute" in settings:
            self._mp_comm_recompute(settings["mp_comm_recompute"])
        if settings.get("parallel_optimizer_comm_recompute"):
            session.warn("parallel_optimizer_comm_recompute changes nothing: level 3 of the sharded optimizer gathers "
                         "weights again in backward")
        if "recompute_slice_activation" in settings:
            self._recompute_slice_activation(settings["recompute_slice_activation"])

    def _recompute(self, mode=True, output_recompute=False):
        if self.__dict__.get("_has_config_recompute"):
            return
        self.__dict__["_has_config_recompute"] = True
        self._set_recompute_scope(mode)
        if mode and not output_recompute:
            self.add_flags(output_no_recompute=True)
        for cell in self.cells():
            cell._recompute(mode, True)

    def _set_recompute_scope(self, mode):
        scope = self._scope
        if mode and (scope is None or not scope.startswith(SCOPE)):
            object.__setattr__(self, "_scope", SCOPE + (scope or ""))
        elif not mode and scope is not None and scope.startswith(SCOPE):
            object.__setattr__(self, "_scope", scope[len(SCOPE):])

    def _mp_comm_recompute(self, mp_comm_recompute=True):
        for primitive in self._primitives.values():
            primitive.add_prim_attr("recompute_comm_op", mp_comm_recompute)
        for cell in self.cells():
            cell._mp_comm_recompute(mp_comm_recompute)

    def _parallel_optimizer_comm_recompute(self, parallel_optimizer_comm_recompute=False):
        for parameter in self.trainable_params():
            parameter.parallel_optimizer_comm_recompute = parallel_optimizer_comm_recompute

    def _recompute_slice_activation(self, slice_activation=False):
        for primitive in self._primitives.values():
            primitive.add_prim_attr("slice_activation", slice_activation)
        for cell in self.cells():
            cell._recompute_slice_activation(slice_activation)

    def _keep_outputs(self, program, result, first_node):
        """The operators that make what the cell returns are not recomputed."""
        if isinstance(result, dict):
            result = tuple(result.values())
        if isinstance(result, (tuple, list)):
            for item in result:
                self._keep_outputs(program, item, first_node)
        elif isinstance(result, Tensor) and program.owns(result):
            program.keep_result(result, first_node)


def recompute_layers(network):
    """What a script does that calls recompute() on each of its layers: on the Cells with weights in each outermost list of Cells.

    Layers that recompute already are left alone. The session remembers which were found: ("Block", "layers", 96).
    """
    from mindspore.nn.layer.container import CellList, SequentialCell
    for name, child in network.__dict__.get("_cells", {}).items():
        if child is None:
            continue
        if isinstance(child, (CellList, SequentialCell)):
            layers = [cell for cell in child.cells() if cell.trainable_params() and not cell.__dict__.get("_has_config_recompute")]
            if len(layers) > 1:
                for layer in layers:
                    layer.recompute()
                session.recomputed.append((type(layers[0]).__name__, name, len(layers)))
        else:
            recompute_layers(child)


def recomputed_text():
    """"the 96 Blocks in 'layers'"; "" if there were no layers."""
    return " and ".join("the %d %ss in '%s'" % (count, kind, name) for kind, name, count in session.recomputed)
