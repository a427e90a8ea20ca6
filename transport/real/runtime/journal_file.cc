#include "transport/real/runtime/journal_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "core/assert.h"
#include "transport/wire/codec.h"
#include "transport/wire/frame.h"

namespace elastic::real {
namespace {

constexpr std::int64_t kWorthRewriting = 1 << 20;  // bytes of emptied records
constexpr std::size_t kPortion = std::size_t{1} << 20;
constexpr auto kTryAgain = std::chrono::milliseconds(500);

std::string why(const char* what, const std::string& path) {
  return fmt::format("{} {}: {}", path, what, std::strerror(errno));
}

std::string bytes_of(JournalLife life) {
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<char>(life.value >> shift & 0xff));
  }
  return bytes;
}

JournalLife life_of(std::string_view bytes) {
  JournalLife life;
  for (std::size_t i = 0; i < 8; ++i) {
    life.value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return life;
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool sync_folder(const std::string& path) {
  const int folder = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return false;
  const bool done = ::fsync(folder) == 0;
  ::close(folder);
  return done;
}

std::string frame_of(wire::FrameKind kind, std::string_view payload) {
  const auto bytes = wire::frame(kind, payload);
  ELASTIC_ASSERT(bytes.has_value());  // a World of 65,536 members is far below the limit
  return *bytes;
}

}  // namespace

JournalStore::~JournalStore() { close(); }

void JournalStore::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

// Opens an existing file; with no file, leaves file_ at -1 and says nothing.
std::optional<std::string> JournalStore::open() {
  close();
  file_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ < 0)
    return errno == ENOENT ? std::nullopt : std::optional(why("cannot be opened", path_));
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    close();
    return fmt::format("{} is in use by another process: two agents would keep one journal", path_);
  }
  return std::nullopt;
}

JournalStore::Found JournalStore::refuse(std::string problem) {
  close();
  Found found;
  found.file.exists = true;
  found.problem = std::move(problem);
  return found;
}

