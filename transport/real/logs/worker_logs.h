// The output of the workers of one agent.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "transport/real/logs/console.h"
#include "transport/real/logs/folder.h"
#include "transport/real/logs/prefix.h"
#include "transport/real/logs/stream.h"
#include "transport/real/logs/stream_modes.h"

namespace elastic::real {

struct LogOptions {
  JobFolderOptions folder;
  std::string role_name = "default";
  std::string prefix{kDefaultPrefix};  // a template, see prefix.h
  StreamModes redirects;               // to the file alone
  StreamModes tee;                     // to the file and the console
  std::set<int> local_ranks_shown;     // on the console; empty: all
  std::set<int> ranks_shown;           // by global rank, likewise
  // Lines that contain one of these are copied to filtered_stdout.log, filtered_stderr.log.
  std::vector<std::string> stdout_filters;
  std::vector<std::string> stderr_filters;
  StreamLimits limits;
  Duration drain_bound{2'000'000'000};  // see exited()
  Duration stop_bound{2'000'000'000};   // see stop()
};

// For the worker that is to be started: its descriptors 1 and 2, and its error file.
struct Streams {
  int out = -1;  // the caller closes both once the worker has them; both are close-on-exec
  int err = -1;
  std::string error_file;  // for TORCHELASTIC_ERROR_FILE; empty if no folder could be made
};

// Where a worker's output lies; empty where it goes to no file.
struct LogPaths {
  std::string folder;
  std::string out;
  std::string err;
  std::string error_file;
};

enum class OutputKind : std::uint8_t { kOut, kErr };

// Promises:
//  1. A stream that is redirected goes straight into its file: nothing of ours is in between. With
//     tee (or filters), a thread of this class reads a pipe and writes the file; with neither, it
//     shows whole prefixed lines on the console.
//  2. Every byte that a worker wrote before it died is in its file, in order: pipes are read to
//     their end, whatever the console does (see Stream). A worker waits for the console only where
//     the console is the only reader, and there at most `limits.console_patience` in a row.
//  3. Memory: the last 16 KiB of each stream, 1 MiB that the console has not taken, and less than
//     1 MiB per stream that waits for it.
//  4. The loop only opens files and pipes, at the start of a worker; all reading and writing is
//  done
//     by one thread of its own. That thread may hang with a dead disk without harm to the loop.
//  5. Trouble with files (disk full, no permission) is told on the console once per stream and
//  never
//     keeps a worker from starting: its output goes to the console instead.
// A local rank means its newest worker. Owner: the agent; its thread. `loop` outlives it.
class WorkerLogs {
 public:
  // The error says which folder could not be made, and why.
  static tl::expected<std::unique_ptr<WorkerLogs>, std::string> make(boost::asio::io_context& loop,
                                                                     LogOptions options,
                                                                     Console console);
  WorkerLogs(const WorkerLogs&) = delete;
  WorkerLogs& operator=(const WorkerLogs&) = delete;
  ~WorkerLogs();

  // Before the worker is started. The error is about descriptors or memory of this process.
  tl::expected<Streams, std::string> open(const LogPlace& placement);
  // The worker runs: notes its process id in where.json.
  void started(int local_rank, pid_t pid);
  // The worker has exited. `drained` is called once, on the loop, when its pipes were read to their
  // end and its files are whole; after `drain_bound` at the latest, if another process keeps a pipe
  // open (reading goes on then, until the next worker of this local rank). Not after stop().
  void exited(int local_rank, std::function<void()> drained);
  // The last lines on its stderr, or of stdout if there are none; oldest first.
  std::vector<std::string> tail(int local_rank) const;
  std::vector<std::string> tail(int local_rank, OutputKind which) const;
  LogPaths paths(int local_rank) const;
  const std::string& folder() const;
  // Reads what the pipes hold, gives the console up to `stop_bound` to take it, says what it did
  // not take, and ends the thread. Call it when all workers are gone. Blocks no longer than that
  // plus a second, even with a hung disk. The destructor does it too.
  void stop();

 private:
  struct Parts;
  explicit WorkerLogs(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace elastic::real
