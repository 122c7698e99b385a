//! The two stages between whoever starts a program and the program, both this program
//! started again.
//!
//! `enter` stands outside: it takes namespaces of its own, puts the view together, starts
//! the second stage as the first process of the new numbering, hands on the signals it is
//! sent, and ends as the program did. `init` stands inside: it makes the view the root,
//! lays down every right, and starts the program, of which it is the parent. When either
//! is killed, everything inside is.
//!
//! Both must run before any thread does, so they are looked for before the command line
//! is read. What cannot be built is refused: no stage goes on without a part of the wall.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::Signal;
use nix::unistd::{Pid, chdir, getegid, geteuid, pivot_root};

use crate::command::{ENTER, PLAN, REFUSED};
use crate::limits::{Limiter, restrict_process};
use crate::wall::{Nesting, Network, Wall};
use crate::{loopback, mounts, relay, rights, signals, syscalls};

/// Where the machine's root stands for a moment, inside.
pub(crate) const OLD_ROOT: &str = "/.machine";

/// The command words of the second stage.
const INIT: [&str; 2] = ["sandbox", "init"];

/// Whatever its path shows by now: the view is being put together.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// As a shell says it.
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Parts of `/proc` that are the machine's and not the process's. To the root user of the
/// machine, whom a user namespace leaves the owner of these files, they are writable.
const MACHINE: [&str; 7] = ["acpi", "bus", "fs", "irq", "scsi", "sys", "sysrq-trigger"];
/// And those that tell of other processes.
const TELLING: [&str; 7] = [
    "kallsyms",
    "kcore",
    "keys",
    "key-users",
    "kmsg",
    "sched_debug",
    "timer_list",
];

/// Is a stage, if these are the arguments of one. They are without the program's name.
#[must_use]
pub fn take_part(arguments: &[OsString]) -> Option<ExitCode> {
    let begins = |words: [&str; 2]| {
        arguments.len() > 2 && arguments[0] == words[0] && arguments[1] == words[1]
    };
    if begins(ENTER) {
        return Some(enter(&arguments[2..]));
    }
    if begins(INIT) {
        return Some(init(&arguments[2..]));
    }
    None
}

fn plan() -> Result<Wall, String> {
    let plan = std::env::var(PLAN).map_err(|_| format!("the variable {PLAN} holds no plan"))?;
    serde_json::from_str(&plan).map_err(|error| format!("the plan is no plan: {error}"))
}

fn refuse(wall: Option<&Wall>, why: &str) -> ExitCode {
    not_run(wall, &format!("no sandbox: {why}"), REFUSED)
}

/// Says so behind the mark, by which whoever started it knows that nothing was run.
fn not_run(wall: Option<&Wall>, why: &str, code: u8) -> ExitCode {
    let mark = wall.map_or("", |wall| wall.refusal_mark.as_str());
    let _ = writeln!(std::io::stderr(), "{mark}{why}");
    ExitCode::from(code)
}

/// `PROGRAM ARGUMENT…`
fn enter(argv: &[OsString]) -> ExitCode {
    let wall = match plan() {
        Ok(wall) => wall,
        Err(why) => return refuse(None, &why),
    };
    match run(&wall, argv) {
        Ok(ended) => signals::end_as(ended),
        Err(why) => refuse(Some(&wall), &why),
    }
}

/// How the program ended, as `init` tells it; of `init` itself when it could not.
fn run(wall: &Wall, argv: &[OsString]) -> Result<ExitStatus, String> {
    let terminal = own_terminal();
    let mut forwarded = signals::Forwarded::register(terminal.is_some())?;
    let limiter = Limiter::create(&wall.limits);
    let doors = relay::doors(wall)?;
    limiter.enter()?;
    take_namespaces(wall)?;
    if wall.network != Network::Host {
        loopback::bring_up()?;
    }
    let stage = mounts::build(wall, terminal.as_deref())?;
    let (mut told, tells) = std::io::pipe().map_err(|error| format!("no pipe: {error}"))?;
    inherit(&tells)?;
    for door in doors {
        door.open(&stage)?;
    }
    hand_on_capabilities()?;
    // Not earlier: from here on this thread cannot start others, and the doors have theirs.
    unshare(CloneFlags::CLONE_NEWPID).map_err(no_namespaces)?;
    let mut init = Command::new(OWN_PROGRAM)
        .arg0("mission")
        .args(INIT)
        .arg(std::process::id().to_string())
        .arg(tells.as_raw_fd().to_string())
        .arg(stage)
        .args(argv)
        .spawn()
        .map_err(|error| format!("the stage inside cannot be started: {error}"))?;
    drop(tells);
    limiter.leave()?;
    let ended = forwarded.wait(&mut init);
    limiter.remove();
    let mut signal = String::new();
    let _ = told.read_to_string(&mut signal);
    let ended = ended?;
    Ok(signal.trim().parse().map_or(ended, ExitStatus::from_raw))
}

