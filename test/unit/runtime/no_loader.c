/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is there and opens, but is no Vulkan loader. */
__attribute__((visibility("default"))) int spirkiln_no_loader(void) { return 0; }
