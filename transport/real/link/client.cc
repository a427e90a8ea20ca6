#include "transport/real/link/client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/connect.hpp>
#include <utility>

namespace elastic::real {
namespace {

using boost::system::error_code;

class Asker final : public ConnectionOwner {
 public:
  explicit Asker(const wire::Session& question) : question_(question) {}

  std::variant<wire::Challenge, wire::Refused> on_hello(Connection&, const wire::Hello&) override {
    return wire::Refused{wire::Refused::Kind::kNotReady, "this is no agent"};
  }
  std::optional<std::string> on_challenge(Connection&, const wire::Challenge&) override {
    return std::nullopt;
  }
  void on_open(Connection& connection) override { (void)connection.send(question_); }
  void on_message(Connection&, Message&&) override {}
  void on_session(Connection& connection, wire::Session&& session) override {
    answer = std::move(session);
    connection.close({});
  }
  void on_ended(Connection&, const Ended& ended) override {
    over = true;
    why = ended.text;
  }

  std::optional<wire::Session> answer;
  bool over = false;
  std::string why;

 private:
  const wire::Session& question_;
};

}  // namespace

tl::expected<wire::Session, std::string> ask_agent(const ClientOptions& options,
                                                   const wire::Session& question) {
  const std::string where = fmt::format("{}:{}", options.endpoint.host, options.endpoint.port);
  asio::io_context loop;
  Asker asker(question);
  ConnectionPtr connection;
  std::string failure;
  tcp::resolver resolver(loop);
  tcp::socket socket(loop);
  resolver.async_resolve(
      options.endpoint.host, std::to_string(options.endpoint.port),
      [&](error_code error, const tcp::resolver::results_type& found) {
        if (error) {
          failure =
              fmt::format("the name {} is not known: {}", options.endpoint.host, error.message());
          return;
        }
        asio::async_connect(socket, found, [&](error_code failed, const tcp::endpoint&) {
          if (failed) {
            failure = fmt::format("nobody answers at {}: {}", where, failed.message());
            return;
          }
          connection = std::make_shared<Connection>(loop, std::move(socket), Side::kDialler,
                                                    options.key, ConnectionLimits{}, asker);
          wire::Hello hello;
          hello.job = options.job;
          hello.role = wire::Role::kClient;
          char name[256] = {};
          if (::gethostname(name, sizeof name - 1) == 0) hello.host_name = name;
          connection->dial(hello);
        });
      });
  const auto end = std::chrono::steady_clock::now() + options.within;
  while (failure.empty() && !asker.over && std::chrono::steady_clock::now() < end) {
    if (loop.run_one_until(end) == 0) break;
  }
  if (connection) connection->abandon();
  if (asker.answer) return *std::move(asker.answer);
  if (failure.empty() && asker.over)
    failure = fmt::format("{} ended the connection: {}", where, asker.why);
  if (failure.empty())
    failure = fmt::format("{} did not answer within {} s", where,
                          std::chrono::duration_cast<std::chrono::seconds>(options.within).count());
  return tl::unexpected(failure);
}

}  // namespace elastic::real
