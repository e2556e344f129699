#include "lab/articles/articles.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "lab/articles/articles_worker.h"
#include "bench/common/loader.h"
#include "elider/try.h"

namespace elider::bench::articles {

namespace {

constexpr uint64_t kRowsPerTransaction = 128;

// Divides the keys from 0 to `total` - 1 into ranges, distributes the ranges over all threads, and
// calls body(first, end) for each range.
template <class Body>
LoadResult in_stretches(const CommonOptions& options, const std::string& what, uint64_t total, const Body& body) {
  const uint64_t parts = (total + kRowsPerTransaction - 1) / kRowsPerTransaction;
  return load_parallel(options, what, parts, total, [&](uint32_t, uint64_t part, LoadProgress& progress) -> Status {
    const uint64_t first = part * kRowsPerTransaction, end = std::min(total, first + kRowsPerTransaction);
    if (Status status = body(first, end); !status.ok()) return status;
    progress.add(end - first);
    return {};
  });
}

Status load(Database& db, const Tables& tables, const ArticlesOptions& options, Report* report) {
  report->load = in_stretches(options.common, "loading articles", options.articles, [&](uint64_t first, uint64_t end) {
    return db.run([&](Transaction& txn) -> Status {
      for (Key key = first; key < end; ++key) ELIDER_TRY(txn.insert(tables.articles, key, make_article(key)));
      return {};
    });
  });
  if (!report->load.status.ok()) return report->load.status;
  return in_stretches(options.common, "loading users", options.users,
                      [&](uint64_t first, uint64_t end) {
                        return db.run([&](Transaction& txn) -> Status {
                          for (Key key = first; key < end; ++key) ELIDER_TRY(txn.insert(tables.users, key, make_user(key)));
                          return {};
                        });
                      })
      .status;
}

// Stores a description of the first error that any thread finds.
class Damage {
 public:
  void found(std::string words) {
    const std::lock_guard lock(mutex_);
    if (words_.empty()) words_ = std::move(words);
  }
  std::string take() { return std::move(words_); }

