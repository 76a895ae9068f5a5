// SPDX-License-Identifier: Apache-2.0
// A user of the OCR library: read FOLDER_OF_PACKS PICTURE prints the lines that it finds.
#include <cstdio>
#include <spirkiln/ocr.hpp>

namespace {

int fail(const spirkiln::Error& error) {
  std::fprintf(stderr, "read: error: %s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto device = spirkiln::Device::open();
  if (!device) return fail(device.error());
  const auto reader = spirkiln::OcrReader::open(argv[1], *device);
  if (!reader) return fail(reader.error());
  const auto picture = spirkiln::load_picture(argv[2]);
  if (!picture) return fail(picture.error());
  const auto page = reader->read(*picture);
  if (!page) return fail(page.error());
  for (const auto& line : page->lines) std::printf("%s\n", line.text.c_str());
  return page->lines.empty() ? 1 : 0;
}
