// `elider-lab articles`: its options, help text and exit code.
#include <memory>

#include <fmt/format.h>

#include "lab/articles/articles.h"
#include "lab/commands.h"

namespace elider::bench {

namespace {

using articles::ArticlesOptions;

constexpr const char* kArticlesHelp =
    "40% of the transactions read an article, 20% read an article's first five comments, 30% add a comment, and 10%\n"
    "change a user's last name.\n"
    "Afterwards, every article must have as many comments as its row says, and every committed comment must exist;\n"
    "otherwise the exit code is 1.\n"
    "\n"
    "  elider-lab articles --threads 2 --json articles.json\n"
    "  elider-lab articles --articles 10000 --users 200 --protocol two-phase-locking\n";

void fail_articles(const std::string& words) {
  fmt::print(stderr, "elider-lab articles: {}\n", words);
  set_exit_code(kExitFailed);
}

void run_articles_command(const ArticlesOptions& options) {
  check_common_options(options.common);
  if (!(options.theta > 0 && options.theta < 1)) refuse_option("--theta", fmt::format("{:g} is not above 0 and below 1", options.theta));
  auto outcome = articles::run_articles(options);
  if (!outcome.ok()) return fail_articles(outcome.status().message());
  if (Status status = publish(options.common, outcome->report); !status.ok()) return fail_articles(status.message());
  if (!outcome->ok) fail_articles(outcome->report.result.failure.empty() ? "the final rows are wrong" : outcome->report.result.failure);
}

}  // namespace

void add_articles(Command bench) {
  auto options = std::make_shared<ArticlesOptions>();
  Command command = bench.add("articles", "Readers, commenters, and users who update their data (H-Store's benchmark)");
  command.footer(kArticlesHelp);
  command.option("--articles", options->articles, "Number of articles").in(uint64_t{1}, uint64_t{1} << 32).shows_default();
  command.option("--users", options->users, "Number of users").in(uint64_t{1}, uint64_t{1} << 32).shows_default();
  command.option("--theta", options->theta, "Skew of the chosen users and articles, between 0 and 1 exclusive").shows_default();
  add_index_option(command, options->key_index, "Index of articles and users: hash, btree or art [hash]");
  add_common_options(command, options->common);
  command.runs([options] { run_articles_command(*options); });
}

}  // namespace elider::bench
