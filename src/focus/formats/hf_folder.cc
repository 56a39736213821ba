#include "focus/formats/hf_folder.h"

#include <algorithm>
#include <filesystem>

#include "focus/base/error.h"
#include "focus/formats/json_file.h"

namespace focus {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

const TensorInfo* find(const SafetensorsFile& file, const std::string& name) {
  const auto& all = file.tensors();
  const auto found = std::lower_bound(
      all.begin(), all.end(), name,
      [](const TensorInfo& tensor, const std::string& wanted) { return tensor.name < wanted; });
  return found != all.end() && found->name == name ? &*found : nullptr;
}

// Shard file to the tensors that the index puts there.
std::map<std::string, std::vector<std::string>> read_index(const std::string& path) {
  const JsonFile index(path);
  const auto* map = index.find("weight_map");
  if (map == nullptr || !map->is_object()) {
    throw Error(ErrorKind::kFormat, path, "an object 'weight_map'", "none");
  }
  std::map<std::string, std::vector<std::string>> shards;
  for (const auto& item : map->items()) {
    const std::string shard = index.to_string(item.key(), item.value());
    // A name only: an index must not reach other folders.
    if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos ||
        shard.find('\0') != std::string::npos) {
      throw Error(ErrorKind::kFormat, path, "shards named by files of this folder",
                  in_quotes(shard));
    }
    shards[shard].push_back(item.key());
  }
  return shards;
}

HfFolder open_shards(const std::string& folder, const std::string& index) {
  const auto shards = read_index(index);
  // All of them before the first is opened: the error comes at once, however many there are.
  for (const auto& [shard, names] : shards) {
    if (!exists(folder + "/" + shard)) {
      throw Error(ErrorKind::kMismatch, index, "shard " + in_quotes(shard) + " beside it", "none",
                  "download the missing shard");
    }
  }
  HfFolder result;
  result.files.reserve(shards.size());
  for (const auto& [shard, names] : shards) {
    const SafetensorsFile& file = result.files.emplace_back(folder + "/" + shard);
    for (const std::string& name : names) {
      const TensorInfo* tensor = find(file, name);
      if (tensor == nullptr) {
        throw Error(ErrorKind::kMismatch, index,
                    "tensor " + in_quotes(name) + " in " + in_quotes(shard), "none",
                    "index and shards are of different downloads: get both again");
      }
      result.tensors.emplace(name, tensor);
    }
  }
  return result;
}

}  // namespace

HfFolder open_hf_folder(const std::string& folder) {
  const std::string single = folder + "/model.safetensors";
  const std::string index = folder + "/model.safetensors.index.json";
  if (exists(single)) {
    HfFolder result;
    for (const TensorInfo& tensor : result.files.emplace_back(single).tensors()) {
      result.tensors.emplace(tensor.name, &tensor);
    }
    return result;
  }
  if (exists(index)) return open_shards(folder, index);
  throw Error(ErrorKind::kNotFound, folder, "model.safetensors or model.safetensors.index.json",
              "neither",
              exists(folder + "/pytorch_model.bin") ? "save the model again as safetensors"
                                                    : "check the folder");
}

}  // namespace focus
