#include "lab/baselines/region_baselines.h"

ELIDER_REGION_BASELINES(region_baselines_rtm, Rtm, kRtm)
