#include "transport/real/process/slot.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "transport/real/process/process_table.h"

namespace elastic::real {
namespace {

constexpr unsigned kMaxSlots = 1024;
constexpr std::int64_t kStartOfLives = 1'704'067'200;         // 2024-01-01 in Unix seconds
constexpr std::int64_t kLatestClock = std::int64_t{1} << 31;  // 2092: a clock beyond is wrong
constexpr std::uint64_t kLow48 = (std::uint64_t{1} << 48) - 1;

tl::unexpected<std::string> refuse(std::string text) {
  return tl::unexpected<std::string>(std::move(text));
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string hex(std::uint64_t value) {
  char text[17] = {};
  for (int i = 15; i >= 0; --i, value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

template <class Number>
std::optional<Number> parse(const std::string& text, int base) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string machine() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return std::string(name) + '\0' + trimmed(read_small_file("/etc/machine-id"));
}

std::uint64_t hash(const std::string& bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

std::string text_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

int make_folder(const std::string& path) {
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

// Anybody may make a folder of this name in /tmp before we do.
std::string not_ours_alone(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return errno_text(path, errno);
  std::string why;
  if (S_ISLNK(found.st_mode)) {
    why = "is a symbolic link";
  } else if (!S_ISDIR(found.st_mode)) {
    why = "is no folder";
  } else if (found.st_uid != ::geteuid()) {
    why = "belongs to user " + std::to_string(found.st_uid);
  } else if ((found.st_mode & 077) != 0) {
    why = "is open to other users (chmod 700 it)";
  }
  return why.empty() ? "" : path + " " + why + "; name another folder in ELASTIC_STATE_DIR";
}

OrText<std::string> base_folder() {
  if (const std::string named = text_of("ELASTIC_STATE_DIR"); !named.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(named, failed);
    if (!failed) return named;
    return refuse("cannot make " + named + " (ELASTIC_STATE_DIR): " + failed.message());
  }
  if (const std::string session = text_of("XDG_RUNTIME_DIR"); !session.empty()) {
    const std::string path = session + "/elastic";
    if (make_folder(path) == 0 && not_ours_alone(path).empty()) return path;
  }
  const std::string path = "/tmp/elastic-" + std::to_string(::geteuid());
  if (const int error = make_folder(path); error != 0) {
    return refuse(errno_text("cannot make " + path, error) +
                  "; name another folder in ELASTIC_STATE_DIR");
  }
  if (const std::string why = not_ours_alone(path); !why.empty()) return refuse(why);
  return path;
}

enum class Taken { kYes, kHeld, kFailed };

Taken lock_slot(const std::string& folder, Descriptor& lock, std::string& why) {
  const std::string path = folder + "/lock";
  if (const int error = make_folder(folder); error != 0) {
    why = errno_text("cannot make " + folder, error);
    return Taken::kFailed;
  }
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) {
    why = errno_text("cannot open " + path, errno);
    return Taken::kFailed;
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      const std::string holder = trimmed(read_small_file(path));
      why = holder.empty() ? "another process" : "process " + holder;
      return Taken::kHeld;
    }
    why = errno_text("cannot lock " + path, errno);
    return Taken::kFailed;
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  // For people alone: the lock does not depend on it.
  if (::ftruncate(file.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t wrote = ::pwrite(file.get(), pid.data(), pid.size(), 0);
  }
  lock = std::move(file);
  return Taken::kYes;
}

OrText<std::string> identity_of(const Slot& slot, bool draw) {
  const std::string path = slot.folder + "/identity";
  const std::string known = trimmed(read_small_file(path));
  if (!draw && known.size() == 16 && parse<std::uint64_t>(known, 16)) return known;
  std::uint64_t drawn = 0;
  if (::getrandom(&drawn, sizeof drawn, 0) != sizeof drawn) {
    return refuse(errno_text("cannot draw an identity", errno));
  }
  if (const int error = replace_file(path, hex(drawn) + "\n", true); error != 0) {
    return refuse(errno_text("cannot write " + path, error));
  }
  return hex(drawn);
}

}  // namespace

OrText<std::string> job_folder(const std::string& job) {
  const OrText<std::string> base = base_folder();
  if (!base) return base;
  std::string path = *base + "/" + hex(hash(job + '\0' + machine()));
  if (const int error = make_folder(path); error != 0) {
    return refuse(errno_text("cannot make " + path, error));
  }
  return path;
}

OrText<Slot> take_slot(const std::string& job, std::optional<unsigned> wanted) {
  const OrText<std::string> folder = job_folder(job);
  if (!folder) return refuse(folder.error());
  const unsigned first = wanted.value_or(0);
  for (unsigned number = first; number < kMaxSlots; ++number) {
    Slot slot{job, *folder + "/slot-" + std::to_string(number), number, {}};
    std::string why;
    const Taken taken = lock_slot(slot.folder, slot.lock, why);
    if (taken == Taken::kYes) return slot;
    if (taken == Taken::kFailed) return refuse(why);
    if (wanted) {
      return refuse("slot " + std::to_string(number) + " of job " + job + " is held by " + why +
                    "; wait for its end, or take another slot");
    }
  }
  return refuse("no slot of job " + job + " is free: there are " + std::to_string(kMaxSlots));
}

std::optional<std::uint32_t> life_after(std::uint32_t previous, std::int64_t unix_seconds) {
  std::uint64_t next = std::uint64_t{previous} + 1;
  const std::int64_t clock = unix_seconds - kStartOfLives;
  if (clock > 0 && clock < kLatestClock) next = std::max(next, static_cast<std::uint64_t>(clock));
  if (next > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(next);
}

OrText<AgentId> next_life(const Slot& slot, std::uint16_t order_key, std::int64_t unix_seconds) {
  const std::string path = slot.folder + "/life";
  const auto previous = parse<std::uint32_t>(trimmed(read_small_file(path)), 10);
  // Without its last life, the agent could not be sure that this one is above: it becomes another.
  const auto identity = identity_of(slot, !previous);
  if (!identity) return refuse(identity.error());
  const auto life = life_after(previous.value_or(0), unix_seconds);
  if (!life) return refuse(path + " says that no life is left; remove " + slot.folder);
  if (const int error = replace_file(path, std::to_string(*life) + "\n", true); error != 0) {
    return refuse(errno_text("cannot write " + path, error));
  }
  const std::uint64_t low =
      hash(machine() + '\0' + *identity + '\0' + slot.job + '\0' + std::to_string(slot.number)) &
      kLow48;
  AgentId agent;
  agent.node.value = (std::uint64_t{order_key} << 48) | (low == 0 ? 1 : low);
  agent.life.value = *life;
  return agent;
}

OrText<AgentId> next_life(const Slot& slot, std::uint16_t order_key) {
  return next_life(slot, order_key, static_cast<std::int64_t>(std::time(nullptr)));
}

}  // namespace elastic::real
