// The safetensors files of a Hugging Face folder, seen as one table of tensors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "focus/formats/safetensors.h"

namespace focus {

struct HfFolder {
  std::vector<SafetensorsFile> files;
  // By name; the pointers go into `files` and survive moves of this object.
  std::map<std::string, const TensorInfo*> tensors;
};

// Opens model.safetensors, else the shards of model.safetensors.index.json. Errors: kNotFound
// (neither is there), kFormat (an index that is not one, or points outside the folder), kMismatch
// (a shard that is absent, or lacks a tensor that the index puts there).
HfFolder open_hf_folder(const std::string& folder);

}  // namespace focus
