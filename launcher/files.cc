#include "launcher/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <sys/file.h>
#include <sys/stat.h>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

std::string SystemReason(int number) {
  return std::error_code(number, std::generic_category()).message();
}

tl::unexpected<Error> FailWrite(const std::string& path, int number) {
  return FailCommand(FailureCode::kReportWrite, path + ": " + SystemReason(number),
                     "choose another folder with --log_dir");
}

/// @param path  for messages: what is written, which may go to a temporary name first
Status WriteAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return FailWrite(path, written < 0 ? errno : ENOSPC);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Status WriteTemporary(const std::string& temporary, std::string_view text,
                      const std::string& path) {
  ::unlink(temporary.c_str());  // left behind by a crash under the same process id
  Descriptor file(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (file.get() < 0) {
    return FailWrite(path, errno);
  }
  DRYDOCK_RETURN_IF_ERROR(WriteAll(file.get(), text, path));
  // Pipes and some network file systems cannot sync; that is no loss of data by us.
  if (::fsync(file.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return FailWrite(path, errno);
  }
  return file.Close() ? Status() : FailWrite(path, errno);
}

std::string TemporaryName(const std::string& path) {
  return path + "." + std::to_string(::getpid()) + ".tmp";
}

void SyncFolder(const std::string& folder) {
  const Descriptor directory(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (directory.get() >= 0) {
    (void)::fsync(directory.get());
  }
}

}  // namespace

bool MayReplace(const std::string& path) {
  struct stat facts = {};
  if (::lstat(path.c_str(), &facts) != 0) {
    return true;
  }
  if (!S_ISREG(facts.st_mode)) {
    return false;
  }
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> head = {};
  const ssize_t count = file.get() < 0 ? -1 : ::read(file.get(), head.data(), head.size());
  const std::string_view text(head.data(), count < 0 ? 0 : static_cast<std::size_t>(count));
  return count == 0 || text.find("\"drydock.") != std::string_view::npos ||
         text.starts_with("run,class,") ||                                       // Our tables.
         (text.starts_with("SQLite format 3") && text.substr(68, 4) == "DRYD");  // Our databases.
}

void RemoveReports(const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string path = PathIn(folder, name);
    if (MayReplace(path)) {
      ::unlink(path.c_str());
    }
  }
}

std::string PathIn(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

namespace {

/// What a shell opened for us: "<(command)", "/dev/stdin".
bool IsOpenedByCaller(const std::string& path) {
  return path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/") || path == "/dev/stdin";
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  // Not waiting for the writer of a named pipe, which may never come.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts = {};
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0) {
    return Fail(ErrorCode::kIo, path + ": " + SystemReason(errno));
  }
  if (S_ISDIR(facts.st_mode)) {
    return Fail(ErrorCode::kIo, path + ": is a folder");
  }
  if (!S_ISREG(facts.st_mode) && !IsOpenedByCaller(path)) {
    return Fail(ErrorCode::kIo, path + ": is a special file, not a regular one");
  }
  (void)::fcntl(file.get(), F_SETFL, 0);
  std::string text;
  std::vector<char> block(std::size_t{1} << 16U);
  while (true) {
    const ssize_t count = ::read(file.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return Fail(ErrorCode::kIo, path + ": " + SystemReason(errno));
    }
    if (count == 0) {
      return text;
    }
    text.append(block.data(), static_cast<std::size_t>(count));
    if (text.size() > max_bytes) {
      return Fail(ErrorCode::kIo, path + ": longer than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

Status PrepareFolder(const std::string& folder) {
  const auto fail = [&folder](int number) -> Status {
    return FailCommand(FailureCode::kLogDir,
                       (folder.empty() ? "." : folder) + ": " + SystemReason(number),
                       "choose another folder with --log_dir");
  };
  if (!folder.empty()) {
    // Only folders that are missing get these rights.
    const mode_t old_mask = ::umask(0077);
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    ::umask(old_mask);
    std::error_code no_link;
    if (const auto target = std::filesystem::read_symlink(folder, no_link);
        !no_link && !std::filesystem::exists(folder, no_link)) {
      return FailCommand(FailureCode::kLogDir,
                         folder + ": is a link to " + target.string() + ", which does not exist",
                         "make that folder, or choose another one with --log_dir");
    }
    if (error) {
      return fail(error.value());
    }
    if (!std::filesystem::is_directory(folder, error)) {
      return fail(ENOTDIR);
    }
  }
  const std::string probe = TemporaryName(PathIn(folder, ".drydock_probe"));
  ::unlink(probe.c_str());
  const Descriptor file(
      ::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) {
    return fail(errno);
  }
  ::unlink(probe.c_str());
  return {};
}

Result<std::unique_ptr<Descriptor>> LockFolder(const std::string& folder) {
  const std::string path = folder.empty() ? "." : folder;
  auto directory =
      std::make_unique<Descriptor>(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory->get() >= 0 && ::flock(directory->get(), LOCK_EX | LOCK_NB) != 0 &&
      errno == EWOULDBLOCK) {
    return FailCommand(FailureCode::kLogDir, path + ": another dry run is writing its reports here",
                       "wait until it has ended, or choose another folder with --log_dir");
  }
  return directory;
}

Status WriteFiles(const std::string& folder, const std::vector<OutputFile>& files) {
  std::vector<std::string> temporaries;
  Status status;
  for (const OutputFile& file : files) {
    const std::string path = PathIn(folder, file.path);
    if (!file.ours && !MayReplace(path)) {
      status = FailCommand(FailureCode::kReportWrite,
                           path + " is there already and is not a report of ours",
                           "move it away, or choose another folder with --log_dir");
      break;
    }
    temporaries.push_back(TemporaryName(path));
    status = WriteTemporary(temporaries.back(), file.text, path);
    if (!status) {
      break;
    }
  }
  for (std::size_t i = files.size(); status && i-- > 0;) {
    const std::string path = PathIn(folder, files[i].path);
    if (::rename(temporaries[i].c_str(), path.c_str()) != 0) {
      status = FailWrite(path, errno);
    }
  }
  for (const std::string& temporary : temporaries) {
    ::unlink(temporary.c_str());  // gone already where all went well
  }
  SyncFolder(folder);
  return status;
}

Error WithFolderFlag(Error error, std::string_view flag) {
  constexpr std::string_view kOurs = "--log_dir";
  std::string& hint = error.hint;
  const std::size_t at = hint.find(kOurs);
  if (at != std::string::npos) {
    hint.replace(at, kOurs.size(), flag);
  }
  return error;
}

}  // namespace drydock::launcher
