#include "transport/real/logs/error_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace elastic::real {
namespace {

using nlohmann::json;

const json* member(const json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// A whole number, also as text: torch writes the time as text, older versions as a number.
std::optional<std::int64_t> number_of(const json* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  const std::string text = text_of(value);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

tl::unexpected<std::string> cannot(std::string_view what, const std::string& path, int error) {
  return tl::make_unexpected(fmt::format("cannot {} {}: {}", what, path, std::strerror(error)));
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(file, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

}  // namespace

tl::expected<ProgramError, std::string> parse_error_file(std::string_view text) {
  if (text.size() > kLongestErrorFile) {
    return tl::make_unexpected(
        fmt::format("an error file of more than {} bytes is not read", kLongestErrorFile));
  }
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    return depth <= kDeepestErrorFile;
  };
  const json whole = json::parse(text, shallow, /*allow_exceptions=*/false);
  if (whole.is_discarded()) return tl::make_unexpected(std::string("it is not JSON"));
  const json* message = member(whole, "message");
  if (message == nullptr) return tl::make_unexpected(std::string("it has no \"message\""));
  if (message->is_string()) return ProgramError{message->get<std::string>(), {}, {}, {}};
  const json* inner = member(*message, "message");
  if (inner == nullptr || !inner->is_string()) {
    return tl::make_unexpected(
        std::string("\"message\" is neither a text nor an object with a text \"message\""));
  }
  ProgramError error;
  error.message = inner->get<std::string>();
  if (const json* extra = member(*message, "extraInfo")) {
    error.call_stack = text_of(member(*extra, "py_callstack"));
    error.timestamp = number_of(member(*extra, "timestamp"));
  }
  if (const auto code = number_of(member(*message, "errorCode"))) {
    if (*code >= -255 && *code <= 255) error.code = static_cast<int>(*code);
  }
  return error;
}

tl::expected<std::optional<ProgramError>, std::string> read_error_file(const std::string& path) {
  // Non-blocking, and regular files only: the program chooses what lies there.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<ProgramError>();
    return cannot("read", path, errno);
  }
  struct stat found {};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode)) {
    ::close(file);
    return tl::make_unexpected(path + " is no regular file");
  }
  std::string text(kLongestErrorFile + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(file, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  ::close(file);
  text.resize(have);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return std::optional<ProgramError>();
  auto error = parse_error_file(text);
  if (!error) return tl::make_unexpected(fmt::format("{}: {}", path, error.error()));
  return std::optional<ProgramError>(std::move(*error));
}

std::string format_error_file(const ProgramError& error) {
  nlohmann::ordered_json inner{{"message", error.message}};
  if (error.code) inner["errorCode"] = *error.code;
  nlohmann::ordered_json extra{{"py_callstack", error.call_stack}};
  // As text, like torch.
  if (error.timestamp) extra["timestamp"] = fmt::format("{}", *error.timestamp);
  inner["extraInfo"] = extra;
  const nlohmann::ordered_json whole{{"message", inner}};
  // Output of programs need not be UTF-8.
  return whole.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

tl::expected<void, std::string> write_error_file(const std::string& path,
                                                 const ProgramError& error) {
  const std::string scratch = fmt::format("{}.{}", path, ::getpid());
  const int file = ::open(scratch.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return cannot("create", scratch, errno);
  const bool written = write_all(file, format_error_file(error));
  const int why = errno;
  ::close(file);
  if (written && ::rename(scratch.c_str(), path.c_str()) == 0) return {};
  const int reason = written ? errno : why;
  ::unlink(scratch.c_str());
  return cannot("write", path, reason);
}

}  // namespace elastic::real
