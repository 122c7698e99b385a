//! The wall, tried for real: every attempt runs inside it, as the user of the tests and,
//! where that is the machine's root, as another one too. Then what must work inside:
//! programs end as they would, repositories can be committed to, and one way out leads to
//! a proxy.

mod escapes;
mod homes;
mod network;
mod stage;

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::harness::{binary, text};
use escapes::{ATTEMPTS, Attempt, CALLS, PRELUDE};

/// Somebody else than the machine's root.
const OTHER_USER: u32 = 54_321;

/// A small world: a home with secrets, a repository with two worktrees, the daemon's
/// folders, and what of the machine could be reached.
struct World {
    folder: tempfile::TempDir,
    user: u32,
    tcp: TcpListener,
    udp: UdpSocket,
    abstract_name: String,
    _listeners: Vec<UnixListener>,
}

impl World {
    fn of(user: u32) -> Self {
        let folder = tempfile::Builder::new().prefix("wall-").tempdir().unwrap();
        let top = folder.path().to_owned();
        let write = |path: &str, contents: &str| {
            let path = top.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, contents).unwrap();
        };
        for secret in [
            ".ssh/id_rsa",
            ".aws/credentials",
            ".git-credentials",
            ".config/git/credentials",
            ".netrc",
            ".npmrc",
            ".cargo/credentials.toml",
        ] {
            write(&format!("home/{secret}"), "a secret\n");
        }
        write("home/.cargo/registry/index", "cached\n");
        write("home/.cargo/bin/tool", "#!/bin/sh\n");
        write("own/data/mission.db", "rows\n");
        write("own/data/journals/one", "lines\n");
        write("own/config/config.toml", "");
        write("own/run/here", "");
        let socket = UnixListener::bind(top.join("own/run/daemon.sock")).unwrap();
        let abstract_name = top.display().to_string();
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let abstract_socket = UnixListener::bind_addr(&address).unwrap();
        write("main/file", "text\n");
        let world = Self {
            user,
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            abstract_name,
            _listeners: vec![socket, abstract_socket],
            folder,
        };
        let main = world.path("main");
        for line in [
            "init --quiet --initial-branch main",
            "config user.email ada@example.org",
            "config user.name Ada",
            "add file",
            "commit --quiet --message begun",
            "worktree add --quiet ../work",
            "worktree add --quiet ../other",
        ] {
            let ran = Command::new("git")
                .args(line.split(' '))
                .current_dir(&main)
                .output();
            let ran = ran.unwrap();
            assert!(ran.status.success(), "git {line}: {}", text(&ran.stderr));
        }
        std::fs::create_dir_all(main.join(".git/hooks")).unwrap();
        write("main/.env", "a secret\n");
        write("other/secret", "a secret\n");
        symlink(
            world.path("home/.ssh/id_rsa"),
            world.path("work/planted-key"),
        )
        .unwrap();
        symlink("/", world.path("work/planted-root")).unwrap();
        give_to(world.folder.path(), user);
        world
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// `mission sandbox run` with these options, in the worktree.
    fn inside(&self, options: &[&str], argv: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(["sandbox", "run"])
            .args(options)
            .arg("--")
            .args(argv)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", self.path("home"))
            .env("LANG", "C.UTF-8")
            .env("MISSION_HOME", self.path("own"))
            .stdin(Stdio::null())
            .process_group(0);
        if self.user != own_user() {
            command.uid(self.user).gid(self.user);
        }
        command
    }

    fn output(&self, options: &[&str], argv: &[&str]) -> Output {
        self.inside(options, argv).output().unwrap()
    }

    fn try_to(&self, attempt: &Attempt, outside: u32) -> Result<(), String> {
        let line = format!("{PRELUDE}\n{}", attempt.line);
        let options = [
            "--network",
            "none",
            "--memory",
            "256",
            "--processes",
            "64",
            "--scratch",
            "32",
            "--longest-file",
            "64",
        ];
        let mut command = self.inside(&options, &["/bin/sh", "-c", &line]);
        command
            .env("SECRETS", self.path("home"))
            .env("OTHER", self.path("other"))
            .env("MAIN", self.path("main"))
            .env("OWN", self.path("own"))
            .env("OUTSIDE", outside.to_string())
            .env("PORT", self.tcp.local_addr().unwrap().port().to_string())
            .env("DNS", self.udp.local_addr().unwrap().port().to_string())
            .env("ABSTRACT", &self.abstract_name);
        for (name, x86_64, aarch64) in CALLS {
            let number = if cfg!(target_arch = "x86_64") {
                x86_64
            } else {
                aarch64
            };
            command.env(format!("CALL_{name}"), number.to_string());
        }
        let output = command.output().unwrap();
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        let refused = attempt.refused.iter().any(|words| said.contains(words));
        if said.contains("ESCAPED") || !refused || said.contains("no sandbox") {
            return Err(format!("{}: {}\n{said}", attempt.what, output.status));
        }
        Ok(())
    }
}

