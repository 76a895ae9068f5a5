// SPDX-License-Identifier: Apache-2.0
// What a device reaches at most, measured: the rooflines of profiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "spirkiln/spirkiln.hpp"

namespace spirkiln::bench {

struct MatrixPeak {
  std::string shape;  // "16x8x16": rows, columns, inner size; halves, sums in single precision
  double tflops = 0;
};

// A figure of 0 is one that the device or the table does not have.
struct Peaks {
  std::string device, driver;
  double fp32_tflops = 0;  // multiply-adds, each two operations
  double fp16_tflops = 0;
  std::vector<MatrixPeak> matrices;
  std::uint64_t copy_bytes = 0;  // of one buffer
  double copy_gbs = 0;    // read and written, 10^9 bytes a second
  double shared_gbs = 0;  // read from workgroup memory
  double step_us = 0;     // a dispatch that does nothing and waits for the one before
  double matrix_tflops() const;  // the best of them
};

struct PeakOptions {
  double ms = 20;         // that a dispatch takes at least, where it does arithmetic
  double warm_ms = 500;   // of arithmetic before anything is measured
  std::uint32_t runs = 10;  // the best counts
  std::uint64_t copy_mib = 0;  // of one buffer; 0: up to 256, as the device's memory allows
};

// A device that can run what measure_peaks needs, beside the graphs. Errors: as Device::open.
Result<Device> open_peak_device(const DeviceOptions& options);

// Errors: kUnsupported on a device without timestamps; kVulkan where a result is not what the
// kernel has to compute (it says which), since its time would mean nothing.
Result<Peaks> measure_peaks(const Device& device, const PeakOptions& options);

std::string peaks_text(const Peaks& peaks);
std::string peaks_json(const Peaks& peaks);
// What peaks_json wrote. Errors: kIo, kCorrupt.
Result<Peaks> read_peaks(const std::string& path);

}  // namespace spirkiln::bench
