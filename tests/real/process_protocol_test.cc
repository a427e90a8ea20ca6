// What agent and supervisor say to each other, and what /proc says.
#include <sys/socket.h>

#include <cstring>

#include "tests/real/process_stage.h"
#include "tests/support/property.h"
#include "transport/real/process/protocol.h"
#include "transport/real/process/supervisor_link.h"

namespace elastic::real::test {
namespace {

std::vector<SupervisorMessage> one_of_each() {
  ToldUnkillable unkillable;
  unkillable.count = 40;
  unkillable.pids[3] = 7;
  return {AddWorkers{0, 2, 100},
          StartTree{1, 2, 3, 4, 5, 6, 7},
          RenewTree{1, 2, 3},
          StopTree{1},
          KillOne{3},
          ForwardSignal{10},
          ToldStarted{1, 2},
          ToldNotStarted{1, 2, 2},
          ToldExited{1, 2, 3},
          ToldEmpty{},
          unkillable};
}

TEST(SupervisorProtocol, every_message_is_read_as_it_was_written) {
  const std::vector<SupervisorMessage> messages = one_of_each();
  ASSERT_EQ(messages.size(), std::variant_size_v<SupervisorMessage>);
  for (const SupervisorMessage& message : messages) {
    const std::vector<std::byte> bytes = encode(message);
    const auto read = decode(bytes);
    ASSERT_TRUE(read) << message.index();
    EXPECT_EQ(read->index(), message.index());
    EXPECT_EQ(encode(*read), bytes);
  }
}

TEST(SupervisorProtocol, a_message_that_is_cut_short_or_too_long_is_none) {
  for (const SupervisorMessage& message : one_of_each()) {
    std::vector<std::byte> bytes = encode(message);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode(std::span(bytes).first(size))) << message.index() << " cut to " << size;
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode(bytes)) << message.index();
  }
}

TEST(SupervisorProtocol, numbers_that_make_no_sense_are_refused) {
  const std::vector<SupervisorMessage> nonsense = {
      AddWorkers{0, 0, 10},
      AddWorkers{0, kWorkersPerMessage + 1, 10},
      AddWorkers{kMaxWorkers, 1, 10},
      AddWorkers{0xffffffff, 2, 10},
      AddWorkers{0, 1, kMaxSpecBytes + 1},
      StartTree{1, 0, 0, 0, 0, 0, 0},
      StartTree{1, 1, 0, -1, 0, 0, 0},
      StartTree{1, 1, INT64_MAX, 1, 1, 1, 1},
      RenewTree{-1, 1, 1},
      ForwardSignal{0},
      ForwardSignal{65},
  };
  for (const SupervisorMessage& message : nonsense) EXPECT_FALSE(decode(encode(message)));
}

TEST(SupervisorProtocol, random_bytes_are_refused_or_read_as_what_they_are) {
  elastic::test::check("bytes are refused, or are exactly what the message read from them is",
                       {"read", "refused"}, [] {
                         std::vector<SupervisorMessage> messages = one_of_each();
                         const auto kind = *rc::gen::inRange<std::size_t>(0, messages.size());
                         std::vector<std::byte> bytes = encode(messages[kind]);
                         const auto changes = *rc::gen::inRange(0, 4);
                         for (int i = 0; i < changes; ++i) {
                           const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
                           bytes[at] = static_cast<std::byte>(*rc::gen::inRange(0, 256));
                         }
                         const auto read = decode(bytes);
                         RC_CLASSIFY(read.has_value(), "read");
                         RC_CLASSIFY(!read.has_value(), "refused");
                         if (read) RC_ASSERT(encode(*read) == bytes);
                       });
}

std::vector<std::string> strings(const std::vector<char*>& pointers) {
  std::vector<std::string> out;
  for (const char* p : pointers) {
    if (p != nullptr) out.emplace_back(p);
  }
  return out;
}

