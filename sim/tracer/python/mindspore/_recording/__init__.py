"""How networks are recorded: programs of tensors, and what is asked of them. Stands on `_drydock` and on mindspore.common.tensor."""