 private:
  std::mutex mutex_;
  std::string words_;
};

// Checks the articles with keys from `first` to `end` - 1. The comments of each must be intact and
// numbered from 0, and there must be as many as the article's row says. Sets *seen to the number of
// comments.
Status check_articles(Database& db, const Tables& tables, uint64_t first, uint64_t end, Damage& damage, uint64_t* seen) {
  return db.run_read_only([&](Transaction& txn) -> Status {
    *seen = 0;
    for (Key key = first; key < end; ++key) {
      auto article = txn.get(tables.articles, key);
      if (!article.ok()) return article.status();
      if (!whole(key, **article)) damage.found(fmt::format("article {} is damaged", key));
      uint64_t number = 0;
      const auto [from, to] = CommentKey::prefix(key);
      ELIDER_TRY(txn.scan(tables.comments, {from, to}, {}, [&](Key at, const View<Comment>& comment) {
        const auto [its_article, its_number] = CommentKey::unpack(at);
        if (its_number != number || !whole(its_article, *comment))
          damage.found(fmt::format("comment {} of article {} is missing or damaged", number, key));
        ++number;
        return true;
      }));
      if (number != (*article)->comments)
        damage.found(fmt::format("article {} records {} comments but has {}", key, (*article)->comments, number));
      *seen += number;
    }
    return {};
  });
}

Json configuration(const ArticlesOptions& options, const Database& db) {
  return {{"articles", options.articles},
          {"users", options.users},
          {"theta", options.theta},
          {"index", name_of(options.key_index)},
          {"sync_used", std::string(elider::name_of(db.sync()))},
          {"htm_used", std::string(elider::name_of(db.htm()))}};
}

}  // namespace

Result<Tables> create_tables(Database& db, KeyIndex key_index) {
  SchemaOf<User> users("users");
  users.column("first_name", &User::first_name)
      .column("last_name", &User::last_name)
      .column("password", &User::password)
      .column("email", &User::email)
      .column("attributes", &User::attributes)
      .key_index(key_index)
      .group({"last_name"});
  SchemaOf<Article> articles("articles");
  articles.column("comments", &Article::comments)
      .column("title", &Article::title)
      .column("text", &Article::text)
      .column("attributes", &Article::attributes)
      .key_index(key_index)
      .group({"comments"});
  SchemaOf<Comment> comments("comments");
  comments.column("article", &Comment::article)
      .column("user", &Comment::user)
      .column("text", &Comment::text)
      .column("attributes", &Comment::attributes);
  auto made_users = db.create_table(users);
  if (!made_users.ok()) return made_users.status();
  auto made_articles = db.create_table(articles);
  if (!made_articles.ok()) return made_articles.status();
  auto made_comments = db.create_table(comments);
  if (!made_comments.ok()) return made_comments.status();
  return Tables{*made_users, *made_articles, *made_comments, made_articles->columns(&Article::comments),
                made_users->columns(&User::last_name)};
}

Result<std::string> find_damage(Database& db, const Tables& tables, const ArticlesOptions& options, uint64_t comments) {
  Damage damage;
  std::atomic<uint64_t> total{0};
  const LoadResult articles = in_stretches(options.common, "checking articles", options.articles, [&](uint64_t first, uint64_t end) {
    uint64_t seen = 0;
    Status status = check_articles(db, tables, first, end, damage, &seen);
    total += seen;
    return status;
  });
  if (!articles.status.ok()) return articles.status;
  const LoadResult users = in_stretches(options.common, "checking users", options.users, [&](uint64_t first, uint64_t end) {
    return db.run_read_only([&](Transaction& txn) -> Status {
      for (Key key = first; key < end; ++key) {
        auto user = txn.get(tables.users, key);
        if (!user.ok()) return user.status();
        if (!whole(key, **user)) damage.found(fmt::format("user {} is damaged", key));
      }
      return {};
    });
  });
  if (!users.status.ok()) return users.status;
  if (total != comments) damage.found(fmt::format("{} comments exist, but {} were committed", total.load(), comments));
  return damage.take();
}

Result<ArticlesOutcome> run_articles(const ArticlesOptions& options) {
  auto session = Session::open(options.common);
  if (!session.ok()) return session.status();
  Database& db = session->db();
  if (options.common.data.resume && !db.table("articles").ok())
    return Status(Code::kNotFound, "--resume: this database is not from elider-lab articles, because it does not have a table 'articles'");
  auto tables = create_tables(db, options.key_index);
  if (!tables.ok()) return tables.status();
  ArticlesOutcome outcome;
  Report& report = outcome.report;
  report.benchmark = "articles";
  uint64_t comments = 0;
  if (!options.common.data.resume) {
    if (Status status = load(db, *tables, options, &report); !status.ok()) return status;
  } else {
    for (const auto& table : db.statistics().tables) {
      if (table.name == "comments") comments = table.rows;
      const uint64_t wanted = table.name == "articles" ? options.articles : table.name == "users" ? options.users : table.rows;
      if (table.rows != wanted)
        return Status::invalid_argument(
            fmt::format("--resume: table '{}' has {} rows; use the previous run's sizes", table.name, table.rows));
    }
    report.notes.push_back(fmt::format("resumed      {}", describe_recovery(db.recovery())));
    report.extra["recovery"] = recovery_json(db.recovery());
  }
  ChoppedTransactions chopped;
  const bool in_pieces = db.protocol() == Protocol::kChopped;
  if (in_pieces)
    if (Status status = install_chopped(db, *tables, &chopped); !status.ok()) return status;
  auto run = drive<Worker>(options.common, &db, {"get_article", "get_comments", "add_comment", "update_user"}, [&](uint32_t thread) {
    return std::make_unique<Worker>(options, db, *tables, thread, in_pieces ? &chopped : nullptr);
  });
  report.result = std::move(run.result);
  report.configuration = configuration(options, db);
  for (const auto& worker : run.workers) comments += worker->comments_added();
  report.records = options.articles + options.users + comments;
  report.notes.push_back(fmt::format("workload     {} articles, {} users, zipfian {:g}, {}",
                                     short_number(static_cast<double>(options.articles)), short_number(static_cast<double>(options.users)),
                                     options.theta, name_of(options.key_index)));
  auto damage = find_damage(db, *tables, options, comments);
  if (!damage.ok()) return damage.status();
  outcome.ok = damage->empty() && report.result.failure.empty();
  report.extra["consistency"] = {{"ok", damage->empty()}, {"comments", comments}};
  if (!damage->empty()) report.extra["consistency"]["damage"] = *damage;
  report.notes.push_back(damage->empty() ? fmt::format("consistency  all rows are intact, and all {} comments are present", comments)
                                         : fmt::format("VIOLATION    {}", *damage));
  if (Status status = session->close(); !status.ok()) return status;
  return outcome;
}

}  // namespace elider::bench::articles
