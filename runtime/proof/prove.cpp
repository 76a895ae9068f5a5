// SPDX-License-Identifier: Apache-2.0
#include "proof/prove.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "graph/executor.hpp"
#include "graph/kernel_runner.hpp"
#include "graph/lower/tuning.hpp"

namespace spirkiln {
namespace {

// Behind each result, so that what a kernel writes beyond it shows.
constexpr std::uint64_t kGuardBytes = 64;
constexpr std::byte kFill{0xff};  // NaN in every form
// Lowering chooses kernels *_subgroup for these alone.
constexpr std::uint32_t kSubgroupKernelLanes = tuning::kSubgroupLanes;

std::uint64_t round_up(std::uint64_t v, std::uint64_t to) { return (v + to - 1) / to * to; }

std::vector<std::byte> bytes_of(const AnswerBuffer& b, Form form) {
  std::vector<float> values(b.count);
  for (std::uint32_t i = 0; i < b.count; ++i) values[i] = b.value(i);
  if (b.kind == AnswerKind::kTensor) return to_storage(values, form);
  if (b.kind == AnswerKind::kFloat) return as_bytes(values);
  std::vector<std::byte> bytes;
  for (const float v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

std::uint64_t result_bytes(const AnswerResult& r, Form form) {
  if (r.kind == AnswerKind::kBytes) return r.values.size();
  const bool fp32 = r.kind == AnswerKind::kFloat || form.storage == table::Storage::kFp32;
  return r.values.size() * (fp32 ? 4 : 2);
}

std::vector<float> values_of(std::span<const std::byte> bytes, AnswerKind kind, Form form) {
  if (kind != AnswerKind::kBytes) {
    return from_storage(bytes, kind == AnswerKind::kFloat ? kFp32 : form);
  }
  std::vector<float> values;
  for (const std::byte b : bytes) values.push_back(static_cast<float>(std::to_integer<int>(b)));
  return values;
}

// All tasks of one form as one program.
class Batch {
 public:
  Batch(const std::shared_ptr<Device::State>& device, const Table& table, const DecodedAnswers& all,
        Form form)
      : device_(device),
        table_(table),
        all_(all),
        form_(form),
        builder_(table, device->caps, {form},
                 [this](const TensorImage& image) { return image_need(*device_, image); }) {}

  void add(const ProofTask& task, Finding* finding) {
    std::string beyond;
    bool any = false;
    for (const std::uint32_t a : task.answers) {
      const Status added = add(task.variant, all_.answers[a], finding);
      any = any || added;
      if (added) continue;
      // A device that cannot take the dispatch is not asked: graphs do not run such a one there.
      std::string& why = added.error().code == ErrorCode::kUnsupported ? beyond : finding->failure;
      if (why.empty()) why = added.error().message;
    }
    if (!any && finding->failure.empty()) finding->failure = beyond;
  }

  Status run() {
    if (runs_.empty()) return Ok{};
    auto executor = Executor::create(device_);
    if (!executor) return std::move(executor).error();
    auto program = builder_.finish();
    if (!program) return std::move(program).error();
    Executor& e = **executor;
    if (auto s = e.reserve_for(*program); !s) return s;
    if (auto s = e.reserve(Home::kWeights, std::max<std::size_t>(fixed_.size(), 16)); !s) return s;
    if (auto s = e.write(Home::kWeights, 0, fixed_); !s) return s;
    const auto mapped = e.mapped(Home::kDownload);
    std::fill(mapped.begin(), mapped.end(), kFill);
    for (const Run& r : runs_) {
      const auto out = mapped.subspan(program->buffers[r.out].offset);
      std::copy(r.begins_with.begin(), r.begins_with.end(), out.begin());
    }
    auto recording = e.record_watched(table_, *program);
    if (!recording) return std::move(recording).error();
    const auto unended = e.run_watched(**recording);
    if (!unended) return unended.error();
    if (*unended) {
      Finding& f = *runs_[**unended].finding;
      f.verdict = Verdict::kWrong;
      f.unended = "did not end within " + std::to_string(watched_seconds(*device_)) + " s";
      return Ok{};
    }
    for (const Run& r : runs_) read(r, *program, mapped);
    return Ok{};
  }

 private:
  struct Run {
    const Answer* answer;
    Finding* finding;
    std::uint32_t out, guard;  // buffers of the program
    std::vector<std::byte> begins_with;
  };  // each a step of the program

  std::uint32_t add_fixed(const std::vector<std::byte>& bytes) {
    const std::uint64_t offset = round_up(fixed_.size(), device_->caps.storage_alignment);
    fixed_.resize(offset + round_up(bytes.size(), 16));
    std::copy(bytes.begin(), bytes.end(), fixed_.begin() + static_cast<std::ptrdiff_t>(offset));
    return builder_.add_weights(offset, bytes.size(), "known input");
  }

  Status add(std::uint32_t variant, const Answer& answer, Finding* finding) {
    const table::VariantEntry& v = table_.variants()[variant];
    const table::BlobEntry& blob = table_.blobs()[v.blob];
    const auto is_image = [&](std::uint32_t binding) {
      const auto bindings = table_.bindings_of(blob);
      return std::any_of(bindings.begin(), bindings.end(), [&](const table::BindingEntry& b) {
        return b.binding == binding && b.kind != table::BindingKind::kStorageBuffer;
      });
    };
    std::map<std::uint32_t, std::uint32_t> at;  // buffers by binding
    std::vector<Copy> loads, copies;
    const auto image_of_bytes = [&](const std::vector<std::byte>& bytes) {
      const std::uint32_t image =
          builder_.add_tensor(bytes.size() / vector_bytes(form_), "known input");
      loads.push_back({add_fixed(bytes), image});
      return image;
    };
    Run run{&answer, finding, 0, 0, {}};
    const std::uint64_t size = result_bytes(answer.result, form_);
    for (const AnswerBuffer& b : answer.buffers) {
      if (b.binding == answer.result.binding) {
        run.begins_with = bytes_of(b, form_);
      } else {
        const auto bytes = bytes_of(b, form_);
        at[b.binding] = is_image(b.binding) ? image_of_bytes(bytes) : add_fixed(bytes);
      }
    }
    run.out = builder_.add_buffer(Home::kDownload, size, "known output");
    run.guard = builder_.add_buffer(Home::kDownload, kGuardBytes, "guard");
    if (is_image(answer.result.binding)) {
      const auto begin = run.begins_with.empty() ? std::vector<std::byte>(size, kFill)
                                                 : std::move(run.begins_with);
      run.begins_with.clear();
      at[answer.result.binding] = image_of_bytes(begin);
      copies.push_back({at[answer.result.binding], run.out});
    } else {
      at[answer.result.binding] = run.out;
    }

    Lowered lowered;
    Dispatch& d = lowered.dispatches.emplace_back();
    d.kernel = answer.kernel;
    for (const auto& [name, bits] : answer.constants) d.specs.push_back({name, bits});
    d.local_size = answer.local_size;
    d.groups = answer.groups;
    if (answer.push.size() > kMaxPushWords) {
      return Error{ErrorCode::kUnsupported, "more push constants than every device has"};
    }
    for (const std::uint32_t word : answer.push) d.push_u32(word);
    for (std::uint32_t b = 0; b <= at.rbegin()->first; ++b) {
      d.buffers.push_back({BufferKind::kConst, at.contains(b) ? at[b] : run.out});
    }
    builder_.choose(Selection{variant, v.blob});
    const auto resolve = [](const BufferRef& ref) -> Result<std::uint32_t> { return ref.index; };
    if (auto s = builder_.add(lowered, resolve, "known answer"); !s) return s;
    for (const Copy& load : loads) builder_.add_load(load.from, load.to);
    for (const Copy& copy : copies) builder_.add_copy(copy.from, copy.to);
    runs_.push_back(std::move(run));
    return Ok{};
  }

  void read(const Run& r, const Program& program, std::span<const std::byte> mapped) const {
    const ProgramBuffer& out = program.buffers[r.out];
    const ProgramBuffer& guard = program.buffers[r.guard];
    const auto bytes = mapped.subspan(out.offset, result_bytes(r.answer->result, form_));
    const auto values = values_of(bytes, r.answer->result.kind, form_);
    const AnswerClass c = answer_class(form_.storage, form_.arithmetic);
    compare(*r.answer, c, values, r.finding);
    const auto begin = out.offset + bytes.size();
    const auto behind = mapped.subspan(begin, guard.offset + kGuardBytes - begin);
    if (std::all_of(behind.begin(), behind.end(), [](std::byte b) { return b == kFill; })) return;
    r.finding->verdict = Verdict::kWrong;
    r.finding->failure = "it wrote behind the end of its result";
  }

  std::shared_ptr<Device::State> device_;
  const Table& table_;
  const DecodedAnswers& all_;
  Form form_;
  ProgramBuilder builder_;
  std::vector<std::byte> fixed_;
  std::vector<Run> runs_;
};

Status prove_form(const std::shared_ptr<Device::State>& device, const Table& table,
                  const DecodedAnswers& all, Form form, std::span<const ProofTask> tasks,
                  std::span<Finding* const> findings) {
  for (Finding* f : findings) *f = {};
  Batch batch(device, table, all, form);
  for (std::size_t i = 0; i < tasks.size(); ++i) batch.add(tasks[i], findings[i]);
  return batch.run();
}

}  // namespace

std::vector<std::uint32_t> answers_for(const Table& table, std::uint32_t variant,
                                       const DecodedAnswers& all, std::uint32_t subgroup_size) {
  std::vector<std::uint32_t> found;
  const table::VariantEntry& v = table.variants()[variant];
  const std::string_view kernel = table.string(table.kernels()[v.kernel].name);
  const AnswerClass c = answer_class(v.storage, v.arithmetic);
  const auto values = table.axis_values_of(v);
  const auto has = [&](const std::pair<std::string, std::string>& axis) {
    return std::any_of(values.begin(), values.end(), [&](const table::AxisValue& value) {
      return table.string(value.axis) == axis.first && table.string(value.value) == axis.second;
    });
  };
  for (std::uint32_t i = 0; i < all.answers.size(); ++i) {
    const Answer& a = all.answers[i];
    if (a.kernel != kernel || !is_for(a, c)) continue;
    if (a.subgroup != 0 && a.subgroup != subgroup_size) continue;
    if (std::all_of(a.axes.begin(), a.axes.end(), has)) found.push_back(i);
  }
  return found;
}

std::vector<std::uint32_t> variants_for(const Table& table, const DeviceCaps& caps) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < table.variants().size(); ++i) {
    const table::VariantEntry& v = table.variants()[i];
    if (missing_requirement(table, table.blobs()[v.blob], caps)) continue;
    const std::string_view kernel = table.string(table.kernels()[v.kernel].name);
    if (kernel.ends_with("_subgroup") && caps.subgroup_size != kSubgroupKernelLanes) continue;
    const auto values = table.axis_values_of(v);
    const bool fits = std::all_of(values.begin(), values.end(), [&](const table::AxisValue& a) {
      if (table.string(a.axis) != "MATRIX") return true;
      const auto matrices = matrix_traits(caps, table, {form_of(v)});
      return std::any_of(matrices.begin(), matrices.end(),
                         [&](const DeviceTraits& t) { return t.matrix == table.string(a.value); });
    });
    if (fits) found.push_back(i);
  }
  return found;
}

Result<std::vector<Finding>> prove(const std::shared_ptr<Device::State>& device, const Table& table,
                                   const DecodedAnswers& all, std::span<const ProofTask> tasks) {
  std::vector<Finding> findings(tasks.size());
  std::vector<Form> forms;
  for (const ProofTask& task : tasks) {
    const Form form = form_of(table.variants()[task.variant]);
    if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
  }
  for (const Form form : forms) {
    std::vector<ProofTask> own;
    std::vector<Finding*> places;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (form_of(table.variants()[tasks[i].variant]) != form) continue;
      own.push_back(tasks[i]);
      places.push_back(&findings[i]);
    }
    Status together = prove_form(device, table, all, form, own, places);
    if (together && !device->may_destroy()) return findings;
    if (together) continue;
    // Want of memory and a lost device are nobody's fault; all else may be that of one variant.
    if (together.error().code != ErrorCode::kVulkan || device->lost) {
      return std::move(together).error();
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Status alone =
          prove_form(device, table, all, form, std::span(&own[i], 1), std::span(&places[i], 1));
      if (alone && !device->may_destroy()) return findings;
      if (alone) continue;
      if (alone.error().code != ErrorCode::kVulkan || device->lost) return alone.error();
      places[i]->verdict = Verdict::kWrong;
      places[i]->failure = alone.error().message;
    }
  }
  return findings;
}

