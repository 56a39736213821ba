// The sub-commands: each adds its options and returns what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>

namespace focus::app {

// Set by SIGINT and SIGTERM after catch_interrupts(); long work looks at it between steps.
extern std::atomic<bool> interrupted;
// From here on the first signal asks the work to finish, and the second ends the process. Until
// then the first one does.
void catch_interrupts();

using Command = std::function<void()>;
Command add_train(CLI::App& app);
Command add_eval(CLI::App& app);
Command add_generate(CLI::App& app);
Command add_info(CLI::App& app);

}  // namespace focus::app
