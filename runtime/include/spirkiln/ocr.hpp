// SPDX-License-Identifier: Apache-2.0
// The C++ API of libspirkiln-ocr: text out of a picture.
//
//   auto reader = spirkiln::OcrReader::open(folder, device);
//   auto picture = spirkiln::load_picture("receipt.jpg");
//   auto page = reader->read(*picture);
//
// Coordinates are pixels of the picture as it is meant to be seen (after EXIF orientation), x to
// the right, y down, pixel centres at whole numbers. Threads: a reader may be used from any number
// of threads; what a page says never depends on other pages or on how many lines were read
// together.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/export.h"
#include "spirkiln/result.hpp"
#include "spirkiln/spirkiln.hpp"

namespace spirkiln {

// ---- Pictures ----------------------------------------------------------------------------------

// Eight bits a channel, B G R, rows tight and top first.
struct Picture {
  std::uint32_t width = 0, height = 0;
  std::vector<std::uint8_t> bgr;  // width * height * 3
};

struct DecodeOptions {
  // Larger pictures are refused before they are decoded. Decoding takes at most 16 bytes of memory
  // for each pixel of this limit (1.6 GB), beside the file's own bytes: what would take more, such
  // as large TIFF files of floats, is refused as well.
  std::uint64_t max_pixels = 100'000'000;
  std::uint64_t max_file_bytes = 512u << 20;
  // Hears of what was read all the same: a file with several pages, of which the first is read, or
  // one that may be damaged.
  MessageCallback message;
};

// PNG, JPEG, WebP, BMP, TIFF and PNM by content, whatever the name says. EXIF orientation is
// applied; 16-bit, grey, palette and CMYK pictures become B G R; transparent ones are laid on the
// ground (white, black or grey) that their visible pixels stand out from most.
// `name` stands in messages. Errors: kIo (folders, pipes and devices too), kCorrupt (a damaged
// file, also where a part of the picture could be decoded), kUnsupported (no picture format that
// this library reads), kOutOfMemory (more pixels or bytes than the options allow).
SPIRKILN_API Result<Picture> decode_picture(std::span<const std::uint8_t> bytes,
                                            const std::string& name,
                                            const DecodeOptions& options = {});
SPIRKILN_API Result<Picture> load_picture(const std::string& path,
                                          const DecodeOptions& options = {});

// ---- Graphs ------------------------------------------------------------------------------------

// What the pipeline needs of a graph. Implementations must allow calls from several threads.
class SPIRKILN_API Net {
 public:
  virtual ~Net() = default;
  // The graph's first output. The graph itself normalises the bytes (Pictures in spirkiln.hpp).
  virtual Result<TensorF32> run(const Pictures& pictures) = 0;
  // True where run gives N x T x 2 instead of N x T x classes: of each step the best class and its
  // probability (GraphOptions::best_class).
  virtual bool gives_best_class() const { return false; }
  // True where run_bytes gives the same as bytes (GraphOptions::bytes): detection then asks for
  // them instead.
  virtual bool gives_bytes() const { return false; }
  virtual Result<TensorU8> run_bytes(const Pictures&) {
    return Error{ErrorCode::kUnsupported, "this graph gives no bytes"};
  }
  // Makes what the first run of this shape needs, where the implementation can; any thread may call
  // it.
  virtual Status prepare(std::uint32_t n, std::uint32_t h, std::uint32_t w) {
    (void)n, (void)h, (void)w;
    return Ok{};
  }
  // Sums over all runs so far, where the implementation measures them.
  virtual RunTimings timings() const { return {}; }
};

// A Net on libspirkiln. `best_class` and `bytes` as the graph's options have them.
SPIRKILN_API std::shared_ptr<Net> make_net(Graph graph, bool best_class = false,
                                           bool bytes = false);

struct OcrNets {
  std::shared_ptr<Net> detect;  // N x H x W x 1: probability that a pixel is text
  std::shared_ptr<Net> orient;  // N x 2: probabilities of [0, 180] degrees. May be null
  std::shared_ptr<Net> recognise;  // N x T x classes: probabilities, class 0 is the blank
};

// ---- Characters --------------------------------------------------------------------------------

// The characters of the recogniser: class 0 is the blank of CTC, class i the i-th line of the file,
// the last class a space.
class SPIRKILN_API Dictionary {
 public:
  // UTF-8 text, one character a line. Lines are taken as they are, spaces included; the last one
  // needs no newline, and a byte order mark is skipped. Errors: kIo, kCorrupt (with the line:
  // empty, no text, or there twice), kOutOfMemory (more than 16 MB).
  static Result<Dictionary> open(const std::string& path);
  static Result<Dictionary> from_text(std::string_view text, const std::string& name);

