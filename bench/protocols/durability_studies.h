// Figures of DBX's section 7.6: what a log costs TPC-C, and how long until a transaction is
// durable. Both make their databases below StudyOptions::folder.
// Thread safety: one thread calls a study.
#pragma once

#include "bench/protocols/protocols.h"

namespace elider::bench::protocols {

Result<Figure> dbx_16(const StudyOptions& options);
Result<Figure> dbx_17(const StudyOptions& options);

}  // namespace elider::bench::protocols
