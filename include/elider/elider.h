// Everything a program needs.
#pragma once

#include "elider/language.h"

#include "elider/database.h"
#include "elider/elision.h"
#include "elider/files.h"
#include "elider/function_ref.h"
#include "elider/hardware.h"
#include "elider/history.h"
#include "elider/key.h"
#include "elider/options.h"
#include "elider/procedure.h"
#include "elider/regions.h"
#include "elider/recovery.h"
#include "elider/schema.h"
#include "elider/sequence.h"
#include "elider/statistics.h"
#include "elider/status.h"
#include "elider/table.h"
#include "elider/touches.h"
#include "elider/transaction.h"
#include "elider/try.h"
