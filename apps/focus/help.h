#pragma once

#include <CLI/CLI.hpp>

namespace focus::app {

// --help with one line an option: name, value, meaning, default.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override;
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace focus::app
