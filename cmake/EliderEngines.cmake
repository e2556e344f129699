# Determines which engines are compiled, and thus also which parts of the code that engines share. src/engine/engines.cmake and
# lab/engines.cmake register the engines, and ELIDER_ENGINES chooses among them. The library's registry lists the chosen engines in the
# order of registration.
#
# There are three sets of engines. Each contains the previous one:
#   default   optimistic concurrency control, whole and in pieces, on optimistic latches
#   full      in addition, timestamp ordering, and the engines that use Intel's RTM
#   all       in addition, the laboratory (lab/): baselines, studies, and the program elider-lab

set(ELIDER_ENGINE_SETS default full all)
# The conditions that a registration may name in NEEDS.
set(ELIDER_RTM_INSTRUCTIONS OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(ELIDER_RTM_INSTRUCTIONS ON)
endif()

set(ELIDER_CHOSEN_SET -1)  # the position of the largest set that ELIDER_ENGINES names
set(ELIDER_CHOSEN_ENGINES "${ELIDER_ENGINES}")
if(ELIDER_ENGINES STREQUAL "")
  set(ELIDER_CHOSEN_ENGINES all)
endif()
# A name that begins with "-" excludes an engine.
set(ELIDER_LEFT_OUT_ENGINES "${ELIDER_CHOSEN_ENGINES}")
list(FILTER ELIDER_LEFT_OUT_ENGINES INCLUDE REGEX "^-")
list(TRANSFORM ELIDER_LEFT_OUT_ENGINES REPLACE "^-" "")
foreach(name IN LISTS ELIDER_CHOSEN_ENGINES)
  list(FIND ELIDER_ENGINE_SETS "${name}" position)
  if(position GREATER ELIDER_CHOSEN_SET)
    set(ELIDER_CHOSEN_SET ${position})
  endif()
endforeach()
set(ELIDER_LAB OFF)
if(ELIDER_CHOSEN_SET EQUAL 2)
  set(ELIDER_LAB ON)
endif()
foreach(property IN ITEMS NAMES COMPILED FILES POLICIES KNOWN_POLICIES ROWS)
  set_property(GLOBAL PROPERTY ELIDER_ENGINE_${property} "")
endforeach()

# elider_engine(name SET set FILE file POLICIES policy ... HAS sync/htm/protocol ... [NEEDS variable]): registers an engine. The
# file, whose path is relative to the source folder, defines the engine with ELIDER_ENGINE(name, ...) (src/engine/registration.h).
# POLICIES are the sync policies of the engine's indexes. HAS lists the values of Options::sync, htm and protocol that select the
# engine. If the variable NEEDS is false, the engine is not available in this build.
function(elider_engine name)
  cmake_parse_arguments(engine "" "SET;FILE;NEEDS" "POLICIES;HAS" ${ARGN})
  list(FIND ELIDER_ENGINE_SETS "${engine_SET}" position)
  if(engine_NEEDS AND NOT ${engine_NEEDS})
    if(name IN_LIST ELIDER_CHOSEN_ENGINES)
      message(FATAL_ERROR "ELIDER_ENGINES names the engine '${name}', which needs ${engine_NEEDS}")
    endif()
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY ELIDER_ENGINE_NAMES ${name})
  set_property(GLOBAL APPEND PROPERTY ELIDER_ENGINE_KNOWN_POLICIES ${engine_POLICIES})
  foreach(combination IN LISTS engine_HAS)
    string(REPLACE "/" "\", \"" combination "${combination}")
    set_property(GLOBAL APPEND_STRING PROPERTY ELIDER_ENGINE_ROWS "    {\"${combination}\", \"${engine_SET}\"},\n")
  endforeach()
  if((ELIDER_CHOSEN_SET LESS position AND NOT name IN_LIST ELIDER_CHOSEN_ENGINES) OR name IN_LIST ELIDER_LEFT_OUT_ENGINES)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY ELIDER_ENGINE_COMPILED ${name})
  set_property(GLOBAL APPEND PROPERTY ELIDER_ENGINE_FILES "${PROJECT_SOURCE_DIR}/${engine_FILE}")
  set_property(GLOBAL APPEND PROPERTY ELIDER_ENGINE_POLICIES ${engine_POLICIES})
  list(GET engine_POLICIES 0 policy)
  set_property(GLOBAL PROPERTY ELIDER_ENGINE_POLICY_OF_${name} ${policy})
