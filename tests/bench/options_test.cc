// Nonsense on the command line is refused by an error that names the option, before anything runs.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/common/commands.h"
#include "bench/common/options.h"
#include "bench/ycsb/workload.h"
#include "tools/common/values.h"

namespace elider::bench {
namespace {

// What the parser says of `elider bench <arguments>`; empty where it ran them.
std::string refusal(const std::vector<std::string>& arguments) {
  Program program("elider bench", "test");
  const Command bench = program.root();
  add_ycsb(bench);
  add_compare(bench);
  add_durability(bench);
  return program.refusal(arguments);
}

struct Case {
  std::vector<std::string> arguments;
  std::string named;
};

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, names_the_option) {
  const std::string message = refusal(GetParam().arguments);
  EXPECT_NE(message.find(GetParam().named), std::string::npos) << "said: '" << message << "'";
}

INSTANTIATE_TEST_SUITE_P(Ycsb, Refused,
                         testing::Values(Case{{"ycsb", "--durability", "sometimes"}, "--durability"},                        //
                                         Case{{"ycsb", "--durability", "default"}, "--durability"},                          //
                                         Case{{"ycsb", "--resume"}, "--resume"},                                             //
                                         Case{{"ycsb", "--resume", "--data", "/nowhere/at/all"}, "--data"},                  //
                                         Case{{"ycsb", "--data", "/proc"}, "--data: '/proc' is not empty"},                  //
                                         Case{{"ycsb", "--data", "/proc/version"}, "--data: '/proc/version' is not a folder"},  //
                                         Case{{"ycsb", "--durability", "group"}, "--data"},                                  //
                                         Case{{"ycsb", "--flush-interval", "0"}, "--flush-interval"},                        //
                                         Case{{"compare", "--data", "/nowhere/a,/nowhere/b"}, "--data"},                     //
                                         Case{{"compare", "--data", "/nowhere/a", "--dir", "/tmp"}, "--dir"},                //
                                         Case{{"compare", "--data", "/tmp", "--resume", "--workload", "a,d"}, "--resume"},   //
                                         Case{{"compare", "--resume"}, "--resume"},                                          //
                                         Case{{"durability", "--data", "/tmp", "--resume"}, "--resume"},                     //
                                         Case{{"durability", "--data", "/nowhere/a", "--only", "peer"}, "--peer-command"},   //
                                         Case{{"durability", "--data", "/nowhere/a", "--only", "bytes", "--peer-command", "true"},
                                              "--peer-command"},  //
                                         Case{{"durability", "--data", "/nowhere/a", "--peer-command", "true", "--peer-pattern", "("},
                                              "--peer-pattern: '('"},  //
                                         Case{{"ycsb", "--threads", "0"}, "--threads"},         //
                                         Case{{"ycsb", "--threads", "two"}, "--threads"},       //
                                         Case{{"ycsb", "--seconds", "-1"}, "--seconds"},        //
                                         Case{{"ycsb", "--seconds", "0"}, "--seconds"},         //
                                         Case{{"ycsb", "--seconds", "nan"}, "--seconds"},       //
                                         Case{{"ycsb", "--seconds", "1e9"}, "--seconds"},       //
                                         Case{{"ycsb", "--operations", "17"}, "--operations"},  //
                                         Case{{"ycsb", "--operations", "0"}, "--operations"},   //
                                         Case{{"ycsb", "--records", "0"}, "--records"},         //
                                         Case{{"ycsb", "--records", "-5"}, "--records"},        //
                                         Case{{"ycsb", "--value-bytes", "7"}, "--value-bytes"},
                                         Case{{"ycsb", "--value-bytes", "2000000"}, "--value-bytes"},
                                         Case{{"ycsb", "--mix", "80/30"}, "--mix"},             //
                                         Case{{"ycsb", "--mix", "80"}, "--mix"},                //
                                         Case{{"ycsb", "--mix", "80/20x"}, "--mix"},            //
                                         Case{{"ycsb", "--mix", "-20/120"}, "--mix"},           //
                                         Case{{"ycsb", "--workload", "g"}, "--workload"},       //
                                         Case{{"ycsb", "--workload", "a", "--mix", "50/50"}, "--mix"},
                                         Case{{"ycsb", "--workload", "e", "--index", "hash"}, "--index btree"},
                                         Case{{"ycsb", "--key-kind", "text"}, "--key-kind"},
                                         Case{{"ycsb", "--key-bytes", "7"}, "--key-bytes"},
                                         Case{{"ycsb", "--key-bytes", "16", "--key-kind", "url"}, "--key-bytes"},
                                         Case{{"ycsb", "--key-bytes", "16", "--index", "hash", "--workload", "e"}, "--index art"},
                                         Case{{"ycsb", "--key-bytes", "16", "--inline-rows"}, "--inline-rows"},
                                         Case{{"ycsb", "--key-kind", "uuid", "--workload", "e"}, "--key-kind"},
                                         Case{{"ycsb", "--workload", "e", "--index", "btree", "--batch"}, "--batch"},
                                         Case{{"ycsb", "--distribution", "normal"}, "--distribution"},
                                         Case{{"ycsb", "--theta", "1"}, "--theta"},             //
                                         Case{{"ycsb", "--index", "heap"}, "--index"},           //
                                         Case{{"ycsb", "--key-order", "random"}, "--key-order"},
                                         Case{{"ycsb", "--sync", "hopeful"}, "--sync"},         //
                                         Case{{"ycsb", "--sync", "single-threaded", "--threads", "2"}, "--sync"},
                                         Case{{"ycsb", "--memory-limit", "12Q"}, "--memory-limit"},
                                         Case{{"ycsb", "--memory-limit", "1M"}, "--memory-limit"},
                                         Case{{"ycsb", "--json", "/no/such/folder/out.json"}, "/no/such/folder/out.json"},
                                         Case{{"ycsb", "--history", "/no/such/folder/h.jsonl"}, "/no/such/folder/h.jsonl"},
                                         Case{{"ycsb", "--warmup", "-1"}, "--warmup"},          //
                                         Case{{"ycsb", "--unknown"}, "--unknown"}));

INSTANTIATE_TEST_SUITE_P(Compare, Refused,
                         testing::Values(Case{{"compare", "--repeat", "0"}, "--repeat"},        //
                                         Case{{"compare", "--peers", "oracle"}, "--peers"},     //
                                         Case{{"compare", "--peers", "lmdb,lmdb"}, "--peers"},  //
                                         Case{{"compare", "--mix", "80/20,3/4"}, "--mix"},      //
                                         Case{{"compare", "--dir", "/no/such/folder"}, "--dir"},
                                         Case{{"compare", "--history", "/no/such/folder/h"}, "/no/such/folder/h"},
                                         Case{{"compare", "--distribution", "latest"}, "--distribution"},
                                         Case{{"compare", "--workload", "d,a", "--distribution", "latest"}, "workload a"},
                                         Case{{"compare", "--workload", "a,g"}, "--workload: 'g'"},
                                         Case{{"compare", "--workload", ""}, "--workload: ''"},
                                         Case{{"compare", "--workload", "a,b,A"}, "--workload: 'a' is listed twice"},
                                         Case{{"compare", "--workload", "a", "--mix", "50/50"}, "--mix"},
                                         Case{{"compare", "--workload", "a,e"}, "--index btree"},
                                         Case{{"compare", "--workload", "e", "--index", "btree", "--batch"}, "--batch"},
                                         Case{{"compare", "--workload", "e", "--index", "btree", "--operations", "2"}, "--operations"}));

TEST(Options, sizes_are_parsed_with_their_unit) {
  uint64_t bytes = 0;
  EXPECT_TRUE(parse_bytes("123", &bytes));
  EXPECT_EQ(bytes, 123u);
  EXPECT_TRUE(parse_bytes("64K", &bytes));
  EXPECT_EQ(bytes, 65536u);
  EXPECT_TRUE(parse_bytes("2G", &bytes));
  EXPECT_EQ(bytes, uint64_t{2} << 30);
  for (const char* nonsense : {"", "G", "-1M", "1.5G", "99999999999999G", "12 M", "0x10"})
    EXPECT_FALSE(parse_bytes(nonsense, &bytes)) << nonsense;
}

TEST(Options, standard_workloads_have_their_shares_and_distribution) {
  const auto resolved = [](const char* workload) {
    YcsbOptions options;
    options.workload = workload;
    options.key_index = KeyIndex::kOrdered;
    resolve(options);
    return options;
  };
  EXPECT_EQ(resolved("a").shares, (Shares{50, 50, 0, 0, 0}));
  EXPECT_EQ(resolved("B").shares, (Shares{95, 5, 0, 0, 0}));
  EXPECT_EQ(resolved("c").shares, (Shares{100, 0, 0, 0, 0}));
  EXPECT_EQ(resolved("d").shares, (Shares{95, 0, 0, 5, 0}));
  EXPECT_EQ(resolved("e").shares, (Shares{0, 0, 0, 5, 95}));
  EXPECT_EQ(resolved("f").shares, (Shares{50, 0, 50, 0, 0}));
  EXPECT_EQ(resolved("a").distribution, Distribution::kZipfian);
  EXPECT_EQ(resolved("d").distribution, Distribution::kLatest);
}

}  // namespace
}  // namespace elider::bench
