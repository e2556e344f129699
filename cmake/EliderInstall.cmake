# What `cmake --install` installs: the library, its headers, the files that find_package(elider) reads, and the command-line programs.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/elider")
install(TARGETS elider elider_durable_heap elider_core EXPORT elider-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET elider_c_library)
  install(TARGETS elider_c_library EXPORT elider-targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(FILES "${PROJECT_BINARY_DIR}/src/c/elider_c.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/elider" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT elider-targets NAMESPACE elider:: DESTINATION "${config_folder}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/elider-config.cmake.in" "${PROJECT_BINARY_DIR}/elider-config.cmake"
                              INSTALL_DESTINATION "${config_folder}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/elider-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/elider-config.cmake" "${PROJECT_BINARY_DIR}/elider-config-version.cmake"
        DESTINATION "${config_folder}")
if(TARGET elider_cli)
  install(TARGETS elider_cli elider_bench_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  if(TARGET elider_lab_cli)
    install(TARGETS elider_lab_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
  file(GLOB plot_scripts "${PROJECT_SOURCE_DIR}/tools/plot/*.py")
  install(PROGRAMS ${plot_scripts} DESTINATION "${CMAKE_INSTALL_DATADIR}/elider")
endif()
