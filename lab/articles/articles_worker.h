// Worker: draws and runs the transactions of one thread (a BenchWorker, bench/common/driver.h).
// This file also defines the contents of rows. Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "lab/articles/articles.h"
#include "bench/common/driver.h"
#include "bench/common/random.h"
#include "bench/ycsb/zipfian.h"
#include "elider/try.h"

namespace elider::bench::articles {

// -- rows: each text repeats one letter, which is computed from the key ---------------------------

inline char letter_of(Key key) { return static_cast<char>('a' + mix64(key) % 26); }
template <size_t n>
void fill(Text<n>& text, char letter) {
  text.fill(letter);
}
template <size_t n>
bool filled(const Text<n>& text, char letter) {
  return std::all_of(text.begin(), text.end(), [&](char c) { return c == letter; });
}

inline Article make_article(Key key) {
  Article article;
  article.comments = 0;
  const char letter = letter_of(key);
  fill(article.title, letter), fill(article.text, letter), fill(article.attributes, letter);
  return article;
}
inline User make_user(Key key) {
  User user;
  const char letter = letter_of(key);
  fill(user.first_name, letter), fill(user.last_name, letter), fill(user.password, letter), fill(user.email, letter);
  fill(user.attributes, letter);
  return user;
}
inline Comment make_comment(Key article, Key user) {
  Comment comment;
  comment.article = article;
  comment.user = user;
  fill(comment.text, letter_of(user)), fill(comment.attributes, letter_of(user));
  return comment;
}
inline bool whole(Key key, const Article& article) {
  const char letter = letter_of(key);
  return filled(article.title, letter) && filled(article.text, letter) && filled(article.attributes, letter);
}
// update_user changes the last name, but it always repeats a single letter.
inline bool whole(Key key, const User& user) {
  const char letter = letter_of(key);
  return filled(user.first_name, letter) && filled(user.password, letter) && filled(user.email, letter) &&
         filled(user.attributes, letter) && filled(user.last_name, user.last_name[0]);
}
inline bool whole(Key article, const Comment& comment) {
  return comment.article == article && filled(comment.text, letter_of(comment.user)) && filled(comment.attributes, letter_of(comment.user));
}

// -- chopped procedures, for Protocol::kChopped ---------------------------------------------------

struct AddComment {
  Key article, user;
  uint64_t number = 0;
};
struct UpdateUser {
  Key user;
  char letter;
};
struct ChoppedTransactions {
  ProcedureHandle<AddComment> add_comment;
  ProcedureHandle<UpdateUser> update_user;
};
inline Status install_chopped(Database& db, const Tables& tables, ChoppedTransactions* transactions) {
  using chopping::Operation;
  Procedures procedures;
  transactions->add_comment = procedures.add(
      Procedure<AddComment>("add_comment")
          .operation(Operation("user").reads("users"),
                     [&tables](Transaction& txn, AddComment& call) { return txn.get(tables.users, call.user).status(); })
          .operation(Operation("number").reads("articles", {"comments"}).writes("articles", {"comments"}),
                     [&tables](Transaction& txn, AddComment& call) {
                       return txn.update(tables.articles, call.article, tables.comments_count,
                                         [&](Article& row) { call.number = row.comments++; });
                     })
          .operation(Operation("comment").inserts("comments").fresh().needs({"number", "user"}),
                     [&tables](Transaction& txn, AddComment& call) {
                       return txn.insert(tables.comments, CommentKey::pack_unchecked(call.article, call.number),
                                         make_comment(call.article, call.user));
                     }));
  transactions->update_user = procedures.add(
      Procedure<UpdateUser>("update_user")
          .operation(Operation("user").writes("users", {"last_name"}), [&tables](Transaction& txn, UpdateUser& call) {
            return txn.update(tables.users, call.user, tables.last_name, [&](User& row) { fill(row.last_name, call.letter); });
          }));
  return db.install(std::move(procedures));
}

class Worker {
 public:
  Worker(const ArticlesOptions& options, Database& db, const Tables& tables, uint32_t thread, const ChoppedTransactions* chopped = nullptr)
      : db_(db),
        tables_(tables),
        chopped_(chopped),
        thread_(thread),
        random_(options.common.seed, thread),
        articles_(options.articles, options.theta),
        users_(options.users, options.theta) {
    for (uint32_t type = 0; type < 4; ++type) policies_[type].procedure_id = db.procedure_id(kNames[type]);
  }

