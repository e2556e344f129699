// Parses, checks and sets the emulator's options.
#include <stdlib.h>
#include <string.h>

#include "lab/emulator/machine.h"
#include "lab/emulator/real.h"

namespace elider::emulator {

namespace {

bool is_rate(double rate) { return rate >= 0 && rate <= 1; }

void check(const Options& options) {
  if (options.sets == 0 || options.sets > Cache::kSetsMax || (options.sets & (options.sets - 1)) != 0) {
    die("sets=%u is not a power of two from 1 to %u", options.sets, Cache::kSetsMax);
  }
  if (options.ways == 0 || options.ways > Cache::kWaysMax) die("ways=%u is not from 1 to %u", options.ways, Cache::kWaysMax);
  if (!is_rate(options.spurious_abort_rate)) die("spurious_abort_rate=%g is not from 0 to 1", options.spurious_abort_rate);
  if (!is_rate(options.read_eviction_abort_rate)) {
    die("read_eviction_abort_rate=%g is not from 0 to 1", options.read_eviction_abort_rate);
  }
  if (options.read_lines_max == 0 || options.read_lines_max >= 1u << 24) {
    die("read_lines_max=%llu is not from 1 to 2^24 - 1", static_cast<unsigned long long>(options.read_lines_max));
  }
  if (options.accesses_per_turn == 0) die("accesses_per_turn=0 is not at least 1");
}

// Sets the option with this name. Returns false if the option does not exist, or if the value is
// invalid.
bool set_option(Options& options, const char* name, const char* value) {
  if (strcmp(name, "mode") == 0) {
    if (strcmp(value, "deterministic") != 0 && strcmp(value, "parallel") != 0) return false;
    options.mode = strcmp(value, "deterministic") == 0 ? Mode::kDeterministic : Mode::kParallel;
    return true;
  }
  if (strcmp(name, "suspension") == 0) {
    constexpr const char* kNames[] = {"none", "loads", "all"};
    for (uint32_t i = 0; i < 3; ++i) {
      if (strcmp(value, kNames[i]) != 0) continue;
      options.suspension = static_cast<Suspension>(i);
      return true;
    }
    return false;
  }
  char* end = nullptr;
  const double number = strtod(value, &end);
  if (end == value || *end != '\0' || number < 0) return false;
  const auto whole = static_cast<uint64_t>(number);
  if (strcmp(name, "seed") == 0) {
    options.seed = whole;
  } else if (strcmp(name, "sets") == 0) {
    options.sets = static_cast<uint32_t>(whole);
  } else if (strcmp(name, "ways") == 0) {
    options.ways = static_cast<uint32_t>(whole);
  } else if (strcmp(name, "hyperthreading") == 0) {
    options.hyperthreading = whole != 0;
  } else if (strcmp(name, "read_lines_max") == 0) {
    options.read_lines_max = whole;
  } else if (strcmp(name, "read_eviction_abort_rate") == 0) {
    options.read_eviction_abort_rate = number;
  } else if (strcmp(name, "accesses_per_interrupt") == 0) {
    options.accesses_per_interrupt = whole;
  } else if (strcmp(name, "spurious_abort_rate") == 0) {
    options.spurious_abort_rate = number;
  } else if (strcmp(name, "page_faults") == 0) {
    options.page_faults = whole != 0;
  } else if (strcmp(name, "accesses_per_turn") == 0) {
    options.accesses_per_turn = static_cast<uint32_t>(whole);
  } else if (strcmp(name, "switch_one_in") == 0) {
    options.switch_one_in = static_cast<uint32_t>(whole);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void configure(const Options& options) {
  check(options);
  if (options.mode == Mode::kDeterministic) arm();
  Thread* const thread = enter();
  machine.options = options;
  machine.scheduler.state = options.seed;
  machine.switch_one_in = options.switch_one_in != 0 ? options.switch_one_in : 1u << (options.seed % 6);
  machine.accesses = 0;
  machine.accesses_max = ~uint64_t{0};
  machine.trace = 0;
  for (uint32_t i = 0; i < machine.threads_end; ++i) {
    if (machine.threads[i].state != ThreadState::kFree) seed_thread(&machine.threads[i]);
  }
  if (thread != nullptr) leave(thread);
}

Options options() { return machine.options; }

namespace {

// Parses "name=value,name=value". Ends the process with a message if `text` has an error.
void set_options(Options& options, const char* text) {
  char words[512];
  if (strlen(text) >= sizeof(words)) die("ELIDER_HTM_EMULATOR is longer than %zu characters", sizeof(words) - 1);
  strcpy(words, text);
  for (char* word = strtok(words, ","); word != nullptr; word = strtok(nullptr, ",")) {
    char* const value = strchr(word, '=');
    if (value != nullptr) *value = '\0';
    if (value == nullptr || !set_option(options, word, value + 1)) {
      die("ELIDER_HTM_EMULATOR: \"%s\" is not an option, or its value is invalid", word);
    }
  }
}

}  // namespace

void configure_from_text(const char* text) {
  Options options;
  if (const char* environment = getenv("ELIDER_HTM_EMULATOR")) set_options(options, environment);
  set_options(options, text);
  configure(options);
}

void configure_from_environment() { configure_from_text(""); }

}  // namespace elider::emulator
