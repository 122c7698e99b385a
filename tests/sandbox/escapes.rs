//! Every attempt to get out, as data: a line for a shell, and what it must say instead of
//! `ESCAPED`. The lines name things by variables that only the attempt has: `$SECRETS` the
//! home outside, `$OTHER` another agent's worktree, `$MAIN` the repository, `$OWN` the
//! daemon's folders, `$OUTSIDE` a process and `$PORT` a server of the machine.

pub(super) struct Attempt {
    pub(super) what: &'static str,
    pub(super) line: &'static str,
    /// Any one of these, in what it writes.
    pub(super) refused: &'static [&'static str],
}

const fn attempt(
    what: &'static str,
    line: &'static str,
    refused: &'static [&'static str],
) -> Attempt {
    Attempt {
        what,
        line,
        refused,
    }
}

const ABSENT: &[&str] = &["No such file"];
const DENIED: &[&str] = &["Operation not permitted", "Permission denied"];
const READ_ONLY: &[&str] = &["Read-only file system", "Permission denied"];
const NO_PROCESS: &[&str] = &["No such process", "No such file"];
const NO_NETWORK: &[&str] = &["Network is unreachable", "Connection refused"];

/// As the proxy says it: that nobody has decided, that somebody has, and that it is not even
/// a question. Of a tunnel the program tells the number alone.
const UNDECIDED: &[&str] = &["is not allowed yet"];
const FORBIDDEN: &[&str] = &["is denied"];
const REFUSED: &[&str] = &["403"];
const BAD: &[&str] = &["400 Bad Request"];

/// The number of a system call, by the name it has below.
pub(super) const CALLS: &[(&str, u32, u32)] = &[
    // name, x86_64, aarch64
    ("add_key", 248, 217),
    ("bpf", 321, 280),
    ("fsopen", 430, 430),
    ("io_uring_setup", 425, 425),
    ("kexec_load", 246, 104),
    ("keyctl", 250, 219),
    ("mount_setattr", 442, 442),
    ("name_to_handle_at", 303, 264),
    ("open_tree", 428, 428),
    ("perf_event_open", 298, 241),
    ("pidfd_getfd", 438, 438),
    ("process_vm_readv", 310, 270),
    ("ptrace", 101, 117),
    ("request_key", 249, 218),
    ("setns", 308, 268),
    ("unshare", 272, 97),
    ("userfaultfd", 323, 282),
];