  uint32_t run_one() {
    const uint64_t chance = random_.below(100);
    const uint32_t type = chance < 40 ? 0 : chance < 60 ? 1 : chance < 90 ? 2 : 3;
    const Key article = draw(articles_), user = draw(users_);
    const Status status = type == 0   ? get_article(article)
                          : type == 1 ? get_comments(article)
                          : type == 2 ? add_comment(article, user)
                                      : update_user(user);
    if (status.ok()) [[likely]]
      return type;
    failure_ = fmt::format("thread {}: {}: {}", thread_, kNames[type], status.message());
    return kWorkerFailed;
  }
  std::string failure() const { return failure_; }
  // The number of comments that this thread has committed, including those of the warm-up.
  uint64_t comments_added() const { return comments_added_; }

 private:
  static constexpr const char* kNames[] = {"get_article", "get_comments", "add_comment", "update_user"};
  static constexpr uint32_t kCommentsShown = 5;

  // Draws a key. The drawn rank is hashed, so that popular keys are scattered over the whole range
  // of keys.
  Key draw(const Zipfian& zipfian) { return mix64(zipfian.rank(random_.uniform())) % zipfian.size(); }

  Status get_article(Key article) {
    return db_.run_read_only(
        [&](Transaction& txn) -> Status {
          auto row = txn.get(tables_.articles, article);
          return row.ok() ? Status() : row.status();
        },
        policies_[0]);
  }
  Status get_comments(Key article) {
    return db_.run_read_only(
        [&](Transaction& txn) -> Status {
          const auto [from, to] = CommentKey::prefix(article);
          return txn.scan(tables_.comments, {from, to}, {.limit = kCommentsShown}, [](Key, const View<Comment>&) { return true; });
        },
        policies_[1]);
  }
  Status add_comment(Key article, Key user) {
    const Status status = chopped_ != nullptr ? add_comment_in_pieces(article, user) : add_comment_at_once(article, user);
    comments_added_ += status.ok() ? 1 : 0;
    return status;
  }
  Status add_comment_in_pieces(Key article, Key user) {
    AddComment call{article, user};
    return db_.call(chopped_->add_comment, call, policies_[2]);
  }
  Status add_comment_at_once(Key article, Key user) {
    return db_.run(
        [&](Transaction& txn) -> Status {
          auto who = txn.get(tables_.users, user);
          if (!who.ok()) return who.status();
          uint64_t number = 0;
          ELIDER_TRY(txn.update(tables_.articles, article, tables_.comments_count, [&](Article& row) { number = row.comments++; }));
          return txn.insert(tables_.comments, CommentKey::pack_unchecked(article, number), make_comment(article, user));
        },
        policies_[2]);
  }
  Status update_user(Key user) {
    const char letter = static_cast<char>('a' + random_.below(26));
    if (chopped_ != nullptr) {
      UpdateUser call{user, letter};
      return db_.call(chopped_->update_user, call, policies_[3]);
    }
    return db_.run(
        [&](Transaction& txn) -> Status {
          return txn.update(tables_.users, user, tables_.last_name, [&](User& row) { fill(row.last_name, letter); });
        },
        policies_[3]);
  }

  Database& db_;
  const Tables& tables_;
  const ChoppedTransactions* const chopped_;  // null: transactions are not chopped
  const uint32_t thread_;
  Random random_;
  Zipfian articles_, users_;
  std::array<RunPolicy, 4> policies_;
  uint64_t comments_added_ = 0;
  std::string failure_;
};

}  // namespace elider::bench::articles