fn take_namespaces(wall: &Wall) -> Result<(), String> {
    let (user, group) = (geteuid(), getegid());
    let mut spaces = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP;
    if wall.network != Network::Host {
        spaces |= CloneFlags::CLONE_NEWNET;
    }
    unshare(spaces).map_err(no_namespaces)?;
    let write = |file: &str, text: String| {
        std::fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| format!("{file} cannot be written: {error}"))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user} 1"))?;
    write("gid_map", format!("{group} {group} 1"))
}

fn no_namespaces(error: Errno) -> String {
    format!(
        "no namespaces of one's own ({}): the system must allow unprivileged user namespaces \
         (sysctl user.max_user_namespaces, and on Ubuntu \
         kernel.apparmor_restrict_unprivileged_userns=0 or a profile for this program)",
        error.desc()
    )
}

/// What it starts has its rights too, until it gives them up: otherwise those of a user
/// who is not root would end where the second stage begins.
fn hand_on_capabilities() -> Result<(), String> {
    use caps::CapSet;
    let failed = |error: caps::errors::CapsError| format!("capabilities end: {error}");
    let own = caps::read(None, CapSet::Permitted).map_err(failed)?;
    caps::set(None, CapSet::Inheritable, &own).map_err(failed)?;
    caps::set(None, CapSet::Ambient, &own).map_err(failed)
}

/// The terminal of this process's own input or output.
fn own_terminal() -> Option<PathBuf> {
    let files = (0..3).filter_map(|fd| std::fs::read_link(format!("/proc/self/fd/{fd}")).ok());
    let mut terminals = files.filter(|file| {
        file.starts_with("/dev/pts") || file.as_os_str().as_encoded_bytes().starts_with(b"/dev/tty")
    });
    terminals.next()
}

fn inherit(file: &impl std::os::fd::AsFd) -> Result<(), String> {
    use nix::fcntl::{FcntlArg, FdFlag, fcntl};
    fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))
        .map(drop)
        .map_err(|error| format!("a pipe cannot be handed on: {error}"))
}

/// `PARENT FD STAGE PROGRAM ARGUMENT…`
fn init(arguments: &[OsString]) -> ExitCode {
    let wall = match plan() {
        Ok(wall) => wall,
        Err(why) => return refuse(None, &why),
    };
    let [parent, fd, stage, program, argv @ ..] = arguments else {
        return refuse(Some(&wall), "the stage inside was told too little");
    };
    let prepared = dies_with(parent)
        .and_then(|()| reopen(fd))
        .and_then(|tells| settle(&wall, Path::new(stage)).map(|()| tells));
    let prepared = prepared.and_then(|tells| {
        let has_terminal = std::io::IsTerminal::is_terminal(&std::io::stdin());
        Ok((tells, signals::Forwarded::register(has_terminal)?))
    });
    let (mut tells, forwarded) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => return refuse(Some(&wall), &why),
    };
    let child = match start(&wall, program, argv) {
        Ok(child) => child,
        Err((why, code)) => return not_run(Some(&wall), &why, code),
    };
    match signals::forward_and_reap(forwarded, &child) {
        Ok(ended) => {
            if ended.signal().is_some() {
                let _ = write!(tells, "{}", ended.into_raw());
            }
            let code = ended.code().and_then(|code| u8::try_from(code).ok());
            ExitCode::from(code.unwrap_or(REFUSED))
        }
        Err(why) => refuse(Some(&wall), &why),
    }
}

/// Ends this process with its parent, which is outside and has no number in here.
fn dies_with(parent: &OsStr) -> Result<(), String> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)
        .map_err(|error| format!("no end together: {error}"))?;
    // The machine's `/proc` still stands; had the parent died before, somebody else is it.
    let own = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = own.rsplit_once(')').map_or("", |(_, after)| after);
    match after.split_whitespace().nth(1) {
        Some(above) if parent == above => Ok(()),
        _ => Err("whoever started it is gone".to_owned()),
    }
}

