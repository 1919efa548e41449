#!/bin/bash
# Installs those Debian packages of cmake/packages.txt that are missing.
#
#   install_packages.sh [SECTION...]     sections: build test check frameworks (default: build)
#
# Asks nothing except, on a terminal, sudo's password. Does nothing at all when nothing is missing, or
# with DRYDOCK_PACKAGES=skip (for systems where the libraries come from elsewhere).
set -euo pipefail
cd "$(dirname "$0")/../.."

list=cmake/packages.txt
sections=("$@")
[ ${#sections[@]} -gt 0 ] || sections=(build)

if [ "${DRYDOCK_PACKAGES:-}" = skip ]; then
  echo "packages: not looked at (DRYDOCK_PACKAGES=skip)"
  exit 0
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  cat >&2 <<END
packages: this is no Debian system: apt-get and dpkg-query are missing.
hint: install what $list names by other means, then run again with DRYDOCK_PACKAGES=skip
END
  exit 1
fi

# Names of one section, comments and blank lines left out.
names_of() {
  awk -v want="[$1]" '
    { sub(/#.*/, ""); gsub(/[ \t\r]/, "") }
    /^\[/ { inside = ($0 == want); known = known || inside; next }
    inside && $0 != "" { print }
    END { exit known ? 0 : 3 }' "$list"
}

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for section in "${sections[@]}"; do
  if ! names=$(names_of "$section"); then
    echo "packages: $list has no section [$section]" >&2
    exit 2
  fi
  for name in $names; do
    is_installed "$name" || missing+=("$name")
  done
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi
echo "packages: installing ${missing[*]}"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    reason="this is not root, and sudo is not installed"
  elif sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
  elif [ -t 0 ] && [ -t 2 ]; then
    echo "packages: sudo will ask for your password"
    as_root=(sudo)
  else
    reason="this is not root, and sudo asks for a password, but there is no terminal to ask on"
  fi
  if [ ${#as_root[@]} -eq 0 ]; then
    cat >&2 <<END
packages: cannot install them: $reason
hint: as root, run
  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}
END
    exit 1
  fi
fi

apt() {
  ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
    apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# A failed update is not the end: the lists that are there may suffice.
apt update || echo "packages: apt-get update failed; trying with the lists that are there" >&2
if ! apt install --no-install-recommends "${missing[@]}"; then
  echo "packages: apt-get could not install them; its own message is above" >&2
  exit 1
fi
