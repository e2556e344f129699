# The engines of the laboratory (cmake/EliderEngines.cmake). Builds with tests turn ELIDER_TEST_BACKENDS on.

# The papers' baselines.
elider_engine(serial SET all FILE lab/baselines/serial.cc POLICIES optimistic HAS optimistic/none/serial)
elider_engine(partitioned SET all FILE lab/baselines/partitioned.cc POLICIES optimistic HAS optimistic/none/partitioned)
elider_engine(two_phase_locking SET all FILE lab/baselines/two_phase_locking.cc POLICIES optimistic
              HAS optimistic/none/two-phase-locking)
elider_engine(timestamp_validated SET all FILE lab/baselines/timestamp_validated.cc POLICIES optimistic
              HAS optimistic/none/timestamp-validated)
elider_engine(region_baselines_none SET all FILE lab/baselines/region_baselines_none.cc POLICIES elided_none
              HAS elided/none/whole-transaction elided/none/spinlock)
elider_engine(region_baselines_always_aborts SET all FILE lab/baselines/region_baselines_always_aborts.cc POLICIES elided_always_aborts
              HAS elided/always-aborts/whole-transaction elided/always-aborts/spinlock NEEDS ELIDER_TEST_BACKENDS)
elider_engine(region_baselines_rtm SET all FILE lab/baselines/region_baselines_rtm.cc POLICIES elided_rtm
              HAS elided/rtm/whole-transaction elided/rtm/spinlock NEEDS ELIDER_RTM_INSTRUCTIONS)
elider_engine(region_baselines_emulated SET all FILE lab/baselines/region_baselines_emulated.cc POLICIES elided_emulated
              HAS elided/emulated/whole-transaction elided/emulated/spinlock NEEDS ELIDER_EMULATOR)

# The protocols of the product under the sync policies of the laboratory.
elider_engine(latched SET all FILE lab/engines/latched.cc POLICIES latched HAS latched/none/occ)
elider_engine(single_threaded SET all FILE lab/engines/single_threaded.cc POLICIES single_threaded HAS single-threaded/none/occ)
elider_engine(elided_none SET all FILE lab/engines/elided_none.cc POLICIES elided_none HAS elided/none/occ)
elider_engine(elided_always_aborts SET all FILE lab/engines/elided_always_aborts.cc POLICIES elided_always_aborts
              HAS elided/always-aborts/occ NEEDS ELIDER_TEST_BACKENDS)
elider_engine(elided_emulated SET all FILE lab/engines/elided_emulated.cc POLICIES elided_emulated HAS elided/emulated/occ
              NEEDS ELIDER_EMULATOR)
elider_engine(chopped_latched SET all FILE lab/engines/chopped_latched.cc POLICIES latched HAS latched/none/chopped)
elider_engine(chopped_always_aborts SET all FILE lab/engines/chopped_always_aborts.cc POLICIES optimistic
              HAS elided/always-aborts/chopped NEEDS ELIDER_TEST_BACKENDS)
elider_engine(chopped_emulated SET all FILE lab/engines/chopped_emulated.cc POLICIES optimistic HAS elided/emulated/chopped
              NEEDS ELIDER_EMULATOR)
elider_engine(timestamp_latched SET all FILE lab/engines/timestamp_latched.cc POLICIES latched HAS latched/none/timestamp)
elider_engine(timestamp_none SET all FILE lab/engines/timestamp_none.cc POLICIES elided_none HAS elided/none/timestamp)
elider_engine(timestamp_emulated SET all FILE lab/engines/timestamp_emulated.cc POLICIES elided_emulated
              HAS elided/emulated/timestamp NEEDS ELIDER_EMULATOR)
