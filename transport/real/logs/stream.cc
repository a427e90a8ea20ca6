#include "transport/real/logs/stream.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace elastic::real {
namespace {

Time now() { return Time(std::chrono::steady_clock::now().time_since_epoch()); }

std::uint64_t newlines(std::string_view bytes) {
  return static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
}

// One buffer per thread: what is read is used up before the next read.
char* read_buffer() {
  thread_local std::vector<char> buffer(Stream::kReadAtOnce);
  return buffer.data();
}

}  // namespace

Stream::Stream(std::shared_ptr<boost::asio::io_context> context, Console console, StreamSetup setup)
    : context_(std::move(context)),
      pipe_(*context_, setup.pipe),
      console_(std::move(console)),
      setup_(std::move(setup)),
      file_ok_(setup_.file >= 0) {}

Stream::~Stream() {
  if (setup_.file >= 0) ::close(setup_.file);
  if (setup_.filtered_file >= 0) ::close(setup_.filtered_file);
}

void Stream::start(std::function<void()> at_end) {
  at_end_ = std::move(at_end);
  read_when_ready();
}

// Without a file, nothing is read before the console has taken what was read before.
bool Stream::may_read() const {
  if (!setup_.on_console || file_ok_ || leaving_out_) return true;
  return pending_.empty() && unshown_.empty() && !file_is_ahead();
}

void Stream::read_when_ready() {
  if (reading_ || ended_ || !may_read()) return;
  reading_ = true;
  pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [weak = weak_from_this()](const boost::system::error_code& error) {
                     const auto self = weak.lock();
                     if (!self) return;
                     self->reading_ = false;
                     if (!error && !self->ended_) self->read();
                   });
}

void Stream::read() {
  char* buffer = read_buffer();
  const ssize_t got = ::read(pipe_.native_handle(), buffer, kReadAtOnce);
  if (got > 0) {
    take({buffer, static_cast<std::size_t>(got)});
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    end();
  }
  read_when_ready();
}

void Stream::take(std::string_view bytes) {
  setup_.tail->append(bytes);
  if (setup_.filtered_file >= 0) filter(bytes);
  if (file_ok_) {
    const std::uint64_t before = written_;
    write_file(bytes);
    bytes.remove_prefix(static_cast<std::size_t>(written_ - before));
  }
  if (!setup_.on_console) return;
  if (leaving_out_) {
    lines_left_out_ += newlines(bytes);
    return;
  }
  unshown_.append(bytes);
  feed_console();
}

void Stream::write_file(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(setup_.file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      file_ok_ = false;
      console_.say(Console::Target::kErr,
                   fmt::format("[elastic] {} holds {} only up to byte {}: {}", setup_.file_path,
                               setup_.name, written_, std::strerror(errno)));
      return;
    }
    const std::string_view part = bytes.substr(0, static_cast<std::size_t>(done));
    const std::size_t last = part.rfind('\n');
    if (last != std::string_view::npos) {
      line_end_ = written_ + last + 1;
      lines_written_ += newlines(part);
    }
    written_ += part.size();
    bytes.remove_prefix(part.size());
  }
}

void Stream::filter(std::string_view bytes) {
  filter_splitter_.feed(bytes, [this](const LinePiece& piece) { copy_if_wanted(piece); });
}

void Stream::copy_if_wanted(const LinePiece& piece) {
  if (piece.kind == LinePiece::Kind::kProgress) return;
  const auto wanted = [&](const std::string& part) {
    return piece.text.find(part) != std::string_view::npos;
  };
  if (std::none_of(setup_.filters.begin(), setup_.filters.end(), wanted)) return;
  const std::string line = fmt::format("{}{}\n", setup_.prefix, piece.text);
  // One write, so that lines of several workers in this file do not mix.
  [[maybe_unused]] const ssize_t done = ::write(setup_.filtered_file, line.data(), line.size());
}

void Stream::end() {
  if (ended_) return;
  ended_ = true;
  boost::system::error_code ignored;
  pipe_.close(ignored);
  if (setup_.filtered_file >= 0) {
    filter_splitter_.finish([this](const LinePiece& piece) { copy_if_wanted(piece); });
  }
  feed_console();
  if (at_end_) std::exchange(at_end_, nullptr)();
}

void Stream::abandon() {
  std::size_t taken = 0;
  while (!ended_ && taken < kAbandonBytes) {
    char* buffer = read_buffer();
    const ssize_t got = ::read(pipe_.native_handle(), buffer, kReadAtOnce);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    take({buffer, static_cast<std::size_t>(got)});
    taken += static_cast<std::size_t>(got);
  }
  end();
}

