#include "launcher/net/event_queue.h"

#include <unistd.h>

#include <cstdint>

#include <sys/eventfd.h>

#include "base/result.h"

namespace drydock::launcher {

EventFlag::EventFlag() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  DRYDOCK_CHECK(fd_.get() >= 0);
}

void EventFlag::Raise() const {
  const std::uint64_t one = 1;
  (void)!::write(fd_.get(), &one, sizeof(one));  // fails only if it is raised very often already
}

void EventFlag::Lower() const {
  std::uint64_t count = 0;
  (void)!::read(fd_.get(), &count, sizeof(count));  // fails if it is not raised
}

}  // namespace drydock::launcher
