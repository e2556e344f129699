// Includes the headers that most programs need. The durable heap has its own headers
// (elider/heap.h).
#pragma once

#include "elider/language.h"

#include "elider/byte_key.h"
#include "elider/database.h"
#include "elider/elision.h"
#include "elider/files.h"
#include "elider/function_ref.h"
#include "elider/hardware.h"
#include "elider/held_snapshot.h"
#include "elider/history.h"
#include "elider/key.h"
#include "elider/options.h"
#include "elider/procedure.h"
#include "elider/recovery.h"
#include "elider/schema.h"
#include "elider/sequence.h"
#include "elider/statistics.h"
#include "elider/status.h"
#include "elider/table.h"
#include "elider/table_scan.h"
#include "elider/touches.h"
#include "elider/transaction.h"
#include "elider/try.h"
#include "elider/tuple.h"
#include "elider/tuple_key.h"
