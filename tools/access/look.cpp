// SPDX-License-Identifier: Apache-2.0
#include "look.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>

#include "instrument.hpp"
#include "newer_spirv.hpp"
#include "pipeline_statistics.hpp"
#include "specialise.hpp"
#include "spirv_tools.hpp"
#include "table/nearest_name.hpp"

namespace spirkiln::access {
namespace {

Error refuse(std::string text) { return Error{ErrorCode::kInvalidArgument, std::move(text)}; }

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::optional<std::uint32_t> bits_of(const std::string& text, table::SpecType type) {
  const char* end = text.data() + text.size();
  if (type == table::SpecType::kFloat) {
    char* stop = nullptr;
    const float value = std::strtof(text.c_str(), &stop);
    if (text.empty() || *stop != '\0') return std::nullopt;
    return std::bit_cast<std::uint32_t>(value);
  }
  if (text == "true") return 1;
  if (text == "false") return 0;
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < INT32_MIN || value > UINT32_MAX) {
    return std::nullopt;
  }
  if (type == table::SpecType::kBool && value != 0 && value != 1) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

std::string_view expected(table::SpecType type) {
  switch (type) {
    case table::SpecType::kFloat:
      return "a number";
    case table::SpecType::kBool:
      return "true or false";
    default:
      return "a whole number of 32 bits, without a point or an exponent";
  }
}

class Look {
 public:
  Look(const Subject& subject, const DispatchRequest& request, const MemoryShape& shape,
       const MemoryRates& rates)
      : subject_(subject),
        request_(request),
        shape_(shape),
        rates_(rates),
        push_(request.push),
        specs_(request.specs),
        local_(subject.reflection.local_size) {}

  Result<Report> run(const Device& device, bool* hung) {
    push_.resize(std::max<std::size_t>(push_.size(), (subject_.reflection.push_bytes + 3) / 4));
    if (auto s = set_values(); !s) return std::move(s).error();
    note_zeros();
    if (auto s = set_local(); !s) return std::move(s).error();
    // Sizes of workgroup memory may depend on the constants.
    const auto words = specialise(subject_.words, specs_, subject_.tools.get());
    if (!words) return words.error();
    auto traced = instrument(*words);
    if (!traced) return std::move(traced).error();
    const gen::Target target = target_of(subject_.words[1]);
    const Status valid = subject_.tools ? subject_.tools->validate(traced->words, target)
                                        : gen::validate(traced->words, target);
    if (!valid) {
      return Error{ErrorCode::kUnsupported,
                   "the instrumented module is not valid: " + valid.error().message};
    }
    RunRequest run{traced->words, subject_.reflection.bindings};
    run.push = push_;
    run.groups = request_.groups;
    run.seed = request_.seed;
    run.timeout_s = request_.timeout_s;
    if (auto s = size_resources(&run); !s) return std::move(s).error();
    const std::uint64_t groups = std::uint64_t{run.groups[0]} * run.groups[1] * run.groups[2];
    TraceRequest trace;
    trace.set = traced->trace_set;
    trace.capacity = request_.records;
    if (request_.sample > 0 && groups > request_.sample) {
      trace.step = static_cast<std::uint32_t>(groups / request_.sample);
      trace.first = trace.step / 2;
      trace.only_traced = true;
    }
    run.trace = trace;
    if (auto s = check_matrices(device); !s) return std::move(s).error();
    auto result = run_kernel(device, run, hung);
    if (!result) return std::move(result).error();

    if (request_.statistics) {
      RunRequest plain{*words, run.bindings};
      plain.push = run.push;
      auto statistics = pipeline_statistics(device, plain);
      if (statistics) {
        report_.statistics = *std::move(statistics);
      } else {
        report_.statistics_missing = statistics.error().message;
      }
    }
    report_.kernel = subject_.name;
    report_.device = device.info().name;
    report_.groups = request_.groups;
    report_.local = local_;
    report_.figures = analyse(traced->sites, result->trace, run.extents, shape_);
    report_.untraced = std::move(traced->untraced);
    for (const SiteFigures& f : report_.figures.sites) {
      report_.texts.push_back(line_text(f.site.file, f.site.line));
      if (request_.pictures == 0) continue;
      report_.pictures.push_back({first_requests(traced->sites, result->trace, run.extents, shape_,
                                                 f, request_.pictures)});
    }
    if (!report_.figures.executed()) report_.warning = why_nothing();
    report_.advice = advise(report_.figures, local_);
    if (rates_.memory > 0) {
      report_.time = time_of(levels_of(report_.figures, run.extents, rates_), rates_);
    }
    report_.dispatch = dispatch_of(run);
    return std::move(report_);
  }

