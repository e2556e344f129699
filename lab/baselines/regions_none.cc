#include "lab/baselines/regions.h"

ELIDER_REGION_BASELINES(regions_none, None, kNone)