fn own_user() -> u32 {
    std::fs::metadata("/proc/self").unwrap().uid()
}

fn give_to(path: &Path, user: u32) {
    if user == own_user() {
        return;
    }
    let _ = std::os::unix::fs::lchown(path, Some(user), Some(user));
    if path.is_dir() && !path.is_symlink() {
        for entry in std::fs::read_dir(path).unwrap().flatten() {
            give_to(&entry.path(), user);
        }
    }
}

/// The users a wall is tried as.
fn users() -> Vec<u32> {
    match own_user() {
        0 => vec![0, OTHER_USER],
        own => vec![own],
    }
}

#[test]
fn nobody_gets_out() {
    for user in users() {
        let world = World::of(user);
        let mut outside = Command::new("sleep").arg("600").spawn().unwrap();
        let failures: Vec<_> = ATTEMPTS
            .iter()
            .filter_map(|attempt| world.try_to(attempt, outside.id()).err())
            .collect();
        assert!(outside.try_wait().unwrap().is_none(), "it was ended");
        outside.kill().unwrap();
        outside.wait().unwrap();
        assert!(
            failures.is_empty(),
            "{} of {} attempts as user {user}:\n{}",
            failures.len(),
            ATTEMPTS.len(),
            failures.join("\n")
        );
        assert!(ATTEMPTS.len() >= 60);
        let left = std::fs::read_dir(world.path("home")).unwrap().count();
        assert_eq!(left, 7, "something was written into the home");
    }
}

/// A suite that finds nothing outside would find nothing inside either.
#[test]
fn the_same_attempts_get_through_where_there_is_no_wall() {
    let world = World::of(own_user());
    let secrets = world.path("home");
    for line in [
        "cat $SECRETS/.ssh/id_rsa && echo ESCAPED",
        "cat ../other/secret && echo ESCAPED",
        "git config alias.x '!id' && echo ESCAPED",
        "touch $SECRETS/.cargo/bin/evil && echo ESCAPED",
        "perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => \"$ENV{OWN}/run/daemon.sock\") ? \"ESCAPED\" : $!'",
    ] {
        let mut command = world.inside(&["--profile", "open"], &["/bin/sh", "-c", line]);
        command
            .env("SECRETS", &secrets)
            .env("OWN", world.path("own"));
        let output = command.output().unwrap();
        assert!(
            text(&output.stdout).contains("ESCAPED"),
            "{line}: {output:?}"
        );
    }
}

#[test]
fn a_program_ends_as_it_would_outside() {
    for user in users() {
        let world = World::of(user);
        let run = |line: &str| world.output(&[], &["/bin/sh", "-c", line]);
        assert_eq!(run("exit 0").status.code(), Some(0));
        assert_eq!(run("exit 42").status.code(), Some(42));
        assert_eq!(run("exit 125").status.code(), Some(125));
        assert_eq!(run("kill -TERM $$").status.signal(), Some(15));
        assert_eq!(run("kill -KILL $$").status.signal(), Some(9));
        let spoken = run("echo out; echo err >&2; pwd");
        let work = world.work();
        assert_eq!(text(&spoken.stdout), format!("out\n{}", work.display()));
        assert_eq!(text(&spoken.stderr), "err");
        let missing = world.output(&[], &["/bin/sh", "-c", "exec /no/such/program"]);
        assert_eq!(missing.status.code(), Some(127));
    }
}

#[test]
fn a_signal_reaches_the_program_and_its_end_ends_everything() {
    let world = World::of(own_user());
    let line = "trap 'echo told; exit 7' TERM; sleep 600 & echo ready; wait";
    let mut command = world.inside(&[], &["/bin/sh", "-c", line]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut said = [0; 6];
    output.read_exact(&mut said).unwrap();
    assert_eq!(&said, b"ready\n");
    missiond_os::processes::signal_each(&[child.id()], rustix::process::Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(7));
    // The sleeping one held the pipe: it is closed because that was ended too.
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "told\n");
}

