// One stream of one worker: from its pipe to its file and the console.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/real/logs/console.h"
#include "transport/real/logs/line_splitter.h"
#include "transport/real/logs/tail.h"

namespace elastic::real {

struct StreamLimits {
  std::size_t console_lag = std::size_t{64} << 20;  // bytes that the console may be behind a file
  Duration console_patience{30'000'000'000};        // see WorkerLogs
  Duration progress_every{1'000'000'000};           // see Stream, promise 4
};

struct StreamSetup {
  int pipe = -1;          // its reading end, non-blocking; owned
  int file = -1;          // open for appending and reading; -1: none; owned
  std::string file_path;  // for messages
  bool on_console = true;
  Console::Target target = Console::Target::kOut;
  std::string prefix;
  std::string name;                  // "stdout of rank 3", for messages
  std::vector<std::string> filters;  // lines that contain one of these go to filtered_file
  int filtered_file = -1;            // owned
  std::shared_ptr<Tail> tail;        // of all that was read
  StreamLimits limits;
};

// Promises:
//  1. What was read is in the file, in order, before anything else is read, whatever the console
//     does. The console is fed from the file, at its own pace; more than `console_lag` behind, it
//     goes on with the newest line and says how many it left out.
//  2. Without a file the console is the only reader: the worker waits for it, and nothing is left
//     out, unless it accepts no byte for `console_patience`; from then on lines are counted only.
//  3. Bounded work per turn: at most kReadAtOnce bytes are read and as many shown.
//  4. Of a progress bar (\r without \n) the console shows one state per `progress_every`, and the
//     last before a newline or the end.
//  5. If the file cannot be written (disk full), what is in it is the beginning of the stream,
//     complete, the console says up to where, and promise 2 holds for the rest.
// Runs on the thread of `context`. Handlers hold it weakly: its owner decides how long it lives.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  static constexpr std::size_t kReadAtOnce = std::size_t{256} << 10;

  Stream(std::shared_ptr<boost::asio::io_context> context, Console console, StreamSetup setup);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  // `at_end` is called once, when all that the pipe will ever bring was read (and is in the file).
  void start(std::function<void()> at_end);
  // Reads what the pipe holds now, up to kAbandonBytes, and takes that for its end: for a pipe that
  // somebody else keeps open.
  void abandon();
  // Gives up what the console has not taken, and says how much that was.
  void give_up();
  // Checks promise 2's patience; to be called a few times per second while waiting().
  void tick();

  bool ended() const { return ended_; }
  bool waiting() const { return waiting_; }    // for the console
  bool finished() const { return finished_; }  // ended, and all was shown

 private:
  static constexpr std::size_t kAbandonBytes = std::size_t{4} << 20;
  static constexpr std::size_t kShowAtOnce = std::size_t{32} << 10;

  void read_when_ready();
  void read();
  void take(std::string_view bytes);
  void end();
  void write_file(std::string_view bytes);
  void filter(std::string_view bytes);
  void copy_if_wanted(const LinePiece& piece);
  bool may_read() const;
  bool file_is_ahead() const { return shown_ < written_; }
  void feed_console();
  bool show_more();
  bool offer_pending();
  void skip_if_far_behind();
  void show(const LinePiece& piece);
  void stop_showing();
  void console_has_room();
  std::string left_out(std::uint64_t lines, std::string_view why) const;

  std::shared_ptr<boost::asio::io_context> context_;
  boost::asio::posix::stream_descriptor pipe_;
  Console console_;
  StreamSetup setup_;
  std::function<void()> at_end_;

  bool file_ok_ = false;        // there is a file, and it is complete so far
  std::uint64_t written_ = 0;   // bytes in the file
  std::uint64_t line_end_ = 0;  // where its last line ends
  std::uint64_t lines_written_ = 0;

  LineSplitter splitter_;
  std::uint64_t shown_ = 0;        // bytes of the file that went into the splitter
  std::uint64_t lines_shown_ = 0;  // of the lines in the file
  std::string unshown_;            // bytes that are not in the file, to be shown after it
  std::string pending_;            // prefixed lines that the console has not taken yet
  Time progress_shown_{};          // zero: none yet
  std::uint64_t lines_left_out_ = 0;
  bool leaving_out_ = false;  // patience is over: lines are counted only

  LineSplitter filter_splitter_;

  bool reading_ = false;  // waits for the pipe
  bool waiting_ = false;  // for the console
  bool posted_ = false;   // feed_console() is to be called again
  bool ended_ = false;
  bool finished_ = false;
};

}  // namespace elastic::real
