#include "lab/baselines/regions.h"

ELIDER_REGION_BASELINES(regions_always_aborts, AlwaysAborts, kAlwaysAborts)
