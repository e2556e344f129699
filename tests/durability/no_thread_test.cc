// The system cannot create threads. Opening reports this and leaves nothing running. It succeeds
// once threads can be created again.
#include <pthread.h>

#include <system_error>
#include <thread>

#include "tests/support/data_folder_test.h"

namespace elider::test {
namespace {

// While this object lives, no thread can be created: each would need a stack larger than any
// address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, size_t{1} << 50);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  // Sanitizers choose their own stack sizes.
  static bool works() {
    try {
      std::thread([] {}).join();
    } catch (const std::system_error&) {
      return true;
    }
    return false;
  }

 private:
  pthread_attr_t before_;
};

TEST(NoThread, OpeningSaysSo) {
  const TemporaryFolder folder("elider_no_thread");
  Options options;
  options.data_folders = {folder.path() / "data"};
  options.durability = Durability::kAsync;
  for (const bool checkpoints : {true, false}) {
    options.checkpoint_log_bytes = checkpoints ? Options().checkpoint_log_bytes : 0;
    for (int run = 0; run < 2; ++run) {
      {
        const NoThreads none;
        if (!NoThreads::works()) GTEST_SKIP() << "threads are made all the same";
        EXPECT_REFUSED(Code::kIoError, "thread", Database::open(options));
      }
      auto database = Database::open(options);
      ASSERT_OK(database);
      auto table = database->create_table(grouped_account_schema(KeyIndex::kOrdered));
      ASSERT_OK(table);
      ASSERT_OK(database->run([&](Transaction& txn) { return txn.put(*table, 1, Account{1, run, 1, 0}); }));
    }
  }
}

}  // namespace
}  // namespace elider::test
