#include "arguments.h"

namespace focus::app {
namespace {

std::string refuse_empty(const std::string& path) {
  return path.empty() ? "an empty path" : std::string();
}

}  // namespace

CLI::Option* add_path(CLI::App& app, const char* name, std::string& value, const std::string& about,
                      const char* type) {
  return app.add_option(name, value, about)->check(refuse_empty)->type_name(type);
}

void ModelArguments::add(CLI::App& app) {
  add_path(app, "--model", model, "Hugging Face folder or GGUF file", "PATH")->required();
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
      ->check(refuse_empty)
      ->type_name("PATH...");
  add_number(app, "--tokens", tokens, "window length T", 8, 1 << 24);
}

void AdapterArguments::add(CLI::App& app, const char* without) {
  add_path(app, "--adapter", folder, std::string("adapter folder; without it ") + without, "DIR");
  app.add_flag("--strict-base", strict,
               "refuse an adapter made for other weights of the same model");
}

}  // namespace focus::app
