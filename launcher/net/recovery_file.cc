#include "launcher/net/recovery_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "launcher/exit_code.h"
#include "launcher/files.h"

namespace drydock::launcher {
namespace {

constexpr const char* kFileName = "recovery.dat";
/// 16 Mi members with names of the usual length stay below this.
constexpr std::size_t kMaxRecoveryBytes = std::size_t{4} << 30U;

tl::unexpected<Error> FailStore(const std::string& path, int number) {
  return FailCommand(FailureCode::kRecoveryWrite,
                     path + ": " + std::error_code(number, std::generic_category()).message(),
                     "make room, or choose another folder with MS_RECOVERY_PATH");
}

bool WriteWhole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno != EINTR) {
      return false;
    }
    text.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

RecoveryFile::RecoveryFile(std::string folder)
    : folder_(std::move(folder)), path_(PathIn(folder_, kFileName)) {}

Result<sim::SchedulerSnapshot> RecoveryFile::Load() const {
  std::error_code error;
  if (!std::filesystem::is_directory(folder_.empty() ? "." : folder_, error)) {
    return FailCommand(FailureCode::kRecoveryState, "'" + folder_ + "' is not a folder",
                       "create it, or name another one with MS_RECOVERY_PATH");
  }
  if (!std::filesystem::exists(std::filesystem::symlink_status(path_, error))) {
    return sim::SchedulerSnapshot{};
  }
  const auto text = ReadFile(path_, kMaxRecoveryBytes);
  auto snapshot = text ? sim::DecodeSnapshot(*text)
                       : Result<sim::SchedulerSnapshot>(tl::unexpected(text.error()));
  if (!snapshot) {
    const std::string place = text ? path_ + ": " : "";  // what cannot be read says its name
    return FailCommand(FailureCode::kRecoveryState, place + snapshot.error().message,
                       "remove the file if it belongs to an earlier job");
  }
  return snapshot;
}

Status RecoveryFile::Store(const sim::SchedulerSnapshot& snapshot) const {
  const std::string text = sim::EncodeSnapshot(snapshot);
  const std::string temporary = path_ + ".tmp";  // one scheduler per folder: the port sees to that
  ::unlink(temporary.c_str());
  Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) {
    return FailStore(temporary, errno);
  }
  if (!WriteWhole(file.get(), text) || ::fsync(file.get()) != 0) {
    const int number = errno;
    ::unlink(temporary.c_str());
    return FailStore(temporary, number);
  }
  if (!file.Close() || std::rename(temporary.c_str(), path_.c_str()) != 0) {
    const int number = errno;
    ::unlink(temporary.c_str());
    return FailStore(path_, number);
  }
  const Descriptor folder(
      ::open(folder_.empty() ? "." : folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || (::fsync(folder.get()) != 0 && errno != EINVAL)) {
    return FailStore(folder_, errno);
  }
  return {};
}

}  // namespace drydock::launcher
