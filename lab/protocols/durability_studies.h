// Figures of DBX (section 7.6) and DBX-TC (section 6.5) that show the cost of a log in TPC-C, and
// the time until a transaction is durable. The studies create their databases in
// StudyOptions::folder.
// Thread safety: one thread calls a study.
#pragma once

#include "lab/protocols/protocols.h"

namespace elider::bench::protocols {

Result<Figure> dbx_16(const StudyOptions& options);
Result<Figure> dbx_17(const StudyOptions& options);
Result<Figure> dbx_tc_13c(const StudyOptions& options);  // see also dbx_tc_13b in chopping_studies.h

}  // namespace elider::bench::protocols
