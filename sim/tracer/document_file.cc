#include "sim/tracer/document_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/descriptor.h"

/// The graph document of a network on its way from the recorder, in the process of the script, to
/// msrun: whoever finds the file finds all of it.
namespace drydock::sim {
namespace {

Status FailWrite(const std::string& path, int number) {
  return Fail(ErrorCode::kIo, path + ": " + std::generic_category().message(number),
              "set TMPDIR to a folder with more room, which can be written");
}

Status WriteAll(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return FailWrite(path, errno);
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

}  // namespace

Status WriteDocumentFile(const std::string& path, std::string_view text) {
  const std::string temporary = path + "." + std::to_string(::getpid()) + ".tmp";
  Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) {
    return FailWrite(path, errno);
  }
  Status status = WriteAll(file.get(), text, path);
  if (!file.Close() && status) {
    status = FailWrite(path, errno);
  }
  if (status && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = FailWrite(path, errno);
  }
  if (!status) {
    ::unlink(temporary.c_str());
  }
  return status;
}

}  // namespace drydock::sim
