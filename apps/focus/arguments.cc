#include "arguments.h"

#include <fmt/format.h>

namespace focus::app {

void ModelArguments::add(CLI::App& app) {
  app.add_option("--model", model, "Hugging Face folder or GGUF file")
      ->required()
      ->type_name("PATH");
  app.add_option("--dtype", dtype, "bf16, f32, or auto: bf16 where the CPU multiplies it")
      ->check(CLI::IsMember({"auto", "bf16", "f32"}))
      ->type_name("TYPE")
      ->capture_default_str();
  app.add_option("--threads", threads, "CPU threads (default: all)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

void TextArguments::add(CLI::App& app) {
  app.add_option("--text", patterns, "plain or gzip files, or globs in quotes")
      ->required()
      ->type_name("PATH...");
  app.add_option("--tokens", tokens, "window length T")
      ->check(CLI::Range(8, 1 << 24))
      ->type_name("N")
      ->capture_default_str();
}

std::string short_number(double value) { return fmt::format("{:.6g}", value); }

}  // namespace focus::app
