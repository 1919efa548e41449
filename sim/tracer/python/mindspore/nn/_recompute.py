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
        for tensor in _results(program, result):
            program.keep_result(tensor, first_node)

    def _note_layer(self, program, result, first_node):
        """What recompute() of this cell would change in what was just recorded: a dry run of it needs no further run of the script.

        Cells inside that say themselves whether they are recomputed keep to that.
        """
        apart = [cell._scope for _, cell in self.cells_and_names() if cell.__dict__.get("_has_config_recompute") and cell._scope]
        kept = [program.kept_node(tensor, first_node) for tensor in _results(program, result)]
        program.layers.append({"scope": self._scope, "apart": apart, "kept": [found[:2] for found in kept if found is not None]})


def _results(program, result):
    """The tensors of the program in what a cell returns."""
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, (tuple, list)):
        for item in result:
            yield from _results(program, item)
    elif isinstance(result, Tensor) and program.owns(result):
        yield result


def find_layers(network):
    """The layers of a network: the Cells with weights in each outermost list of Cells, without those that recompute already.

    The session remembers which were found: ("Block", "layers", 96). With `session.recompute_layers` they recompute, as if the script
    had called recompute() on each; else they are marked, so that what this would change is written down.
    """
    from mindspore.nn.layer.container import CellList, SequentialCell
    for name, child in network.__dict__.get("_cells", {}).items():
        if child is None:
            continue
        if isinstance(child, (CellList, SequentialCell)):
            layers = [cell for cell in child.cells() if cell.trainable_params() and not cell.__dict__.get("_has_config_recompute")]
            if len(layers) > 1:
                for layer in layers:
                    if session.recompute_layers:
                        layer.recompute()
                    else:
                        layer.__dict__["_is_layer"] = True
                session.layers.append((type(layers[0]).__name__, name, len(layers)))
        else:
            find_layers(child)


def layers_text():
    """"the 96 Blocks in 'layers'"; "" if there were no layers."""
    return " and ".join("the %d %ss in '%s'" % (count, kind, name) for kind, name, count in session.layers)
