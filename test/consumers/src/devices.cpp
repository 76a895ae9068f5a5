// SPDX-License-Identifier: Apache-2.0
// A user of the C++ API: names the devices, and shows what a wrong file leads to.
#include <cstdio>
#include <spirkiln/spirkiln.hpp>

int main() {
  const auto devices = spirkiln::list_devices();
  if (!devices) {
    std::fprintf(stderr, "devices: error: %s\n", devices.error().message.c_str());
    return 1;
  }
  for (const auto& device : *devices) std::printf("%u %s\n", device.index, device.name.c_str());

  const auto model = spirkiln::Model::open("/nonexistent/det.spkm");
  if (model || model.error().code != spirkiln::ErrorCode::kIo ||
      model.error().message.find("/nonexistent/det.spkm") == std::string::npos) {
    std::fprintf(stderr, "devices: error: a missing model must be an error that names it\n");
    return 1;
  }
  return devices->empty() ? 1 : 0;
}