#[test]
fn work_can_be_committed_from_inside_and_toolchains_are_seen() {
    for user in users() {
        let world = World::of(user);
        let line = "set -e; echo more >> file; git add file; git commit --quiet --message more; \
            git status --porcelain; cat ~/.cargo/registry/index; touch /tmp/a ~/b; \
            test -f ~/.cargo/bin/tool; git log --oneline | wc -l";
        let output = world.output(&["--network", "none"], &["/bin/sh", "-c", line]);
        assert_eq!(
            text(&output.stdout).trim().split('\n').next_back(),
            Some("2"),
            "{output:?}"
        );
        let mut log = Command::new("git");
        log.args(["-c", "safe.directory=*", "log", "--format=%s", "work"]);
        let log = log.current_dir(world.path("main")).output().unwrap();
        assert_eq!(text(&log.stdout), "more\nbegun");
        assert!(!world.path("home/b").exists());
    }
}

/// The one way out, with a proxy of the test at its end.
#[test]
fn a_proxy_behind_a_socket_is_the_only_way_out() {
    let world = World::of(own_user());
    let socket = world.path("proxy.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let read = stream.read(&mut request).unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nproxy")
            .unwrap();
        text(&request[..read])
    });
    let line = "perl -MIO::Socket::INET -e '$ENV{HTTP_PROXY} =~ m{//(.*)} or die; \
        my $s = IO::Socket::INET->new($1) or die $@; print $s \"GET http://example.org/ HTTP/1.1\\r\\n\\r\\n\"; \
        $s->flush; read $s, my $a, 200; print $a'; echo; echo $HTTPS_PROXY $NO_PROXY; \
        perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(\"1.1.1.1:443\") ? \"ESCAPED\" : $@'";
    let socket = socket.to_str().unwrap();
    let output = world.output(&["--proxy", socket], &["/bin/sh", "-c", line]);
    let said = text(&output.stdout);
    assert!(
        said.contains("200 OK") && said.contains("proxy"),
        "{output:?}"
    );
    assert!(said.contains("http://127.0.0.1:3128 localhost"), "{said}");
    assert!(
        said.contains("unreachable") && !said.contains("ESCAPED"),
        "{said}"
    );
    let asked = serving.join().unwrap();
    assert!(
        asked.starts_with("GET http://example.org/ HTTP/1.1"),
        "{asked}"
    );
}

#[test]
fn what_cannot_be_walled_in_is_refused_with_a_sentence() {
    let world = World::of(own_user());
    let mut home = world.inside(&[], &["/bin/true"]);
    let output = home.current_dir(world.path("home")).output().unwrap();
    assert!(!output.status.success());
    assert!(
        text(&output.stderr).contains("choose the folder of the work"),
        "{output:?}"
    );
    let output = world.output(&["--read", "/no/such/folder"], &["/bin/true"]);
    assert!(
        text(&output.stderr).contains("/no/such/folder cannot be shown inside"),
        "{output:?}"
    );
    // Where no namespaces are left to be had, nothing is run.
    let line = "echo 0 > /proc/sys/user/max_user_namespaces 2>/dev/null; \
        exec \"$0\" sandbox run -- /bin/echo RUN";
    let mut without = Command::new("unshare");
    without.args([
        "--user",
        "--map-root-user",
        "--mount",
        "/bin/sh",
        "-c",
        line,
    ]);
    let without = without
        .arg(binary())
        .current_dir(world.work())
        .output()
        .unwrap();
    assert_eq!(without.status.code(), Some(125), "{without:?}");
    assert!(
        text(&without.stderr).contains("no namespaces of one's own"),
        "{without:?}"
    );
    assert!(!text(&without.stdout).contains("RUN"));
}

#[test]
fn every_wall_is_probed() {
    let world = World::of(own_user());
    let probed = Command::new(binary())
        .args(["sandbox", "probe"])
        .env("MISSION_HOME", world.path("own"))
        .output()
        .unwrap();
    assert!(probed.status.success(), "{probed:?}");
    let said = text(&probed.stdout);
    for wall in [
        "files",
        "mounts",
        "namespaces",
        "processes",
        "privileges",
        "system calls",
        "network",
    ] {
        assert!(said.contains(&format!("ok    {wall}")), "{wall}: {said}");
    }
}
