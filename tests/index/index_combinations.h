// The sync policies and keys that the index tests run on: all policies, those of the laboratory
// included. CMake adds the files of the policies that no engine of the build uses.
//
// Only tests use this. Thread safety: types.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/support/index_test_support.h"
#include "index/policies.h"
#include "lab/policies/exclusive.h"
#include "sync/elided.h"
#include "sync/optimistic.h"

ELIDER_INDEXES_OF_POLICY(extern, sync::Optimistic)
ELIDER_INDEXES_OF_POLICY(extern, sync::Latched)
ELIDER_INDEXES_OF_POLICY(extern, sync::SingleThreaded)
ELIDER_INDEXES_OF_POLICY(extern, sync::Elided<elider::htm::None>)
ELIDER_INDEXES_OF_POLICY(extern, sync::Elided<elider::htm::AlwaysAborts>)
#if defined(ELIDER_EMULATOR)
ELIDER_INDEXES_OF_POLICY(extern, sync::Elided<elider::htm::Emulated>)
#endif

namespace elider::index::test {

template <class S, class K>
struct Combination {
  using Sync = S;
  using Key = K;
};
using TreeCombinations =
    testing::Types<Combination<sync::Optimistic, uint64_t>, Combination<sync::Optimistic, SecondaryKey>,
                   Combination<sync::Latched, uint64_t>, Combination<sync::Latched, SecondaryKey>,
                   Combination<sync::SingleThreaded, uint64_t>, Combination<sync::SingleThreaded, SecondaryKey>,
                   Combination<sync::Elided<htm::None>, uint64_t>, Combination<sync::Elided<htm::AlwaysAborts>, SecondaryKey>
#if defined(ELIDER_EMULATOR)
                   ,
                   Combination<sync::Elided<htm::Emulated>, uint64_t>, Combination<sync::Elided<htm::Emulated>, SecondaryKey>
#endif
                   >;
using ConcurrentTreeCombinations = testing::Types<Combination<sync::Optimistic, uint64_t>, Combination<sync::Optimistic, SecondaryKey>,
                                                  Combination<sync::Latched, uint64_t>,
                                                  Combination<sync::Elided<htm::None>, SecondaryKey>,
                                                  Combination<sync::Elided<htm::AlwaysAborts>, uint64_t>
#if defined(ELIDER_EMULATOR)
                                                  ,
                                                  Combination<sync::Elided<htm::Emulated>, uint64_t>
#endif
                                                  >;

using TablePolicies = testing::Types<sync::Optimistic, sync::Latched, sync::SingleThreaded, sync::Elided<htm::None>,
                                     sync::Elided<htm::AlwaysAborts>
#if defined(ELIDER_EMULATOR)
                                     ,
                                     sync::Elided<htm::Emulated>
#endif
                                     >;
using ConcurrentTablePolicies = testing::Types<sync::Optimistic, sync::Latched, sync::Elided<htm::None>, sync::Elided<htm::AlwaysAborts>
#if defined(ELIDER_EMULATOR)
                                               ,
                                               sync::Elided<htm::Emulated>
#endif
                                               >;

}  // namespace elider::index::test
