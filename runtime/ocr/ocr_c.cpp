// SPDX-License-Identifier: Apache-2.0
// The C interface over the C++ one.
#include <algorithm>
#include <cstring>
#include <new>

#include "ocr/guard.hpp"
#include "ocr/page_c.hpp"
#include "spirkiln/ocr.h"
#include "spirkiln/ocr.hpp"

struct spirkiln_ocr_reader {
  spirkiln::OcrReader reader;
  spirkiln::DecodeOptions decode;
};

namespace {

using spirkiln::Error;
using spirkiln::ErrorCode;
using spirkiln::Result;

struct ErrorText {
  char* text;
  std::size_t bytes;
};

spirkiln_status fail(const Error& error, const ErrorText& out) {
  spirkiln::ocr::copy_text(error.message, out.text, out.bytes, nullptr);
  return static_cast<spirkiln_status>(error.code);
}

spirkiln_status fail(const char* message, const ErrorText& out) {
  return fail(Error{ErrorCode::kInvalidArgument, message}, out);
}

Result<spirkiln::OcrPage> read(const spirkiln_ocr_reader& reader, const spirkiln::Picture& picture,
                               uint32_t flags) {
  return (flags & SPIRKILN_OCR_ONE_LINE) != 0 ? reader.reader.read_line(picture)
                                              : reader.reader.read(picture);
}

template <typename GetPicture>
spirkiln_status give_page(const spirkiln_ocr_reader* reader, uint32_t flags,
                          spirkiln_ocr_page** page, const ErrorText& text, GetPicture get_picture) {
  if (page != nullptr) *page = nullptr;
  if (reader == nullptr || page == nullptr) return fail("reader or page is NULL", text);
  if ((flags & ~uint32_t{SPIRKILN_OCR_ONE_LINE}) != 0) return fail("unknown flags", text);
  auto result = spirkiln::ocr::guarded([&]() -> Result<spirkiln::OcrPage> {
    auto picture = get_picture();
    if (!picture) return std::move(picture).error();
    return read(*reader, *picture, flags);
  });
  if (!result) return fail(result.error(), text);
  *page = new (std::nothrow) spirkiln_ocr_page{*std::move(result)};
  if (*page != nullptr) return SPIRKILN_OK;
  return fail(Error{ErrorCode::kOutOfMemory, "the host has no memory left"}, text);
}

Result<spirkiln::Picture> to_picture(const uint8_t* bgr, size_t size, uint32_t width,
                                     uint32_t height, size_t stride, uint64_t max_pixels) {
  const size_t row = size_t{width} * 3;
  if (width == 0 || height == 0 || stride < row || (size < row) ||
      (size - row) / stride < size_t{height} - 1) {
    return Error{ErrorCode::kInvalidArgument,
                 "size, stride, width and height do not agree: rows of width * 3 bytes, stride "
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
  if (reader == nullptr) return fail("spirkiln_ocr_open: reader is NULL", text);
  *reader = nullptr;
  const spirkiln_ocr_options defaults = SPIRKILN_OCR_OPTIONS_INIT;
  const spirkiln_ocr_options& o = options != nullptr ? *options : defaults;
  if (o.struct_bytes != sizeof o || o.device.struct_bytes != sizeof o.device ||
      o.graph.struct_bytes != sizeof o.graph) {
    return fail(
        "spirkiln_ocr_open: a struct_bytes is not the size of its struct; begin with "
        "SPIRKILN_OCR_OPTIONS_INIT",
        text);
  }
  spirkiln::DecodeOptions decode;
  if (o.max_pixels != 0) decode.max_pixels = o.max_pixels;
  auto opened = spirkiln::ocr::guarded([&]() -> Result<spirkiln::OcrReader> {
    spirkiln::MessageCallback message;
    if (o.device.message != nullptr) {
      message = [fn = o.device.message, user = o.device.message_user](spirkiln::Severity severity,
                                                                      std::string_view words) {
        fn(static_cast<int>(severity), std::string(words).c_str(), user);
      };
    }
    decode.message = message;
    spirkiln::DeviceOptions device_options;
    if (o.device.index >= 0) device_options.index = static_cast<uint32_t>(o.device.index);
    if (o.device.name != nullptr) device_options.name = o.device.name;
    if (o.device.backend != nullptr) device_options.backend = o.device.backend;
    device_options.validation = o.device.validation != 0;
    device_options.message = message;
    auto device = spirkiln::Device::open(device_options);
    if (!device) return std::move(device).error();
    spirkiln::GraphOptions graph_options;
    if (o.graph.variant != nullptr) graph_options.variant = o.graph.variant;
    if (o.graph.max_plans != 0) graph_options.max_plans = o.graph.max_plans;
    graph_options.threads = o.graph.threads;
    graph_options.message = message;
    spirkiln::OcrOptions ocr_options;
    if (o.text_threshold >= 0) ocr_options.text_threshold = o.text_threshold;
    ocr_options.message = message;
    return spirkiln::OcrReader::open(
        folder != nullptr ? std::string(folder) : spirkiln::default_packs_folder(), *device,
        graph_options, ocr_options);
  });
  if (!opened) return fail(opened.error(), text);
  *reader = new (std::nothrow) spirkiln_ocr_reader{*std::move(opened), decode};
  if (*reader != nullptr) return SPIRKILN_OK;
  return fail(Error{ErrorCode::kOutOfMemory, "the host has no memory left"}, text);
}

void spirkiln_ocr_close(spirkiln_ocr_reader* reader) { delete reader; }

spirkiln_status spirkiln_ocr_read_file(const spirkiln_ocr_reader* reader, const char* path,
                                       uint32_t flags, spirkiln_ocr_page** page, char* error,
                                       size_t error_bytes) {
  return give_page(reader, flags, page, {error, error_bytes}, [&]() -> Result<spirkiln::Picture> {
    if (path == nullptr) return Error{ErrorCode::kInvalidArgument, "path is NULL"};
    return spirkiln::load_picture(path, reader->decode);
  });
}

spirkiln_status spirkiln_ocr_read_bytes(const spirkiln_ocr_reader* reader, const void* bytes,
                                        size_t size, const char* name, uint32_t flags,
                                        spirkiln_ocr_page** page, char* error, size_t error_bytes) {
  return give_page(reader, flags, page, {error, error_bytes}, [&]() -> Result<spirkiln::Picture> {
    if (bytes == nullptr && size > 0) return Error{ErrorCode::kInvalidArgument, "bytes is NULL"};
    return spirkiln::decode_picture({static_cast<const uint8_t*>(bytes), size},
                                    name != nullptr ? name : "picture", reader->decode);
  });
}

spirkiln_status spirkiln_ocr_read_pixels(const spirkiln_ocr_reader* reader, const uint8_t* bgr,
                                         size_t size, uint32_t width, uint32_t height,
                                         size_t stride, uint32_t flags, spirkiln_ocr_page** page,
                                         char* error, size_t error_bytes) {
  return give_page(reader, flags, page, {error, error_bytes}, [&]() -> Result<spirkiln::Picture> {
    if (bgr == nullptr) return Error{ErrorCode::kInvalidArgument, "bgr is NULL"};
    return to_picture(bgr, size, width, height, stride, reader->decode.max_pixels);
  });
}