pub(super) const ATTEMPTS: &[Attempt] = &[
    // Keys and log-ins.
    attempt(
        "read an SSH key",
        "cat ~/.ssh/id_rsa && echo ESCAPED",
        ABSENT,
    ),
    attempt("list the keys", "ls -A ~/.ssh && echo ESCAPED", ABSENT),
    attempt(
        "read a cloud log-in",
        "cat ~/.aws/credentials && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "read git's passwords",
        "cat ~/.git-credentials && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "read git's other passwords",
        "cat ~/.config/git/credentials && echo ESCAPED",
        ABSENT,
    ),
    attempt("read netrc", "cat ~/.netrc && echo ESCAPED", ABSENT),
    attempt(
        "read cargo's log-in beside its cache",
        "ls -d ~/.cargo/registry; cat ~/.cargo/credentials.toml && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "read a token of npm",
        "cat ~/.npmrc && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "find a key anywhere",
        "find / -name id_rsa -not -path '/proc/*' 2>/dev/null | grep . && echo ESCAPED; echo none found",
        &["none found"],
    ),
    attempt(
        "read the machine's passwords",
        "test -s /etc/shadow && cat /etc/shadow && echo ESCAPED; echo nothing there",
        &["nothing there", "Permission denied"],
    ),
    attempt(
        "read the home through the first process",
        "cat /proc/1/root/$SECRETS/.ssh/id_rsa && echo ESCAPED",
        &["Permission denied", "No such file"],
    ),
    attempt(
        "read the home through its own root",
        "cat /proc/self/root/$SECRETS/.ssh/id_rsa && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "read the home through a folder of work",
        "cat /proc/1/cwd/../../../../$SECRETS/.ssh/id_rsa && echo ESCAPED",
        &["Permission denied", "No such file"],
    ),
    attempt(
        "follow a link planted before",
        "cat planted-key && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "follow a folder's link planted before",
        "cat planted-root/$SECRETS/.ssh/id_rsa && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "follow a link planted now",
        "ln -s $SECRETS/.ssh/id_rsa now && cat now && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "make a hard link to a key",
        "ln $SECRETS/.ssh/id_rsa hard && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "read the other homes",
        "ls -A /home/* /var/spool/cron | grep . && echo ESCAPED",
        ABSENT,
    ),
    // The daemon.
    attempt(
        "call the daemon",
        "perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => \"$ENV{OWN}/run/daemon.sock\") ? \"ESCAPED\" : $!'",
        ABSENT,
    ),
    attempt(
        "read the database",
        "cat $OWN/data/mission.db && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "read a journal",
        "ls $OWN/data/journals && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "change the rules",
        "echo >> $OWN/config/config.toml && echo ESCAPED",
        &["nonexistent", "No such file"],
    ),
    attempt(
        "reach a service of the session",
        "ls /run/user /run/docker.sock /var/run/docker.sock | grep . && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "open the plan of the wall",
        "env | grep MISSION_WALL && echo ESCAPED; echo not in there",
        &["not in there"],
    ),
    // Others.
    attempt(
        "read another agent's work",
        "cat $OTHER/secret && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "write into another agent's work",
        "echo x > $OTHER/file && echo ESCAPED",
        &["No such file", "nonexistent"],
    ),
    attempt(
        "go to another agent by dots",
        "cat ../other/secret && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "see another agent's index",
        "ls $MAIN/.git/worktrees/other && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "read what the repository ignores",
        "cat $MAIN/.env && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "read another process's environment",
        "cat /proc/$OUTSIDE/environ && echo ESCAPED",
        NO_PROCESS,
    ),
    attempt(
        "end another process",
        "kill -9 $OUTSIDE && echo ESCAPED",
        NO_PROCESS,
    ),
    attempt(
        "see other processes",
        "ls /proc | grep -x $OUTSIDE && echo ESCAPED; echo not there",
        &["not there"],
    ),
    attempt(
        "read the first process's environment",
        "cat /proc/1/environ | grep . && echo ESCAPED",
        DENIED,
    ),
    attempt(
        "write the first process's memory",
        "echo > /proc/1/mem && echo ESCAPED",
        DENIED,
    ),
    attempt(
        "overwrite the program of the wall",
        "echo > /proc/1/exe && echo ESCAPED",
        DENIED,
    ),
    attempt(
        "look at the first process's files",
        "readlink /proc/1/fd/0 && echo ESCAPED; echo nothing told",
        &["nothing told"],
    ),
    // git.
    attempt(
        "set git's configuration",
        "git config alias.x '!id' && echo ESCAPED",
        READ_ONLY,
    ),
    attempt(
        "write a hook",
        "echo id > $MAIN/.git/hooks/pre-commit && echo ESCAPED",
        READ_ONLY,
    ),
    attempt(
        "add attributes",
        "echo '* filter=x' > $MAIN/.git/info/attributes && echo ESCAPED",
        READ_ONLY,
    ),
    attempt(
        "move the hooks away",
        "mv $MAIN/.git/hooks $MAIN/.git/old && echo ESCAPED",
        &["Read-only", "cannot move", "busy"],
    ),
    attempt(
        "point the worktree elsewhere",
        "echo 'gitdir: /tmp/evil' > .git && echo ESCAPED",
        READ_ONLY,
    ),
    attempt(
        "take another file for the pointer",
        "mv .git old && echo ESCAPED",
        &["Device or resource busy"],
    ),
    attempt(
        "remove the pointer",
        "rm -f .git && echo ESCAPED",
        &["Device or resource busy"],
    ),
    attempt(
        "name another common folder",
        "echo /tmp/evil > $(git rev-parse --git-dir)/commondir && echo ESCAPED",
        READ_ONLY,
    ),
    attempt(
        "give the worktree hooks of its own",
        "git config --worktree core.hooksPath /tmp/evil && echo ESCAPED",
        &["worktreeConfig", "Read-only file system"],
    ),
    // Parts of the system.
    attempt(
        "write the system",
        "touch /usr/bin/evil && echo ESCAPED",
        READ_ONLY,
    ),
    attempt(
        "write the configuration",
        "touch /etc/evil && echo ESCAPED",
        READ_ONLY,
    ),
    attempt("write the root", "mkdir /evil && echo ESCAPED", READ_ONLY),
    attempt(
        "put a program into the toolchain",
        "touch ~/.cargo/bin/evil && echo ESCAPED",
        READ_ONLY,
    ),
    attempt(
        "poison the cache",
        "touch ~/.cargo/registry/evil && echo ESCAPED",
        READ_ONLY,
    ),
    attempt(
        "name a handler of crashes",
        "echo '|/tmp/x' > /proc/sys/kernel/core_pattern && echo ESCAPED",
        READ_ONLY,
    ),
    attempt(
        "press the magic key",
        "echo h > /proc/sysrq-trigger && echo ESCAPED",
        &["Read-only file system", "Permission denied", "nonexistent"],
    ),
    attempt(
        "read the kernel's memory",
        "head -c 16 /proc/kcore | grep -q . && echo ESCAPED; echo nothing in it",
        &["nothing in it", "No such file"],
    ),
    attempt(
        "read the kernel's log",
        "dmesg | grep . && echo ESCAPED",
        DENIED,
    ),
    attempt(
        "open a disk",
        "head -c 1 /dev/vda /dev/sda /dev/nvme0n1 && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "open the memory",
        "head -c 1 /dev/mem /dev/kmem /dev/port && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "open the virtualiser",
        "head -c 1 /dev/kvm && echo ESCAPED",
        ABSENT,
    ),
    attempt("make a device", "mknod dev b 254 0 && echo ESCAPED", DENIED),
    attempt(
        "make a device in memory",
        "mknod /dev/shm/dev c 1 1 && echo ESCAPED",
        DENIED,
    ),
    // Another view.
    attempt(
        "mount memory",
        "mount -t tmpfs none /tmp && echo ESCAPED",
        &[
            "permission denied",
            "Operation not permitted",
            "must be superuser",
        ],
    ),
    attempt(
        "make the system writable",
        "mount -o remount,bind,rw /usr && echo ESCAPED",
        &[
            "permission denied",
            "Operation not permitted",
            "must be superuser",
        ],
    ),
    attempt(
        "take a mask off",
        "umount /etc/shadow && echo ESCAPED",
        &[
            "Operation not permitted",
            "must be superuser",
            "not mounted",
        ],
    ),
    attempt(
        "take the home's cover off",
        "umount -l $HOME && echo ESCAPED",
        &[
            "Operation not permitted",
            "must be superuser",
            "not mounted",
        ],
    ),
    attempt(
        "take another root",
        "chroot . /bin/true && echo ESCAPED",
        DENIED,
    ),
    attempt("mount by the new calls", "call fsopen proc 0", DENIED),
    attempt("copy a tree of mounts", "call open_tree -100 / 1", DENIED),
    attempt(
        "change a mount's rights",
        "call mount_setattr -100 / 0 0 0",
        DENIED,
    ),
    attempt(
        "open by handle",
        "call name_to_handle_at -100 / 0 0 0",
        DENIED,
    ),
    attempt(
        "make a user namespace",
        "unshare --user true && echo ESCAPED",
        DENIED,
    ),
    attempt(
        "make a table of mounts",
        "unshare --mount true && echo ESCAPED",
        DENIED,
    ),
    attempt(
        "make a namespace by the call",
        "call unshare 268435456",
        DENIED,
    ),
    attempt(
        "join the first process's namespaces",
        "nsenter -t 1 -m true && echo ESCAPED",
        DENIED,
    ),
    // Privileges.
    attempt(
        "become another user",
        "perl -e '$! = 0; $< = $> = 12345; print $> == 12345 ? \"ESCAPED\" : $!'",
        &["Operation not permitted", "Invalid argument"],
    ),
    attempt(
        "become the first user of another group",
        "perl -e '$! = 0; $( = $) = \"4 4\"; print $! ? $! : \"ESCAPED\"'",
        &["Operation not permitted", "Invalid argument"],
    ),
    attempt(
        "keep a program's mark of another user",
        "cp /usr/bin/id own-id && chmod 4755 own-id; grep -q '^NoNewPrivs:.1' /proc/self/status && echo no new privileges || echo ESCAPED",
        &["no new privileges"],
    ),
    attempt(
        "have a capability",
        "grep -q '^CapPrm:.*[1-9a-f]' /proc/self/status && echo ESCAPED; echo none",
        &["none"],
    ),
    attempt(
        "have one to be gained",
        "grep -q '^CapBnd:.*[1-9a-f]' /proc/self/status && echo ESCAPED; echo none",
        &["none"],
    ),
    // Calls.
    attempt("trace a process", "call ptrace 16 1 0 0", DENIED),
    attempt(
        "read a process's memory",
        "call process_vm_readv 1 0 0 0 0 0",
        DENIED,
    ),
    attempt("take a process's file", "call pidfd_getfd 0 0 0", DENIED),
    attempt("add a key", "call add_key user x y 1 -4", DENIED),
    attempt("ask for a key", "call request_key user x 0 -4", DENIED),
    attempt("open a keyring", "call keyctl 0 -4 0 0 0", DENIED),
    attempt("make a ring", "call io_uring_setup 8 0", DENIED),
    attempt("load a program into the kernel", "call bpf 0 0 0", DENIED),
    attempt("count events", "call perf_event_open 0 0 -1 -1 0", DENIED),
    attempt("handle faults", "call userfaultfd 0", DENIED),
    attempt("load a kernel", "call kexec_load 0 0 0 0", DENIED),
    attempt("join a namespace by the call", "call setns 0 0", DENIED),
    // Terminals.
    attempt("type into a terminal", "terminal 0x5412", DENIED),
    attempt("type with other high bits", "terminal 0x100005412", DENIED),
    attempt("type by the console's call", "terminal 0x541C", DENIED),
    attempt("take the console's output", "terminal 0x541D", DENIED),
    attempt(
        "write to somebody's terminal",
        "ls /dev/pts | grep -x '[0-9]*' && echo ESCAPED; echo no terminals",
        &["no terminals"],
    ),
    // Sockets.
    attempt(
        "reach an abstract socket",
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) and connect(S, pack(\"S a*\", AF_UNIX, \"\\0$ENV{ABSTRACT}\")) ? print \"ESCAPED\" : print $!'",
        &["Connection refused", "Operation not permitted"],
    ),
    attempt("open a raw socket", "socket 2 3 1", DENIED),
    attempt("open a raw socket of version 6", "socket 10 3 58", DENIED),
    attempt("open a packet socket", "socket 17 3 0", DENIED),
    attempt("reach the virtual machine's host", "socket 40 1 0", DENIED),
    attempt("open the kernel's ciphers", "socket 38 5 0", DENIED),
    attempt(
        "reach the metadata address",
        "reach 169.254.169.254 80",
        NO_NETWORK,
    ),
    attempt(
        "reach it mapped into version 6",
        "reach ::ffff:169.254.169.254 80",
        NO_NETWORK,
    ),
    attempt("reach it as one number", "reach 2852039166 80", NO_NETWORK),
    attempt(
        "reach it in octal",
        "reach 0251.0376.0251.0376 80",
        NO_NETWORK,
    ),
    attempt(
        "reach a server of the machine",
        "reach 127.0.0.1 $PORT",
        NO_NETWORK,
    ),
    attempt("reach it by version 6", "reach ::1 $PORT", NO_NETWORK),
    attempt(
        "reach it as nobody's address",
        "reach 0.0.0.0 $PORT",
        NO_NETWORK,
    ),
    attempt("reach the world", "reach 1.1.1.1 443", NO_NETWORK),
    attempt(
        "ask a resolver of the machine",
        "perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $ENV{DNS}, Proto => \"udp\", Timeout => 1); $s->send(\"tunnel\"); $s->blocking(0); select undef, undef, undef, 0.2; defined $s->recv(my $b, 9) && length $b ? print \"ESCAPED\" : print \"no answer\"'",
        &["no answer"],
    ),
    // Too much.
    attempt(
        "fill the memory",
        "perl -e '$x = \"x\" x (600 << 20); print \"ESCAPED\"'; echo ended with $?",
        &["ended with"],
    ),
    attempt(
        "start too many processes",
        "perl -e 'for (1 .. 200) { my $p = fork; if (!defined $p) { print \"refused at $_\"; exit } sleep 5 unless $p } print \"ESCAPED\"'",
        &["refused at"],
    ),
    attempt(
        "fill the temporary folder",
        "head -c 100m /dev/zero > /tmp/full && echo ESCAPED",
        &["No space left"],
    ),
    attempt(
        "fill the home",
        "head -c 100m /dev/zero > ~/full && echo ESCAPED",
        &["No space left"],
    ),
    attempt(
        "fill the shared memory",
        "head -c 100m /dev/zero > /dev/shm/full && echo ESCAPED",
        &["No space left"],
    ),
    attempt(
        "write an endless file",
        "head -c 100m /dev/zero > endless && echo ESCAPED; echo ended with $?",
        &["ended with", "File too large", "File size limit"],
    ),
];

/// Ways to others from behind a wall whose network is the daemon's proxy: `$ALLOWED` is a
/// port whose server the policy lets through at `/open/` and `/away`, `$GIVEN` one that the
/// configuration names, `$CLOSED` one that nobody names. `$OWN` is the daemon's folder.
pub(super) const WAYS: &[Attempt] = &[
    // What works, so that what is refused is refused for a reason.
    attempt(
        "ask for what is allowed",
        "get http://localhost:$ALLOWED/open/x",
        &["let through"],
    ),
    attempt(
        "ask for it again, by the variable in capital letters",
        "env -u http_proxy curl -sS -m 10 --noproxy '' -x \"$HTTP_PROXY\" http://localhost:$ALLOWED/open/y",
        &["let through"],
    ),
    attempt(
        "reach a port that is given",
        "curl -sS -m 5 http://127.0.0.1:$GIVEN/",
        &["given"],
    ),
    // Past the proxy.
    attempt("reach the world directly", "reach 1.1.1.1 443", NO_NETWORK),
    attempt(
        "reach a server of the machine directly",
        "reach 127.0.0.1 $CLOSED",
        NO_NETWORK,
    ),
    attempt(
        "reach an allowed one directly",
        "reach 127.0.0.1 $ALLOWED",
        NO_NETWORK,
    ),
    attempt("reach it by version 6", "reach ::1 $ALLOWED", NO_NETWORK),
    attempt(
        "reach it as nobody's address",
        "reach 0.0.0.0 $CLOSED",
        NO_NETWORK,
    ),
    attempt(
        "reach the metadata address directly",
        "reach 169.254.169.254 80",
        NO_NETWORK,
    ),
    attempt(
        "reach it mapped into version 6",
        "reach ::ffff:169.254.169.254 80",
        NO_NETWORK,
    ),
    attempt(
        "send a datagram to a resolver",
        "perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(PeerAddr => \"1.1.1.1\", PeerPort => 53, Proto => \"udp\") or die $!; print $s->send(\"tunnel\") ? \"ESCAPED\" : $!'",
        NO_NETWORK,
    ),
    attempt(
        "have a name resolved",
        "getent hosts example.org && echo ESCAPED; echo no answer",
        &["no answer"],
    ),
    attempt(
        "take the proxy out of the environment",
        "env -u http_proxy -u HTTP_PROXY -u all_proxy -u ALL_PROXY curl -sS -m 5 http://127.0.0.1:$CLOSED/",
        &["Failed to connect", "Couldn't connect", "Could not connect"],
    ),
    attempt(
        "name every host one that needs no proxy",
        "NO_PROXY='*' no_proxy='*' curl -sS -m 5 http://1.1.1.1/",
        &[
            "Failed to connect",
            "Couldn't connect",
            "Could not connect",
            "unreachable",
        ],
    ),
    attempt(
        "give oneself another address",
        "ip address add 10.9.9.9/24 dev lo 2>&1 && echo ESCAPED; ifconfig lo 10.9.9.9 2>&1 && echo ESCAPED; echo not done",
        &["not done"],
    ),
    attempt(
        "take the place of the proxy",
        "perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", LocalPort => 3128, Listen => 1, ReuseAddr => 1) ? \"ESCAPED\" : $@ || $!'",
        &["in use"],
    ),
    // Other sockets.
    attempt("open a raw socket", "socket 2 3 1", DENIED),
    attempt("open a packet socket", "socket 17 3 0", DENIED),
    attempt("reach the virtual machine's host", "socket 40 1 0", DENIED),
    attempt(
        "list the ways out of others",
        "ls $OWN/run/egress && echo ESCAPED",
        ABSENT,
    ),
    attempt(
        "find the proxy's own socket",
        "find / -path /proc -prune -o -type s -path '*egress*' -print 2>/dev/null | grep . && echo ESCAPED; echo none found",
        &["none found"],
    ),
    // Through the proxy to where nobody may.
    attempt(
        "ask for a port that nobody names",
        "get http://localhost:$CLOSED/",
        UNDECIDED,
    ),
    attempt(
        "ask for it by address",
        "get http://127.0.0.1:$CLOSED/",
        UNDECIDED,
    ),
    attempt("tunnel to it", "tunnel http://127.0.0.1:$CLOSED/", REFUSED),
    attempt(
        "ask for it by version 6",
        "get 'http://[::1]:$CLOSED/'",
        UNDECIDED,
    ),
    attempt(
        "ask for it mapped",
        "get 'http://[::ffff:127.0.0.1]:$CLOSED/'",
        UNDECIDED,
    ),
    attempt(
        "tunnel past the rules on requests",
        "tunnel http://localhost:$ALLOWED/closed",
        REFUSED,
    ),
    attempt(
        "send what is denied",
        "get -X DELETE http://localhost:$ALLOWED/open/x",
        FORBIDDEN,
    ),
    attempt(
        "send what nobody allowed",
        "get -X POST -d x http://localhost:$ALLOWED/open/x",
        UNDECIDED,
    ),
    attempt(
        "ask for another path",
        "get http://localhost:$ALLOWED/closed",
        UNDECIDED,
    ),
    attempt(
        "ask for another path by dots",
        "get --path-as-is http://localhost:$ALLOWED/open/../closed",
        UNDECIDED,
    ),
    attempt(
        "say that the method is another",
        "get -H 'X-HTTP-Method-Override: DELETE' http://localhost:$ALLOWED/open/x",
        FORBIDDEN,
    ),
    attempt(
        "follow a redirection",
        "get -L http://localhost:$ALLOWED/away",
        UNDECIDED,
    ),
    attempt(
        "ask for the metadata address",
        "get http://169.254.169.254/latest/",
        FORBIDDEN,
    ),
    attempt(
        "tunnel to it",
        "tunnel http://169.254.169.254/latest/",
        REFUSED,
    ),
    attempt(
        "ask for it mapped",
        "get 'http://[::ffff:169.254.169.254]/'",
        FORBIDDEN,
    ),
    attempt(
        "ask for it by name",
        "get http://metadata.google.internal/",
        FORBIDDEN,
    ),
    attempt(
        "ask for it as one number",
        "send 'GET http://2852039166/ HTTP/1.1' 'Host: 2852039166'",
        BAD,
    ),
    attempt(
        "ask for it in octal",
        "send 'GET http://0251.0376.0251.0376/ HTTP/1.1' 'Host: 0251.0376.0251.0376'",
        BAD,
    ),
    attempt(
        "name one host and mean another",
        "send 'GET http://localhost:$ALLOWED/open/x HTTP/1.1' 'Host: localhost:$CLOSED'",
        BAD,
    ),
    attempt(
        "name two hosts",
        "send 'GET http://localhost:$ALLOWED/open/x HTTP/1.1' 'Host: localhost:$ALLOWED' 'Host: localhost:$CLOSED'",
        BAD,
    ),
    attempt(
        "hide a second request behind the first",
        "send 'GET http://localhost:$ALLOWED/open/x HTTP/1.1' 'Host: localhost:$ALLOWED' '' 'GET http://localhost:$CLOSED/ HTTP/1.1' 'Host: localhost:$CLOSED'",
        &["let through"],
    ),
    attempt(
        "two lengths of one body",
        "send 'GET http://localhost:$ALLOWED/open/x HTTP/1.1' 'Host: localhost:$ALLOWED' 'Content-Length: 0' 'Content-Length: 5'",
        BAD,
    ),
];

