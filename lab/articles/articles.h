// Articles: people read articles and their comments, comment, and change their own data; the
// benchmark of that name of H-Store, which DBX-TC measures (section 6.7).
//
//   get_article   40   an article, whole
//   get_comments  20   its first five comments
//   add_comment   30   takes the article's next number, and inserts the comment of that number
//   update_user   10   a user's last name
//
// Articles and users are drawn zipfian, so that some are talked about and most are not.
// Thread safety: called by one thread.
#pragma once

#include <array>
#include <cstdint>

#include "bench/common/options.h"
#include "bench/common/report.h"
#include "elider/database.h"

namespace elider::bench::articles {

template <size_t n>
using Text = std::array<char, n>;

struct User {
  Text<100> first_name, last_name, password, email;
  Text<120> attributes;
};
struct Article {
  uint64_t comments;  // the number of comments; they are numbered 0 to comments - 1
  Text<100> title, text;
  Text<120> attributes;
};
struct Comment {
  uint64_t article, user;
  Text<100> text;
  Text<80> attributes;
};
using CommentKey = KeyLayout<36, 28>;  // article, number

struct ArticlesOptions {
  CommonOptions common;
  uint64_t articles = 1'000'000;
  uint64_t users = 20'000;
  double theta = 0.99;                     // of the draws, above 0 and below 1
  KeyIndex key_index = KeyIndex::kHashed;  // of articles and users; comments are ordered
};

struct Tables {
  Table<User> users;
  Table<Article> articles;
  Table<Comment> comments;
  Columns<Article> comments_count;
  Columns<User> last_name;
};

struct ArticlesOutcome {
  Report report;
  bool ok = false;
};
// An error: it could not be run, or a worker failed. `ok`: every article has as many comments as it
// says, all comments that committed are there, and every row is whole.
Result<ArticlesOutcome> run_articles(const ArticlesOptions& options);

// Both are for tests. create_tables() creates the tables, or finds those that exist. find_damage()
// returns the first error in their contents, or "" if they are correct. `comments` is the expected
// number of comments.
Result<Tables> create_tables(Database& db, KeyIndex key_index);
Result<std::string> find_damage(Database& db, const Tables& tables, const ArticlesOptions& options, uint64_t comments);

}  // namespace elider::bench::articles
