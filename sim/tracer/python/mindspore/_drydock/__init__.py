"""What Drydock adds to the stand-in package: the class of its own limits, and facts about the run."""
from mindspore._drydock.errors import Unsupported

__all__ = ["Unsupported", "last_compile"]


def last_compile():
    """Facts about the last program compiled (else recorded) in this process, or None.

    serial, nodes, without_rule (operators compiled without a rule), redistributions, ops (operators of the
    program), violations (broken invariants of the compile).
    """
    from mindspore._drydock.session import session
    if session.last_compile is not None or not session.programs:
        return session.last_compile
    program = session.programs[-1]
    return {"serial": program.serial, "nodes": program.node_count, "without_rule": [], "redistributions": 0,
            "ops": sorted(program.op_names), "violations": []}
