#include "focus/nn/learned_router.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>

#include "focus/base/error.h"
#include "focus/kernels/routing/score_rows.h"
#include "focus/ops/threads.h"

namespace focus {
namespace {

std::vector<float> to_vector(const at::Tensor& tensor) {
  const auto flat = tensor.to(at::kFloat).contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

}  // namespace

LearnedRouter::LearnedRouter(const RoutingSpec& spec, const RoutingShape& shape,
                             const std::vector<LayerRouting>& layers)
    : spec_(spec), shape_(shape) {
  spec.check();
  if (static_cast<int64_t>(layers.size()) != shape.layers) {
    throw Error(ErrorKind::kMismatch, "routing", std::to_string(shape.layers) + " layers",
                std::to_string(layers.size()));
  }
  for (int64_t n = 0; n < shape.layers; ++n) {
    key_side_.push_back(
        pack("keys", n, layers[n].keys, shape.key_routers(spec), shape.key_width(spec), spec));
    if (!spec.tied) {
      query_side_.push_back(pack("queries", n, layers[n].queries, shape.query_routers(spec),
                                 shape.query_width(spec), spec));
    }
    if (static_cast<int64_t>(layers[n].reads.size()) != shape.query_routers(spec)) {
      throw Error(ErrorKind::kMismatch, "routing of layer " + std::to_string(n),
                  "reads of " + std::to_string(shape.query_routers(spec)) + " query routers",
                  std::to_string(layers[n].reads.size()));
    }
    reads_.push_back(layers[n].reads);
    active_.push_back(active_routers(spec, shape, layers[n].reads));
  }
}

LearnedRouter::Packed LearnedRouter::pack(const char* side, int64_t layer,
                                          const RouterWeights& weights, int64_t routers,
                                          int64_t width, const RoutingSpec& spec) {
  const auto check = [&](const char* role, const at::Tensor& tensor,
                         const std::vector<int64_t>& shape) {
    if (!tensor.defined() || tensor.sizes() != at::IntArrayRef(shape)) {
      const auto show = [](at::IntArrayRef sizes) {
        std::string text;
        for (int64_t extent : sizes) text += (text.empty() ? "[" : ", ") + std::to_string(extent);
        return text + "]";
      };
      throw Error(ErrorKind::kMismatch,
                  std::string(side) + " " + role + " of layer " + std::to_string(layer),
                  show(shape), tensor.defined() ? show(tensor.sizes()) : "nothing");
    }
  };
  check("projection", weights.projection, {routers, spec.rank, width});
  check("centroids", weights.centroids, {routers, spec.groups, spec.rank});
  check("bias", weights.bias, {routers, spec.groups});
  return {to_vector(weights.projection.transpose(1, 2)),
          to_vector(weights.centroids.transpose(1, 2)), to_vector(weights.bias)};
}

at::Tensor LearnedRouter::scores(const Packed& packed, const std::vector<bool>& active,
                                 int64_t width, const at::Tensor& source) const {
  const int64_t routers = static_cast<int64_t>(active.size()), tokens = source.size(0),
                rank = spec_.rank, groups = spec_.groups;
  const int64_t stride = source.numel() / std::max<int64_t>(1, tokens);  // floats a token
  const int64_t step =
      routers == 1 || stride == width ? 0 : width;  // from one router's features to the next
  const float* x = source.const_data_ptr<float>();
  auto out = at::zeros({tokens, routers, groups}, at::kFloat);
  float* y = out.data_ptr<float>();
  constexpr int64_t kBlock = 64;  // tokens at once: features stay in cache
  const int64_t blocks = (tokens + kBlock - 1) / kBlock;
  torch_parallel()(blocks * routers, [&](int64_t begin, int64_t end) {
    std::vector<float> features(kBlock * rank);
    for (int64_t n = begin; n < end; ++n) {
      const int64_t router = n / blocks, first = n % blocks * kBlock,
                    count = std::min(kBlock, tokens - first);
      if (!active[router]) continue;
      score_rows(x + first * stride + router * step, stride, count, width,
                 packed.projection.data() + router * width * rank, nullptr, rank, features.data(),
                 rank);
      score_rows(features.data(), rank, count, rank,
                 packed.centroids.data() + router * rank * groups,
                 packed.bias.data() + router * groups, groups,
                 y + (first * routers + router) * groups, routers * groups);
    }
  });
  return out;
}

at::Tensor LearnedRouter::key_scores(const LayerInputs& inputs) const {
  const bool own = spec_.features == RoutingSpec::Features::kQk;
  return scores(key_side_[inputs.layer], active_[inputs.layer].keys, shape_.key_width(spec_),
                (own ? inputs.k_raw : inputs.x).contiguous());
}

at::Tensor LearnedRouter::query_scores(const LayerInputs& inputs) const {
  if (spec_.tied) return key_scores(inputs);
  const bool own = spec_.features == RoutingSpec::Features::kQk;
  return scores(query_side_[inputs.layer], active_[inputs.layer].queries, shape_.query_width(spec_),
                (own ? inputs.q_raw : inputs.x).contiguous());
}

void LearnedRouter::choose_keys(const at::Tensor& scores, const std::vector<bool>& active,
                                int64_t first, GroupSets& keys) const {
  const int64_t tokens = scores.size(0), routers = scores.size(1), groups = spec_.groups;
  const float* score = scores.const_data_ptr<float>();
  const bool partition = spec_.membership == RoutingSpec::Membership::kPartition;
  const auto choose = [&](const float* row, std::span<uint64_t> set) {
    if (partition) {
      select_top(row, groups, spec_.members, set.data());
    } else {
      select_positive(row, groups, set.data());
    }
  };
  if (spec_.balance != RoutingSpec::Balance::kRunning) {
    keys.grow(tokens);
    torch_parallel()(tokens, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        for (int64_t h = 0; h < routers; ++h) {
          if (active[h]) choose(score + (t * routers + h) * groups, keys.set(first + t, h));
        }
      }
    });
    return;
  }
  // Each group's potential is the rate times its deficit over the past tokens of the sequence: a
  // function of the sets already decided, so chunks, decode and rollback agree.
  std::vector<float> row(groups);
  const double target = static_cast<double>(spec_.members) / static_cast<double>(groups);
  std::vector<std::vector<int64_t>> sizes;
  for (int64_t h = 0; h < routers; ++h) sizes.push_back(keys.group_sizes(h));
  keys.grow(tokens);
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t h = 0; h < routers; ++h) {
      if (!active[h]) continue;
      for (int64_t g = 0; g < groups; ++g) {
        const double deficit =
            target * static_cast<double>(first + t) - static_cast<double>(sizes[h][g]);
        row[g] = score[(t * routers + h) * groups + g] +
                 static_cast<float>(spec_.balance_rate * deficit);
      }
      choose(row.data(), keys.set(first + t, h));
      for (int64_t g = 0; g < groups; ++g) sizes[h][g] += keys.contains(first + t, h, g);
    }
  }
}

