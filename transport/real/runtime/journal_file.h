// The file of a hosted journal: what core's HostedJournal is given at start, and what it has
// synced.
//
// The file begins with the journal's life; records follow in order, each in a frame with its check.
// Appending is one write and one fdatasync. A record that was cut off by a crash was never
// acknowledged, and is cut away; anything else that is no journal is left as it is and not served.
// When emptied records make up most of it, the file is written anew beside and renamed over.
//
// Failing writes (a full disk) are tried again for as long as it takes; meanwhile nothing is
// acknowledged, so nothing is lost. All operations run in order on a thread of their own; answers
// come through the loop. The file is locked while it is open.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/io.h"

namespace elastic::real {

namespace asio = boost::asio;

// What one thread does with the file; blocks. Tests use it directly.
class JournalStore {
 public:
  explicit JournalStore(std::string path) : path_(std::move(path)) {}
  ~JournalStore();
  JournalStore(const JournalStore&) = delete;
  JournalStore& operator=(const JournalStore&) = delete;

  // `exists` with life 0: there is a file, and it is no journal that can be served; `problem` says
  // what is wrong, and what to do.
  struct Found {
    JournalFileRead file;
    std::string problem;
  };
  Found read();
  // Nothing, or what went wrong: the record is not there, and the file is as it was.
  std::optional<std::string> write(const WriteJournalFile& write);
  std::optional<std::string> empty(const EmptyRecords& emptied);

 private:
  std::optional<std::string> open();
  std::optional<std::string> rewrite(JournalLife life,
                                     const std::map<std::uint64_t, std::string>& records);
  Found refuse(std::string problem);
  void close();

  std::string path_;
  int file_ = -1;
  JournalLife life_;
  std::int64_t size_ = 0;                         // of the file, all of it synced
  std::map<std::uint64_t, std::string> records_;  // encoded, by number
  std::int64_t wasted_ = 0;                       // bytes of records that were emptied
};

class JournalFile {
 public:
  JournalFile(asio::io_context& loop, std::string path, std::function<void(Input)> give,
              std::function<void(const std::string&)> trouble);
  ~JournalFile();

  void read();
  void write(WriteJournalFile write);
  void empty(EmptyRecords emptied);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  asio::thread_pool thread_{1};
};

}  // namespace elastic::real
