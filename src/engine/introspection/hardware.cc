// Determines the policy that kAutomatic chooses on this machine, and describes the machine as text
// and as JSON.
#include "elider/hardware.h"

#include "engine/introspection/json_text.h"
#include "htm/detect.h"

namespace elider {

namespace {

using detail::quoted;

Hardware with_choice() {
  Hardware machine = htm::detect();
#if defined(ELIDER_EMULATOR)
  machine.automatic_htm = HtmBackend::kEmulated;
#endif
  if (machine.usable) machine.automatic_htm = HtmBackend::kRtm;
  // No policy that uses hardware transactions was measurably faster; see
  // docs/lab/hardware-transactions.md, "Measured".
  machine.automatic = SyncPolicy::kOptimistic;
  switch (machine.automatic_htm) {
    case HtmBackend::kRtm:
      machine.automatic_reason = "hardware transactions work, but were slower than optimistic latches wherever both were measured";
      break;
    case HtmBackend::kEmulated: machine.automatic_reason = "hardware transactions are emulated"; break;
    default: machine.automatic_reason = "this machine cannot run hardware transactions";
  }
  return machine;
}

std::string or_unknown(const std::string& text) { return text.empty() ? "not reported" : text; }
const char* yes_no(bool value) { return value ? "yes" : "no"; }

std::string aborts_text(const Hardware& machine) {
  std::string text;
  for (size_t i = 0; i < kRegionCauseCount; ++i)
    if (machine.self_test_aborts[i] != 0)
      text += (text.empty() ? ", aborts: " : ", ") + std::string(region_cause_name(i)) + " " + std::to_string(machine.self_test_aborts[i]);
  return text;
}

}  // namespace

const Hardware& hardware() {
  static const Hardware machine = with_choice();
  return machine;
}

std::string Hardware::to_text() const {
  std::string text;
  const auto line = [&](const std::string& name, const std::string& value) {
    text += name + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + value + "\n";
  };
  line("processor", name.empty() ? "unknown" : name);
  if (!vendor.empty())
    line("", vendor + ", family " + std::to_string(family) + ", model " + std::to_string(model) + ", stepping " + std::to_string(stepping));
  line("RTM", std::string(yes_no(rtm)) + (rtm_always_aborts ? ", and it always aborts" : ""));
  line("HLE", std::string(yes_no(hle)) + " (not used)");
  line("TSXLDTRK", std::string(yes_no(tsxldtrk)) + (tsxldtrk ? " (the durable heap uses it)" : ""));
  line("known defect", defect.empty() ? "none" : defect);
  line("kernel", "tsx_async_abort: " + or_unknown(tsx_async_abort));
  line("", "command line: " + or_unknown(tsx_parameter));
  line("self-test", self_test_run ? std::to_string(self_test_committed) + " of " + std::to_string(self_test_regions) +
                                        " regions committed" + aborts_text(*this)
                                  : "not run");
  line("usable", std::string(yes_no(usable)) + ": " + reason);
  line("automatic", std::string("--sync ") + std::string(elider::name_of(automatic)) + "; with --sync elided: --htm " +
                        std::string(elider::name_of(automatic_htm)));
  line("", automatic_reason);
  return text;
}

std::string Hardware::to_json() const {
  std::string out = "{";
  const auto add = [&](const char* key, const std::string& value) { out += (out.size() > 1 ? "," : "") + quoted(key) + ":" + value; };
  const auto number = [](uint64_t value) { return std::to_string(value); };
  const auto truth = [](bool value) { return std::string(value ? "true" : "false"); };
  add("vendor", quoted(vendor));
  add("name", quoted(name));
  add("family", number(family));
  add("model", number(model));
  add("stepping", number(stepping));
  add("rtm", truth(rtm));
  add("hle", truth(hle));
  add("rtm_always_aborts", truth(rtm_always_aborts));
  add("tsx_force_abort", truth(tsx_force_abort));
  add("tsxldtrk", truth(tsxldtrk));
  add("defect", quoted(defect));
  add("tsx_async_abort", quoted(tsx_async_abort));
  add("tsx_parameter", quoted(tsx_parameter));
  add("self_test_run", truth(self_test_run));
  add("self_test_regions", number(self_test_regions));
  add("self_test_committed", number(self_test_committed));
  std::string aborts = "{";
  for (size_t i = 0; i < kRegionCauseCount; ++i)
    aborts += (i == 0 ? "" : ",") + quoted(std::string(region_cause_name(i))) + ":" + number(self_test_aborts[i]);
  add("self_test_aborts", aborts + "}");
  add("usable", truth(usable));
  add("reason", quoted(reason));
  add("automatic", quoted(std::string(elider::name_of(automatic))));
  add("automatic_reason", quoted(automatic_reason));
  add("automatic_htm", quoted(std::string(elider::name_of(automatic_htm))));
  return out + "}";
}

}  // namespace elider
