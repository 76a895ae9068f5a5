// SPDX-License-Identifier: Apache-2.0
// A map that forgets what has not been used for longest.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace spirkiln {

template <typename Key, typename Value>
class LruCache {
 public:
  explicit LruCache(std::size_t capacity) : capacity_(capacity) {}
  void set_capacity(std::size_t capacity) {
    capacity_ = capacity;
    trim();
  }

  // Null when it is not there; else it counts as used now. Valid until it is forgotten.
  Value* find(const Key& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    items_.splice(items_.begin(), items_, it->second);
    return &it->second->second;
  }
  Value* insert(const Key& key, Value value) {
    erase(key);
    items_.emplace_front(key, std::move(value));
    index_[key] = items_.begin();
    trim();
    return &items_.front().second;
  }
  void erase(const Key& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return;
    items_.erase(it->second);
    index_.erase(it);
  }
  void clear() {
    index_.clear();
    items_.clear();
  }
  std::size_t size() const { return items_.size(); }

 private:
  void trim() {
    while (items_.size() > capacity_ && !items_.empty()) {
      index_.erase(items_.back().first);
      items_.pop_back();
    }
  }
  std::size_t capacity_;
  std::list<std::pair<Key, Value>> items_;  // most recently used first
  std::map<Key, typename std::list<std::pair<Key, Value>>::iterator> index_;
};

}  // namespace spirkiln
