#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace drydock::launcher {

/// A report before it is written.
struct OutputFile {
  std::string path = {};  ///< Relative to the output folder.
  std::string text = {};
  bool ours = false;  ///< The name alone tells that a file of that name may be replaced.
};

/// Contents of a file. @error kIo  not there, a folder, not readable, longer than `max_bytes`
[[nodiscard]] Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes);

/// Makes sure that files can be written to `folder` ("" = current), creating it with its parents,
/// for the owner only, if it is missing. @error LOG_DIR
[[nodiscard]] Status PrepareFolder(const std::string& folder);

/// Keeps every other dry run from writing to a folder as long as the descriptor is open; nothing
/// where the file system has no locks. @error LOG_DIR  another one is writing there
[[nodiscard]] Result<std::unique_ptr<Descriptor>> LockFolder(const std::string& folder);

/// Writes all files, or leaves all old ones as they are: every text is first written to a temporary
/// file beside its target and synced, then all are renamed, the first one last: whoever sees that
/// sees all. Symbolic links are replaced, not
/// followed.
///
/// A file that is there already and is not one of our reports (which name their schema,
/// "drydock.<...>", at the beginning) is not touched.
/// @error REPORT_WRITE  with the reason of the system
[[nodiscard]] Status WriteFiles(const std::string& folder, const std::vector<OutputFile>& files);

/// The same failure to write, of a folder that `flag` names and not --log_dir: so does its remedy.
[[nodiscard]] Error WithFolderFlag(Error error, std::string_view flag);

/// True if nothing is there, or a report of ours.
[[nodiscard]] bool MayReplace(const std::string& path);

/// Removes reports of an earlier run; files of those names that are not ours stay.
void RemoveReports(const std::string& folder, const std::vector<std::string>& names);

/// `folder` and `name` joined; `name` alone for the current folder.
[[nodiscard]] std::string PathIn(const std::string& folder, const std::string& name);

}  // namespace drydock::launcher
