#!/bin/sh
# Build the image of the Dockerfile from a commit and start it, without a registry and without Docker: tools/try_image.sh [COMMIT]
#
# Needs root on Debian, with the packages buildah and debootstrap, and PyPI: ten minutes, 3 GB of disk. debootstrap makes the base
# image from the packages of this machine's own mirror, with the Python of Debian in place of that of the official image.
set -eu

commit=${1:-HEAD}
for program in buildah debootstrap; do
    command -v $program >/dev/null || { echo "try_image: no $program here. Fix: apt-get install $program" >&2; exit 1; }
done
here=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
images() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }

echo "Making the base image"
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -n 1)
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates \
    "$(. /etc/os-release; echo "$VERSION_CODENAME")" "$work/base" "$mirror" >"$work/log" 2>&1 || { tail -n 3 "$work/log" >&2; exit 1; }
# The Dockerfile uses `python` and `pip`, and removes pip. Debian's own pip refuses both.
chroot "$work/base" python3 -m venv /usr/local
# pip trusts the authorities that this machine trusts.
cp /etc/ssl/certs/ca-certificates.crt "$work/base/etc/ssl/certs/"
printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n' >"$work/base/etc/pip.conf"
container=$(images from scratch)
images add --quiet "$container" "$work/base" /
images config --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
images commit --quiet --rm "$container" localhost/base

echo "Building the image"
mkdir "$work/context"
git -C "$here" archive "$commit" | tar -x -C "$work/context"
images bud --format docker --network host --build-arg BASE=localhost/base --tag localhost/noughts "$work/context"

echo "Starting the image, without rights"
container=$(images from localhost/noughts)
images run --cap-drop all "$container" -- setpriv --no-new-privs sh -ec '
    test "$(id -u)" = 10001
    noughts --version
    noughts db upgrade
    noughts serve --no-web --listen 127.0.0.1:0 --format json >/tmp/serving &
    until grep -q grpc /tmp/serving; do kill -0 $!; sleep 1; done
    noughts health --server "$(sed "s/.*\"grpc\": *\"\([^\"]*\)\".*/\1/" /tmp/serving)"
    kill $!
    wait $!
'
echo "The image works."
