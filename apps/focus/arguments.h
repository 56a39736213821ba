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

struct AdapterArguments {
  std::string folder;  // empty: none
  bool strict = false;
  void add(CLI::App& app, const char* without);
};

// A path; empty, as from a shell variable that is not set, is refused.
CLI::Option* add_path(CLI::App& app, const char* name, std::string& value, const std::string& about,
                      const char* type);

// A number within [low, high], shown with its default.
template <typename T>
CLI::Option* add_number(CLI::App& app, const char* name, T& value, const char* about, double low,
                        double high) {
  return app.add_option(name, value, about)
      ->check(CLI::Range(static_cast<T>(low), static_cast<T>(high)))
      ->type_name(std::is_integral_v<T> ? "N" : "X")
      ->capture_default_str();
}

}  // namespace focus::app
