/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels and graphs on the caller's own Vulkan device, in C. vulkan.hpp has the same in C++ and
 * says what belongs to whom, what must be synchronised and how long what must live. Needs the
 * Vulkan headers.
 */
#ifndef SPIRKILN_VULKAN_H
#define SPIRKILN_VULKAN_H

#include <vulkan/vulkan_core.h>

#include "spirkiln/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spirkiln_external_device {
  size_t struct_bytes; /* sizeof(spirkiln_external_device) */
  PFN_vkGetInstanceProcAddr get_instance_proc_addr;
  VkInstance instance;
  uint32_t api_version; /* as in the instance's VkApplicationInfo */
  VkPhysicalDevice physical;
  VkDevice device;
  const VkDeviceCreateInfo* made_with; /* read during the call only */
  uint32_t queue_family, queue_index;
  void (*lock_queue)(void* user); /* both may be NULL */
  void (*unlock_queue)(void* user);
  void* lock_user;
  int no_cache; /* not 0: nothing is kept between processes; also $SPIRKILN_NO_CACHE=1 */
  spirkiln_message_fn message; /* may be NULL */
  void* message_user;
} spirkiln_external_device;

SPIRKILN_API spirkiln_status spirkiln_device_from_vulkan(const spirkiln_external_device* external,
                                                         spirkiln_device** device, char* error,
                                                         size_t error_bytes);
SPIRKILN_API spirkiln_status spirkiln_buffer_wrap(spirkiln_device* device, VkBuffer buffer,
                                                  uint64_t bytes, spirkiln_buffer** wrapped,
                                                  char* error, size_t error_bytes);
/* `image` is in the layout GENERAL whenever a kernel uses it; `view` is of all of it. */
SPIRKILN_API spirkiln_status spirkiln_image_wrap(spirkiln_device* device, VkImage image,
                                                 VkImageView view,
                                                 const spirkiln_image_shape* shape,
                                                 spirkiln_image** wrapped, char* error,
                                                 size_t error_bytes);
/* Into a command buffer in the recording state; nothing is submitted. */
SPIRKILN_API spirkiln_status spirkiln_sequence_record(spirkiln_sequence* sequence,
                                                      VkCommandBuffer commands, char* error,
                                                      size_t error_bytes);

#ifdef __cplusplus
}
#endif

#endif