 private:
  Prediction dispatch_of(const RunRequest& run) const {
    const Figures& f = report_.figures;
    Prediction p;
    p.variant = subject_.name;
    p.groups = run.groups;
    p.specs = specs_;
    p.push = run.push;
    p.buffers.assign(run.extents.buffers.begin(), run.extents.buffers.end());
    for (const auto& [key, i] : run.extents.images) {
      p.images.push_back({key, i.width, i.height, i.depth, i.texel_bytes,
                          static_cast<std::uint32_t>(run.formats.at(key)),
                          static_cast<std::uint32_t>(run.dimensions.at(key)), i.linear});
    }
    p.moved = static_cast<double>(f.moved) * f.scale();
    p.touched = static_cast<double>(f.distinct) * f.scale();
    p.flops = static_cast<double>(f.flops) * f.scale();
    const PredictedTime time = report_.time.value_or(PredictedTime{});
    p.line_us = time.line_us;
    p.cache_us = time.cache_us;
    p.memory_us = time.memory_us;
    return p;
  }

  // A driver without them may do anything with such a module.
  Status check_matrices(const Device& device) const {
    const auto& needs = subject_.reflection.capabilities;
    const bool wanted =
        std::find(needs.begin(), needs.end(), gen::kCapabilityCooperativeMatrixKhr) != needs.end();
    if (!wanted || device.state() == nullptr || device.state()->caps.cooperative_matrix) {
      return Ok{};
    }
    return Error{ErrorCode::kUnsupported,
                 fmt::format("it multiplies by cooperative matrices, which {} does not have: trace "
                             "it on a device with VK_KHR_cooperative_matrix ('spirkiln-bench caps' "
                             "lists the devices and what they have), or trace the kernel that runs "
                             "here instead, such as gemm_nc for gemm_coopmat",
                             device.info().name)};
  }

  Status set_values() {
    for (const auto& [name, value] : request_.values) {
      bool known = false;
      for (const gen::SpecConstant& spec : subject_.reflection.specs) {
        if (spec.name != name) continue;
        known = true;
        const auto bits = bits_of(value, spec.type);
        if (!bits) {
          return refuse(
              fmt::format("--set {}: expected {}, got '{}'", name, expected(spec.type), value));
        }
        std::erase_if(specs_, [&](const auto& s) { return s.first == spec.id; });
        specs_.emplace_back(spec.id, *bits);
      }
      for (const PushMember& member : subject_.push) {
        if (member.name != name) continue;
        known = true;
        if (auto s = set_push(member, value); !s) return s;
      }
      if (!known) return refuse(unknown_name(name));
    }
    return Ok{};
  }

  // A size that is 0 by mistake ends most kernels at once.
  void note_zeros() {
    if (!request_.push.empty()) return;  // a plan's, and whole
    std::vector<std::string> unset;
    for (const PushMember& member : subject_.push) {
      const bool given = std::any_of(request_.values.begin(), request_.values.end(),
                                     [&](const auto& v) { return v.first == member.name; });
      if (!given) (member.lanes == 0 ? unset : zeros_).push_back(member.name);
    }
    if (!zeros_.empty()) {
      report_.notes.push_back("push constants nobody gave, which are 0: " + joined(zeros_) +
                              "; --set NAME=VALUE");
    }
    if (!unset.empty()) {
      report_.notes.push_back(
          "push constants that --set cannot write (no numbers of 32 bits), which are 0: " +
          joined(unset));
    }
  }

  std::string why_nothing() const {
    if (report_.figures.sites.empty()) {
      return "the kernel has no access that is traced: these figures say nothing of it";
    }
    const std::string groups =
        report_.figures.traced_groups < report_.figures.groups ? " by the groups traced" : "";
    return fmt::format(
        "no access was executed{}: these figures say nothing of the kernel. {}", groups,
        zeros_.empty() ? std::string("Other constants (--set) or more groups (--groups) may reach "
                                     "them")
                       : fmt::format("Push constants that nobody gave are 0: give {} with --set",
                                     joined(zeros_)));
  }

  std::string unknown_name(const std::string& name) const {
    std::vector<std::string> names;
    for (const gen::SpecConstant& spec : subject_.reflection.specs) {
      if (!spec.name.empty()) names.push_back(spec.name);
    }
    for (const PushMember& member : subject_.push) names.push_back(member.name);
    if (names.empty()) return fmt::format("--set {}: '{}' has no constants", name, subject_.name);
    return fmt::format("--set {}: '{}' has no such constant; the nearest is '{}'", name,
                       subject_.name, nearest_name(name, names));
  }

