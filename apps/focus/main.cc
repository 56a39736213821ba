// focus: make a pretrained language model cheap on long text.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

#include "commands.h"
#include "focus/base/error.h"
#include "help.h"

namespace focus::app {

std::atomic<bool> interrupted{false};

namespace {

// libgomp's idle threads spin for milliseconds by default. With another busy process on the same
// cores every parallel region then waits for a time slice (docs/decisions/0007-brief-spinning.md).
// libgomp reads its environment in a constructor, so the process starts itself again with the
// setting; where that is impossible it goes on as it is.
void spin_briefly(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "1000", 1);
  execv("/proc/self/exe", argv);
}

constexpr int kFailure = 1, kUsage = 2;

void on_signal(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

int fail(const Error& error) {
  fmt::print(stderr, "focus: error: {}\n", error.what());
  return error.kind() == ErrorKind::kUsage ? kUsage : kFailure;
}

// What torch says of a failed allocation, and all that nobody foresaw.
Error unforeseen(const std::string& text) {
  if (text.find("allocate memory") != std::string::npos) {
    return {ErrorKind::kMemory, "memory", "enough for this run", "none left",
            "use fewer --tokens or a shorter prompt"};
  }
  return {ErrorKind::kState, "internal", "no failure", text.substr(0, text.find('\n'))};
}

int run(const Command& command) {
  try {
    command();
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      throw Error(ErrorKind::kIo, "standard output", "to write it", "a failure", "check the disk");
    return 0;
  } catch (const Error& error) {
    return fail(error);
  } catch (const std::bad_alloc&) {
    return fail(unforeseen("allocate memory"));
  } catch (const std::system_error& error) {
    return fail({ErrorKind::kIo, "system", "every call to succeed", error.what()});
  } catch (const std::exception& error) {
    return fail(unforeseen(error.what()));
  }
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Focus: sparse attention for pretrained language models, by learned groups",
               "focus"};
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.get_formatter()->column_width(29);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Subcommands", "Commands");
  app.set_help_flag("-h,--help", "show this and exit");
  Command command;
  const auto add = [&](const char* name, const char* about, Command (*make)(CLI::App&)) {
    CLI::App* sub = app.add_subcommand(name, about);
    sub->group("Commands");
    const Command body = make(*sub);
    sub->callback([&command, body] { command = body; });
  };
  add("train", "make an adapter for a model from text", add_train);
  add("eval", "judge an adapter beside dense, a window and random groups of equal cost", add_eval);
  add("generate", "continue a prompt, with or without an adapter", add_generate);
  add("info", "what a model, adapter or tensor file holds", add_info);
  app.set_version_flag("--version", "focus " FOCUS_VERSION, "show the version and exit");
  app.footer(
      "'focus COMMAND --help' shows the options of a command. Exit codes: 0, 1 failure, 2 usage.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const auto chosen = app.get_subcommands();
    if (!chosen.empty()) {
      return fail({ErrorKind::kUsage, "arguments",
                   "what 'focus " + chosen.front()->get_name() + " --help' shows", error.what()});
    }
    const auto rest = app.remaining();
    return fail({ErrorKind::kUsage, "arguments", "a command that 'focus --help' shows",
                 rest.empty() ? "none" : in_quotes(rest.front())});
  }
  return run(command);
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

}  // namespace focus::app

int main(int argc, char** argv) {
  focus::app::spin_briefly(argv);
  return focus::app::parse_and_run(argc, argv);
}
