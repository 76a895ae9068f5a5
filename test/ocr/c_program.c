/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface on a device, from C: c_program SAMPLE.png. Packs from $SPIRKILN_MODELS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spirkiln/ocr.h"

#define CHECK(condition)                                                 \
  do {                                                                   \
    if (!(condition)) {                                                  \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, error); \
      return 1;                                                          \
    }                                                                    \
  } while (0)

int main(int argc, char** argv) {
  char error[512] = "";
  spirkiln_ocr_options options = SPIRKILN_OCR_OPTIONS_INIT;
  spirkiln_ocr_reader* reader = NULL;
  spirkiln_ocr_page* page = NULL;
  size_t needed = 0;
  if (argc != 2) return 2;

  /* What cannot work says so, in a buffer of any size. */
  CHECK(spirkiln_ocr_open("/no/such/folder", NULL, &reader, error, sizeof error) == SPIRKILN_IO);
  CHECK(reader == NULL && strstr(error, "/no/such/folder") != NULL);
  error[0] = error[1] = '#';
  CHECK(spirkiln_ocr_open("/no/such/folder", NULL, &reader, error, 1) == SPIRKILN_IO);
  CHECK(error[0] == '\0' && error[1] == '#');
  CHECK(spirkiln_ocr_open(NULL, NULL, NULL, NULL, 0) == SPIRKILN_INVALID_ARGUMENT);
  options.struct_bytes = 1;
  CHECK(spirkiln_ocr_open(NULL, &options, &reader, NULL, 0) == SPIRKILN_INVALID_ARGUMENT);
  options.struct_bytes = sizeof options;

  options.max_pixels = 760 * 480; /* of the sample page */
  CHECK(spirkiln_ocr_open(NULL, &options, &reader, error, sizeof error) == SPIRKILN_OK);

  /* A black picture: no line, and one byte is enough for no text. */
  const unsigned width = 300, height = 200;
  const size_t stride = width * 3 + 7, size = stride * height;
  uint8_t* pixels = calloc(size, 1);
  CHECK(pixels != NULL);
  CHECK(spirkiln_ocr_read_pixels(reader, pixels, size, width, height, stride, 0, &page, error,
                                 sizeof error) == SPIRKILN_OK);
  CHECK(spirkiln_ocr_page_count(page) == 0);
  char one = '#';
  CHECK(spirkiln_ocr_page_text(page, &one, 1, &needed) == SPIRKILN_OK);
  CHECK(one == '\0' && needed == 1);
  spirkiln_ocr_page_close(page);
  CHECK(spirkiln_ocr_read_pixels(reader, pixels, size - stride, width, height, stride, 0, &page,
                                 error, sizeof error) == SPIRKILN_INVALID_ARGUMENT);
  CHECK(page == NULL);
  free(pixels);
  const size_t many = (size_t)760 * 481 * 3;
  pixels = calloc(many, 1);
  CHECK(pixels != NULL);
  CHECK(spirkiln_ocr_read_pixels(reader, pixels, many, 760, 481, 760 * 3, 0, &page, error,
                                 sizeof error) == SPIRKILN_OUT_OF_MEMORY);
  CHECK(page == NULL && strstr(error, "760 x 481") != NULL);
  free(pixels);

  /* A real page. */
  CHECK(spirkiln_ocr_read_file(reader, argv[1], 0, &page, error, sizeof error) == SPIRKILN_OK);
  CHECK(spirkiln_ocr_page_count(page) == 7);
  spirkiln_ocr_line line;
  CHECK(spirkiln_ocr_page_line(page, 0, &line) == SPIRKILN_OK);
  CHECK(line.score > 0.5f && line.rotation == 0 && line.box[2] > line.box[0]);
  char text[64];
  CHECK(spirkiln_ocr_line_text(page, 3, text, sizeof text, NULL) == SPIRKILN_OK);
  CHECK(strstr(text, "2026-11-30") != NULL);
  spirkiln_ocr_page_close(page);

  /* Not pictures. */
  CHECK(spirkiln_ocr_read_file(reader, "/no/such/file", 0, &page, error, sizeof error) ==
        SPIRKILN_IO);
  CHECK(spirkiln_ocr_read_bytes(reader, "GIF89a", 6, "a.gif", 0, &page, error, sizeof error) ==
        SPIRKILN_UNSUPPORTED);
  CHECK(spirkiln_ocr_read_bytes(reader, NULL, 0, NULL, 0, &page, error, sizeof error) ==
        SPIRKILN_CORRUPT);
  CHECK(spirkiln_ocr_read_file(reader, argv[1], 64, &page, error, sizeof error) ==
        SPIRKILN_INVALID_ARGUMENT);
  spirkiln_ocr_close(reader);
  spirkiln_ocr_close(NULL);
  return 0;
}
