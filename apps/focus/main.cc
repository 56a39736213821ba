// focus: make a pretrained language model cheap on long text.
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <new>

#include "commands.h"
#include "focus/base/error.h"

namespace focus::app {

std::atomic<bool> interrupted{false};

namespace {

// libgomp's idle threads spin for milliseconds by default. With another busy process on the same
// cores every parallel region then waits for a time slice: two runs side by side took 3.4 times as
// long as one, 1.8 times with this. Alone it costs 5%. It must be set before libgomp reads its
// environment, which its own constructor does.
void spin_briefly(int, char**, char**) {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "2000", 0);
}
[[gnu::section(".preinit_array"),
  gnu::used]] void (*const spin_briefly_first)(int, char**, char**) = spin_briefly;

constexpr int kFailure = 1, kUsage = 2;

// The first signal asks long work to finish; the second ends the process.
void on_signal(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

int run(int argc, char** argv) {
  CLI::App app{"Focus: sparse attention for pretrained language models, by learned groups"};
  app.require_subcommand(1);
  app.get_formatter()->column_width(28);
  app.footer(
      "'focus COMMAND --help' shows the options of a command. Exit codes: 0, 1 failure, 2 usage.");
  Command command;
  const auto add = [&](const char* name, const char* about, Command (*make)(CLI::App&)) {
    CLI::App* sub = app.add_subcommand(name, about);
    const Command body = make(*sub);
    sub->callback([&command, body] { command = body; });
  };
  add("train", "make an adapter for a model from text", add_train);
  add("eval", "judge an adapter beside dense, a window and random groups of equal cost", add_eval);
  add("generate", "continue a prompt, with or without an adapter", add_generate);
  add("info", "what a model, adapter or tensor file holds", add_info);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "focus: error: arguments: expected what 'focus --help' shows, found: {}\n",
               error.what());
    return kUsage;
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  try {
    command();
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "focus: error: {}\n", error.what());
    return error.kind() == ErrorKind::kUsage ? kUsage : kFailure;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr,
               "focus: error: memory: expected enough for this run, found none left; use fewer "
               "--tokens\n");
  } catch (const std::exception& error) {
    const std::string text = error.what();
    fmt::print(stderr, "focus: error: internal: expected no failure, found: {}\n",
               text.substr(0, text.find('\n')));
  }
  return kFailure;
}

}  // namespace
}  // namespace focus::app

int main(int argc, char** argv) { return focus::app::run(argc, argv); }
