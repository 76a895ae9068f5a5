/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface of libspirkiln-ocr: text out of a picture.
 *
 * Handles, threads, errors and versions as in spirkiln.h; any number of threads may read with one
 * reader.
 *
 * Texts are UTF-8 and copied into buffers of the caller: at most `bytes` bytes are written, the NUL
 * at the end included, and a text that does not fit is cut between characters. `needed` (may be
 * NULL) gets the bytes that the whole text takes, its NUL included. `buffer` may be NULL with
 * `bytes` 0.
 *
 * In a program, with `char error[512]`:
 *
 *     spirkiln_ocr_open(NULL, NULL, &reader, error, sizeof error);
 *     spirkiln_ocr_read_file(reader, "receipt.jpg", 0, &page, error, sizeof error);
 *     spirkiln_ocr_page_text(page, NULL, 0, &needed);
 *     spirkiln_ocr_page_text(page, text, needed, NULL);   (text: `needed` bytes of yours)
 */
#ifndef SPIRKILN_OCR_H
#define SPIRKILN_OCR_H

#include "spirkiln/spirkiln.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spirkiln_ocr_reader spirkiln_ocr_reader;
typedef struct spirkiln_ocr_page spirkiln_ocr_page;

typedef struct spirkiln_ocr_options {
  size_t struct_bytes; /* sizeof(spirkiln_ocr_options) */
  /* NULL: the defaults. Only read by spirkiln_ocr_open; the device's `message` hears of pictures,
   * too, as long as the reader lives. */
  const spirkiln_device_options* device;
  const spirkiln_graph_options* graph;
  uint64_t max_pixels; /* larger pictures are refused, also as pixels; 0: 100 million */
  float text_threshold; /* lines with a lower score are dropped; negative: 0.5 */
} spirkiln_ocr_options;
#define SPIRKILN_OCR_OPTIONS_INIT {sizeof(spirkiln_ocr_options), NULL, NULL, 0, -1.0f}

/* `folder` has det.spkm, cls.spkm, rec.spkm and ppocr_keys_v1.txt; NULL: the
 * folder of default_packs_folder() in ocr.hpp ($SPIRKILN_MODELS first). `options` may be NULL. */
SPIRKILN_API spirkiln_status spirkiln_ocr_open(const char* folder,
                                               const spirkiln_ocr_options* options,
                                               spirkiln_ocr_reader** reader, char* error,
                                               size_t error_bytes);
SPIRKILN_API void spirkiln_ocr_close(spirkiln_ocr_reader* reader);

enum { SPIRKILN_OCR_ONE_LINE = 1 }; /* the whole picture is one line: no detection */

/* A picture without text gives a page without lines, which is no error. */
SPIRKILN_API spirkiln_status spirkiln_ocr_read_file(const spirkiln_ocr_reader* reader,
                                                    const char* path, uint32_t flags,
                                                    spirkiln_ocr_page** page, char* error,
                                                    size_t error_bytes);
/* The bytes of a picture file. `name` is what messages call it; NULL: "picture". */
SPIRKILN_API spirkiln_status spirkiln_ocr_read_bytes(const spirkiln_ocr_reader* reader,
                                                     const void* bytes, size_t size,
                                                     const char* name, uint32_t flags,
                                                     spirkiln_ocr_page** page, char* error,
                                                     size_t error_bytes);
/* B G R, `stride` bytes from row to row (at least width * 3). `size` is checked against them. */
SPIRKILN_API spirkiln_status spirkiln_ocr_read_pixels(const spirkiln_ocr_reader* reader,
                                                      const uint8_t* bgr, size_t size,
                                                      uint32_t width, uint32_t height,
                                                      size_t stride, uint32_t flags,
                                                      spirkiln_ocr_page** page, char* error,
                                                      size_t error_bytes);

typedef struct spirkiln_ocr_line {
  float box[8]; /* x, y of the corners, clockwise from where the text begins; pixels */
  float box_score; /* mean probability of text inside */
  float angle; /* of the reading direction, degrees clockwise, (-180, 180] */
  uint32_t rotation; /* angle to the nearest of 0, 90, 180, 270 */
  float score; /* mean probability of the characters */
} spirkiln_ocr_line;

/* 0 for what is no page. */
SPIRKILN_API uint32_t spirkiln_ocr_page_count(const spirkiln_ocr_page* page);
/* In reading order. SPIRKILN_INVALID_ARGUMENT when there is no such line. */
SPIRKILN_API spirkiln_status spirkiln_ocr_page_line(const spirkiln_ocr_page* page, uint32_t index,
                                                    spirkiln_ocr_line* line);
SPIRKILN_API spirkiln_status spirkiln_ocr_line_text(const spirkiln_ocr_page* page, uint32_t index,
                                                    char* buffer, size_t bytes, size_t* needed);
/* All lines, each but the last followed by a newline. */
SPIRKILN_API spirkiln_status spirkiln_ocr_page_text(const spirkiln_ocr_page* page, char* buffer,
                                                    size_t bytes, size_t* needed);
SPIRKILN_API void spirkiln_ocr_page_close(spirkiln_ocr_page* page);

#ifdef __cplusplus
}
#endif

#endif
