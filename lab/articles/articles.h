// Articles: users read articles and their comments, write comments, and change their own data. This
// is H-Store's benchmark of that name, which DBX-TC measures (section 6.7). The transactions and
// their shares in percent are:
//
//   get_article   40   reads an article
//   get_comments  20   reads the first five comments of an article
//   add_comment   30   increments the number of an article's comments, and inserts the comment
//   update_user   10   changes a user's last name
//
// Articles and users are drawn from a zipfian distribution, so a few of them are used much more
// often than the others. Thread safety: one thread calls these functions.
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
  double theta = 0.99;                     // of the zipfian distribution, above 0 and below 1
  KeyIndex key_index = KeyIndex::kHashed;  // index of articles and users; the table of comments is ordered
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
// Loads the tables, runs the transactions, and checks the final rows. Returns an error if the run
// or a worker failed. ArticlesOutcome::ok is true if every article has as many comments as its row
// says, all committed comments exist, and all rows are intact.
Result<ArticlesOutcome> run_articles(const ArticlesOptions& options);

// The next two functions are public for tests. create_tables() creates the tables, or finds them if
// they exist. find_damage() describes the first error in the rows, or returns "" if they are
// correct. `comments` is the expected number of comments.
Result<Tables> create_tables(Database& db, KeyIndex key_index);
Result<std::string> find_damage(Database& db, const Tables& tables, const ArticlesOptions& options, uint64_t comments);

}  // namespace elider::bench::articles
