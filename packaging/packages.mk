# Packages, in $(B)/packages: `make wheel` (Python, packaging/python; PIP, PIP_FLAGS) and `make deb` (Debian, packaging/debian;
# LINTIAN=lintian checks it).
PACKAGES = $(B)/packages
PIP ?= python3 -m pip
wheel: portable
	@mkdir -p '$(PACKAGES)'
	B='$(B)' $(PIP) wheel --quiet --no-deps $(PIP_FLAGS) --wheel-dir '$(PACKAGES)' .

COMMA = ,
# A copy of the sources, with debian/ where Debian's tools expect it, and of this build folder.
DEB = $(PACKAGES)/onnxcc-$(VERSION)
deb: all
	@rm -rf $(DEB) && mkdir -p $(DEB)/$(dir $(B))
	cp -a --parents $$(git ls-files) $(DEB)
	cp -a packaging/debian $(DEB)/debian
	ln -s '$(abspath $(B))' $(DEB)/$(B)
	{ echo 'onnxcc ($(VERSION)) unstable; urgency=medium'; echo; echo '  * As in CHANGELOG.md.'; echo; \
	  sed -n "s/^Maintainer: \(.*\)/ -- \1  $$(date -R -r CHANGELOG.md)/p" packaging/debian/control; } >$(DEB)/debian/changelog
	cd $(DEB) && B='$(B)' dpkg-buildpackage --no-sign --build=binary --no-pre-clean >../deb.log 2>&1 || { tail -20 ../deb.log; exit 1; }
	$(if $(LINTIAN),$(LINTIAN) --fail-on error$(COMMA)warning $(PACKAGES)/onnxcc_$(VERSION)_*.changes)
.PHONY: wheel deb
