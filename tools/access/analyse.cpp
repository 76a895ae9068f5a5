// SPDX-License-Identifier: Apache-2.0
#include "analyse.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace spirkiln::access {
namespace {

// A run of bytes that one invocation asks for, in the resource's address space. Texels have the
// address of their place in the two-dimensional layout.
struct Piece {
  std::uint64_t begin = 0;
  std::uint32_t bytes = 0;
};

struct Lane {
  std::uint32_t lane = 0;  // in the warp
  std::vector<Piece> pieces;
  std::uint64_t place = 0;  // where neighbours are compared: the address, of a texel row by row
  bool outside = false;
};

// Sites that are one line of the kernel to its reader.
using SiteKey = std::tuple<std::string, std::uint32_t, Space, Access, std::string, std::uint32_t>;
SiteKey key_of(const Site& s) { return {s.file, s.line, s.space, s.access, s.name, s.resource}; }

// Width and height in texels of a sector: a power of two of texels, twice as wide or as wide as
// high.
std::pair<std::uint32_t, std::uint32_t> tile_of(std::uint32_t sector, std::uint32_t texel) {
  const std::uint32_t texels = std::max(sector / std::max(texel, 1u), 1u);
  const auto bits = static_cast<std::uint32_t>(std::bit_width(texels) - 1);
  return {1u << (bits + 1) / 2, 1u << bits / 2};
}

// The address of a texel where sectors are such tiles, one row of tiles after the other.
std::uint64_t texel_address(const ImageShape& image, std::uint32_t sector, std::uint32_t x,
                            std::uint32_t y, std::uint32_t z) {
  auto [w, h] = tile_of(sector, image.texel_bytes);
  if (image.height == 1) {  // a row has no second dimension
    w *= h;
    h = 1;
  }
  const std::uint64_t tiles_x = (image.width + w - 1) / w;
  const std::uint64_t tiles_y = (image.height + h - 1) / h;
  const std::uint64_t tile = (std::uint64_t{z} * tiles_y + y / h) * tiles_x + x / w;
  const std::uint64_t inside = std::uint64_t{y % h} * w + x % w;
  return tile * std::max(sector, image.texel_bytes) + inside * image.texel_bytes;
}

std::uint64_t size_of(const Site& site, const Extents& extents) {
  if (site.space == Space::kShared) return site.resource_bytes;
  const auto it = extents.buffers.find(site.resource);
  return it == extents.buffers.end() ? 0 : it->second;
}

Lane lane_of(const Site& site, const Record& record, const Extents& extents,
             const MemoryShape& shape) {
  Lane out;
  out.lane = record.local() % shape.warp;
  if (site.space == Space::kImage || site.space == Space::kSampled) {
    const auto it = extents.images.find(site.resource);
    const ImageShape image = it == extents.images.end() ? ImageShape{} : it->second;
    const auto add = [&](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
      if (out.pieces.empty()) {
        out.place = ((std::uint64_t{z} * image.height + y) * image.width + x) * image.texel_bytes;
      }
      out.pieces.push_back({texel_address(image, shape.sector, x, y, z), image.texel_bytes});
    };
    if (site.space == Space::kImage) {
      const std::uint32_t y = record.b & 0xffff, z = record.b >> 16;
      out.outside = record.a >= image.width || y >= image.height || z >= image.depth;
      if (!out.outside) add(record.a, y, z);
      return out;
    }
    // Texels' centres are at halves; outside, the sampler clamps.
    const auto texels = [&](std::uint32_t bits, std::uint32_t size) {
      const double at = static_cast<double>(std::bit_cast<float>(bits)) * size;
      const double low = image.linear ? at - 0.5 : at;
      const auto clamp = [&](double v) {
        return std::isfinite(v) ? static_cast<std::uint32_t>(std::clamp(v, 0.0, size - 1.0)) : 0u;
      };
      const std::uint32_t a = clamp(std::floor(low));
      // A sample at a texel's centre weighs its neighbour with nothing.
      const bool both = image.linear && low != std::floor(low);
      return std::pair{a, both ? clamp(std::floor(low) + 1) : a};
    };
    const auto [x0, x1] = texels(record.a, image.width);
    const auto [y0, y1] = texels(record.b, image.height);
    for (std::uint32_t y = y0; y <= y1; ++y) {
      for (std::uint32_t x = x0; x <= x1; ++x) add(x, y, 0);
    }
    return out;
  }
  out.outside = std::uint64_t{record.a} + site.bytes > size_of(site, extents);
  out.place = record.a;
  if (!out.outside) out.pieces.push_back({record.a, site.bytes});
  return out;
}

// Requests of one instruction: its records by warp and time.
struct WarpRequest {
  std::uint32_t group = 0, warp = 0, occurrence = 0;
  std::vector<Lane> lanes;  // ascending lane
  std::uint32_t pitch = 0;  // of a matrix: bytes between its lines
};

// What one invocation takes of a line of a cooperative matrix at a time.
constexpr std::uint32_t kMatrixPiece = 16;

// The requests of `lanes` invocations for one matrix.
void add_matrix(const Site& site, const Extents& extents, const Record& record, std::uint32_t lanes,
                WarpRequest request, std::vector<WarpRequest>* out) {
  const std::uint64_t size = size_of(site, extents);
  request.pitch = record.b;
  for (std::uint32_t at = 0; at < site.matrix_line_bytes; at += kMatrixPiece) {
    const std::uint32_t bytes = std::min(kMatrixPiece, site.matrix_line_bytes - at);
    for (std::uint32_t line = 0; line < site.matrix_lines; ++line) {
      Lane lane;
      lane.lane = static_cast<std::uint32_t>(request.lanes.size());
      lane.place = record.a + std::uint64_t{line} * record.b + at;
      lane.outside = lane.place + bytes > size;
      if (!lane.outside) lane.pieces.push_back({lane.place, bytes});
      request.lanes.push_back(std::move(lane));
      if (request.lanes.size() < lanes) continue;
      out->push_back(request);
      request.lanes.clear();
    }
  }
  if (!request.lanes.empty()) out->push_back(std::move(request));
}

// All invocations of a subgroup tell of the same matrix; those of a warp that tell of the same one
// are taken for one subgroup.
std::vector<WarpRequest> matrix_requests_of(const std::vector<const Record*>& records,
                                            const Site& site, const Extents& extents,
                                            const MemoryShape& shape) {
  std::unordered_map<std::uint64_t, std::uint32_t> times;
  struct Matrix {
    const Record* record;
    std::uint32_t lanes;
  };
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<Matrix>> by_warp;
  for (const Record* r : records) {
    const std::uint32_t n = times[std::uint64_t{r->group} << 16 | r->local()]++;
    auto& matrices = by_warp[{r->group, r->local() / shape.warp, n}];
    const auto same = std::find_if(matrices.begin(), matrices.end(), [&](const Matrix& m) {
      return m.record->a == r->a && m.record->b == r->b;
    });
    if (same != matrices.end()) {
      ++same->lanes;
    } else {
      matrices.push_back({r, 1});
    }
  }
  std::vector<WarpRequest> out;
  for (const auto& [key, matrices] : by_warp) {
    const auto& [group, warp, n] = key;
    for (const Matrix& m : matrices) {
      add_matrix(site, extents, *m.record, m.lanes, {group, warp, n, {}, 0}, &out);
    }
  }
  return out;
}

std::vector<WarpRequest> requests_of(const std::vector<const Record*>& records, const Site& site,
                                     const Extents& extents, const MemoryShape& shape) {
  if (site.matrix_lines != 0) return matrix_requests_of(records, site, extents, shape);
  // How often each invocation has been here.
  std::unordered_map<std::uint64_t, std::uint32_t> times;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, WarpRequest> by_warp;
  for (const Record* r : records) {
    const std::uint64_t who = std::uint64_t{r->group} << 16 | r->local();
    const std::uint32_t n = times[who]++;
    const std::uint32_t warp = r->local() / shape.warp;
    WarpRequest& request = by_warp[{r->group, warp, n}];
    request.group = r->group;
    request.warp = warp;
    request.occurrence = n;
    request.lanes.push_back(lane_of(site, *r, extents, shape));
  }
  std::vector<WarpRequest> out;
  out.reserve(by_warp.size());
  for (auto& [key, request] : by_warp) {
    std::sort(request.lanes.begin(), request.lanes.end(),
              [](const Lane& a, const Lane& b) { return a.lane < b.lane; });
    out.push_back(std::move(request));
  }
  return out;
}

// Sorted, overlapping ones joined.
std::vector<Piece> distinct_bytes(const WarpRequest& request) {
  std::vector<Piece> all;
  for (const Lane& lane : request.lanes) {
    all.insert(all.end(), lane.pieces.begin(), lane.pieces.end());
  }
  std::sort(all.begin(), all.end(), [](const Piece& a, const Piece& b) {
    return std::pair(a.begin, a.bytes) < std::pair(b.begin, b.bytes);
  });
  std::vector<Piece> joined;
  for (const Piece& p : all) {
    if (!joined.empty() && p.begin <= joined.back().begin + joined.back().bytes) {
      const std::uint64_t end =
          std::max(joined.back().begin + joined.back().bytes, p.begin + p.bytes);
      joined.back().bytes = static_cast<std::uint32_t>(end - joined.back().begin);
    } else {
      joined.push_back(p);
    }
  }
  return joined;
}

std::vector<std::uint64_t> blocks_of(const std::vector<Piece>& pieces, std::uint32_t size) {
  std::vector<std::uint64_t> blocks;
  for (const Piece& p : pieces) {
    if (p.bytes == 0) continue;
    for (std::uint64_t b = p.begin / size; b <= (p.begin + p.bytes - 1) / size; ++b) {
      if (blocks.empty() || blocks.back() != b) blocks.push_back(b);
    }
  }
  return blocks;
}

// Neighbours are lanes next to each other that both take part.
std::pair<Pattern, std::int64_t> pattern_of(const WarpRequest& request, bool more_than_ideal) {
  std::map<std::int64_t, std::uint32_t> deltas;
  std::uint32_t pairs = 0;
  const Lane* before = nullptr;
  std::uint32_t bytes = 0;
  for (const Lane& lane : request.lanes) {
    if (lane.pieces.empty()) continue;
    bytes = lane.pieces.front().bytes;
    if (before != nullptr && lane.lane == before->lane + 1) {
      ++pairs;
      ++deltas[static_cast<std::int64_t>(lane.place) - static_cast<std::int64_t>(before->place)];
    }
    before = &lane;
  }
  if (pairs == 0) return {Pattern::kNone, 0};
  const auto most =
      std::max_element(deltas.begin(), deltas.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  // A warp that covers several short rows jumps at their ends: three of four pairs decide.
  if (most->second * 4 < pairs * 3) return {Pattern::kRandom, 0};
  const std::int64_t delta = most->first;
  if (delta == 0) return {Pattern::kBroadcast, 0};
  if (delta == static_cast<std::int64_t>(bytes)) {
    return {more_than_ideal ? Pattern::kMisaligned : Pattern::kSequential, delta};
  }
  return {Pattern::kStrided, delta};
}

// Steps that the banks need for each part of a request.
void count_conflicts(const WarpRequest& request, const MemoryShape& shape, std::uint32_t* worst,
                     std::uint64_t* steps, std::uint64_t* parts) {
  std::uint32_t bytes = 4;
  for (const Lane& lane : request.lanes) {
    if (!lane.pieces.empty()) bytes = std::max(bytes, lane.pieces.front().bytes);
  }
  const std::uint32_t lanes_of_part = std::max(shape.banks * 4 / bytes, 1u);
  std::map<std::uint32_t, std::map<std::uint32_t, std::unordered_set<std::uint64_t>>> words;
  for (const Lane& lane : request.lanes) {
    for (const Piece& p : lane.pieces) {
      for (std::uint64_t w = p.begin / 4; w <= (p.begin + p.bytes - 1) / 4; ++w) {
        words[lane.lane / lanes_of_part][static_cast<std::uint32_t>(w % shape.banks)].insert(w);
      }
    }
  }
  for (const auto& [part, banks] : words) {
    std::size_t degree = 1;
    for (const auto& [bank, distinct] : banks) degree = std::max(degree, distinct.size());
    *worst = std::max(*worst, static_cast<std::uint32_t>(degree));
    *steps += degree;
    *parts += 1;
  }
}

// The records of each instruction.
std::vector<std::vector<const Record*>> by_site(const std::vector<Site>& sites,
                                                const Trace& trace) {
  std::vector<std::vector<const Record*>> out(sites.size());
  for (const Record& r : trace.records) {
    if (r.site() < sites.size()) out[r.site()].push_back(&r);
  }
  return out;
}

}  // namespace

std::string_view pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kNone:
      return "one invocation";
    case Pattern::kBroadcast:
      return "broadcast";
    case Pattern::kSequential:
      return "sequential";
    case Pattern::kMisaligned:
      return "misaligned";
    case Pattern::kStrided:
      return "strided";
    case Pattern::kRandom:
      return "random";
    case Pattern::kMatrix:
      return "matrix";
  }
  return {};
}