/// The pipe that was inherited, by a name of its own that no program inside inherits.
fn reopen(fd: &OsStr) -> Result<std::fs::File, String> {
    let failed = |error: &dyn std::fmt::Display| format!("the pipe outwards is missing: {error}");
    let number: i32 = fd.to_str().and_then(|fd| fd.parse().ok()).unwrap_or(-1);
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/self/fd/{number}"))
        .map_err(|error| failed(&error))?;
    nix::unistd::close(number).map_err(|error| failed(&error))?;
    Ok(opened)
}

/// Everything between the new numbering and the program.
fn settle(wall: &Wall, stage: &Path) -> Result<(), String> {
    let none = None::<&str>;
    let quiet = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), &stage.join("proc"), Some("proc"), quiet, none).map_err(|error| {
        format!(
            "no /proc of one's own ({}): in a container, the outer /proc must not be masked",
            error.desc()
        )
    })?;
    let old = stage.join(OLD_ROOT.trim_start_matches('/'));
    pivot_root(stage, &old).map_err(|error| format!("no root of one's own: {error}"))?;
    chdir("/").map_err(|error| format!("no root of one's own: {error}"))?;
    umount2(OLD_ROOT, MntFlags::MNT_DETACH)
        .map_err(|error| format!("the machine's root stays in sight: {error}"))?;
    let _ = std::fs::remove_dir(OLD_ROOT);
    close_proc(quiet)?;
    let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    mount(
        none,
        "/",
        none,
        flags | MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
        none,
    )
    .map_err(|error| format!("the root stays writable: {error}"))?;
    chdir(&wall.folder).map_err(|error| {
        format!(
            "the folder {} is not there inside: {}",
            wall.folder.display(),
            error.desc()
        )
    })?;
    restrict_process(&wall.limits)?;
    drop_capabilities()?;
    nix::sys::prctl::set_no_new_privs()
        .map_err(|error| format!("new privileges stay possible: {error}"))?;
    if wall.nesting == Nesting::Refused {
        rights::restrict(wall)?;
    }
    // Its memory and files are nobody's to look into. A change of rights may also have
    // undone that it dies with its parent.
    nix::sys::prctl::set_dumpable(false).map_err(|error| format!("it stays readable: {error}"))?;
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)
        .map_err(|error| format!("no end together: {error}"))?;
    syscalls::refuse(wall.nesting)
}

fn close_proc(quiet: MsFlags) -> Result<(), String> {
    let none = None::<&str>;
    for name in MACHINE {
        let path = Path::new("/proc").join(name);
        if !path.exists() {
            continue;
        }
        let closed = mount(
            Some(&path),
            &path,
            none,
            MsFlags::MS_BIND | MsFlags::MS_REC,
            none,
        )
        .and_then(|()| {
            let flags = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
            mount(none, &path, none, flags | quiet, none)
        });
        closed.map_err(|error| format!("{} stays open: {}", path.display(), error.desc()))?;
    }
    for name in TELLING {
        let path = Path::new("/proc").join(name);
        if path.exists() {
            mount(Some("/dev/null"), &path, none, MsFlags::MS_BIND, none)
                .map_err(|error| format!("{} stays open: {}", path.display(), error.desc()))?;
        }
    }
    Ok(())
}

fn drop_capabilities() -> Result<(), String> {
    use caps::CapSet;
    let failed = |error: caps::errors::CapsError| format!("capabilities stay: {error}");
    for capability in caps::runtime::thread_all_supported() {
        caps::drop(None, CapSet::Bounding, capability).map_err(failed)?;
    }
    caps::clear(None, CapSet::Ambient).map_err(failed)?;
    caps::clear(None, CapSet::Inheritable).map_err(failed)?;
    caps::clear(None, CapSet::Effective).map_err(failed)?;
    caps::clear(None, CapSet::Permitted).map_err(failed)
}

fn start(wall: &Wall, program: &OsStr, argv: &[OsString]) -> Result<Child, (String, u8)> {
    let mut command = Command::new(program);
    command.args(argv).env_remove(PLAN);
    for (name, value) in &wall.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.spawn().map_err(|error| {
        let name = program.display();
        match error.kind() {
            std::io::ErrorKind::NotFound => {
                (format!("the program {name} is not there inside"), NOT_FOUND)
            }
            _ => (
                format!("the program {name} cannot be run inside: {error}"),
                NOT_EXECUTABLE,
            ),
        }
    })
}

/// The number of a child, for signals.
pub(crate) fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}
