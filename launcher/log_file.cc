// Log files in folders that others may be able to write to. A link there may lead to any file of
// ours, so a link is followed only in a folder that is ours alone; the open itself refuses links
// (O_NOFOLLOW) and does not wait for special files (O_NONBLOCK), and what was opened is looked at,
// not what the name was before.
#include "launcher/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <sys/stat.h>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

/// Scripts print what they like: only the owner reads it.
constexpr mode_t kLogRights = 0600;

tl::unexpected<Error> FailLog(const std::string& path, const std::string& reason) {
  return FailCommand(FailureCode::kLogDir, path + ": " + reason,
                     "choose another folder with --log_dir");
}

std::string SystemText(int number) {
  return std::error_code(number, std::generic_category()).message();
}

tl::unexpected<Error> FailOpenLink(const std::string& path) {
  return FailLog(path, "is a link in a folder that others can write to");
}

}  // namespace

bool IsInOpenFolder(const std::string& path) {
  struct stat facts = {};
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  return ::stat(folder.c_str(), &facts) == 0 &&
         ((facts.st_mode & S_IWOTH) != 0 || (facts.st_uid != ::geteuid() && facts.st_uid != 0));
}

Status CheckLogFile(const std::string& path) {
  struct stat facts = {};
  if (::lstat(path.c_str(), &facts) != 0) {
    return errno == ENOENT ? Status() : FailLog(path, SystemText(errno));
  }
  if (S_ISLNK(facts.st_mode)) {
    if (IsInOpenFolder(path)) {
      return FailOpenLink(path);
    }
    if (::stat(path.c_str(), &facts) != 0) {
      return {};
    }
  }
  if (!S_ISREG(facts.st_mode)) {
    return FailLog(path, S_ISDIR(facts.st_mode) ? "is a folder" : "is not a file");
  }
  if (::access(path.c_str(), W_OK) != 0) {
    return FailLog(path, SystemText(errno));
  }
  return {};
}

Result<std::unique_ptr<Descriptor>> OpenLog(const std::string& path, bool grows) {
  if (path.empty()) {
    return std::unique_ptr<Descriptor>();
  }
  const int links = IsInOpenFolder(path) ? O_NOFOLLOW : 0;
  auto log = std::make_unique<Descriptor>(::open(
      path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | links,
      kLogRights));
  if (log->get() < 0) {
    return errno == ELOOP ? FailOpenLink(path) : FailLog(path, SystemText(errno));
  }
  struct stat facts = {};
  if (::fstat(log->get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return FailLog(path, "is not a file");
  }
  if (!grows && facts.st_size > 0 && ::ftruncate(log->get(), 0) != 0) {
    return FailLog(path, SystemText(errno));
  }
  const int flags = ::fcntl(log->get(), F_GETFL);
  (void)::fcntl(log->get(), F_SETFL, flags & ~O_NONBLOCK);
  return log;
}

}  // namespace drydock::launcher