TEST(WorkerPrograms, are_unpacked_as_they_were_packed) {
  elastic::test::check(
      "programs are unpacked as they were packed, and nothing shorter is",
      {"several", "no variable"}, [] {
        const auto word = rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
        const auto count = *rc::gen::inRange<std::size_t>(1, 5);
        std::vector<WorkerProgram> programs(count);
        bool bare = false;
        for (WorkerProgram& program : programs) {
          program.cwd = *word;
          program.argv = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(word));
          program.env = *rc::gen::container<std::vector<std::string>>(word);
          bare = bare || program.env.empty();
        }
        std::string bytes = pack_programs(programs);
        const auto read = unpack_programs(bytes, static_cast<std::uint32_t>(count));
        RC_ASSERT(read.has_value());
        for (std::size_t i = 0; i < count; ++i) {
          RC_ASSERT((*read)[i].cwd == programs[i].cwd);
          RC_ASSERT(strings((*read)[i].argv) == programs[i].argv);
          RC_ASSERT(strings((*read)[i].env) == programs[i].env);
        }
        const auto size = *rc::gen::inRange<std::size_t>(0, bytes.size());
        std::string cut = bytes.substr(0, size);
        RC_ASSERT(!unpack_programs(cut, static_cast<std::uint32_t>(count)).has_value());
        RC_CLASSIFY(count > 1, "several");
        RC_CLASSIFY(bare, "no variable");
      });
}

TEST(WorkerPrograms, with_counts_that_cannot_be_are_refused) {
  for (const std::uint32_t count : {0U, 3U, 0xffffffffU}) {
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &count, sizeof count);
    std::memcpy(bytes.data() + 4, &count, sizeof count);
    bytes += std::string("/\0a\0b\0", 6);
    EXPECT_FALSE(unpack_programs(bytes, 1)) << count;
  }
}

// Straight to a supervisor, past the agent's side.
TEST(SupervisorProtocol, a_supervisor_that_is_sent_garbage_takes_its_agent_for_gone_and_ends) {
  const std::vector<std::byte> garbage(100, std::byte{0x5a});
  const std::vector<std::vector<std::byte>> all = {
      garbage, encode(StartTree{1, 1, 0, 1, 1, 1, 1}), encode(AddWorkers{0, 1, 10}),
      encode(ToldEmpty{}), std::vector<std::byte>(kMaxMessageBytes * 4)};
  for (const std::vector<std::byte>& bytes : all) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    Descriptor ours(ends[0]);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(ours.release());
      ::_exit(supervisor_main(ends[1]));
    }
    ::close(ends[1]);
    EXPECT_EQ(send_packet(ours.get(), bytes.data(), bytes.size(), {}), 0);
    int status = 0;
    EXPECT_TRUE(eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }));
    EXPECT_EQ(status, 0);
  }
}

TEST(SupervisorProtocol, what_is_no_socket_is_refused) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor read_end(ends[0]);
  EXPECT_EQ(supervisor_main(ends[1]), 2);
}

TEST(ProcessTable, a_stat_line_is_read_whatever_the_program_is_called) {
  const auto stat = parse_stat(
      "4711 (a) b ((x) S 1 4711 4000 34816 4711 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 4711);
  EXPECT_EQ(stat->name, "a) b ((x");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 1);
  EXPECT_EQ(stat->group, 4711);
  EXPECT_EQ(stat->session, 4000);
  EXPECT_EQ(stat->start, 987654U);
  for (const char* text : {"", "4711", "4711 (x", "x (y) S 1 2 3", "1 (y) S 1 2", ") 1 ("}) {
    EXPECT_FALSE(parse_stat(text)) << text;
  }
}

TEST(ProcessTable, a_cycle_of_parents_ends) {
  std::vector<ProcessStat> table(3);
  for (int i = 0; i < 3; ++i) {
    table[static_cast<std::size_t>(i)].pid = 10 + i;
    table[static_cast<std::size_t>(i)].parent = 10 + (i + 1) % 3;
  }
  EXPECT_EQ(descendants(table, 10).size(), 3U);
  EXPECT_TRUE(descendants(table, 99).empty());
}

TEST(ProcessTable, a_process_is_signalled_only_under_its_full_name) {
  const auto self = read_stat(::getpid());
  ASSERT_TRUE(self);
  EXPECT_TRUE(signal_process({self->pid, self->start}, 0));
  EXPECT_FALSE(signal_process({self->pid, self->start + 1}, 0));
  EXPECT_FALSE(signal_process({0, 0}, 0));
  EXPECT_FALSE(signal_process({-1, 0}, 0));
}

}  // namespace
}  // namespace elastic::real::test
