// SPDX-License-Identifier: Apache-2.0
#include "compute/kernel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compute/local_size.hpp"
#include "graph/shared_memory.hpp"
#include "loader/environment.hpp"
#include "loader/guard.hpp"
#include "loader/user_rules.hpp"
#include "proof/proofs.hpp"
#include "table/kernel_forms.hpp"
#include "table/kernel_table.hpp"
#include "table/printable.hpp"
#include "table/requirements.hpp"
#include "table/select.hpp"

namespace spirkiln::compute {
namespace {

using table::SpecType;

const char* type_name(const std::optional<SpecType>& type) {
  if (!type) return "not 32 bits wide";
  static constexpr const char* kNames[] = {"int", "uint", "float", "bool"};
  return kNames[static_cast<std::size_t>(*type)];
}

std::string text_of(const ModuleConstant& c) {
  return (c.name.empty() ? "" : c.name + " ") + "(id " + std::to_string(c.id) + ", " +
         type_name(c.type) + ")";
}

std::string all_of(const std::vector<ModuleConstant>& all) {
  if (all.empty()) return "the kernel has none";
  std::string text = "there are:";
  for (const ModuleConstant& c : all) text += " " + text_of(c) + ",";
  text.pop_back();
  return text;
}

// The bits of a value for a constant of that type; nothing where it is another type's.
std::optional<std::uint32_t> bits_of(
    const std::variant<std::int32_t, std::uint32_t, float, bool>& value,
    const std::optional<SpecType>& type) {
  if (!type) return std::nullopt;
  if (const bool* b = std::get_if<bool>(&value)) {
    return *type == SpecType::kBool ? std::optional<std::uint32_t>(*b ? 1 : 0) : std::nullopt;
  }
  if (const float* f = std::get_if<float>(&value)) {
    return *type == SpecType::kFloat ? std::optional(std::bit_cast<std::uint32_t>(*f))
                                     : std::nullopt;
  }
  const auto* i = std::get_if<std::int32_t>(&value);
  const auto bits = i != nullptr ? static_cast<std::uint32_t>(*i) : std::get<std::uint32_t>(value);
  const bool same_in_both = bits <= 0x7fffffffu;
  if (*type == SpecType::kInt && (i != nullptr || same_in_both)) return bits;
  if (*type == SpecType::kUint && (i == nullptr || same_in_both)) return bits;
  return std::nullopt;
}

Result<std::vector<SpecValue>> set_constants(const ModuleInfo& module,
                                             const std::vector<Constant>& given,
                                             const std::string& kernel) {
  std::vector<SpecValue> specs;
  for (const Constant& g : given) {
    const std::string called = g.name.empty() ? std::to_string(g.id) : "'" + g.name + "'";
    const auto it = std::find_if(
        module.constants.begin(), module.constants.end(),
        [&](const ModuleConstant& c) { return g.name.empty() ? c.id == g.id : c.name == g.name; });
    if (it == module.constants.end()) {
      return Error{ErrorCode::kInvalidArgument, kernel + ": no specialization constant " + called +
                                                    "; " + all_of(module.constants)};
    }
    const auto bits = bits_of(g.value, it->type);
    if (!bits) {
      static constexpr const char* kGiven[] = {"an int", "a uint", "a float", "a bool"};
      return Error{ErrorCode::kInvalidArgument, kernel + ": the specialization constant " +
                                                    text_of(*it) + " does not take the value of " +
                                                    kGiven[g.value.index()]};
    }
    const auto same = [&](const SpecValue& s) { return s.id == it->id; };
    if (std::any_of(specs.begin(), specs.end(), same)) {
      return Error{ErrorCode::kInvalidArgument,
                   kernel + ": the specialization constant " + text_of(*it) + " is given twice"};
    }
    specs.push_back({it->id, *bits});
  }
  return specs;
}

BindingInfo info_of(const ModuleBinding& b) {
  BindingInfo info;
  info.set = b.entry.set;
  info.binding = b.entry.binding;
  info.kind = static_cast<ResourceKind>(b.entry.kind);
  info.reads = (b.entry.flags & table::kWriteOnly) == 0;
  info.writes = (b.entry.flags & table::kReadOnly) == 0;
  info.name = b.name;
  if (info.kind == ResourceKind::kStorageBuffer || info.kind == ResourceKind::kUniformBuffer) {
    info.min_bytes = std::max<std::uint64_t>(b.min_bytes, 1);
    return info;
  }
  info.dimensions = b.image.dimensions;
  if (info.kind == ResourceKind::kStorageImage) info.format = format_from_spirv(b.image.format);
  return info;
}

// The kernel of a module that the device may run.
Result<std::shared_ptr<const Kernel::State>> make_kernel(DeviceState device,
                                                         const ModuleInfo& module,
                                                         std::span<const std::uint32_t> words,
                                                         std::string name, std::string form,
                                                         const KernelOptions& options) {
  const DeviceCaps& caps = device->caps;
  auto specs = set_constants(module, options.constants, name);
  if (!specs) return std::move(specs).error();
  auto local = choose_local_size(module, options, caps, name, &*specs);
  if (!local) return std::move(local).error();
  std::sort(specs->begin(), specs->end(),
            [](const SpecValue& a, const SpecValue& b) { return a.id < b.id; });
  if (auto s = check_shared_memory(words, *specs, caps, name); !s) return std::move(s).error();

  auto state = std::make_shared<Kernel::State>();
  state->name = std::move(name);
  state->form = std::move(form);
  state->local_size = local->size;
  state->push_bytes = module.push_bytes;
  for (const ModuleBinding& b : module.bindings) {
    state->bindings.push_back(info_of(b));
    state->entries.push_back(b.entry);
    if (b.entry.kind == table::BindingKind::kStorageImage && b.image.format != 0 &&
        !state->bindings.back().format) {
      return Error{ErrorCode::kUnsupported,
                   state->name + ": " + text_of(state->bindings.back()) +
                       " is an image of a format that images of this library do not have"};
    }
  }
  for (const ModuleConstant& c : module.constants) {
    if (c.type) state->constants.push_back({c.id, c.name, type_name(c.type)});
  }
  std::vector<std::uint32_t> rewritten;
  ModuleRequest request;
  request.words = words;
  if (local->rewrite) {
    rewritten.assign(words.begin(), words.end());
    rewritten[module.local_size_word] = local->size.x;
    rewritten[module.local_size_word + 1] = local->size.y;
    rewritten[module.local_size_word + 2] = local->size.z;
    request.words = rewritten;
  }
  request.bindings = state->entries;
  request.push_bytes = module.push_bytes;
  request.specs = *std::move(specs);
  request.entry = module.entry;
  request.kernel = state->name;
  if (device->lost.load(std::memory_order_relaxed)) return device->lost_error();
  auto pipeline = device->pipelines->get(request);
  if (!pipeline) return std::move(pipeline).error();
  state->pipeline = *std::move(pipeline);
  device->pipelines->save();
  state->device = std::move(device);
  return std::shared_ptr<const Kernel::State>(std::move(state));
}

Result<std::shared_ptr<const Kernel::State>> from_words(const Device& device,
                                                        std::span<const std::uint32_t> words,
                                                        const KernelOptions& options) {
  auto vulkan = vulkan_of(device);
  if (!vulkan) return std::move(vulkan).error();
  auto module = read_module(words);
  if (!module) {
    return Error{module.error().code, options.name + ": " + module.error().message};
  }
  ModuleNeeds needs;
  needs.spirv_version = module->spirv_version;
  needs.capabilities = module->capabilities;
  for (const std::string& e : module->extensions) needs.extensions.push_back(e);
  std::vector<table::BindingEntry> entries;
  for (const ModuleBinding& b : module->bindings) entries.push_back(b.entry);
  needs.bindings = entries;
  needs.push_bytes = module->push_bytes;
  needs.local_size = module->local_size;
  needs.local_size_id = module->local_size_id;
  if (const auto missing = missing_requirement(needs, (*vulkan)->caps)) {
    return Error{ErrorCode::kUnsupported, options.name + " needs " + *missing +
                                              "; compute::open_device enables what " +
                                              (*vulkan)->info.name + " has"};
  }
  return make_kernel(*std::move(vulkan), *module, words, options.name, {}, options);
}

Result<Form> form_called(const std::string& name, const std::string& origin) {
  if (const auto form = form_from_name(name)) return *form;
  std::string known;
  for (const std::string_view n : form_names()) known += " " + std::string(n);
  return Error{ErrorCode::kInvalidArgument,
               origin + "no form is called '" + printable(name) + "'; there are:" + known};
}

// The acceptable ones, best first: those of the request, of which $SPIRKILN_VARIANT is the only one
// where it is among them. A kernel that was asked for in other forms keeps them, with a note.
Result<std::vector<Form>> forms_of(const Device::State& device, const Table& table,
                                   const table::KernelEntry& kernel, const KernelRequest& request) {
  std::vector<Form> forms;
  for (const std::string& name : request.forms) {
    auto form = form_called(name, {});
    if (!form) return std::move(form).error();
    forms.push_back(*form);
  }
  if (const char* variable = environment("SPIRKILN_VARIANT")) {
    auto wished = form_called(variable, "SPIRKILN_VARIANT: ");
    if (!wished) return std::move(wished).error();
    if (forms.empty() || std::find(forms.begin(), forms.end(), *wished) != forms.end()) {
      return std::vector<Form>{*wished};
    }
    const std::string note = "kernel " + request.kernel + " is not asked for in " + variable +
                             ", which SPIRKILN_VARIANT wants";
    if (device.proofs->tell_once(note)) device.say(Severity::kInfo, note);
  }
  return forms.empty() ? forms_on_buffers(table, kernel) : forms;
}

struct WrongVariant {
  std::string name, text;  // text: what to tell of it
  Finding finding;
};

// What follows in a message about variants that gave wrong answers: the one that runs instead, or
// none, and whether it is rather the answer that is wrong.
std::string behind_wrong(const std::vector<WrongVariant>& wrong, const std::string& instead,
                         Verdict verdict) {
  std::string text = "; no other variant is left";
  if (!instead.empty()) {
    text = "; using " + instead + " instead";
    if (verdict == Verdict::kUnproven) {
      text += " (not tried: it has no known answer; is a tolerance for its form missing?)";
    }
  }
  // Drivers do not make one mistake in several forms: as many values wrong, and as far off. (Which
  // is the worst is decided by rounding where all are off by the same.)
  const auto off = [](const Finding& f) { return double{f.got} - f.expected; };
  const Finding& first = wrong.front().finding;
  const bool agree = std::all_of(wrong.begin(), wrong.end(), [&](const WrongVariant& w) {
    const Finding& f = w.finding;
    return f.wrong != 0 && f.wrong == first.wrong &&
           std::abs(off(f) - off(first)) <= 0.02 * std::abs(off(first));
  });
  if (wrong.size() > 1 && agree && (instead.empty() || verdict == Verdict::kUnproven)) {
    text += "; all variants that were tried agree: is the answer in the manifest right?";
  }
  return text;
}

// What the kernel will be made with, for its proof. Nothing where that is not known yet, or will be
// refused.
std::optional<ProofRequest> proof_request(const Table& table, const Selection& selected,
                                          const KernelOptions& options) {
  ProofRequest request{selected.variant, {}};
  const table::BlobEntry& blob = table.blobs()[selected.blob];
  const auto known = table.specs_of(blob);
  for (const Constant& g : options.constants) {
    const auto it = std::find_if(known.begin(), known.end(), [&](const table::SpecEntry& s) {
      return g.name.empty() ? s.id == g.id : table.string(s.name) == g.name;
    });
    if (it == known.end()) return std::nullopt;
    const auto bits = bits_of(g.value, it->type);
    if (!bits) return std::nullopt;
    request.specs.push_back({it->id, *bits});
  }
  const std::uint32_t z = blob.local_size_id[2];
  if (z == table::kNone) return request;
  if (is_size(options.optimal_for)) return std::nullopt;
  if (is_size(options.local_size)) request.specs.push_back({z, options.local_size.z});
  return request;
}

// The best variant that gives its known answers. On a device of the caller's nothing is run for
// that without a lock on its queue, since who else uses it does not expect it; what is known
// counts.
Result<Selection> select_proven(const DeviceState& device, const Table& table,
                                const SelectRequest& request, const std::string& avoid,
                                const KernelOptions& options) {
  const auto no_proof = environment_switch("SPIRKILN_NO_PROOF");
  if (!no_proof) return no_proof.error();
  auto rules = user_rules(*device, table, {{}, {}, avoid, "KernelRequest"});
  if (!rules) return std::move(rules).error();
  std::vector<WrongVariant> wrong;
  while (true) {
    auto selected = select_blob(table, request, device->caps, *rules);
    std::string name;
    Finding finding;
    if (selected && !*no_proof && !device->lost.load(std::memory_order_relaxed)) {
      const bool may_submit = !device->is_foreign || device->lock_queue != nullptr;
      const auto path = proof_request(table, *selected, options);
      const auto judged =
          path ? device->proofs->judge(device, table, {&*path, 1}, may_submit)
               : device->proofs->judge(device, table, {&selected->variant, 1}, may_submit);
      if (!judged) return judged.error();
      finding = judged->front().finding;
      name = table.string(table.variants()[selected->variant].name);
    }
    if (finding.verdict == Verdict::kWrong) {
      rules->failed.insert(table.blobs()[selected->blob].hash);
      const std::string text = wrong_text(*device, name, finding);
      wrong.push_back({std::move(name), text, finding});
      continue;
    }
    for (const WrongVariant& w : wrong) {
      if (!device->proofs->tell_once(w.name)) continue;
      device->say(Severity::kWarning, w.text + behind_wrong(wrong, name, finding.verdict));
    }
    return selected;
  }
}

Result<std::shared_ptr<const Kernel::State>> from_table(const Device& device,
                                                        const KernelTable& kernels,
                                                        const KernelRequest& request,
                                                        const KernelOptions& options) {
  auto vulkan = vulkan_of(device);
  if (!vulkan) return std::move(vulkan).error();
  if (kernels.state() == nullptr) {
    return Error{ErrorCode::kInvalidArgument, "the table was never opened"};
  }
  const Table& table = kernels.state()->table;
  const table::KernelEntry* kernel = table.find(request.kernel);
  if (kernel == nullptr) {
    return Error{ErrorCode::kNoVariant, unknown_kernel(table, request.kernel)};
  }
  auto forms = forms_of(**vulkan, table, *kernel, request);
  if (!forms) return std::move(forms).error();
  std::vector<AxisRequest> axes;
  for (const auto& [axis, value] : request.axes) axes.push_back({axis, value});
  SelectRequest select;
  select.kernel = request.kernel;
  select.forms = *forms;
  select.axes = axes;
  auto selected = select_proven(*vulkan, table, select, request.avoid, options);
  if (!selected) return std::move(selected).error();

  const table::VariantEntry& variant = table.variants()[selected->variant];
  const std::string name(table.string(variant.name));
  auto words = table.words(selected->blob);
  if (!words) return std::move(words).error();
  auto module = read_module(*words);
  if (!module) return Error{module.error().code, name + ": " + module.error().message};
  // A table keeps the names that its modules have lost.
  for (const table::SpecEntry& s : table.specs_of(table.blobs()[selected->blob])) {
    for (ModuleConstant& c : module->constants) {
      if (c.id == s.id) c.name = table.string(s.name);
    }
  }
  return make_kernel(*std::move(vulkan), *module, *words, name, form_name(form_of(variant)),
                     options);
}

}  // namespace

std::string text_of(const Extent& e) {
  return std::to_string(e.x) + " x " + std::to_string(e.y) + " x " + std::to_string(e.z);
}

std::string text_of(const BindingInfo& b) {
  return "set " + std::to_string(b.set) + " binding " + std::to_string(b.binding) +
         (b.name.empty() ? "" : " (" + b.name + ")");
}

const char* kind_name(ResourceKind kind) {
  static constexpr const char* kNames[] = {"a storage buffer", "a uniform buffer",
                                           "a storage image", "a sampled image"};
  return kNames[static_cast<std::size_t>(kind)];
}

Result<Kernel> Kernel::create(const Device& device, const KernelTable& table,
                              const KernelRequest& request, const KernelOptions& options) {
  return guarded([&]() -> Result<Kernel> {
    auto state = from_table(device, table, request, options);
    if (!state) return std::move(state).error();
    Kernel kernel;
    kernel.state_ = *std::move(state);
    return kernel;
  });
}

Result<Kernel> Kernel::create(const Device& device, std::span<const std::uint32_t> words,
                              const KernelOptions& options) {
  return guarded([&]() -> Result<Kernel> {
    auto state = from_words(device, words, options);
    if (!state) return std::move(state).error();
    Kernel kernel;
    kernel.state_ = *std::move(state);
    return kernel;
  });
}

namespace {

// What a handle that holds nothing tells of itself.
const Kernel::State& known_of(const std::shared_ptr<const Kernel::State>& state) {
  static const Kernel::State nothing;
  return state != nullptr ? *state : nothing;
}

}  // namespace

const std::string& Kernel::name() const { return known_of(state_).name; }
const std::string& Kernel::form() const { return known_of(state_).form; }
Extent Kernel::local_size() const { return known_of(state_).local_size; }
const std::vector<BindingInfo>& Kernel::bindings() const { return known_of(state_).bindings; }
const std::vector<ConstantInfo>& Kernel::constants() const { return known_of(state_).constants; }
std::uint32_t Kernel::push_bytes() const { return known_of(state_).push_bytes; }

Extent Kernel::groups_for(const Extent& invocations) const {
  if (state_ == nullptr) return {};
  const auto up = [](std::uint32_t n, std::uint32_t size) { return n / size + (n % size != 0); };
  const Extent& local = state_->local_size;
  return {up(invocations.x, local.x), up(invocations.y, local.y), up(invocations.z, local.z)};
}

Extent optimal_local_size(const Device& device, const Extent& invocations) {
  // What Vulkan guarantees, where there is no device to ask.
  static const DeviceCaps least;
  return optimal_for(device.state() != nullptr ? device.state()->caps : least, invocations);
}

Result<Device> open_device(const DeviceOptions& options, std::span<const KernelTable> tables) {
  return guarded([&]() -> Result<Device> {
    if (options.backend == "cpu") {
      return Error{ErrorCode::kUnsupported,
                   "kernels run on Vulkan devices only, and the CPU backend is asked for"};
    }
    std::vector<Table> used;
    for (const KernelTable& t : tables) {
      if (t.state() == nullptr) {
        return Error{ErrorCode::kInvalidArgument, "a table was never opened"};
      }
      used.push_back(t.state()->table);
    }
    if (auto built_in = open_table(); !used.empty() && built_in) used.push_back(*built_in);
    return spirkiln::open_device(options, used);
  });
}

}  // namespace spirkiln::compute
