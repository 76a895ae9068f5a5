// SPDX-License-Identifier: Apache-2.0
// What compute::Sequence points to: checked dispatches, and their descriptors and commands once
// they have been needed.
#pragma once

#include <mutex>
#include <vector>

#include "compute/kernel.hpp"
#include "loader/submit.hpp"

namespace spirkiln::compute {

// What a binding of a kernel was given.
struct Bound {
  std::shared_ptr<Buffer::State> buffer;  // or
  std::shared_ptr<Image::State> image;
  std::uint64_t offset = 0, bytes = 0;  // of the buffer
};

struct BoundDispatch {
  std::shared_ptr<const Kernel::State> kernel;
  std::vector<Bound> bound;  // one for each of the kernel's bindings
  std::vector<std::byte> push;
  Extent groups;
  bool barrier_before = false;
};

// The dispatch as it will be recorded. Errors: as Sequence::add.
Result<BoundDispatch> bind_dispatch(const DeviceState& device, const Kernel& kernel,
                                    const Dispatch& dispatch);
// Sets barrier_before; gives their number.
std::uint32_t place_barriers(std::vector<BoundDispatch>* dispatches);

struct Sequence::State {
  explicit State(DeviceState d) : device(std::move(d)) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Descriptor sets of all dispatches; once.
  Status prepare();
  void record(VkCommandBuffer commands) const;
  Status run();

  std::mutex mutex;  // of all that is below
  DeviceState device;
  std::vector<BoundDispatch> dispatches;
  std::uint32_t barriers = 0;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  bool prepared = false;
  std::vector<std::vector<VkDescriptorSet>> sets;  // of each dispatch
  // Of run() only.
  VkCommandPool command_pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  bool recorded = false;
  Fence fence;

 private:
  Status make_pool();
  void write_sets();
  Status record_own();
};

}  // namespace spirkiln::compute
