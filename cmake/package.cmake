if(OCCBENCH_WHEEL)
  return()
endif()
# What `cmake --install` installs: the programs, the recorded rows that occbench explain shows, the Python
# package that draws the report, the scripts of a fleet, and with CUDA the CMake package (occbench-config.cmake.in) for benchmarks of one's own kernels.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

install(TARGETS occbench EXPORT occbench)
file(GLOB recorded RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/results/*/full.csv)
foreach(file IN LISTS recorded)
  get_filename_component(folder ${file} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/occbench/${folder})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/scripts/occbench_tools DESTINATION ${CMAKE_INSTALL_DATADIR}/occbench/scripts
        PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/occbench DESTINATION ${CMAKE_INSTALL_DATADIR}/occbench/python
        PATTERN __pycache__ EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/scripts/slurm DESTINATION ${CMAKE_INSTALL_DATADIR}/occbench/scripts
        USE_SOURCE_PERMISSIONS)
if(NOT OCCBENCH_CUDA)
  return()
endif()

install(TARGETS bench_all)
# Links stay links.
get_property(links GLOBAL PROPERTY occ_bench_links)
install(PROGRAMS ${links} TYPE BIN)
# What the command injects into other programs.
install(TARGETS occ_trace_library LIBRARY DESTINATION lib/occbench)
# harness and what it links
set(packaged harness measure binary orchestrate entries gpu diagnose record predict simulate axes files occupancy)
foreach(module IN LISTS packaged ITEMS harness_main)
  set_target_properties(occ_${module} PROPERTIES EXPORT_NAME ${module})
  install(TARGETS occ_${module} EXPORT occbench ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/occbench
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/occbench)
endforeach()
foreach(module IN LISTS packaged)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/${module} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/occbench
          FILES_MATCHING PATTERN *.hpp PATTERN *.inc)
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/occbench)
set(config ${PROJECT_BINARY_DIR}/occbench-config.cmake)
set(version ${PROJECT_BINARY_DIR}/occbench-config-version.cmake)
list(REMOVE_ITEM occ_dependencies GTest)
list(JOIN occ_dependencies " " occ_dependencies)
configure_file(${CMAKE_CURRENT_LIST_DIR}/occbench-config.cmake.in ${config} @ONLY)
write_basic_package_version_file(${version} COMPATIBILITY SameMinorVersion)
install(EXPORT occbench NAMESPACE occbench:: FILE occbench-targets.cmake DESTINATION ${package})
install(FILES ${config} ${version} ${CMAKE_CURRENT_LIST_DIR}/toolkit.cmake
              ${CMAKE_CURRENT_LIST_DIR}/re2.cmake DESTINATION ${package})
