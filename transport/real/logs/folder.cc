#include "transport/real/logs/folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace elastic::real {
namespace {

constexpr int kMostTries = 10'000;  // of names that are taken
constexpr std::size_t kLongestName = 64;

tl::unexpected<std::string> cannot(std::string_view what, const std::string& path, int error) {
  return tl::make_unexpected(fmt::format("cannot {} {}: {}", what, path, std::strerror(error)));
}

// Makes `path`, or `path`.2, .3 ... if it is taken; its parent must exist.
tl::expected<std::string, std::string> make_new(const std::string& path) {
  for (int number = 1; number <= kMostTries; ++number) {
    const std::string name = number == 1 ? path : fmt::format("{}.{}", path, number);
    if (::mkdir(name.c_str(), 0777) == 0) return name;
    if (errno != EEXIST) return cannot("make folder", name, errno);
  }
  return cannot("make folder", path, EEXIST);
}

tl::expected<std::string, std::string> make_temporary(std::string_view name) {
  const char* set = std::getenv("TMPDIR");
  const std::string base = set == nullptr || *set == '\0' ? "/tmp" : set;
  std::string path = fmt::format("{}/{}_XXXXXX", base, name);
  if (::mkdtemp(path.data()) == nullptr) return cannot("make folder", path, errno);
  return path;
}

std::string round_name(RoundId round) { return fmt::format("round-{}", round.number); }

}  // namespace

std::string safe_name(std::string_view job) {
  std::string name;
  for (const char c : job.substr(0, kLongestName)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || (c == '.' && !name.empty());
    name += plain ? c : '_';
  }
  return name.empty() ? "job" : name;
}

tl::expected<JobFolder, std::string> JobFolder::make(const JobFolderOptions& options) {
  JobFolder folder;
  folder.options_ = options;
  folder.has_logs_ = options.log_dir != "/dev/null";
  if (!folder.has_logs_) {
    auto made = make_temporary("elastic_errors");
    if (!made) return tl::make_unexpected(made.error());
    folder.path_ = *made;
    return folder;
  }
  std::string base = options.log_dir;
  if (base.empty()) {
    auto made = make_temporary("elastic");
    if (!made) return tl::make_unexpected(made.error());
    base = *made;
  }
  std::error_code error;
  base = std::filesystem::absolute(base, error).string();  // workers may run in another folder
  if (!error) std::filesystem::create_directories(base, error);
  if (error) return cannot("make log folder", base, error.value());
  const std::string start = fmt::format("{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr)));
  auto made = make_new(fmt::format("{}/{}_{}", base, safe_name(options.job), start));
  if (!made) return tl::make_unexpected(made.error());
  folder.path_ = *made;
  return folder;
}

tl::expected<std::string, std::string> JobFolder::make_rank(const LogPlace& placement) const {
  const std::string round = fmt::format("{}/{}", path_, round_name(placement.round));
  if (::mkdir(round.c_str(), 0777) != 0 && errno != EEXIST) {
    return cannot("make folder", round, errno);
  }
  return make_new(fmt::format("{}/rank-{}", round, placement.rank));
}

tl::expected<int, std::string> JobFolder::create_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return cannot("create", path, errno);
  return file;
}

tl::expected<int, std::string> JobFolder::shared_file(RoundId round, std::string_view name) const {
  const std::string path = fmt::format("{}/{}/{}", path_, round_name(round), name);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return cannot("open", path, errno);
  return file;
}

bool JobFolder::write_where(const std::string& rank_folder, const LogPlace& placement,
                            std::optional<pid_t> pid) const {
  nlohmann::ordered_json where{
      {"job", options_.job},    {"node", options_.node},
      {"host", options_.host},  {"round", placement.round.number},
      {"rank", placement.rank}, {"local_rank", placement.local_rank},
      {"pid", nullptr},
  };
  if (pid) where["pid"] = *pid;
  // Names of machines are bytes from outside: what is not UTF-8 is replaced.
  const std::string text = where.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string path = rank_folder + "/where.json";
  const std::string scratch = path + ".new";
  const int file = ::open(scratch.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const std::string line = text + "\n";
  const bool written = ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(file);
  return written && ::rename(scratch.c_str(), path.c_str()) == 0;
}

void JobFolder::remove_if_temporary() const {
  if (has_logs_ || path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace elastic::real
