#include "launcher/install_paths.h"

#include <filesystem>

namespace drydock::launcher {

InstallPaths PathsFor(const std::string& program) {
  const std::filesystem::path prefix = std::filesystem::path(program).parent_path().parent_path();
  return {.trace_library = (prefix / "lib" / "drydock" / "libdrydock_trace.so").string(),
          .python_folder = (prefix / "share" / "drydock" / "python").string(),
          .hardware_folder = (prefix / "share" / "drydock" / "hardware").string(),
          .planning_folder = (prefix / "share" / "drydock" / "planning").string(),
          .pages_folder = (prefix / "share" / "drydock" / "pages").string()};
}

Result<std::string> ProgramPath() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return Fail(ErrorCode::kIo, "/proc/self/exe: " + error.message(),
                "mount /proc; the program finds its own files through it");
  }
  return path.string();
}

Result<std::string> DrydockPath() {
  DRYDOCK_TRY(const std::string self, ProgramPath());
  const std::filesystem::path beside = std::filesystem::path(self).parent_path() / "drydock";
  std::error_code error;
  return std::filesystem::exists(beside, error) ? beside.string() : self;
}

}  // namespace drydock::launcher
