/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of ocr.h from C99, with NULL, short buffers, no lines and wrong handles: a status
 * and a text, never a crash, and no out parameter left as it was. c_program SAMPLE.png, with the
 * packs in $SPIRKILN_MODELS.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spirkiln/ocr.h"

static int failures;
static char error[512];

#define EXPECT(condition)                                                                       \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      ++failures;                                                                               \
      fprintf(stderr, "c_program.c:%d: error: not so: %s (%s)\n", __LINE__, #condition, error); \
    }                                                                                           \
  } while (0)

/* Whether `call` gave `status` and said why, with `words` in it. */
#define EXPECT_ERROR(call, status, words)                                                    \
  do {                                                                                       \
    strcpy(error, "stale");                                                                  \
    EXPECT((call) == (status));                                                              \
    EXPECT(error[0] != '\0' && strcmp(error, "stale") != 0 && strstr(error, words) != NULL); \
  } while (0)

/* What an out parameter held before the call; never followed. */
#define JUNK(type) ((type*)(void*)&failures)

static int is_zero(const void* bytes, size_t size) {
  const unsigned char* p = bytes;
  size_t i;
  for (i = 0; i < size; ++i) {
    if (p[i] != 0) return 0;
  }
  return 1;
}

static void check_open(void) {
  spirkiln_ocr_options options = SPIRKILN_OCR_OPTIONS_INIT;
  spirkiln_device_options device = SPIRKILN_DEVICE_OPTIONS_INIT;
  spirkiln_graph_options graph = SPIRKILN_GRAPH_OPTIONS_INIT;
  spirkiln_ocr_reader* reader = JUNK(spirkiln_ocr_reader);
  char memory[48];
  size_t size;

  EXPECT_ERROR(spirkiln_ocr_open("/no/such/folder", NULL, &reader, error, sizeof error),
               SPIRKILN_IO, "/no/such/folder");
  EXPECT(reader == NULL);
  EXPECT_ERROR(spirkiln_ocr_open(NULL, NULL, NULL, error, sizeof error), SPIRKILN_INVALID_ARGUMENT,
               "spirkiln_ocr_open: reader is NULL");
  EXPECT(spirkiln_ocr_open(NULL, NULL, NULL, NULL, 0) == SPIRKILN_INVALID_ARGUMENT);
  /* Texts of any room, and nothing beside them. */
  for (size = 0; size <= 32; ++size) {
    memset(memory, '#', sizeof memory);
    EXPECT(spirkiln_ocr_open("/no/such/folder", NULL, &reader, memory + 8, size) == SPIRKILN_IO);
    EXPECT(memory[7] == '#' && memory[8 + size] == '#');
    EXPECT(size == 0 || memchr(memory + 8, 0, size) != NULL);
  }

  /* Sizes that no header of this library had. */
  for (size = 0; size <= sizeof options + 8; size += sizeof options + 8) {
    options.struct_bytes = size;
    reader = JUNK(spirkiln_ocr_reader);
    EXPECT_ERROR(spirkiln_ocr_open(NULL, &options, &reader, error, sizeof error),
                 SPIRKILN_INVALID_ARGUMENT, "struct_bytes");
    EXPECT(reader == NULL);
  }
  options.struct_bytes = sizeof options;
  options.device = &device;
  device.struct_bytes = sizeof device + 8;
  EXPECT_ERROR(spirkiln_ocr_open(NULL, &options, &reader, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "struct_bytes");
  device.struct_bytes = sizeof device;
  options.graph = &graph;
  graph.struct_bytes = 0;
  EXPECT_ERROR(spirkiln_ocr_open(NULL, &options, &reader, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "struct_bytes");
  graph.struct_bytes = sizeof graph;
  /* They reach the device and the graphs. */
  device.backend = "abacus";
  EXPECT_ERROR(spirkiln_ocr_open(NULL, &options, &reader, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "abacus");
  device.backend = NULL;
  graph.variant = "fp8";
  EXPECT_ERROR(spirkiln_ocr_open(NULL, &options, &reader, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "fp8");
  graph.variant = NULL;
  options.text_threshold = (float)NAN;
  EXPECT_ERROR(spirkiln_ocr_open(NULL, &options, &reader, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "text_threshold");
}

/* `handle` is none of an open reader: NULL, of another kind, closed. */
static void check_no_reader(const spirkiln_ocr_reader* handle) {
  static const uint8_t pixel[3];
  spirkiln_ocr_page* page = JUNK(spirkiln_ocr_page);
  EXPECT_ERROR(spirkiln_ocr_read_file(handle, "x", 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "spirkiln_ocr_read_file: reader is NULL");
  EXPECT(page == NULL);
  page = JUNK(spirkiln_ocr_page);
  EXPECT_ERROR(spirkiln_ocr_read_bytes(handle, "x", 1, NULL, 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "spirkiln_ocr_read_bytes: reader is NULL");
  EXPECT(page == NULL);
  page = JUNK(spirkiln_ocr_page);
  EXPECT_ERROR(spirkiln_ocr_read_pixels(handle, pixel, 3, 1, 1, 3, 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "spirkiln_ocr_read_pixels: reader is NULL");
  EXPECT(page == NULL);
}

static void check_no_page(const spirkiln_ocr_page* handle) {
  spirkiln_ocr_line line;
  char text[4] = "###";
  size_t needed = 99;
  EXPECT(spirkiln_ocr_page_count(handle) == 0);
  memset(&line, 0x5a, sizeof line);
  EXPECT(spirkiln_ocr_page_line(handle, 0, &line) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(is_zero(&line, sizeof line));
  EXPECT(spirkiln_ocr_page_line(handle, 0, NULL) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(spirkiln_ocr_line_text(handle, 0, text, sizeof text, &needed) ==
         SPIRKILN_INVALID_ARGUMENT);
  EXPECT(text[0] == '\0' && text[1] == '#' && needed == 1);
  text[0] = '#';
  needed = 99;
  EXPECT(spirkiln_ocr_page_text(handle, text, sizeof text, &needed) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(text[0] == '\0' && text[1] == '#' && needed == 1);
  EXPECT(spirkiln_ocr_page_text(handle, NULL, 0, NULL) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(spirkiln_ocr_line_text(handle, 0, NULL, 0, NULL) == SPIRKILN_INVALID_ARGUMENT);
}

/* A black picture: no line, and one byte is enough for no text. */
static void check_no_lines(const spirkiln_ocr_reader* reader, uint32_t flags) {
  enum { kWidth = 300, kHeight = 200, kStride = kWidth * 3 + 7, kSize = kStride * kHeight };
  static uint8_t pixels[kSize];
  spirkiln_ocr_page* page = NULL;
  spirkiln_ocr_line line;
  size_t needed = 0;
  char one = '#';
  strcpy(error, "stale");
  EXPECT(spirkiln_ocr_read_pixels(reader, pixels, kSize, kWidth, kHeight, kStride, flags, &page,
                                  error, sizeof error) == SPIRKILN_OK);
  EXPECT(page != NULL && error[0] == '\0');
  EXPECT(spirkiln_ocr_page_count(page) == 0);
  EXPECT(spirkiln_ocr_page_text(page, &one, 1, &needed) == SPIRKILN_OK);
  EXPECT(one == '\0' && needed == 1);
  one = '#';
  EXPECT(spirkiln_ocr_page_text(page, &one, 0, NULL) == SPIRKILN_OK && one == '#');
  EXPECT(spirkiln_ocr_page_line(page, 0, &line) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(spirkiln_ocr_line_text(page, 0, &one, 1, &needed) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(one == '\0' && needed == 1);
  spirkiln_ocr_page_close(page);
  /* The last row may end behind its last pixel, and not before. */
  EXPECT(spirkiln_ocr_read_pixels(reader, pixels, kSize - 7, kWidth, kHeight, kStride, flags, &page,
                                  error, sizeof error) == SPIRKILN_OK);
  spirkiln_ocr_page_close(page);
  page = JUNK(spirkiln_ocr_page);
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, pixels, kSize - 8, kWidth, kHeight, kStride, flags,
                                        &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "stride");
  EXPECT(page == NULL);
}

static void check_pixels(const spirkiln_ocr_reader* reader) {
  static const uint8_t few[12];
  spirkiln_ocr_page* page = JUNK(spirkiln_ocr_page);
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, NULL, 12, 2, 2, 6, 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "bgr is NULL");
  EXPECT(page == NULL);
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, few, 12, 0, 2, 6, 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "width");
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, few, 12, 2, 0, 6, 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "height");
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, few, 12, 2, 2, 5, 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "stride");
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, few, 12, 2, 2, 0, 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "stride");
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, few, 0, 2, 2, 6, 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "size");
  /* Products of these do not fit 64 bits. */
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, few, 12, UINT32_MAX, UINT32_MAX, SIZE_MAX, 0, &page,
                                        error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "size");
  /* The options' bound, which is looked at before the pixels are. */
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, few, (size_t)760 * 481 * 3, 760, 481, 760 * 3, 0,
                                        &page, error, sizeof error),
               SPIRKILN_OUT_OF_MEMORY, "760 x 481");
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, few, 12, 2, 2, 6, 0, NULL, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "page is NULL");
  page = JUNK(spirkiln_ocr_page);
  EXPECT_ERROR(spirkiln_ocr_read_pixels(reader, few, 12, 2, 2, 6, 2, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "flags");
  EXPECT(page == NULL);
}

static void check_files(const spirkiln_ocr_reader* reader, const char* sample) {
  spirkiln_ocr_page* page = JUNK(spirkiln_ocr_page);
  EXPECT_ERROR(spirkiln_ocr_read_file(reader, "/no/such/file", 0, &page, error, sizeof error),
               SPIRKILN_IO, "/no/such/file");
  EXPECT(page == NULL);
  EXPECT_ERROR(spirkiln_ocr_read_file(reader, "", 0, &page, error, sizeof error), SPIRKILN_IO, "");
  EXPECT_ERROR(spirkiln_ocr_read_file(reader, NULL, 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "path is NULL");
  EXPECT_ERROR(spirkiln_ocr_read_file(reader, sample, 64, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "flags");
  EXPECT_ERROR(spirkiln_ocr_read_file(reader, sample, 0, NULL, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "page is NULL");
  page = JUNK(spirkiln_ocr_page);
  EXPECT_ERROR(spirkiln_ocr_read_bytes(reader, "GIF89a", 6, "a.gif", 0, &page, error, sizeof error),
               SPIRKILN_UNSUPPORTED, "a.gif");
  EXPECT(page == NULL);
  EXPECT_ERROR(spirkiln_ocr_read_bytes(reader, NULL, 0, NULL, 0, &page, error, sizeof error),
               SPIRKILN_CORRUPT, "picture");
  EXPECT_ERROR(spirkiln_ocr_read_bytes(reader, NULL, 5, NULL, 0, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "bytes is NULL");
  EXPECT_ERROR(spirkiln_ocr_read_bytes(reader, "x", 1, NULL, 4, &page, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "flags");
  EXPECT_ERROR(spirkiln_ocr_read_bytes(reader, "x", 1, NULL, 0, NULL, error, sizeof error),
               SPIRKILN_INVALID_ARGUMENT, "page is NULL");
}

/* The sample page: its lines, whole and in buffers that are too short. */
static void check_page(const spirkiln_ocr_page* page) {
  spirkiln_ocr_line line;
  char whole[1024], text[64], part[1024];
  size_t needed = 0, all = 0, size, at = 0;
  uint32_t i;
  EXPECT(spirkiln_ocr_page_count(page) == 7);
  EXPECT(spirkiln_ocr_page_line(page, 0, &line) == SPIRKILN_OK);
  EXPECT(line.score > 0.5f && line.score <= 1 && line.box_score > 0.5f && line.box_score <= 1);
  EXPECT(line.rotation == 0 && fabsf(line.angle) < 2 && line.box[2] > line.box[0] &&
         line.box[7] > line.box[1]);
  EXPECT(spirkiln_ocr_page_line(page, 7, &line) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(is_zero(&line, sizeof line));
  EXPECT(spirkiln_ocr_page_line(page, UINT32_MAX, &line) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(spirkiln_ocr_page_line(page, 0, NULL) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(spirkiln_ocr_line_text(page, 3, text, sizeof text, &needed) == SPIRKILN_OK);
  EXPECT(strstr(text, "2026-11-30") != NULL && needed == strlen(text) + 1);
  EXPECT(spirkiln_ocr_line_text(page, 7, text, sizeof text, &needed) == SPIRKILN_INVALID_ARGUMENT);
  EXPECT(text[0] == '\0' && needed == 1);

  EXPECT(spirkiln_ocr_page_text(page, NULL, 0, &all) == SPIRKILN_OK);
  EXPECT(all > 100 && all < sizeof whole);
  if (all >= sizeof whole) return;
  EXPECT(spirkiln_ocr_page_text(page, whole, all, NULL) == SPIRKILN_OK);
  EXPECT(strlen(whole) + 1 == all);
  for (i = 0; i < 7; ++i) { /* the lines, a newline behind each but the last */
    EXPECT(spirkiln_ocr_line_text(page, i, text, sizeof text, &needed) == SPIRKILN_OK);
    EXPECT(needed <= sizeof text && strncmp(whole + at, text, needed - 1) == 0);
    at += needed;
    EXPECT(whole[at - 1] == (i < 6 ? '\n' : '\0'));
  }
  EXPECT(at == all);
  for (size = 0; size <= all; ++size) {
    memset(part, '#', sizeof part);
    EXPECT(spirkiln_ocr_page_text(page, part, size, &needed) == SPIRKILN_OK && needed == all);
    EXPECT(part[size] == '#');
    if (size == 0) continue;
    EXPECT(memchr(part, 0, size) != NULL && strncmp(part, whole, strlen(part)) == 0);
    /* Cut between characters: what follows is no byte from inside of one. */
    EXPECT(((unsigned char)whole[strlen(part)] & 0xc0) != 0x80);
    EXPECT(strlen(part) + 4 >= size);
  }
}

static void count_message(int severity, const char* text, void* user) {
  if (severity >= 1 && text[0] != '\0') ++*(int*)user;
}

int main(int argc, char** argv) {
  spirkiln_ocr_options options = SPIRKILN_OCR_OPTIONS_INIT;
  spirkiln_device_options device = SPIRKILN_DEVICE_OPTIONS_INIT;
  spirkiln_ocr_reader* reader = NULL;
  spirkiln_ocr_page *page = NULL, *strict_page = NULL;
  static uint8_t thin[3 * 5000 * 6];
  int warnings = 0;
  size_t i;
  if (argc != 2) return 2;
  check_open();
  check_no_reader(NULL);
  check_no_page(NULL);
  spirkiln_ocr_close(NULL);
  spirkiln_ocr_page_close(NULL);

  options.max_pixels = 760 * 480; /* of the sample page */
  options.device = &device;
  device.message = count_message;
  device.message_user = &warnings;
  strcpy(error, "stale");
  EXPECT(spirkiln_ocr_open(NULL, &options, &reader, error, sizeof error) == SPIRKILN_OK);
  EXPECT(error[0] == '\0');
  if (reader == NULL) return 1;
  options.device = NULL;
  memset(&device, 0, sizeof device); /* nobody reads it any more */
  check_no_lines(reader, 0);
  check_no_lines(reader, SPIRKILN_OCR_ONE_LINE);
  check_pixels(reader);
  check_files(reader, argv[1]);

  /* A line that is too long is read to a part, with a warning. */
  for (i = 0; i < sizeof thin; ++i) thin[i] = (uint8_t)(i * i >> 7);
  warnings = 0;
  EXPECT(spirkiln_ocr_read_pixels(reader, thin, sizeof thin, 5000, 6, 15000, SPIRKILN_OCR_ONE_LINE,
                                  &page, error, sizeof error) == SPIRKILN_OK);
  EXPECT(warnings == 1);
  spirkiln_ocr_page_close(page);

  EXPECT(spirkiln_ocr_read_file(reader, argv[1], 0, &page, error, sizeof error) == SPIRKILN_OK);
  check_page(page);

  /* Handles of another kind are as good as NULL, and closing one as another does nothing. */
  check_no_reader((const spirkiln_ocr_reader*)(const void*)page);
  check_no_page((const spirkiln_ocr_page*)(const void*)reader);
  spirkiln_ocr_close((spirkiln_ocr_reader*)(void*)page);
  spirkiln_ocr_page_close((spirkiln_ocr_page*)(void*)reader);
  check_no_page((const spirkiln_ocr_page*)(const void*)&failures);
  EXPECT(spirkiln_ocr_page_count(page) == 7);

  /* A page outlives its reader; what is closed is closed, also when it is closed again. */
  spirkiln_ocr_close(reader);
  check_no_reader(reader);
  spirkiln_ocr_close(reader);
  check_page(page);
  spirkiln_ocr_page_close(page);
  check_no_page(page);
  spirkiln_ocr_page_close(page);

  options.max_pixels = 760 * 480 - 1;
  EXPECT(spirkiln_ocr_open(NULL, &options, &reader, error, sizeof error) == SPIRKILN_OK);
  EXPECT_ERROR(spirkiln_ocr_read_file(reader, argv[1], 0, &page, error, sizeof error),
               SPIRKILN_OUT_OF_MEMORY, "760");
  spirkiln_ocr_close(reader);
  /* No line is that sure. */
  options.max_pixels = 0;
  options.text_threshold = 1.5f;
  EXPECT(spirkiln_ocr_open(NULL, &options, &reader, error, sizeof error) == SPIRKILN_OK);
  EXPECT(spirkiln_ocr_read_file(reader, argv[1], SPIRKILN_OCR_ONE_LINE, &strict_page, error,
                                sizeof error) == SPIRKILN_OK);
  EXPECT(spirkiln_ocr_page_count(strict_page) == 0);
  spirkiln_ocr_page_close(strict_page);
  spirkiln_ocr_close(reader);
  return failures == 0 ? 0 : 1;
}
