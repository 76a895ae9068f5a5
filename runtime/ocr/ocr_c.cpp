// SPDX-License-Identifier: Apache-2.0
// The C interface over the C++ one.
#include <cmath>
#include <cstring>
#include <string>

#include "c_handles.hpp"
#include "ocr/guard.hpp"
#include "ocr/page_c.hpp"
#include "spirkiln/ocr.h"
#include "spirkiln/ocr.hpp"

struct spirkiln_ocr_reader {
  spirkiln::OcrReader reader;
  spirkiln::DecodeOptions decode;
};

namespace {

using namespace spirkiln::c;
using spirkiln::Error;
using spirkiln::ErrorCode;
using spirkiln::Result;

struct Settings {
  spirkiln::DeviceOptions device;
  spirkiln::GraphOptions graph;
  spirkiln::OcrOptions ocr;
  spirkiln::DecodeOptions decode;
};

Result<Settings> settings_of(const spirkiln_ocr_options* options) {
  constexpr const char* kFunction = "spirkiln_ocr_open";
  const auto all =
      read_options(options, SPIRKILN_OCR_OPTIONS_INIT, sizeof(spirkiln_ocr_options), kFunction);
  if (!all) return all.error();
  auto device = device_options(all->device, kFunction);
  if (!device) return device.error();
  auto graph = graph_options(all->graph, kFunction);
  if (!graph) return graph.error();
  Settings out;
  out.device = *std::move(device);
  out.graph = *std::move(graph);
  out.graph.message = out.ocr.message = out.decode.message = out.device.message;
  if (all->max_pixels != 0) out.decode.max_pixels = all->max_pixels;
  if (std::isnan(all->text_threshold)) {
    return Error{ErrorCode::kInvalidArgument,
                 "spirkiln_ocr_open: text_threshold is not a number; negative: 0.5"};
  }
  if (all->text_threshold >= 0) out.ocr.text_threshold = all->text_threshold;
  return out;
}

// What the three functions that read a picture share; `function` begins messages about arguments.
template <typename GetPicture>
spirkiln_status give_page(const char* function, const spirkiln_ocr_reader* reader, uint32_t flags,
                          spirkiln_ocr_page** page, const ErrorText& text, GetPicture get_picture) {
  clear(page);
  const auto refuse = [&](const char* why) {
    return fail(Error{ErrorCode::kInvalidArgument, std::string(function) + ": " + why}, text);
  };
  if (page == nullptr) return refuse("page is NULL");
  if (!valid(reader)) return refuse("reader is NULL, of another kind or closed");
  if ((flags & ~uint32_t{SPIRKILN_OCR_ONE_LINE}) != 0) {
    return refuse("flags has bits that this library does not know");
  }
  auto result = spirkiln::ocr::guarded([&]() -> Result<spirkiln::OcrPage> {
    auto picture = get_picture();
    if (!picture) return std::move(picture).error();
    return (flags & SPIRKILN_OCR_ONE_LINE) != 0 ? reader->reader.read_line(*picture)
                                                : reader->reader.read(*picture);
  });
  return result ? make_handle(page, text, *std::move(result)) : fail(result.error(), text);
}

Error null_argument(const char* function, const char* name) {
  return {ErrorCode::kInvalidArgument, std::string(function) + ": " + name + " is NULL"};
}

Result<spirkiln::Picture> to_picture(const uint8_t* bgr, size_t size, uint32_t width,
                                     uint32_t height, size_t stride, uint64_t max_pixels) {
  const size_t row = size_t{width} * 3;
  if (width == 0 || height == 0 || stride < row || (size < row) ||
      (size - row) / stride < size_t{height} - 1) {
    return Error{ErrorCode::kInvalidArgument,
                 "spirkiln_ocr_read_pixels: size, stride, width and height do not agree: rows of "
                 "width * 3 bytes, stride "
                 "bytes apart, must lie within size bytes"};
  }
  if (width > max_pixels / height) {
    return Error{ErrorCode::kOutOfMemory, std::to_string(width) + " x " + std::to_string(height) +
                                              " pixels are more than the limit of " +
                                              std::to_string(max_pixels) +
                                              "; scale the picture down"};
  }
  spirkiln::Picture picture;
  picture.width = width;
  picture.height = height;
  picture.bgr.resize(row * height);
  for (uint32_t y = 0; y < height; ++y) {
    std::memcpy(picture.bgr.data() + y * row, bgr + y * stride, row);
  }
  return picture;
}

}  // namespace

spirkiln_status spirkiln_ocr_open(const char* folder, const spirkiln_ocr_options* options,
                                  spirkiln_ocr_reader** reader, char* error, size_t error_bytes) {
  const ErrorText text{error, error_bytes};
  clear(reader);
  if (reader == nullptr) return fail("spirkiln_ocr_open: reader is NULL", text);
  spirkiln::DecodeOptions decode;
  auto opened = spirkiln::ocr::guarded([&]() -> Result<spirkiln::OcrReader> {
    auto settings = settings_of(options);
    if (!settings) return settings.error();
    decode = settings->decode;
    auto device = spirkiln::Device::open(settings->device);
    if (!device) return std::move(device).error();
    return spirkiln::OcrReader::open(
        folder != nullptr ? std::string(folder) : spirkiln::default_packs_folder(), *device,
        settings->graph, settings->ocr);
  });
  return opened ? make_handle(reader, text, *std::move(opened), std::move(decode))
                : fail(opened.error(), text);
}

void spirkiln_ocr_close(spirkiln_ocr_reader* reader) { Open<spirkiln_ocr_reader>::close(reader); }

spirkiln_status spirkiln_ocr_read_file(const spirkiln_ocr_reader* reader, const char* path,
                                       uint32_t flags, spirkiln_ocr_page** page, char* error,
                                       size_t error_bytes) {
  return give_page(__func__, reader, flags, page, {error, error_bytes},
                   [&, function = __func__]() -> Result<spirkiln::Picture> {
                     if (path == nullptr) return null_argument(function, "path");
                     return spirkiln::load_picture(path, reader->decode);
                   });
}

spirkiln_status spirkiln_ocr_read_bytes(const spirkiln_ocr_reader* reader, const void* bytes,
                                        size_t size, const char* name, uint32_t flags,
                                        spirkiln_ocr_page** page, char* error, size_t error_bytes) {
  return give_page(__func__, reader, flags, page, {error, error_bytes},
                   [&, function = __func__]() -> Result<spirkiln::Picture> {
                     if (bytes == nullptr && size > 0) return null_argument(function, "bytes");
                     return spirkiln::decode_picture({static_cast<const uint8_t*>(bytes), size},
                                                     name != nullptr ? name : "picture",
                                                     reader->decode);
                   });
}

spirkiln_status spirkiln_ocr_read_pixels(const spirkiln_ocr_reader* reader, const uint8_t* bgr,
                                         size_t size, uint32_t width, uint32_t height,
                                         size_t stride, uint32_t flags, spirkiln_ocr_page** page,
                                         char* error, size_t error_bytes) {
  return give_page(__func__, reader, flags, page, {error, error_bytes},
                   [&, function = __func__]() -> Result<spirkiln::Picture> {
                     if (bgr == nullptr) return null_argument(function, "bgr");
                     return to_picture(bgr, size, width, height, stride, reader->decode.max_pixels);
                   });
}
