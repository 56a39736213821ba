// Whole files in, whole files out.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace focus {

// Errors: kNotFound, kIo (a folder, no permission).
std::string read_file(const std::string& path);

// Replaces `path` in one step: writes a temporary file beside it, syncs it to disk and renames it.
// On any failure (full disk, no permission, missing folder) the temporary is removed, what was at
// `path` is untouched, and Error(kIo) gives the system's words and a hint.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::string& path, std::string_view text);
// The same for bytes that lie in several places: the file is `parts` in order.
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> parts);

// Makes `path` and its parents where absent. Error(kIo) when that fails or a file is in the way.
void ensure_directory(const std::string& path);

// Makes the folder and proves, by writing and removing a small file, that output can go there: for
// the start of long work. Error(kIo) otherwise.
void check_writable_directory(const std::string& path);
// The same for one file in a folder that exists: proves that write_file_atomically can begin.
void check_writable_file(const std::string& path);

}  // namespace focus