void compare(const Answer& answer, AnswerClass c, std::span<const float> got, Finding* finding) {
  const AnswerResult& r = answer.result;
  const float tolerance = r.tolerance[static_cast<std::size_t>(c)];
  double worst = finding->wrong == 0 ? 0 : std::abs(double{finding->got} - finding->expected);
  bool flushes = true;
  std::uint32_t wrong = 0;
  for (std::uint32_t i = 0; i < r.values.size(); ++i) {
    const bool compared = r.values[i] != AnswerResult::kNotCompared;
    const double expected = compared ? double{r.scale} * r.values[i] : 0;
    ++finding->values;
    const double error = std::abs(got[i] - expected);
    if (compared ? error <= tolerance : std::isfinite(got[i])) continue;
    ++wrong;
    if (!(std::abs(got[i]) <= r.bound + tolerance)) flushes = false;
    if (finding->wrong + wrong > 1 && !(error > worst) && !std::isnan(error)) continue;
    worst = error;
    finding->at = i;
    finding->expected = static_cast<float>(expected);
    finding->got = got[i];
  }
  finding->wrong += wrong;
  const Verdict verdict = wrong == 0                    ? Verdict::kRight
                          : answer.subnormal && flushes ? Verdict::kFlushes
                                                        : Verdict::kWrong;
  // Of several answers the worst counts.
  if (finding->verdict == Verdict::kUnproven || verdict > finding->verdict) {
    finding->verdict = verdict;
  }
}

}  // namespace spirkiln