JournalStore::Found JournalStore::read() {
  records_.clear();
  life_ = {};
  size_ = 0;
  wasted_ = 0;
  if (auto problem = open()) return refuse(*problem);
  Found found;
  if (file_ < 0) return found;

  wire::FrameReader frames;
  std::string portion(kPortion, '\0');
  std::string damage;
  bool zeros = true;  // of what follows the last whole frame
  std::int64_t end = 0;
  for (;;) {
    const ssize_t count = ::read(file_, portion.data(), portion.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return refuse(why("cannot be read", path_));
    if (count == 0) break;
    end += count;
    const std::string_view bytes(portion.data(), static_cast<std::size_t>(count));
    if (!damage.empty()) {
      zeros = zeros && bytes.find_first_not_of('\0') == std::string_view::npos;
      continue;
    }
    frames.feed(bytes);
    for (;;) {
      const auto frame = frames.next();
      if (!frame) {
        damage = frame.error().message;
        break;
      }
      if (!*frame) break;
      const std::string_view payload = (*frame)->payload;
      if ((*frame)->kind == wire::FrameKind::kJournalLife && payload.size() == 8 && !life_) {
        life_ = life_of(payload);
      } else if ((*frame)->kind == wire::FrameKind::kJournalRecord && life_) {
        const auto record = wire::decode_numbered_record(payload);
        if (!record)
          return refuse(fmt::format("{} holds a record that cannot be read: {}", path_,
                                    record.error().message()));
        if (record->number.value != records_.size() + 1) {
          return refuse(fmt::format("{}: record {} follows record {}", path_, record->number.value,
                                    records_.size()));
        }
        records_[record->number.value] = std::string(payload);
        found.file.records.push_back(*record);
      } else {
        return refuse(fmt::format("{} is no journal of Elastic", path_));
      }
      size_ += static_cast<std::int64_t>(wire::kHeaderBytes + payload.size());
    }
  }
  if (!damage.empty()) {
    // Zeros are what some file systems leave of a write that a crash cut off.
    std::string rest(static_cast<std::size_t>(end - size_), '\0');
    const ssize_t count = ::pread(file_, rest.data(), rest.size(), size_);
    zeros = count == static_cast<ssize_t>(rest.size()) &&
            rest.find_first_not_of('\0') == std::string::npos;
    if (!zeros) {
      return refuse(
          fmt::format("{} is damaged after {} bytes ({}); it is not served, because it may have "
                      "held records that "
                      "others rely on. Restore it, or move it away to found a new journal",
                      path_, size_, damage));
    }
  }
  if (end > size_ && (::ftruncate(file_, size_) != 0 || ::fdatasync(file_) != 0)) {
    return refuse(why("cannot be cut to what is whole", path_));
  }
  if (!life_) {  // a crash at its founding: nothing was ever acknowledged
    close();
    return found;
  }
  if (::lseek(file_, size_, SEEK_SET) < 0) return refuse(why("cannot be read", path_));
  found.file.exists = true;
  found.file.life = life_;
  return found;
}

std::optional<std::string> JournalStore::rewrite(
    JournalLife life, const std::map<std::uint64_t, std::string>& records) {
  const std::string beside = path_ + ".new";
  const int file = ::open(beside.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return why("cannot be created", beside);
  std::string bytes = frame_of(wire::FrameKind::kJournalLife, bytes_of(life));
  for (const auto& [number, record] : records)
    bytes += frame_of(wire::FrameKind::kJournalRecord, record);
  const bool written = ::flock(file, LOCK_EX | LOCK_NB) == 0 && write_all(file, bytes) &&
                       ::fsync(file) == 0 && ::rename(beside.c_str(), path_.c_str()) == 0;
  if (!written) {
    const std::string text = why("cannot be written", beside);
    ::close(file);
    ::unlink(beside.c_str());
    return text;
  }
  // Until the folder is synced the old file may come back: only then does the new one count.
  if (!sync_folder(path_)) {
    const std::string text = why("cannot be made durable", path_);
    ::close(file);
    return text;
  }
  close();
  file_ = file;
  life_ = life;
  records_ = records;
  size_ = static_cast<std::int64_t>(bytes.size());
  wasted_ = 0;
  return std::nullopt;
}

std::optional<std::string> JournalStore::write(const WriteJournalFile& write) {
  if (!write.record.number) return rewrite(write.life, {});
  if (file_ < 0 || write.life != life_) {
    return fmt::format("{} is not the file of the journal that a record is for", path_);
  }
  ELASTIC_ASSERT(write.record.number.value == records_.size() + 1);
  const std::string record = wire::encode(write.record);
  const std::string bytes = frame_of(wire::FrameKind::kJournalRecord, record);
  if (!write_all(file_, bytes) || ::fdatasync(file_) != 0) {
    const std::string text = why("cannot be written", path_);
    (void)::ftruncate(file_, size_);
    (void)::lseek(file_, size_, SEEK_SET);
    return text;
  }
  size_ += static_cast<std::int64_t>(bytes.size());
  records_[write.record.number.value] = record;
  return std::nullopt;
}

std::optional<std::string> JournalStore::empty(const EmptyRecords& emptied) {
  if (file_ < 0 || emptied.life != life_) return std::nullopt;
  for (const RecordNo number : emptied.records) {
    const auto at = records_.find(number.value);
    if (at == records_.end()) continue;
    auto record = wire::decode_numbered_record(at->second);
    ELASTIC_ASSERT(record.has_value());
    record->record.body = Emptied{};
    std::string smaller = wire::encode(*record);
    wasted_ +=
        static_cast<std::int64_t>(at->second.size()) - static_cast<std::int64_t>(smaller.size());
    at->second = std::move(smaller);
  }
  if (wasted_ < kWorthRewriting || wasted_ < size_ / 2) return std::nullopt;
  const std::map<std::uint64_t, std::string> records = records_;
  return rewrite(life_, records);
}

// ---- On its thread

struct JournalFile::Shared : std::enable_shared_from_this<JournalFile::Shared> {
  Shared(asio::io_context& io, std::string path, std::function<void(Input)> give_input,
         std::function<void(const std::string&)> say)
      : loop(io), store(std::move(path)), give(std::move(give_input)), trouble(std::move(say)) {}

  asio::io_context& loop;
  JournalStore store;
  std::function<void(Input)> give;                  // on the loop
  std::function<void(const std::string&)> trouble;  // on the loop
  std::atomic<bool> stopped = false;

  void answer(Input input) {
    asio::post(loop, [self = shared_from_this(), input = std::move(input)]() mutable {
      if (!self->stopped) self->give(std::move(input));
    });
  }
  void say(const std::string& text) {
    asio::post(loop, [self = shared_from_this(), text] {
      if (!self->stopped) self->trouble(text);
    });
  }
};

JournalFile::JournalFile(asio::io_context& loop, std::string path, std::function<void(Input)> give,
                         std::function<void(const std::string&)> trouble)
    : shared_(
          std::make_shared<Shared>(loop, std::move(path), std::move(give), std::move(trouble))) {}

JournalFile::~JournalFile() {
  shared_->stopped = true;
  thread_.join();
}

void JournalFile::read() {
  asio::post(thread_, [shared = shared_] {
    JournalStore::Found found = shared->store.read();
    if (!found.problem.empty()) shared->say(found.problem);
    shared->answer(std::move(found.file));
  });
}

void JournalFile::write(WriteJournalFile write) {
  asio::post(thread_, [shared = shared_, write = std::move(write)] {
    bool said = false;
    while (!shared->stopped) {
      const auto problem = shared->store.write(write);
      if (!problem) {
        if (said) shared->say("the journal's file can be written again");
        shared->answer(JournalFileSynced{write.record.number});
        return;
      }
      if (!said) shared->say(*problem + "; no round can change until it can be written");
      said = true;
      std::this_thread::sleep_for(kTryAgain);
    }
  });
}

void JournalFile::empty(EmptyRecords emptied) {
  asio::post(thread_, [shared = shared_, emptied = std::move(emptied)] {
    if (const auto problem = shared->store.empty(emptied)) {
      shared->say(*problem + "; the journal's file stays larger than it need be");
    }
  });
}

}  // namespace elastic::real
