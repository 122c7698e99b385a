//! Commands as checks are: real programs, in real folders.

use std::future::pending;
use std::path::Path;
use std::time::Duration;

use missiond_sandbox::{Place, Profile};
use missiond_workspace::{Command, CommandResult, Ending, run};

fn shell(folder: &Path, script: &str) -> Command {
    let argv = ["sh", "-c", script].map(str::to_owned);
    Command::new(argv.to_vec(), folder)
}

async fn ran(script: &str) -> CommandResult {
    let place = tempfile::tempdir().unwrap();
    run(&shell(place.path(), script), pending()).await
}

#[tokio::test]
async fn a_command_passes_by_its_exit_code_and_its_output_is_kept_in_order() {
    let ran = ran("echo one; echo two >&2; echo three").await;
    assert_eq!(ran.ending, Ending::Exited(0));
    assert_eq!(ran.tail, "one\ntwo\nthree\n");
    assert!(ran.passed());
    let place = tempfile::tempdir().unwrap();
    let mut command = shell(place.path(), "exit 3");
    assert!(!run(&command, pending()).await.passed());
    command.expected_exit = 3;
    assert!(run(&command, pending()).await.passed());
}

#[tokio::test]
async fn there_is_nothing_to_read() {
    let ran = ran("read line; echo \"read ended with $?\"").await;
    assert_eq!(ran.tail, "read ended with 1\n");
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("notes"), "text").unwrap();
    std::fs::write(place.path().join("script"), "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path().join("script"), mode).unwrap();
    for (argv, reason) in [
        (vec![], "it names no program"),
        (
            vec!["no-such-program"],
            "there is no program `no-such-program` in PATH",
        ),
        (vec!["./no-such-program"], "there is no program"),
        (vec!["./notes"], "notes is not executable"),
        (vec!["."], "there is no program `.` in PATH"),
        (vec!["./"], "is a folder"),
        (vec!["./script"], "script cannot be run"),
        (vec!["echo", "zero\0byte"], "cannot be run"),
    ] {
        let argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
        let ran = run(&Command::new(argv.clone(), place.path()), pending()).await;
        let Ending::NotStarted(said) = &ran.ending else {
            panic!("{argv:?}: {ran:?}");
        };
        assert!(said.contains(reason), "{argv:?}: {said}");
        assert!(!ran.passed());
    }
    let gone = place.path().join("gone");
    let ran = run(&shell(&gone, "true"), pending()).await;
    assert!(ran.to_string().ends_with("does not exist"), "{ran}");
}

#[tokio::test]
async fn a_flood_is_read_to_its_end_and_only_its_end_kept() {
    let place = tempfile::tempdir().unwrap();
    let mut command = shell(place.path(), "yes ääää | head -c 20000000; echo done");
    command.tail_limit = 100;
    let ran = run(&command, pending()).await;
    assert_eq!(ran.ending, Ending::Exited(0));
    assert_eq!(ran.output_bytes, 20_000_005);
    assert!(
        ran.tail.len() <= 100 && ran.tail.ends_with("done\n"),
        "{}",
        ran.tail
    );
    assert!(!ran.tail.contains('\u{fffd}'), "{}", ran.tail);
}

/// Alive, and not just waiting to be collected.
fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Starts a child, a grandchild whose parent is gone, and one in another session.
const FAMILY: &str = "sleep 600 & echo $! >child
(sleep 600 & echo $! >orphan)
setsid sh -c 'echo $$ >session; exec sleep 600' &
trap '' TERM
until [ -s session ]; do sleep 0.01; done
echo ready";

fn family(folder: &Path) -> Vec<String> {
    ["child", "orphan", "session"]
        .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
        .to_vec()
}

#[tokio::test]
async fn a_command_that_hangs_is_ended_with_everything_it_started() {
    let place = tempfile::tempdir().unwrap();
    let mut command = shell(
        place.path(),
        &format!("{FAMILY}\nwhile :; do sleep 600; done"),
    );
    command.timeout = Duration::from_secs(5);
    let ran = run(&command, pending()).await;
    assert_eq!(ran.ending, Ending::TimedOut);
    assert_eq!(ran.tail, "ready\n");
    for pid in family(place.path()) {
        assert!(!lives(&pid), "{pid}");
    }
}

#[tokio::test]
async fn what_a_command_leaves_running_is_ended_too() {
    let place = tempfile::tempdir().unwrap();
    let ran = run(&shell(place.path(), FAMILY), pending()).await;
    assert_eq!(ran.ending, Ending::Exited(0));
    for pid in family(place.path()) {
        assert!(!lives(&pid), "{pid}");
    }
}

#[tokio::test]
async fn a_cancelled_command_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let command = shell(place.path(), &format!("{FAMILY}\ntouch up; sleep 600"));
    let up = place.path().join("up");
    let cancel = async {
        while !up.exists() {
            tokio::task::yield_now().await;
        }
    };
    let ran = run(&command, cancel).await;
    assert_eq!(ran.ending, Ending::Cancelled);
    for pid in family(place.path()) {
        assert!(!lives(&pid), "{pid}");
    }
}

#[tokio::test]
async fn a_signal_is_told() {
    assert_eq!(ran("kill -9 $$").await.signal(), Some(9));
}

/// What cannot be walled in is not run: also not without the wall.
#[tokio::test]
async fn a_command_whose_wall_cannot_be_built_is_not_run() {
    let place = tempfile::tempdir().unwrap();
    let mut command = shell(place.path(), "echo run > run");
    command.sandbox = Some(Place::new(Profile::Guarded, Path::new("/")));
    let ran = run(&command, pending()).await;
    let Ending::NotStarted(why) = &ran.ending else {
        panic!("it ran: {ran:?}");
    };
    assert!(why.starts_with("no sandbox: / holds everything"), "{why}");
    assert!(!place.path().join("run").exists());
    command.sandbox = Some(Place::new(Profile::Open, place.path()));
    assert!(run(&command, pending()).await.passed());
    assert!(place.path().join("run").exists());
}