/// Words the lines use.
pub(super) const PRELUDE: &str = r#"
call() {
    name=$1; shift
    eval number=\$CALL_$name
    perl -e '$n = shift; @a = map { /^-?\d+$/ ? $_ + 0 : $_ } @ARGV;
        print syscall($n + 0, @a) == -1 ? $! : "ESCAPED"' "$number" "$@"
}
socket() {
    perl -e 'print socket(S, $ARGV[0], $ARGV[1], $ARGV[2]) ? "ESCAPED" : $!' "$@"
}
reach() {
    perl -MIO::Socket::IP -e 'my $s = IO::Socket::IP->new(PeerHost => $ARGV[0],
        PeerPort => $ARGV[1], Timeout => 2); print $s ? "ESCAPED" : $@' "$@"
}
get() {
    curl -sS -m 10 --noproxy '' "$@"
}
tunnel() {
    curl -sS -m 10 --noproxy '' -p "$@"
}
send() {
    perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new("127.0.0.1:3128") or die $@;
        print $s map("$_\r\n", @ARGV), "\r\n"; $s->flush; print while <$s>' "$@"
}
terminal() {
    perl -e 'open(M, "+<", "/dev/ptmx") or die $!; my $u = pack "i", 0;
        ioctl(M, 0x40045431, $u) or die "unlock: $!"; ioctl(M, 0x80045430, $u) or die $!;
        open(T, "+<", "/dev/pts/" . unpack "i", $u) or die $!;
        my $c = "y"; print ioctl(T, hex $ARGV[0], $c) ? "ESCAPED" : $!' "$1"
}
"#;