endfunction()

include("${PROJECT_SOURCE_DIR}/src/engine/engines.cmake")
include("${PROJECT_SOURCE_DIR}/lab/engines.cmake")

get_property(names GLOBAL PROPERTY ELIDER_ENGINE_NAMES)
foreach(name IN LISTS ELIDER_CHOSEN_ENGINES ELIDER_LEFT_OUT_ENGINES)
  if(NOT name MATCHES "^-" AND NOT name IN_LIST names AND NOT name IN_LIST ELIDER_ENGINE_SETS)
    string(REPLACE ";" ", " names "${ELIDER_ENGINE_SETS};${names}")
    message(FATAL_ERROR "ELIDER_ENGINES names '${name}', which is neither a set nor an engine of this build. There are: ${names}")
  endif()
endforeach()

get_property(ELIDER_KNOWN_POLICIES GLOBAL PROPERTY ELIDER_ENGINE_KNOWN_POLICIES)
list(REMOVE_DUPLICATES ELIDER_KNOWN_POLICIES)

# elider_policy_of(file variable): sets the variable to the sync policy that the file is compiled for, which the file's name contains
# (policies/optimistic.cc, policies/latched_indexes.cc, btree_optimistic.cc). Sets it to "" if the file does not belong to a policy.
function(elider_policy_of file variable)
  set(${variable} "" PARENT_SCOPE)
  foreach(policy IN LISTS ELIDER_KNOWN_POLICIES)
    if(file MATCHES "/policies/${policy}(_indexes)?\\.cc$" OR file MATCHES "/(btree|byte_btree|hash|art)_${policy}\\.cc$")
      set(${variable} ${policy} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# elider_policy_files(variable suffix folder ...): sets the variable to the existing files <folder>/<policy><suffix>.cc, for all
# policies that this build may contain.
function(elider_policy_files variable suffix)
  set(files "")
  foreach(policy IN LISTS ELIDER_KNOWN_POLICIES)
    foreach(folder IN LISTS ARGN)
      set(file "${PROJECT_SOURCE_DIR}/${folder}/${policy}${suffix}.cc")
      if(EXISTS "${file}")
        list(APPEND files "${file}")
      endif()
    endforeach()
  endforeach()
  set(${variable} "${files}" PARENT_SCOPE)
endfunction()

# elider_keep_compiled_policies(files left_out): finds the files in `files` that belong to sync policies that no engine uses, removes
# them from `files`, and stores them in `left_out`.
function(elider_keep_compiled_policies files_variable left_out_variable)
  get_property(compiled GLOBAL PROPERTY ELIDER_ENGINE_POLICIES)
  set(kept "")
  set(others "")
  foreach(file IN LISTS ${files_variable})
    elider_policy_of("${file}" policy)
    if(policy STREQUAL "" OR policy IN_LIST compiled)
      list(APPEND kept "${file}")
    else()
      list(APPEND others "${file}")
    endif()
  endforeach()
  set(${files_variable} "${kept}" PARENT_SCOPE)
  set(${left_out_variable} "${others}" PARENT_SCOPE)
endfunction()

# elider_write_registry(variable): generates a C++ file that lists the compiled engines and the known combinations, and sets the
# variable to its path. The file refers to each compiled engine by name, so that the linker does not drop an engine.
function(elider_write_registry variable)
  get_property(engines GLOBAL PROPERTY ELIDER_ENGINE_COMPILED)
  get_property(ELIDER_KNOWN_ROWS GLOBAL PROPERTY ELIDER_ENGINE_ROWS)
  set(ELIDER_DECLARATIONS "")
  set(ELIDER_LIST "")
  foreach(engine IN LISTS engines)
    string(APPEND ELIDER_DECLARATIONS "std::span<const Combination> engine_${engine}();\n")
    string(APPEND ELIDER_LIST "    engine_${engine},\n")
  endforeach()
  list(JOIN ELIDER_CHOSEN_ENGINES ";" ELIDER_CHOSEN)
  set(file "${PROJECT_BINARY_DIR}/generated/engines.cc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/engines.cc.in" "${file}" @ONLY)
  set(${variable} "${file}" PARENT_SCOPE)
endfunction()
