// HeapFixture: a heap in a temporary folder, which a test may close and open again.
// Thread safety: the test's thread opens and closes; the heap is all threads'.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "elider/heap.h"
#include "tests/heap/defaults.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace elider::test {

class HeapFixture {
 protected:
  HeapFixture() : folder_("heap"), path_((folder_.path() / "a.heap").string()) { set_backend(options_); }

  void reopen() {
    heap_ = {};
    auto opened = Heap::open(path_, 1 << 20, options_);
    ASSERT_OK(opened);
    heap_ = std::move(*opened);
  }
  // What Heap::check() finds while it is closed.
  HeapCheck check() {
    heap_ = {};
    auto checked = Heap::check(path_);
    EXPECT_OK(checked);
    reopen();
    return checked.ok() ? *checked : HeapCheck();
  }

  TemporaryFolder folder_;
  std::string path_;
  HeapOptions options_;
  Heap heap_;
};

}  // namespace elider::test
