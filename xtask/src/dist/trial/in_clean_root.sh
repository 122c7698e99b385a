# One package in a clean root: installed, used and removed. It runs as root in
# namespaces of its own, without a network, and prints what was measured.
#
# $1 deb, archive, npm or image; $2 the package (of an image: its layer); $3 the clean
# root; $4 a folder for what changes, which is removed; $5 static or dynamic; $6 what the
# README has a person type to install it, and $7 to use it without that; of an image nothing
set -eu
kind=$1 package=$2 clean=$3 work=$4 linkage=$5 typed=$6 uninstalled=$7
root=$work/root

end() {
    umount --recursive --lazy "$root" 2>/dev/null || true
    rm --recursive --force --one-file-system "$work"
}
trap end EXIT
mkdir -p "$root" "$work/upper" "$work/scratch"
# Where the file system cannot be a layer, a copy is as good and slower.
layers=lowerdir=$clean,upperdir=$work/upper,workdir=$work/scratch
mount -t overlay overlay -o "$layers" "$root" 2>/dev/null || {
    cp --archive "$clean/." "$root"
    mount --bind "$root" "$root"
}
mount -t proc proc "$root/proc"
# Not the machine's own /dev: a PTY of the trial must not be one of the machine.
mount -t tmpfs tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
for device in 'null 1 3' 'zero 1 5' 'random 1 8' 'urandom 1 9' 'tty 5 0'; do
    set -- $device
    mknod -m 666 "$root/dev/$1" c "$2" "$3"
done
ip link set lo up
# What npm runs, runs on the machine itself: without its processes, its PTYs and its home.
mount -t proc proc /proc
mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts
mount -t tmpfs tmpfs /run

# Not `chroot`: the kernel lets nobody in one make namespaces, and checks run in some.
inside() {
    unshare --mount --propagation private sh -euc '
        cd "$1"
        shift
        mkdir -p .before
        pivot_root . .before
        umount --lazy /.before
        cd /
        exec env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
            PATH=/opt/mission/bin:/root/.local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' sh "$root" "$@"
}
# Every file and folder but what the kernel shows, the books of dpkg and apt, and the work of
# the person, which is looked at by itself.
files() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./.before -o -path ./root/project \
        -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \) -prune -o -print | sort)
}
# Types it on the machine, since a clean root has no npm, in the folder of the package.
with_npm() {
    (cd "${package%/*}" && env -i HOME=/run TMPDIR=/run TERM=dumb LANG=C.UTF-8 PATH="$PATH" \
        npm_config_prefix="$root/opt/mission" npm_config_cache="$work/npm" \
        npm_config_offline=true npm_config_audit=false npm_config_fund=false \
        npm_config_yes=true npm_config_loglevel=error sh -euc "$1")
}
now() { date +%s.%N; }
took() { awk -v from="$2" -v to="$(now)" -v what="$1" 'BEGIN { print what, to - from }'; }

files >"$work/before"
began=$(now)
case $kind in
deb | archive)
    file=$root/root/${package##*/}
    cp "$package" "$file"
    inside sh -euc "cd; $typed" >"$work/install" 2>&1 || { cat "$work/install" >&2; exit 1; }
    rm "$file" ;;
npm)
    if command -v npm >/dev/null && command -v npx >/dev/null; then
        with_npm "$typed" >"$work/install" 2>&1 || { cat "$work/install" >&2; exit 1; }
    else
        typed=
        echo "said there is no npm here: the program was taken out of its package"
        mkdir "$root/opt/mission"
        tar --extract --gzip --file "$package" --directory "$root/opt/mission" --strip-components 1
    fi ;;
image)
    # A static program needs nothing of a system but a kernel.
    if [ "$linkage" = static ]; then
        mkdir "$work/empty"
        tar --extract --gzip --file "$package" --directory "$work/empty"
        chroot "$work/empty" /usr/bin/mission version >/dev/null
    else
        echo "said the program is not static: the image was tried with the libraries of Debian"
    fi
    tar --extract --gzip --file "$package" --directory "$root" ;;
esac
took install "$began"

echo "version $(inside mission version)"
all_done() {
    grep -q '^All five tasks are done and checked' "$work/demo" || { cat "$work/demo" >&2; exit 1; }
}
began=$(now)
inside timeout 300 mission demo >"$work/demo" 2>&1 || { tail -n 20 "$work/demo" >&2; exit 1; }
all_done
took demo "$began"
if [ "$kind" = npm ] && [ -n "$typed" ]; then
    with_npm "timeout 300 $uninstalled" >"$work/demo" 2>&1 || { tail -n 20 "$work/demo" >&2; exit 1; }
    all_done
fi

# A home that was used: a daemon, a run, completions, a task in a repository of the person.
# All of ours has to go, and all of theirs has to stay.
inside mission run 'say hello' --engine rehearsal --name hello --wait -- hello --speed 10 >/dev/null
mkdir -p "$root/root/.local/share/bash-completion/completions"
inside mission completions bash >"$root/root/.local/share/bash-completion/completions/mission"
project() { inside sh -euc "cd /root/project; $1"; }
mkdir "$root/root/project"
project "git init --quiet --initial-branch=main
    git config user.name You; git config user.email you@localhost
    echo mine >notes.txt; git add notes.txt; git commit --quiet --message First
    mission task add 'Find the answer' --engine rehearsal --check 'sh check.sh' -- fail-then-fix
    mission autopilot resume" >"$work/project" 2>&1 || { cat "$work/project" >&2; exit 1; }
waited=0
until inside mission --json task show T-1 | grep -q '"status": *"done"'; do
    waited=$((waited + 1))
    [ "$waited" -lt 120 ] || { inside mission task show T-1 >&2; exit 1; }
    sleep 1
done
project 'git show main:answer.txt' | grep -q forty-two || { echo "the work was not merged" >&2; exit 1; }
inside mission uninstall --yes >"$work/uninstall" 2>&1 || { cat "$work/uninstall" >&2; exit 1; }
project '[ "$(cat notes.txt)" = mine ] && [ "$(git worktree list | wc -l)" = 1 ]
    [ -z "$(git status --porcelain)" ]' || { echo "the repository is not as it was" >&2; exit 1; }
rm -r "$root/root/project"

case $kind in
deb) inside dpkg --remove mission >/dev/null ;;
npm)
    if [ -n "$typed" ]; then
        with_npm "npm uninstall --global missiond" >/dev/null
        # Its own folders for packages that are installed globally.
        find "$root/opt/mission" -depth -type d -empty -delete
    else
        rm -r "$root/opt/mission"
    fi ;;
archive) ;; # The program took itself away.
# A container is removed as a whole. What is compared is the files of one that lives on without
# mission: its folders below /usr are for the program those of a system, which stay.
image) echo "said of a container the folders are removed with the whole" ;;
esac
files >"$work/after"
comm -13 "$work/before" "$work/after" | while read -r path; do
    [ "$kind" = image ] && [ -d "$root/$path" ] || echo "left ${path#.}"
done
comm -23 "$work/before" "$work/after" | sed 's/^\./lost /'
