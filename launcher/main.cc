#ifdef DRYDOCK_MIMALLOC
#include <mimalloc.h>
#endif
#include <string>
#include <vector>

#include "launcher/command_line.h"
#include "launcher/program.h"

namespace {

/// What a thread frees goes back to the system after 2 ms instead of 25: each has memory of its
/// own, and what one of them holds back is not there for the others (stages of a pipeline).
/// The allocator's own variable, MIMALLOC_DECOMMIT_DELAY, goes first.
void GiveMemoryBackSoon() {
#ifdef DRYDOCK_MIMALLOC
#if MI_MALLOC_VERSION < 210
  mi_option_set_default(mi_option_decommit_delay, 2);
#else
  mi_option_set_default(mi_option_purge_delay, 2);
#endif
#endif
}

}  // namespace

int main(int argc, char** argv) {
  GiveMemoryBackSoon();
  const std::vector<std::string> words(argv, argv + argc);
  return drydock::launcher::RunMain(words, drydock::launcher::RunProgram);
}
