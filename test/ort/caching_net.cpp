// SPDX-License-Identifier: Apache-2.0
#include "caching_net.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace spirkiln::test {
namespace {

class CachingNet final : public Net {
 public:
  CachingNet(std::shared_ptr<Net> net, std::string prefix, bool best_only)
      : net_(std::move(net)), prefix_(std::move(prefix)), best_only_(best_only) {}

  Result<TensorF32> run(const Pictures& p) override {
    const std::uint64_t seed = std::uint64_t{p.n} << 40 | std::uint64_t{p.h} << 20 | p.w;
    const std::uint64_t key = XXH3_64bits_withSeed(p.bytes.data(), p.bytes.size(), seed);
    const std::string path = prefix_ + std::to_string(key);
    TensorF32 out;
    if (load(path, out)) return out;
    auto answer = net_->run(p);
    if (answer) save(path, *answer);
    return answer;
  }

 private:
  bool load(const std::string& path, TensorF32& t) const {
    std::ifstream in(path, std::ios::binary);
    std::array<std::uint32_t, 4> d{};
    if (!in.read(reinterpret_cast<char*>(d.data()), sizeof d)) return false;
    t.n = d[0], t.h = d[1], t.w = d[2], t.c = d[3];
    t.values.assign(std::size_t{t.n} * t.h * t.w * t.c, 0.0f);
    if (!best_only_) {
      return bool(in.read(reinterpret_cast<char*>(t.values.data()),
                          static_cast<std::streamsize>(t.values.size() * 4)));
    }
    for (std::size_t row = 0; row < t.values.size() / t.c; ++row) {
      std::uint32_t best = 0;
      float value = 0;
      if (!in.read(reinterpret_cast<char*>(&best), 4)) return false;
      if (!in.read(reinterpret_cast<char*>(&value), 4) || best >= t.c) return false;
      t.values[row * t.c + best] = value;
    }
    return true;
  }

  void save(const std::string& path, const TensorF32& t) const {
    {
      std::ofstream out(path + ".new", std::ios::binary);
      const std::array<std::uint32_t, 4> d = {t.n, t.h, t.w, t.c};
      out.write(reinterpret_cast<const char*>(d.data()), sizeof d);
      if (!best_only_) {
        out.write(reinterpret_cast<const char*>(t.values.data()),
                  static_cast<std::streamsize>(t.values.size() * 4));
      } else {
        for (std::size_t row = 0; row < t.values.size() / t.c; ++row) {
          const float* first = t.values.data() + row * t.c;
          const float* best = std::max_element(first, first + t.c);
          const auto index = static_cast<std::uint32_t>(best - first);
          out.write(reinterpret_cast<const char*>(&index), 4);
          out.write(reinterpret_cast<const char*>(best), 4);
        }
      }
    }
    std::error_code ec;
    std::filesystem::rename(path + ".new", path, ec);
  }

  std::shared_ptr<Net> net_;
  std::string prefix_;
  bool best_only_;
};

}  // namespace

OcrNets cached(const OcrNets& nets, const std::string& folder) {
  std::filesystem::create_directories(folder);
  return {std::make_shared<CachingNet>(nets.detect, folder + "/det-", false),
          std::make_shared<CachingNet>(nets.orient, folder + "/cls-", false),
          std::make_shared<CachingNet>(nets.recognise, folder + "/rec-", true)};
}

}  // namespace spirkiln::test
