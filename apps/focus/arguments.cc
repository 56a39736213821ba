#include "arguments.h"

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
  add_number(app, "--tokens", tokens, "window length T", 8, 1 << 24);
}

void AdapterArguments::add(CLI::App& app, const char* without) {
  app.add_option("--adapter", folder, std::string("adapter folder; without it ") + without)
      ->type_name("DIR");
  app.add_flag("--strict-base", strict,
               "refuse an adapter made for other weights of the same model");
}

}  // namespace focus::app