// Shows what there is, as long as the console takes it, at most kReadAtOnce in one turn.
void Stream::feed_console() {
  if (!setup_.on_console) {
    finished_ = ended_;
    return;
  }
  for (std::size_t turn = 0; turn < kReadAtOnce / kShowAtOnce; ++turn) {
    if (waiting_ || !offer_pending()) return;
    if (leaving_out_) return;
    if (!show_more()) {
      finished_ = ended_ && pending_.empty();
      read_when_ready();
      return;
    }
  }
  if (std::exchange(posted_, true)) return;
  boost::asio::post(*context_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->posted_ = false;
    self->feed_console();
  });
}

bool Stream::offer_pending() {
  if (pending_.empty()) return true;
  if (console_.offer(setup_.target, pending_)) {
    pending_.clear();
    return true;
  }
  waiting_ = true;
  // The console calls from its own thread, perhaps when this stream is long gone.
  console_.on_room(setup_.target, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    boost::asio::post(*self->context_, [weak] {
      if (const auto there = weak.lock()) there->console_has_room();
    });
  });
  return false;
}

void Stream::console_has_room() {
  waiting_ = false;
  if (std::exchange(leaving_out_, false)) {
    pending_ += left_out(std::exchange(lines_left_out_, 0), "the console was stuck");
    finished_ = false;
  }
  feed_console();
}

// Turns the next bytes into pending_ lines; false if there are none.
bool Stream::show_more() {
  const auto each = [this](const LinePiece& piece) { show(piece); };
  if (file_is_ahead()) {
    skip_if_far_behind();
    char* buffer = read_buffer();
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(kShowAtOnce, written_ - shown_));
    const ssize_t got = ::pread(setup_.file, buffer, most, static_cast<off_t>(shown_));
    if (got <= 0) {  // somebody has cut the file: go on with what is not in it
      shown_ = written_;
      return true;
    }
    shown_ += static_cast<std::uint64_t>(got);
    lines_shown_ += newlines({buffer, static_cast<std::size_t>(got)});
    splitter_.feed({buffer, static_cast<std::size_t>(got)}, each);
    return true;
  }
  if (!unshown_.empty()) {
    const std::size_t most = std::min(kShowAtOnce, unshown_.size());
    splitter_.feed(std::string_view(unshown_).substr(0, most), each);
    unshown_.erase(0, most);
    return true;
  }
  if (!ended_ || finished_) return false;
  splitter_.finish(each);
  return !pending_.empty();
}

void Stream::skip_if_far_behind() {
  if (written_ - shown_ <= setup_.limits.console_lag || line_end_ <= shown_) return;
  pending_ += left_out(lines_written_ - lines_shown_, "the console is slower than the worker");
  shown_ = line_end_;
  lines_shown_ = lines_written_;
  splitter_.reset();
}

void Stream::show(const LinePiece& piece) {
  if (piece.kind == LinePiece::Kind::kProgress) {
    const Time at = now();
    if (progress_shown_ != Time{} && at - progress_shown_ < setup_.limits.progress_every) return;
    progress_shown_ = at;
  }
  pending_ += setup_.prefix;
  pending_ += piece.text;
  pending_ += '\n';
}

std::string Stream::left_out(std::uint64_t lines, std::string_view why) const {
  const std::string where = setup_.file >= 0 ? "; all are in " + setup_.file_path : std::string();
  return fmt::format("[elastic] {} lines left out here ({}): {}{}\n", lines, setup_.name, why,
                     where);
}

void Stream::tick() {
  if (!waiting_ || leaving_out_ || may_read()) return;
  if (console_.stuck_for(setup_.target) >= setup_.limits.console_patience) stop_showing();
}

// The console is stuck and the worker has waited long enough: from here on lines are counted.
void Stream::stop_showing() {
  leaving_out_ = true;
  lines_left_out_ += newlines(pending_) + newlines(unshown_) + (lines_written_ - lines_shown_);
  pending_.clear();
  unshown_.clear();
  splitter_.reset();
  shown_ = written_;
  lines_shown_ = lines_written_;
  read_when_ready();
}

void Stream::give_up() {
  if (setup_.on_console && !finished_) {
    stop_showing();
    if (lines_left_out_ > 0) {
      const std::string text = left_out(std::exchange(lines_left_out_, 0), "the console is stuck");
      console_.say(setup_.target, std::string_view(text).substr(0, text.size() - 1));
    }
  }
  finished_ = true;
  end();
}

}  // namespace elastic::real
