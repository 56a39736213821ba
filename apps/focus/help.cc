#include "help.h"

#include <fmt/format.h>

namespace focus::app {

std::string HelpFormatter::make_option(const CLI::Option* option, bool positional) const {
  std::string left = "  " + make_option_name(option, positional);
  // CLI11 appends what the checks of a value allow: "N:INT in [1 - 1024]".
  const std::string type = option->get_type_name();
  if (!positional && option->get_type_size() != 0) left += " " + type.substr(0, type.find(':'));
  std::string right = option->get_description();
  if (option->get_required()) right += " (required)";
  if (const auto value = option->get_default_str(); !value.empty()) right += " [" + value + "]";
  return fmt::format("{:<28} {}\n", left, right);
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  return CLI::detail::find_and_replace(Formatter::make_help(app, std::move(name), mode), "\n\n\n",
                                       "\n\n");
}

}  // namespace focus::app
