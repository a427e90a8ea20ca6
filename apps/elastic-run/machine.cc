#include "apps/elastic-run/machine.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "transport/real/link/seal.h"
#include "transport/real/process/descriptor.h"

extern char** environ;

namespace elastic::launch {
namespace {

constexpr std::size_t kLongestToken = 4096;

std::uint32_t cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
  }
  return 1;
}

// As the driver shows them; CUDA_VISIBLE_DEVICES narrows the choice.
std::uint32_t gpus() {
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    const std::string_view list(visible);
    if (list.empty() || list == "-1" || list == "NoDevFiles") return 0;
    return 1 + static_cast<std::uint32_t>(std::count(list.begin(), list.end(), ','));
  }
  std::uint32_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename();
    const bool gpu = name.rfind("nvidia", 0) == 0 && name.size() > 6 &&
                     name.find_first_not_of("0123456789", 6) == std::string::npos;
    if (gpu) ++count;
  }
  return count;
}

FileKind kind_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return FileKind::kAbsent;
  if (!S_ISREG(found.st_mode)) return FileKind::kPlain;
  return ::access(path.c_str(), X_OK) == 0 ? FileKind::kExecutable : FileKind::kPlain;
}

std::string numeric(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
    if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
      ::inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, text, sizeof text);
    } else {
      ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
    }
  }
  return text;
}

// All addresses of this machine; 127.0.0.0/8 is ours as a whole.
std::vector<std::string> own_addresses() {
  std::vector<std::string> all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return all;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr != nullptr) all.push_back(numeric(one->ifa_addr));
  }
  ::freeifaddrs(list);
  return all;
}

std::string trimmed(std::string text) {
  const auto space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && space(text.back())) text.pop_back();
  std::size_t begin = 0;
  while (begin < text.size() && space(text[begin])) ++begin;
  return text.substr(begin);
}

std::string host_file(const std::string& folder) { return folder + "/host-slot"; }

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.cpus = cpus();
  machine.gpus = gpus();
  char name[256] = {};
  machine.hostname = ::gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "localhost";
  const std::string drawn = real::random_bytes(sizeof machine.nonce);
  std::memcpy(&machine.nonce, drawn.data(), sizeof machine.nonce);
  machine.file = kind_of;
  return machine;
}

Environment this_environment() {
  Environment all;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view line(*at);
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      all.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  return all;
}

bool is_this_machine(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::vector<std::string> own = own_addresses();
  bool ours = false;
  for (const addrinfo* one = found; one != nullptr && !ours; one = one->ai_next) {
    const std::string address = numeric(one->ai_addr);
    ours = address.rfind("127.", 0) == 0 || std::find(own.begin(), own.end(), address) != own.end();
  }
  ::freeaddrinfo(found);
  return ours;
}

bool port_is_free(std::uint16_t port) {
  const real::Descriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return true;  // the attempt itself will tell
  const int on = 1;
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

tl::expected<std::string, std::string> read_token(const std::string& file) {
  const real::Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    return tl::unexpected(
        fmt::format("the token file {} cannot be read: {}", file, std::strerror(errno)));
  const std::string token = trimmed(real::read_small_file(file, kLongestToken));
  if (token.empty()) return tl::unexpected(fmt::format("the token file {} is empty", file));
  return token;
}

tl::expected<std::string, std::string> stored_token(const std::string& job_id) {
  const auto folder = real::job_folder(job_id);
  if (!folder) return tl::unexpected(folder.error());
  return trimmed(real::read_small_file(*folder + "/token", kLongestToken));
}

tl::expected<void, std::string> store_token(const std::string& job_id, const std::string& token) {
  const auto folder = real::job_folder(job_id);
  if (!folder) return tl::unexpected(folder.error());
  const std::string file = *folder + "/token";
  const int error = real::replace_file(file, token + "\n", false);
  if (error != 0) return tl::unexpected(real::errno_text(file, error));
  (void)::chmod(file.c_str(), 0600);
  return {};
}

tl::expected<real::Slot, std::string> slot_for(const std::string& job_id, bool host) {
  const auto folder = real::job_folder(job_id);
  if (!folder) return tl::unexpected(folder.error());
  const std::string noted = trimmed(real::read_small_file(host_file(*folder), 64));
  std::optional<unsigned> hosts;
  unsigned number = 0;
  const auto parsed = std::from_chars(noted.data(), noted.data() + noted.size(), number);
  if (parsed.ec == std::errc() && !noted.empty()) hosts = number;
  if (host) {
    if (hosts) {
      if (auto slot = real::take_slot(job_id, hosts)) return slot;
    }
    auto slot = real::take_slot(job_id);
    if (!slot) return slot;
    const int error = real::replace_file(host_file(*folder), std::to_string(slot->number), true);
    if (error != 0) return tl::unexpected(real::errno_text(host_file(*folder), error));
    return slot;
  }
  auto slot = real::take_slot(job_id);
  if (!slot || !hosts || slot->number != *hosts) return slot;
  // Held until another one is taken, and free again then.
  return real::take_slot(job_id);
}

}  // namespace elastic::launch
