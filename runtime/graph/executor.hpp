// SPDX-License-Identifier: Apache-2.0
// The Vulkan side of plans: memory blocks, recorded command buffers, submission.
//
// One executor has one block of memory for each home. All its recordings use the same blocks, so
// memory does not grow with their number; a block that has to grow makes older recordings stale,
// and they are recorded again before their next run. Not thread-safe: the owner serialises.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "graph/image.hpp"
#include "graph/program.hpp"
#include "loader/memory.hpp"
#include "loader/submit.hpp"

namespace spirkiln {

VkMemoryBarrier memory_barrier(VkAccessFlags from, VkAccessFlags to);

// A program as a command buffer that can be submitted any number of times.
class Recording {
 public:
  explicit Recording(std::shared_ptr<Device::State> device) : device_(std::move(device)) {}
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  std::uint32_t barriers() const { return barriers_; }
  std::size_t submissions() const { return buffers_.size(); }
  // Of the last run of a recording with profile, in order of the steps: one of their repeats.
  const std::vector<double>& step_ms() const { return step_ms_; }
  // Of the last run, on the device, without the copies of results to the host; 0 without
  // timestamps.
  double kernels_ms() const { return kernels_ms_; }

 private:
  friend class Executor;
  std::shared_ptr<Device::State> device_;
  std::vector<std::shared_ptr<Pipeline>> pipelines_;
  std::vector<std::unique_ptr<Image>> images_;  // of each buffer of the program; null: no image
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkCommandPool commands_ = VK_NULL_HANDLE;
  std::vector<VkCommandBuffer> buffers_;  // one for each submission
  VkCommandBuffer buffer_ = VK_NULL_HANDLE;  // the one that is being recorded
  double work_ = 0;  // step_work of all steps
  bool cut_by_time_ = false;  // by what a run took, not by an estimate
  VkQueryPool queries_ = VK_NULL_HANDLE;
  std::uint32_t query_count_ = 0;
  std::uint32_t repeats_ = 0;
  std::vector<double> step_ms_;
  double kernels_ms_ = 0;
  std::uint64_t generation_ = 0;
  std::uint32_t barriers_ = 0;
};

class Executor {
 public:
  static Result<std::unique_ptr<Executor>> create(std::shared_ptr<Device::State> device);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Grows the block of `home` to at least `bytes`; what was in it is lost when it grows.
  Status reserve(Home home, std::uint64_t bytes);
  // All blocks that the program needs.
  Status reserve_for(const Program& program);
  // False when an allocation has failed since the blocks were reserved.
  bool holds(const Program& program) const;
  // Host bytes into a block, through a staging buffer where the block is not mapped. Blocks until
  // they are there.
  Status write(Home home, std::uint64_t offset, std::span<const std::byte> bytes);
  // The same for bytes that `fill` writes where they are needed, without a copy in between.
  Status write(Home home, std::uint64_t offset, std::uint64_t bytes,
               const std::function<void(std::span<std::byte>)>& fill);
  // Mapped bytes of kUpload or kDownload.
  std::span<std::byte> mapped(Home home) const;

  // Pipelines, descriptor sets and commands. The blocks must be reserved. With `profile` each step
  // runs that many times, each alone between barriers, and is timed: the whole is slower, and what
  // steps compute in place comes out wrong where they run more than once. `ms` is what a run of the
  // program took before; 0 where that is not known: it decides into how many submissions the
  // program is cut.
  Result<std::unique_ptr<Recording>> record(const Table& table, const Program& program,
                                            std::uint32_t profile = 0, double ms = 0);
  // The same with a submission for each step, for run_watched.
  Result<std::unique_ptr<Recording>> record_watched(const Table& table, const Program& program);
  bool stale(const Recording& recording) const { return recording.generation_ != generation_; }
  // Whether a recording whose run took `ms` should be cut otherwise.
  bool cut_badly(const Recording& recording, double ms) const;
  // Submits and waits; gives milliseconds on the device (wall time where it has no timestamps).
  Result<double> run(Recording& recording);
  // Of kernels that may never end: gives the step that did not (loader/submit.hpp), or nullopt.
  Result<std::optional<std::size_t>> run_watched(const Recording& recording);

  // Memory held now.
  std::uint64_t bytes() const;

 private:
  explicit Executor(std::shared_ptr<Device::State> device) : device_(std::move(device)) {}
  std::uint64_t bytes_of(Home home) const {
    return home == Home::kImages ? image_memory_.bytes() : block(home).bytes();
  }
  const Buffer& block(Home home) const { return blocks_[static_cast<std::size_t>(home)]; }
  Status record_descriptors(const Program& program, Recording* recording,
                            std::vector<VkDescriptorSet>* sets);
  // Between dispatches: `memory` where it is not null, and the images that begin, in one command.
  void record_barrier(const VkMemoryBarrier* memory, const std::vector<std::uint32_t>& begin,
                      const Recording& recording) const;
  void record_loads(const Program& program, const Recording& recording) const;
  void record_copies(const Program& program, const Recording& recording) const;
  Status record_commands(const Program& program, const std::vector<VkDescriptorSet>& sets,
                         std::uint32_t profile, const std::vector<std::size_t>& begins,
                         Recording* recording);
  // With the steps with which submissions begin.
  Result<std::unique_ptr<Recording>> record_cut(const Table& table, const Program& program,
                                                std::uint32_t profile,
                                                const std::vector<std::size_t>& begins);
  // Ends the command buffer that is being recorded and begins the next, where there is one.
  Status next_buffer(std::size_t index, Recording* recording) const;
  Status read_times(Recording* recording, double* ms) const;

  std::shared_ptr<Device::State> device_;
  std::array<Buffer, kHomes> blocks_;  // that of kImages stays empty
  ImageMemory image_memory_;
  std::uint64_t generation_ = 1;
  // Of the run with most work so far: small ones are nothing but their start.
  double measured_work_ = 0, measured_ms_ = 0;
  Fence fence_;
};

}  // namespace spirkiln