double SiteFigures::efficiency(const MemoryShape& shape) const {
  return sectors == 0 ? 1 : static_cast<double>(asked) / static_cast<double>(moved(shape));
}
double SiteFigures::packing() const {
  return sectors == 0 ? 1 : static_cast<double>(ideal_sectors) / static_cast<double>(sectors);
}
double SiteFigures::again_share() const {
  return sectors == 0 ? 0 : static_cast<double>(again) / static_cast<double>(sectors);
}
double Figures::intensity() const {
  return moved == 0 ? 0 : static_cast<double>(flops) / static_cast<double>(moved);
}
double Figures::scale() const {
  return traced_groups == 0 ? 0 : static_cast<double>(groups) / static_cast<double>(traced_groups);
}
bool Figures::executed() const {
  return std::any_of(sites.begin(), sites.end(),
                     [](const SiteFigures& f) { return f.requests > 0; });
}

Figures analyse(const std::vector<Site>& sites, const Trace& trace, const Extents& extents,
                const MemoryShape& shape) {
  Figures out;
  out.shape = shape;
  out.records = trace.records.size();
  out.lost = trace.lost;
  out.traced_groups = trace.traced_groups;
  out.groups = trace.groups;
  out.flops = trace.flops;
  const auto records = by_site(sites, trace);
  std::map<SiteKey, std::size_t> known;
  struct Sums {
    std::map<std::pair<Pattern, std::int64_t>, std::uint64_t> patterns;
    std::unordered_set<std::uint64_t> seen;  // sectors
  };
  std::vector<Sums> sums;
  std::map<std::uint32_t, std::unordered_set<std::uint64_t>> touched;  // sectors of each resource
  // The same with the group.
  std::map<std::uint32_t, std::unordered_set<std::uint64_t>> group_loaded, group_touched;
  for (std::size_t s = 0; s < sites.size(); ++s) {
    const auto [it, fresh] = known.emplace(key_of(sites[s]), out.sites.size());
    if (fresh) {
      out.sites.emplace_back().site = sites[s];
      sums.emplace_back();
    } else {
      ++out.sites[it->second].instructions;
    }
    SiteFigures& f = out.sites[it->second];
    Sums& sum = sums[it->second];
    const bool shared = sites[s].space == Space::kShared;
    for (const WarpRequest& request : requests_of(records[s], sites[s], extents, shape)) {
      ++f.requests;
      f.accesses += request.lanes.size();
      const auto active = static_cast<std::uint32_t>(request.lanes.size());
      f.least_active = f.requests == 1 ? active : std::min(f.least_active, active);
      f.most_active = std::max(f.most_active, active);
      for (const Lane& lane : request.lanes) {
        f.out_of_bounds += lane.outside;
        for (const Piece& p : lane.pieces) f.asked += p.bytes;
      }
      const auto pieces = distinct_bytes(request);
      std::uint64_t bytes = 0;
      for (const Piece& p : pieces) bytes += p.bytes;
      const auto blocks = blocks_of(pieces, shape.sector);
      const std::uint64_t ideal = (bytes + shape.sector - 1) / shape.sector;
      ++sum.patterns[sites[s].matrix_lines != 0
                         ? std::pair{Pattern::kMatrix, std::int64_t{request.pitch}}
                         : pattern_of(request, !shared && blocks.size() > ideal)];
      if (shared) {
        count_conflicts(request, shape, &f.worst_conflict, &f.bank_steps, &f.bank_parts);
        continue;
      }
      f.sectors += blocks.size();
      f.ideal_sectors += ideal;
      const std::uint64_t lines = blocks_of(pieces, shape.line).size();
      f.lines += lines;
      for (const std::uint64_t b : blocks) {
        f.again += !sum.seen.insert(b).second;
        touched[sites[s].resource].insert(b);
      }
      if (sites[s].space == Space::kUniform) continue;
      out.line_steps += lines;
      ResourceTraffic& traffic = out.traffic[sites[s].resource];
      const bool load = sites[s].access == Access::kLoad;
      if (!load) traffic.stored += blocks.size();
      for (const std::uint64_t b : blocks) {
        const std::uint64_t key = std::uint64_t{request.group} << 32 | b;
        traffic.touched += group_touched[sites[s].resource].insert(key).second;
        if (load) traffic.loaded += group_loaded[sites[s].resource].insert(key).second;
      }
    }
  }
  for (std::size_t s = 0; s < out.sites.size(); ++s) {
    SiteFigures& f = out.sites[s];
    const Sums& sum = sums[s];
    if (!sum.patterns.empty()) {
      const auto most =
          std::max_element(sum.patterns.begin(), sum.patterns.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      f.pattern = most->first.first;
      f.stride = most->first.second;
      f.pattern_share = static_cast<double>(most->second) / static_cast<double>(f.requests);
    }
    if (f.bank_parts > 0) {
      f.mean_conflict = static_cast<double>(f.bank_steps) / static_cast<double>(f.bank_parts);
    }
    if (f.site.space == Space::kShared) continue;
    out.asked += f.asked;
    out.moved += f.moved(shape);
    out.ideal += f.ideal_sectors * shape.sector;
  }
  for (const auto& [resource, sectors] : touched) out.distinct += sectors.size() * shape.sector;
  return out;
}

std::vector<Request> first_requests(const std::vector<Site>& sites, const Trace& trace,
                                    const Extents& extents, const MemoryShape& shape,
                                    const SiteFigures& site, std::size_t most) {
  std::vector<Request> out;
  const auto records = by_site(sites, trace);
  for (std::size_t s = 0; s < sites.size() && out.size() < most; ++s) {
    if (key_of(sites[s]) != key_of(site.site)) continue;
    for (const WarpRequest& r : requests_of(records[s], sites[s], extents, shape)) {
      if (out.size() == most) break;
      Request request{r.group, r.warp, r.occurrence, {}, 0};
      for (const Lane& lane : r.lanes) {
        for (const Piece& p : lane.pieces) request.lanes.emplace_back(lane.lane, p.begin);
      }
      request.sectors =
          static_cast<std::uint32_t>(blocks_of(distinct_bytes(r), shape.sector).size());
      out.push_back(std::move(request));
    }
  }
  return out;
}

}  // namespace spirkiln::access
