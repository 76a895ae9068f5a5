// SPDX-License-Identifier: Apache-2.0
// JPEG through libjpeg itself. OpenCV uses the same library but hides what it says: damaged files
// come out as half grey pages, and a file may ask for any number of passes over its picture.
#include <csetjmp>
#include <cstdio>
// jpeglib.h wants what <cstdio> declares.
#include <jerror.h>
#include <jpeglib.h>

#include "ocr/decode.hpp"

namespace spirkiln::ocr {
namespace {

// Each scan is a pass over the whole picture, however short it is in the file. Encoders write about
// ten; libtiff has the same limit.
constexpr int kMaxScans = 100;
// Bytes before a marker that belong to nothing: some cameras pad a little.
constexpr int kPadding = 4;

// What C code is called back with. libjpeg's errors leave through longjmp, so whatever lives in a
// function that calls libjpeg needs no destructor.
struct Decoder {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf failed;
  char reason[JMSG_LENGTH_MAX];
  bool unsupported;  // else damaged
  int surplus;  // bytes that belong to no segment and no block
};

Decoder& decoder_of(j_common_ptr jpeg) { return *static_cast<Decoder*>(jpeg->client_data); }

[[noreturn]] void leave(j_common_ptr jpeg) {
  Decoder& decoder = decoder_of(jpeg);
  (*jpeg->err->format_message)(jpeg, decoder.reason);
  switch (jpeg->err->msg_code) {
    case JERR_SOF_UNSUPPORTED:
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_CCIR601_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_IMAGE_TOO_BIG:
      decoder.unsupported = true;
      break;
    default:
      break;
  }
  std::longjmp(decoder.failed, 1);
}

// Warnings say that pixels are missing or made up, or are of no consequence.
void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_JPEG_EOF:
      leave(jpeg);
    case JWRN_EXTRANEOUS_DATA:
      if (jpeg->err->msg_parm.i[0] > kPadding) {
        decoder_of(jpeg).surplus += jpeg->err->msg_parm.i[0];
      }
      return;
    default:
      return;
  }
}

void on_output(j_common_ptr) {}  // nothing goes to stderr

void on_progress(j_common_ptr jpeg) {
  const auto* decompress = reinterpret_cast<j_decompress_ptr>(jpeg);
  if (decompress->input_scan_number <= kMaxScans) return;
  Decoder& decoder = decoder_of(jpeg);
  std::snprintf(decoder.reason, sizeof decoder.reason, "more than %d scans", kMaxScans);
  decoder.unsupported = true;
  std::longjmp(decoder.failed, 1);
}

void set_up(Decoder& decoder) {
  decoder.jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = leave;
  decoder.errors.emit_message = on_message;
  decoder.errors.output_message = on_output;
  decoder.jpeg.client_data = &decoder;
  decoder.progress.progress_monitor = on_progress;
}

// Each step is false where libjpeg gave up; `reason` says why.
bool read_header(Decoder& decoder, Bytes bytes) {
  if (setjmp(decoder.failed) != 0) return false;
  jpeg_create_decompress(&decoder.jpeg);
  decoder.jpeg.progress = &decoder.progress;
  jpeg_mem_src(&decoder.jpeg, bytes.data(), static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&decoder.jpeg, TRUE);
  return true;
}

// Four inks: Adobe stores them inverted, and so does everything that writes such files.
void inks_to_bgr(const std::uint8_t* cmyk, std::uint8_t* bgr, std::uint32_t width) {
  for (std::uint32_t x = 0; x < width; ++x, cmyk += 4, bgr += 3) {
    for (int c = 0; c < 3; ++c) bgr[2 - c] = static_cast<std::uint8_t>(cmyk[c] * cmyk[3] / 255);
  }
}

// `row` has room for a row of four inks, `bgr` for the picture.
bool read_pixels(Decoder& decoder, std::uint8_t* row, std::uint8_t* bgr) {
  if (setjmp(decoder.failed) != 0) return false;
  jpeg_decompress_struct& jpeg = decoder.jpeg;
  const bool inks = jpeg.num_components == 4;
  jpeg.out_color_space = inks ? JCS_CMYK : JCS_EXT_BGR;
  jpeg_start_decompress(&jpeg);
  const std::size_t row_bytes = std::size_t{jpeg.output_width} * 3;
  while (jpeg.output_scanline < jpeg.output_height) {
    std::uint8_t* to = bgr + jpeg.output_scanline * row_bytes;
    JSAMPROW into = inks ? row : to;
    jpeg_read_scanlines(&jpeg, &into, 1);
    if (inks) inks_to_bgr(row, to, jpeg.output_width);
  }
  jpeg_finish_decompress(&jpeg);  // reads to the end marker
  return true;
}

}  // namespace

Result<Picture> decode_jpeg(Bytes bytes, const std::string& name, const PictureHeader& header,
                            const MessageCallback& message) {
  Decoder decoder{};
  set_up(decoder);
  const struct Closer {
    jpeg_decompress_struct* jpeg;
    ~Closer() { jpeg_destroy_decompress(jpeg); }
  } closer{&decoder.jpeg};
  const auto failed = [&] {
    if (!decoder.unsupported) return damaged(name, header, decoder.reason);
    return Error{ErrorCode::kUnsupported, name + ": a JPEG file of a kind that is not read (" +
                                              decoder.reason + "); save it again as JPEG or PNG"};
  };
  if (!read_header(decoder, bytes)) return failed();
  const jpeg_decompress_struct& jpeg = decoder.jpeg;
  if (jpeg.image_width != header.width || jpeg.image_height != header.height) {
    return damaged(name, header, "it states two sizes");
  }
  if (jpeg.num_components != 1 && jpeg.num_components != 3 && jpeg.num_components != 4) {
    return Error{ErrorCode::kUnsupported,
                 name + ": a JPEG file with " + std::to_string(jpeg.num_components) +
                     " colour components, expected 1, 3 or 4; save it again as JPEG or PNG"};
  }
  Picture picture;
  picture.width = jpeg.image_width;
  picture.height = jpeg.image_height;
  picture.bgr.resize(std::size_t{picture.width} * picture.height * 3);
  std::vector<std::uint8_t> row(jpeg.num_components == 4 ? std::size_t{picture.width} * 4 : 0);
  if (!read_pixels(decoder, row.data(), picture.bgr.data())) return failed();
  if (decoder.surplus > 0 && message) {
    message(Severity::kWarning,
            name + ": this JPEG file may be damaged: " + std::to_string(decoder.surplus) +
                " of its bytes belong to nothing in it; compare it with another copy of the file");
  }
  return picture;
}

}  // namespace spirkiln::ocr
