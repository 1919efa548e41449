#!/bin/bash
# Installs the packages where nothing of Drydock is, runs them, removes them.
#
#   try_packages.sh wheel FILE.whl          in a fresh virtual environment
#   try_packages.sh wheel-root FILE.whl [SUITE]  in a bare Debian root (debootstrap; root only), default bookworm
#   try_packages.sh deb FILE.deb [SUITE]    likewise: install, run, lintian, remove
#
# 77: what it takes is not there (its reason is printed).
set -euo pipefail
what=$1 file=$(realpath "$2") suite=${3:-bookworm}
work=$(mktemp -d)
root=$work/root
cleanup() {
  mountpoint -q "$root/proc" 2>/dev/null && umount "$root/proc"
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

# The first command of a new user, PREFIX is where the package put its files. $1: command in front (chroot), $2: PREFIX
first_minute() {
  local inside=$1 prefix=$2 answer
  $inside "$prefix/bin/drydock" --version
  answer=$($inside "$prefix/bin/drydock" msrun --sim_level=1 --worker_num=8 --log_dir=/tmp/drydock-first-minute \
    "$prefix/share/drydock/examples/quickstart/net.py")
  echo "$answer"
  grep -q "^ok: the programs of 8 ranks are legal" <<<"$answer"
  $inside "$prefix/bin/drydock" explain STRATEGY >/dev/null
}

bare_root() {
  if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
    echo "packages: SKIPPED: a bare root takes debootstrap and root"
    exit 77
  fi
  debootstrap --variant=minbase ${1:+--include=$1} "$suite" "$root" >"$work/debootstrap.log" 2>&1 ||
    { tail -5 "$work/debootstrap.log"; echo "packages: SKIPPED: debootstrap of $suite failed"; exit 77; }
  mount -t proc proc "$root/proc"
  cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
}

case $what in
  wheel)
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -q "$file"
    env -i PATH="$work/venv/bin:/usr/bin:/bin" HOME="$work" bash -c "$(declare -f first_minute); set -e; first_minute '' '$work/venv'"
    # As Python finds it, too: a wheel that pip did not install whole is not noticed by the program.
    "$work/venv/bin/pip" uninstall -q -y drydock
    left=$(find "$work/venv" -path "*drydock*" -not -name "*.pyc" -type f | head)
    [ -z "$left" ] || { echo "packages: left behind by pip uninstall: $left"; exit 1; }
    ;;
  wheel-root)
    bare_root python3,python3-venv,python3-numpy,ca-certificates
    cp "$file" "$(dirname "$file")"/drydock_msrun-*.whl "$root/tmp/"
    chroot "$root" python3 -m venv --system-site-packages /opt/venv
    chroot "$root" /opt/venv/bin/pip install -q --no-index --no-deps "/tmp/$(basename "$file")"
    if chroot "$root" test -e /opt/venv/bin/msrun; then
      echo "packages: the wheel takes the name msrun"
      exit 1
    fi
    chroot "$root" bash -c '/opt/venv/bin/pip install -q --no-index --no-deps /tmp/drydock_msrun-*.whl; /opt/venv/bin/msrun --version'
    chroot "$root" /opt/venv/bin/python --version
    first_minute "chroot $root" /opt/venv
    ;;
  deb)
    if command -v lintian >/dev/null; then
      lintian --fail-on error "$file"
    fi
    bare_root
    cp "$file" "$root/tmp/package.deb"
    chroot "$root" find / -xdev -path /tmp -prune -o -path /proc -prune -o -path /var -prune -o -print | sort >"$work/before"
    chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends /tmp/package.deb \
      >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log"; exit 1; }
    first_minute "chroot $root" /usr
    chroot "$root" msrun --version
    chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y purge drydock >"$work/apt.log" 2>&1
    left=$(chroot "$root" find / -xdev -path /proc -prune -o \( -name "*drydock*" -o -name "msrun*" \) -print |
      grep -v -e ^/tmp/ || true)
    [ -z "$left" ] || { echo "packages: left behind: $left"; exit 1; }
    ;;
  *)
    echo "packages: '$what' is neither wheel nor wheel-root nor deb" >&2
    exit 2
    ;;
esac
echo "packages: $what $(basename "$file"): installed, run and removed"
