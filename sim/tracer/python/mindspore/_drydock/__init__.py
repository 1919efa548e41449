"""What Drydock adds to the stand-in package: the class of its own limits, and facts about the run."""
from mindspore._drydock.errors import Unsupported

__all__ = ["Unsupported", "last_compile"]


def last_compile():
    """Facts about the last program recorded in this process, or None."""
    from mindspore._drydock.session import session
    if not session.programs:
        return None
    program = session.programs[-1]
    return {"serial": program.serial, "nodes": program.node_count, "without_rule": [],
            "redistributions": 0, "ops": sorted(program.op_names)}