GroupSets LearnedRouter::choose_queries(const at::Tensor& scores, int64_t layer) const {
  const int64_t tokens = scores.size(0), routers = scores.size(1), groups = spec_.groups;
  const float* score = scores.const_data_ptr<float>();
  GroupSets queries(groups, routers);
  queries.grow(tokens);
  torch_parallel()(tokens, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t h = 0; h < routers; ++h) {
        const float* row = score + (t * routers + h) * groups;
        if (spec_.read == RoutingSpec::Read::kMass) {
          select_mass(row, groups, spec_.read_mass, queries.set(t, h).data());
        } else {
          select_top(row, groups, reads_[layer][h], queries.set(t, h).data());
        }
      }
    }
  });
  return queries;
}

void LearnedRouter::route_keys(const LayerInputs& inputs, GroupSets& keys) const {
  if (keys.empty()) keys = GroupSets(spec_.groups, shape_.key_routers(spec_));
  if (keys.tokens() != inputs.first) {
    throw Error(ErrorKind::kState, "routing of layer " + std::to_string(inputs.layer),
                std::to_string(inputs.first) + " tokens decided before",
                std::to_string(keys.tokens()));
  }
  choose_keys(key_scores(inputs), active_[inputs.layer].keys, inputs.first, keys);
}

GroupSets LearnedRouter::route(const LayerInputs& inputs, GroupSets& keys) const {
  route_keys(inputs, keys);
  if (!spec_.tied) return choose_queries(query_scores(inputs), inputs.layer);
  GroupSets queries(spec_.groups, shape_.query_routers(spec_));
  queries.grow(inputs.x.size(0));
  const int64_t queries_per_key = queries.heads() / keys.heads();
  for (int64_t t = 0; t < queries.tokens(); ++t) {
    for (int64_t h = 0; h < queries.heads(); ++h) {
      std::ranges::copy(keys.set(inputs.first + t, h / queries_per_key), queries.set(t, h).begin());
    }
  }
  return queries;
}

}  // namespace focus
