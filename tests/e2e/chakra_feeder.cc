// Reads a Chakra execution trace with the reader that simulators use, and issues its nodes as they
// do: a node when all it depends on is done. Prints a line for each: number, type, name, and of
// collectives type, bytes and group.
#include <et_feeder.h>

#include <iostream>
#include <memory>

int main(int count, char** words) {
  if (count != 2) {
    return 2;
  }
  Chakra::ETFeeder feeder{std::string(words[1])};
  while (feeder.hasNodesToIssue()) {
    const std::shared_ptr<Chakra::ETFeederNode> node = feeder.getNextIssuableNode();
    if (!node) {
      std::cout << "stuck\n";
      return 1;
    }
    std::cout << node->id() << '\t' << node->type() << '\t' << node->name() << '\t'
              << node->is_cpu_op();
    if (node->type() == ChakraProtoMsg::COMM_COLL_NODE) {
      std::cout << '\t' << node->comm_type() << '\t' << node->comm_size() << '\t'
                << node->pg_name();
    }
    std::cout << '\n';
    feeder.freeChildrenNodes(node->id());
    feeder.removeNode(node->id());
  }
  return 0;
}