  Status set_push(const PushMember& member, const std::string& value) {
    if (member.lanes == 0) {
      return refuse(fmt::format(
          "--set {}: only numbers of 32 bits, and vectors of them, can be set", member.name));
    }
    const table::SpecType type = member.is_float ? table::SpecType::kFloat : table::SpecType::kInt;
    const auto count = static_cast<std::uint32_t>(std::count(value.begin(), value.end(), ',') + 1);
    if (count != member.lanes) {
      return refuse(fmt::format("--set {}: expected {} number{}, got {} in '{}'", member.name,
                                member.lanes, member.lanes == 1 ? "" : "s with commas between",
                                count, value));
    }
    std::string rest = value;
    for (std::uint32_t lane = 0; lane < member.lanes; ++lane) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string number = rest.substr(0, comma);
      const auto bits = bits_of(number, type);
      if (!bits) {
        return refuse(
            fmt::format("--set {}: expected {}, got '{}'", member.name, expected(type), number));
      }
      push_.at(member.offset / 4 + lane) = *bits;
      rest.erase(0, std::min(comma + 1, rest.size()));
    }
    return Ok{};
  }

  // The local size that runs: constants may decide it.
  Status set_local() {
    const auto& ids = subject_.reflection.local_size_id;
    for (std::size_t i = 0; i < 3; ++i) {
      if (request_.local && (*request_.local)[i] != local_[i]) {
        if (ids[i] == table::kNone) {
          return refuse(fmt::format("--local: '{}' has a fixed local size of {}x{}x{}",
                                    subject_.name, local_[0], local_[1], local_[2]));
        }
        specs_.emplace_back(ids[i], (*request_.local)[i]);
      }
      for (const auto& [id, bits] : specs_) {
        if (id == ids[i]) local_[i] = bits;
      }
    }
    return Ok{};
  }

  Status size_resources(RunRequest* run) {
    std::string assumed;
    for (const auto& [key, bytes] : request_.buffers) {
      if (!subject_.names.contains(key) || subject_.images.contains(key)) {
        return refuse(
            fmt::format("--buffer {}: '{}' has no such binding", key & 0xffff, subject_.name));
      }
    }
    for (const auto& [key, choice] : request_.images) {
      if (subject_.images.contains(key)) continue;
      return refuse(
          fmt::format("--image {}: '{}' has no image there", key & 0xffff, subject_.name));
    }
    for (const table::BindingEntry& b : subject_.reflection.bindings) {
      const std::uint32_t key = std::uint32_t{b.set} << 16 | b.binding;
      if (const auto image = subject_.images.find(key); image != subject_.images.end()) {
        if (auto s = size_image(key, image->second, run); !s) return s;
        continue;
      }
      const auto it = request_.buffers.find(key);
      const std::uint64_t usual =
          b.kind == table::BindingKind::kUniformBuffer ? 65536 : kUsualBufferBytes;
      run->extents.buffers[key] = it == request_.buffers.end() ? usual : it->second;
      if (it == request_.buffers.end()) {
        assumed += fmt::format("{}binding {} ({})", assumed.empty() ? "" : ", ", b.binding, usual);
      }
    }
    if (!assumed.empty()) {
      report_.notes.push_back("sizes nobody gave, in bytes: " + assumed + "; --buffer N=BYTES");
    }
    return Ok{};
  }

  Status size_image(std::uint32_t key, const ImageNeedOf& need, RunRequest* run) {
    const auto it = request_.images.find(key);
    const ImageChoice choice = it == request_.images.end() ? ImageChoice{} : it->second;
    ImageShape shape;
    shape.width = choice.size[0];
    shape.height = need.type == VK_IMAGE_TYPE_1D ? 1 : choice.size[1];
    shape.depth = need.type == VK_IMAGE_TYPE_3D ? choice.size[2] : 1;
    shape.linear = choice.linear;
    if (std::uint64_t{shape.width} * shape.height * shape.depth > std::uint64_t{1} << 28) {
      return refuse(fmt::format("--image {}: more than 2^28 texels", key & 0xffff));
    }
    VkFormat format = need.format;
    shape.texel_bytes = need.texel_bytes;
    if (format == VK_FORMAT_UNDEFINED) {
      const std::string wanted = choice.texel.empty() ? "rgba32f" : choice.texel;
      for (const Texel& t : texels()) {
        if (t.name != wanted) continue;
        format = t.format;
        shape.texel_bytes = t.bytes;
      }
      if (format == VK_FORMAT_UNDEFINED) {
        return refuse(fmt::format("--image {}: no texel format '{}'", key & 0xffff, wanted));
      }
    }
    run->extents.images[key] = shape;
    run->formats[key] = format;
    run->dimensions[key] = need.type;
    return Ok{};
  }

  const Subject& subject_;
  const DispatchRequest& request_;
  const MemoryShape& shape_;
  const MemoryRates& rates_;
  std::vector<std::uint32_t> push_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> specs_;
  std::array<std::uint32_t, 3> local_;
  std::vector<std::string> zeros_;  // push constants nobody gave
  Report report_;
};

}  // namespace

Result<Report> look_at(const Subject& subject, const DispatchRequest& request,
                       const MemoryShape& shape, const MemoryRates& rates, const Device& device,
                       bool* hung) {
  return Look(subject, request, shape, rates).run(device, hung);
}

}  // namespace spirkiln::access
