#include "launcher/sqlite_file.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "launcher/exit_code.h"

namespace drydock::launcher {
namespace {

/// `sqlite3` of the library's header.
struct Database;
using Open = int (*)(const char*, Database**);
using Close = int (*)(Database*);
using Exec = int (*)(Database*, const char*, void*, void*, char**);
using Message = const char* (*)(Database*);

template <typename Function>
Function Symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));  // as dlsym(3) has it
}

/// The library while the object lives.
class Sqlite {
 public:
  Sqlite() : library_(::dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL)) {
    if (library_ != nullptr) {
      open_ = Symbol<Open>(library_, "sqlite3_open");
      close_ = Symbol<Close>(library_, "sqlite3_close");
      exec_ = Symbol<Exec>(library_, "sqlite3_exec");
      message_ = Symbol<Message>(library_, "sqlite3_errmsg");
    }
  }
  ~Sqlite() {
    if (library_ != nullptr) {
      ::dlclose(library_);
    }
  }
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  [[nodiscard]] bool IsThere() const {
    return open_ != nullptr && close_ != nullptr && exec_ != nullptr && message_ != nullptr;
  }

  /// What went wrong; empty if nothing did.
  [[nodiscard]] std::string Run(const std::string& path, const std::string& statements) const {
    Database* database = nullptr;
    std::string trouble;
    if (open_(path.c_str(), &database) != 0 ||
        exec_(database, statements.c_str(), nullptr, nullptr, nullptr) != 0) {
      trouble = message_(database);
    }
    close_(database);
    return trouble;
  }

 private:
  void* library_ = nullptr;
  Open open_ = nullptr;
  Close close_ = nullptr;
  Exec exec_ = nullptr;
  Message message_ = nullptr;
};

}  // namespace

Status WriteDatabase(const std::string& path, const std::string& statements) {
  const Sqlite library;
  if (!library.IsThere()) {
    return FailCommand(FailureCode::kNoSqlite, "libsqlite3.so.0 is not there",
                       "install SQLite's library (Debian: libsqlite3-0), or export csv");
  }
  const std::string temporary = path + "." + std::to_string(::getpid()) + ".tmp";
  ::unlink(temporary.c_str());
  std::string trouble = library.Run(temporary, statements);
  if (trouble.empty() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    trouble = std::error_code(errno, std::generic_category()).message();
  }
  if (!trouble.empty()) {
    ::unlink(temporary.c_str());
    return FailCommand(FailureCode::kReportWrite, path + ": " + trouble,
                       "choose another folder with --log_dir");
  }
  return {};
}

}  // namespace drydock::launcher
