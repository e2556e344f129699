# The engines of the product: cmake/EliderEngines.cmake. `automatic` selects the first one.

elider_engine(optimistic SET default FILE src/engine/instances/optimistic.cc POLICIES optimistic HAS optimistic/none/occ)
elider_engine(chopped SET default FILE src/engine/instances/chopped.cc POLICIES optimistic HAS optimistic/none/chopped)
elider_engine(timestamp SET full FILE src/engine/instances/timestamp.cc POLICIES optimistic HAS optimistic/none/timestamp)
elider_engine(elided_rtm SET full FILE src/engine/instances/elided_rtm.cc POLICIES elided_rtm HAS elided/rtm/occ
              NEEDS ELIDER_RTM_INSTRUCTIONS)
elider_engine(chopped_rtm SET full FILE src/engine/instances/chopped_rtm.cc POLICIES optimistic HAS elided/rtm/chopped
              NEEDS ELIDER_RTM_INSTRUCTIONS)
elider_engine(timestamp_rtm SET full FILE src/engine/instances/timestamp_rtm.cc POLICIES elided_rtm HAS elided/rtm/timestamp
              NEEDS ELIDER_RTM_INSTRUCTIONS)
