// Options that several sub-commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace focus::app {

struct ModelArguments {
  std::string model;
  std::string dtype = "auto";
  int threads = 0;
  void add(CLI::App& app);
};

struct TextArguments {
  std::vector<std::string> patterns;
  int64_t tokens = 1024;
  void add(CLI::App& app);
};

// A number as people write it: at most six significant digits.
std::string short_number(double value);

}  // namespace focus::app
