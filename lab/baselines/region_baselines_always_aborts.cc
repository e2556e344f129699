#include "lab/baselines/region_baselines.h"

ELIDER_REGION_BASELINES(region_baselines_always_aborts, AlwaysAborts, kAlwaysAborts)
