// The benchmark "articles": at the end, its rows are correct under every protocol. Its check can
// fail.
#include <gtest/gtest.h>

#include "lab/articles/articles.h"
#include "lab/articles/articles_worker.h"
#include "tests/support/status_matchers.h"

namespace elider::bench::articles {
namespace {

ArticlesOptions small() {
  ArticlesOptions options;
  options.common.threads = 2;
  options.common.seconds = 0.2;
  options.common.transactions_min = 1;
  options.common.quiet = true;
  options.common.huge_pages = false;
  options.articles = 50;
  options.users = 7;
  return options;
}

class ArticlesRunTest : public testing::TestWithParam<Protocol> {};
INSTANTIATE_TEST_SUITE_P(On, ArticlesRunTest,
                         testing::Values(Protocol::kOcc, Protocol::kSerial, Protocol::kTimestamp, Protocol::kTwoPhaseLocking,
                                         Protocol::kPartitioned, Protocol::kChopped),
                         [](const auto& info) { return "P" + std::to_string(static_cast<int>(info.param)); });

TEST_P(ArticlesRunTest, AllCommentsAreThere) {
  ArticlesOptions options = small();
  options.common.protocol = GetParam();
  auto outcome = run_articles(options);
  ASSERT_OK(outcome);
  EXPECT_TRUE(outcome->ok) << to_json(options.common, outcome->report).dump(2);
  EXPECT_GT(outcome->report.result.committed, 0u);
  EXPECT_EQ(outcome->report.result.types.size(), 4u);
}

TEST(ArticlesCheckTest, SaysWhatIsWrong) {
  const ArticlesOptions options = small();
  auto db = Database::open({});
  ASSERT_OK(db);
  auto tables = create_tables(*db, options.key_index);
  ASSERT_OK(tables);
  ASSERT_OK(db->run([&](Transaction& txn) -> Status {
    for (Key key = 0; key < options.articles; ++key) ELIDER_TRY(txn.insert(tables->articles, key, make_article(key)));
    for (Key key = 0; key < options.users; ++key) ELIDER_TRY(txn.insert(tables->users, key, make_user(key)));
    for (uint64_t number : {0, 1}) ELIDER_TRY(txn.insert(tables->comments, CommentKey::pack_unchecked(3, number), make_comment(3, 1)));
    return txn.update(tables->articles, 3, {}, [](Article& article) { article.comments = 2; });
  }));
  const auto damage = [&](uint64_t comments) { return *find_damage(*db, *tables, options, comments); };
  EXPECT_EQ(damage(2), "");
  EXPECT_EQ(damage(3), "2 comments exist, but 3 were committed");
  ASSERT_OK(db->run([&](Transaction& txn) { return txn.update(tables->articles, 3, {}, [](Article& article) { article.comments = 1; }); }));
  EXPECT_EQ(damage(2), "article 3 records 1 comments but has 2");
  ASSERT_OK(db->run([&](Transaction& txn) -> Status {
    ELIDER_TRY(txn.update(tables->articles, 3, {}, [](Article& article) { article.comments = 2; }));
    return txn.update(tables->comments, CommentKey::pack_unchecked(3, 1), {}, [](Comment& comment) { comment.text[50] = '?'; });
  }));
  EXPECT_EQ(damage(2), "comment 1 of article 3 is missing or damaged");
  ASSERT_OK(db->run([&](Transaction& txn) { return txn.update(tables->users, 5, {}, [](User& user) { user.last_name[9] = '?'; }); }));
  ASSERT_OK(db->run([&](Transaction& txn) {
    return txn.update(tables->comments, CommentKey::pack_unchecked(3, 1), {},
                      [](Comment& comment) { comment.text[50] = comment.text[49]; });
  }));
  EXPECT_EQ(damage(2), "user 5 is damaged");
}

}  // namespace
}  // namespace elider::bench::articles
