//! The process above a server: it starts the program on the pipes it was given
//! itself, and ends everything that came of it, when it is told to and when
//! whoever started it is gone.
//!
//! It carries no byte. It is subreaper, so that a process which forks away from
//! the program stays in its sight; where the system has no subreaper, the
//! program's process group is what it knows. Launchers such as `npx` and `uvx`
//! leave their servers behind when only they are ended, which is why it is here.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

use missiond_os::processes::{Ending, ProcessTable};
use rustix::process::Pid;
use tokio::signal::unix::{SignalKind, signal};

/// How long the processes of a server have to end by themselves.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a program and stays until nothing of it is left, or `parent` is gone.
/// The program's own exit status becomes that of this process.
pub fn run(parent: u32, argv: &[String]) -> io::Result<ExitCode> {
    let [program, arguments @ ..] = argv else {
        return Err(io::Error::other("no program was named"));
    };
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let parent = Pid::from_raw(parent.cast_signed());
        let mut term = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut child = tokio::process::Command::from({
            let mut command = Command::new(program);
            command.args(arguments).process_group(0);
            command
        })
        .spawn()?;
        let group = child.id();
        // Only the program may hold the pipes: its end must be theirs.
        release_pipes()?;
        let status = tokio::select! {
            status = child.wait() => Some(status?),
            _ = term.recv() => None,
            _ = interrupt.recv() => None,
            _ = hangup.recv() => None,
            () = parent_exited(parent) => None,
        };
        end_all_processes(group);
        let code = status.map_or(0, |status| exit_number(&status));
        Ok(ExitCode::from(code))
    })
}

fn exit_number(status: &ExitStatus) -> u8 {
    let signal = std::os::unix::process::ExitStatusExt::signal(status);
    let number = status.code().or(signal.map(|signal| 128 + signal));
    number
        .and_then(|number| u8::try_from(number).ok())
        .unwrap_or(1)
}

fn release_pipes() -> io::Result<()> {
    let nothing = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    Ok(())
}

/// Returns when the parent has ended.
async fn parent_exited(parent: Option<Pid>) {
    let (ended, exited) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        wait_for_end_of(parent);
        let _ = ended.send(());
    });
    let _ = exited.await;
}

fn wait_for_end_of(parent: Option<Pid>) {
    #[cfg(target_os = "linux")]
    if let Some(parent) = parent
        && let Ok(handle) =
            rustix::process::pidfd_open(parent, rustix::process::PidfdFlags::empty())
    {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut watched = [PollFd::new(&handle, PollFlags::IN)];
        // It may have ended before it was looked at, and its number be another's.
        while rustix::process::getppid() == Some(parent) {
            let _ = poll(&mut watched, None);
        }
        return;
    }
    while rustix::process::getppid() == parent {
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Ends the program's group and every descendant: asked first, then made to.
fn end_all_processes(group: Option<u32>) {
    let mut ending = Ending::within(GRACE);
    loop {
        let table = ProcessTable::read();
        table.reap_orphans(None);
        let left = table.descendants_of(std::process::id());
        if left.is_empty() || ending.is_hopeless(GRACE) {
            return;
        }
        ending.signal(group, &left);
        std::thread::sleep(Duration::from_millis(5));
    }
}