  std::size_t classes() const { return characters_.size() + 2; }
  // UTF-8; empty for the blank. `index` < classes().
  std::string_view character(std::size_t index) const;

 private:
  std::vector<std::string> characters_;
};

// ---- Reading -----------------------------------------------------------------------------------

struct OcrOptions {
  // Detection. The picture is scaled so that its longer side is within [min, max] of these, but
  // never enlarged more than `detect_max_zoom` times, and never above `detect_max_pixels`.
  std::uint32_t detect_min_side = 640;
  std::uint32_t detect_max_side = 960;
  float detect_max_zoom = 2.0f;
  std::uint32_t detect_max_pixels = 1600 * 1600;
  // Where the text that was found is lower than this (pixels of the scaled picture, median), it is
  // detected once more at a larger scale. 0: never.
  float detect_small_text = 16.0f;
  float mask_threshold = 0.3f;  // a pixel of the map is text
  float box_threshold = 0.5f;  // mean of the map inside a box
  float unclip_ratio = 1.6f;  // boxes grow by area * ratio / perimeter on each side
  float margin_x = 0.1f;  // then crops grow by these shares of their height
  float margin_y = 0.03f;
  std::uint32_t max_boxes = 3000;  // what more there is, is left out with a warning

  // Orientation: a line is turned where the classifier is surer than this.
  float orient_threshold = 0.9f;
  // Where the classifier is unsure, or a line's score is below this, it is read the other way too.
  float retry_score = 0.85f;

  // Recognition.
  float text_threshold = 0.5f;  // lines below are dropped
  std::uint32_t batch = 8;  // lines of one run, at most

  // Hears of what was left out: boxes above max_boxes, the rest of a line that is longer than 427
  // times its height.
  MessageCallback message;
};

struct OcrPoint {
  float x = 0, y = 0;
};

struct OcrLine {
  // Corners clockwise, beginning where the first character's top left is.
  std::array<OcrPoint, 4> box{};
  float box_score = 0;  // mean probability of text inside, 1 where the whole picture was read
  // Of the reading direction, degrees clockwise from "to the right", (-180, 180]. Upright
  // characters one below the other are read downwards: 90.
  float angle = 0;
  std::uint32_t rotation = 0;  // angle to the nearest of 0, 90, 180, 270
  std::string text;  // UTF-8
  float score = 0;  // mean probability of its characters
};

struct OcrTimings {  // milliseconds
  double detect = 0, orient = 0, recognise = 0, total = 0;
  std::uint32_t detect_runs = 0, orient_runs = 0, recognise_runs = 0;
};

struct OcrPage {
  std::uint32_t width = 0, height = 0;
  std::vector<OcrLine> lines;  // in reading order
  OcrTimings timings;
};

class SPIRKILN_API OcrReader {
 public:
  static Result<OcrReader> create(OcrNets nets, Dictionary dictionary,
                                  const OcrOptions& options = {});
  // Reads det.spkm, cls.spkm, rec.spkm and ppocr_keys_v1.txt of `folder`. Where they run on a GPU,
  // threads of the reader's make the pipelines of orientation and recognition meanwhile; it waits
  // for them when it ends.
  static Result<OcrReader> open(const std::string& folder, const Device& device,
                                const GraphOptions& graph_options = {},
                                const OcrOptions& options = {});

  // Finds and reads all lines. A picture without text gives a page without lines.
  Result<OcrPage> read(const Picture& picture) const;
  // Takes the whole picture as one line (which may be upside down). One line, or none where nothing
  // could be read.
  Result<OcrPage> read_line(const Picture& picture) const;

  const OcrNets& nets() const;

  struct State;

 private:
  static Result<OcrReader> make(OcrNets nets, Dictionary dictionary, const OcrOptions& options,
                                bool prepare);
  std::shared_ptr<const State> state_;
};

// The folder that packs are looked for in: $SPIRKILN_MODELS, else share/spirkiln of the tree that
// the library is installed in, else "packs" in $SPIRKILN_CACHE, else in
// ${XDG_CACHE_HOME:-~/.cache}/spirkiln.
SPIRKILN_API std::string default_packs_folder();

}  // namespace spirkiln
