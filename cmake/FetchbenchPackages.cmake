# Debian packages, made by CPack (`cpack -G DEB --config build/release/CPackConfig.cmake`). bin/provision puts them
# onto hosts. What they depend on is read from the programs (dpkg-shlibdeps), so a package is for the distribution
# that it was built on.
set(deploy ${CMAKE_SOURCE_DIR}/deploy)

# The agent looks for the other two beside itself.
install(TARGETS fetchbench-agent fetchbench-native fetchbench-entry
        RUNTIME DESTINATION lib/fetchbench COMPONENT agent)
install(FILES ${deploy}/systemd/fetchbench-agent.service DESTINATION lib/systemd/system COMPONENT agent)
# Off until Docker is wanted: bin/provision turns it on then.
install(PROGRAMS ${deploy}/guard/fetchbench-guard DESTINATION lib/fetchbench COMPONENT agent)
install(FILES ${deploy}/guard/fetchbench-guard.service DESTINATION lib/systemd/system COMPONENT agent)
install(FILES ${CMAKE_SOURCE_DIR}/docs/security.md DESTINATION share/doc/fetchbench-agent COMPONENT agent)
install(FILES ${deploy}/systemd/docker.conf DESTINATION share/fetchbench-agent COMPONENT agent)
install(FILES ${deploy}/systemd/fetchbench-agent.default DESTINATION /etc/default RENAME fetchbench-agent
        COMPONENT agent)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "fetchbench <fetchbench@fetchbench.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL agent)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_AGENT_PACKAGE_NAME fetchbench-agent)
set(CPACK_DEBIAN_AGENT_PACKAGE_SECTION net)
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "adduser, nftables")
set(CPACK_DEBIAN_AGENT_PACKAGE_SUGGESTS "docker.io")
set(CPACK_COMPONENT_AGENT_DESCRIPTION
    "agent of fetchbench: measures HTTP clients on this host\n Runs a client program under test for a coordinator that dials in by mutual TLS.")
set(CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA
    ${deploy}/deb/agent/postinst ${deploy}/deb/agent/prerm ${deploy}/deb/agent/postrm ${deploy}/deb/agent/conffiles)
include(CPack)
