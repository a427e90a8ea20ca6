#include "transport/wire/convert.h"
#include "transport/wire/enums.h"

namespace elastic::wire {

static void write(const PeerAddress& address, pb::PeerAddress& out) {
  const auto& [ip, port] = address;
  out.set_ip(ip);
  out.set_port(port);
}

static PeerAddress read(const pb::PeerAddress& in) { return {.ip = in.ip(), .port = in.port()}; }

static void write(const Hello& hello, pb::Hello& out) {
  const auto& [nonce, job, role, agent, host_name, listens] = hello;
  out.set_nonce(nonce);
  out.set_job(job);
  out.set_role(to_pb(role));
  write(agent, *out.mutable_agent());
  out.set_host_name(host_name);
  write(listens, *out.mutable_listens());
}

static Hello read(const pb::Hello& in) {
  return {.nonce = in.nonce(),
          .job = in.job(),
          .role = from_pb<Role>(in.role()),
          .agent = read(in.agent()),
          .host_name = in.host_name(),
          .listens = read(in.listens())};
}

static void write(const Challenge& challenge, pb::Challenge& out) {
  const auto& [nonce, proof, settings, host_name, seen_at, listens] = challenge;
  out.set_nonce(nonce);
  out.set_proof(proof);
  write(settings, *out.mutable_settings());
  out.set_host_name(host_name);
  write(seen_at, *out.mutable_seen_at());
  write(listens, *out.mutable_listens());
}

static Challenge read(const pb::Challenge& in) {
  return {.nonce = in.nonce(),
          .proof = in.proof(),
          .settings = read(in.settings()),
          .host_name = in.host_name(),
          .seen_at = read(in.seen_at()),
          .listens = read(in.listens())};
}

static void write(const Refused& refused, pb::Refused& out) {
  const auto& [kind, reason] = refused;
  out.set_kind(to_pb(kind));
  out.set_reason(reason);
}

static Refused read(const pb::Refused& in) {
  return {.kind = from_pb<Refused::Kind>(in.kind()), .reason = in.reason()};
}

static void write(const AddressAnswer& answer, pb::AddressAnswer& out) {
  const auto& [agent, address, host_name] = answer;
  write(agent, *out.mutable_agent());
  write(address, *out.mutable_address());
  out.set_host_name(host_name);
}

static AddressAnswer read(const pb::AddressAnswer& in) {
  return {.agent = read(in.agent()), .address = read(in.address()), .host_name = in.host_name()};
}

static void write(const RoundAnswer& answer, pb::RoundAnswer& out) {
  const auto& [round, master] = answer;
  write(round, *out.mutable_round());
  write(master, *out.mutable_master());
}

static RoundAnswer read(const pb::RoundAnswer& in) {
  return {.round = read(in.round()), .master = read(in.master())};
}

static void write(const FailureAsk& ask, pb::FailureAsk& out) {
  const auto& [agent, round, local_rank] = ask;
  write(agent, *out.mutable_agent());
  write(round, *out.mutable_round());
  out.set_local_rank(local_rank);
}

static FailureAsk read(const pb::FailureAsk& in) {
  return {.agent = read(in.agent()), .round = read(in.round()), .local_rank = in.local_rank()};
}

static void write(const FailureAnswer& answer, pb::FailureAnswer& out) {
  const auto& [of, last_lines, log, at_unix_ns] = answer;
  write(of, *out.mutable_of());
  for (const std::string& line : last_lines) out.add_last_lines(line);
  out.set_log(log);
  out.set_at_unix_ns(at_unix_ns);
}

static FailureAnswer read(const pb::FailureAnswer& in) {
  return {.of = read(in.of()),
          .last_lines = {in.last_lines().begin(), in.last_lines().end()},
          .log = in.log(),
          .at_unix_ns = in.at_unix_ns()};
}

static void write(const Command& command, pb::Command& out) {
  const auto& [kind, deadline, node] = command;
  out.set_kind(to_pb(kind));
  out.set_deadline_ns(deadline.count());
  out.set_node(node);
}

static Command read(const pb::Command& in) {
  return {.kind = from_pb<Command::Kind>(in.kind()),
          .deadline = Duration(in.deadline_ns()),
          .node = in.node()};
}

namespace {

struct SessionWriter {
  pb::Session& out;
  void operator()(const Hello& said) const { write(said, *out.mutable_hello()); }
  void operator()(const Challenge& said) const { write(said, *out.mutable_challenge()); }
  void operator()(const Proof& said) const { out.mutable_proof()->set_proof(said.proof); }
  void operator()(const Accepted&) const { out.mutable_accepted(); }
  void operator()(const Refused& said) const { write(said, *out.mutable_refused()); }
  void operator()(const AddressAsk& said) const {
    out.mutable_address_ask()->set_node(said.node.value);
  }
  void operator()(const AddressAnswer& said) const { write(said, *out.mutable_address_answer()); }
  void operator()(const RoundAsk& said) const {
    write(said.round, *out.mutable_round_ask()->mutable_round());
  }
  void operator()(const RoundAnswer& said) const { write(said, *out.mutable_round_answer()); }
  void operator()(const FailureAsk& said) const { write(said, *out.mutable_failure_ask()); }
  void operator()(const FailureAnswer& said) const { write(said, *out.mutable_failure_answer()); }
  void operator()(const StatusAsk&) const { out.mutable_status_ask(); }
  void operator()(const StatusAnswer& said) const {
    out.mutable_status_answer()->set_json(said.json);
  }
  void operator()(const Command& said) const { write(said, *out.mutable_command()); }
  void operator()(const CommandDone& said) const {
    out.mutable_command_done()->set_done(said.done);
    out.mutable_command_done()->set_text(said.text);
  }
};

}  // namespace

void write(const Session& session, pb::Session& out) { std::visit(SessionWriter{out}, session); }

Session read(const pb::Session& in) {
  switch (in.kind_case()) {
    case pb::Session::kHello:
      return read(in.hello());
    case pb::Session::kChallenge:
      return read(in.challenge());
    case pb::Session::kProof:
      return Proof{in.proof().proof()};
    case pb::Session::kAccepted:
      return Accepted{};
    case pb::Session::kRefused:
      return read(in.refused());
    case pb::Session::kAddressAsk:
      return AddressAsk{NodeId{in.address_ask().node()}};
    case pb::Session::kAddressAnswer:
      return read(in.address_answer());
    case pb::Session::kRoundAsk:
      return RoundAsk{read(in.round_ask().round())};
    case pb::Session::kRoundAnswer:
      return read(in.round_answer());
    case pb::Session::kFailureAsk:
      return read(in.failure_ask());
    case pb::Session::kFailureAnswer:
      return read(in.failure_answer());
    case pb::Session::kStatusAsk:
      return StatusAsk{};
    case pb::Session::kStatusAnswer:
      return StatusAnswer{in.status_answer().json()};
    case pb::Session::kCommand:
      return read(in.command());
    case pb::Session::kCommandDone:
      return CommandDone{in.command_done().done(), in.command_done().text()};
    case pb::Session::KIND_NOT_SET:
      break;
  }
  ELASTIC_ASSERT(in.kind_case() != pb::Session::KIND_NOT_SET);
  return {};
}

}  // namespace elastic::wire
