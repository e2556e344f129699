// Runs a fuzz target without libFuzzer: every file of its corpus, and then mutations of these files
// for the given number of seconds.
//
// It does not measure coverage. It is a smoke test that can be built wherever the project can. An
// input that stops the process is left in ./crash-input.
//
//   fuzz_segment CORPUS-FOLDER [--seconds N] [--seed N]
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;
constexpr size_t kBytesMax = 1u << 16;
Input current;  // what runs now

void leave_input(int signal) {
  if (std::FILE* file = std::fopen("crash-input", "wb")) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// One change: a bit, a byte, a number, a piece that goes, comes twice, or comes of another input.
void mutate(elider::Random& random, const std::vector<Input>& corpus, Input* input) {
  if (input->empty()) input->push_back(0);
  const size_t at = random.below(input->size()), bytes = 1 + random.below(std::min<size_t>(64, input->size() - at));
  const auto from = input->begin() + static_cast<std::ptrdiff_t>(at), to = from + static_cast<std::ptrdiff_t>(bytes);
  static constexpr uint64_t kNumbers[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, ~uint64_t{0}};
  switch (random.below(6)) {
    case 0: (*input)[at] ^= static_cast<uint8_t>(1u << random.below(8)); break;
    case 1: (*input)[at] = static_cast<uint8_t>(random.next()); break;
    case 2: {
      const uint64_t number = kNumbers[random.below(std::size(kNumbers))];
      std::memcpy(&*from, &number, std::min<size_t>(size_t{1} << random.below(4), input->size() - at));
      break;
    }
    case 3: input->erase(from, to); break;
    case 4: {
      const Input piece(from, to);
      input->insert(input->begin() + static_cast<std::ptrdiff_t>(random.below(input->size())), piece.begin(), piece.end());
      break;
    }
    case 5: {
      const Input& other = corpus[random.below(corpus.size())];
      const size_t begin = random.below(other.size() + 1);
      input->insert(from, other.begin() + static_cast<std::ptrdiff_t>(begin),
                    other.begin() + static_cast<std::ptrdiff_t>(std::min(other.size(), begin + bytes)));
      break;
    }
  }
  if (input->size() > kBytesMax) input->resize(kBytesMax);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    std::fprintf(stderr, "usage: %s CORPUS-FOLDER [--seconds N] [--seed N]\n", words[0]);
    return 2;
  }
  uint64_t seconds = 3, seed = 1;
  for (int i = 2; i + 1 < count; i += 2) {
    if (std::strcmp(words[i], "--seconds") == 0) seconds = std::strtoull(words[i + 1], nullptr, 10);
    if (std::strcmp(words[i], "--seed") == 0) seed = std::strtoull(words[i + 1], nullptr, 10);
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, leave_input);
  std::vector<Input> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(words[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: '%s' contains no files\n", words[0], words[1]);
    return 2;
  }
  uint64_t executions = 0;
  const auto run = [&](const Input& input) {
    current = input;
    ++executions;
    LLVMFuzzerTestOneInput(current.data(), current.size());
  };
  for (const Input& input : corpus) run(input);
  elider::Random random(seed);
  const uint64_t end_ns = elider::now_ns() + seconds * 1'000'000'000;
  while (elider::now_ns() < end_ns) {
    Input input = corpus[random.below(corpus.size())];
    for (uint64_t changes = 1 + random.below(4); changes != 0; --changes) mutate(random, corpus, &input);
    run(input);
  }
  std::printf("%llu executions, seed %llu, %zu inputs in the corpus\n", static_cast<unsigned long long>(executions),
              static_cast<unsigned long long>(seed), corpus.size());
  return 0;
}
