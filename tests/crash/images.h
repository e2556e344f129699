// What a disk may hold after a crash, image by image: every subset of the sectors and names that
// are not sure where these are few, samples of them where they are many.
// Thread safety: one thread at a time.
#pragma once

#include <span>
#include <string>
#include <unordered_set>

#include "base/checksum.h"
#include "base/random.h"
#include "tests/support/crash_disk.h"

namespace elider::crash {

struct Subsets {
  size_t unsure_max = 12;  // up to it, every subset
  uint64_t samples = 256;  // beyond it: all, none, and others at random
};

// Shows look(image) -> std::string each; what is not empty ends it, and is returned.
template <class Look>
std::string for_each_image(const io::CrashDisk& disk, Random& random, Look&& look, Subsets subsets = {}) {
  const size_t unsure = disk.unsure();
  const bool every = unsure <= subsets.unsure_max;
  const uint64_t choices = every ? uint64_t{1} << unsure : subsets.samples;
  for (uint64_t choice = 0; choice < choices; ++choice) {
    uint64_t bits = choice;
    const uint64_t chance = choice < 2 ? choice * 100 : random.below(101);
    std::string wrong = look(disk.image([&] {
      if (!every) return random.below(100) < chance;
      const bool yes = (bits & 1) != 0;
      bits >>= 1;
      return yes;
    }));
    if (!wrong.empty()) return "choice " + std::to_string(choice) + ": " + wrong;
  }
  return "";
}

// Which images were looked at: most subsets differ in nothing that a name leads to.
class SeenImages {
 public:
  // Whether it is new, with these demands on it.
  bool add(const io::CrashDisk::Contents& image, uint64_t demands) {
    uint64_t hash = demands;
    for (const auto& [path, bytes] : image) hash = checksum(std::as_bytes(std::span(path)), checksum(bytes, hash));
    return hashes_.insert(hash).second;
  }

 private:
  std::unordered_set<uint64_t> hashes_;
};

}  // namespace elider::crash
