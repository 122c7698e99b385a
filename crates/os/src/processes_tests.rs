//! Real processes, most of them a shell with children of its own.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::*;

/// Killed and collected with the test, however that ends.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        signal_group(self.0.id(), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Runs a script in a group of its own; returns when it has printed a line.
fn start(script: &str, variable: &str) -> Started {
    let mut child = Command::new("sh")
        .args(["-c", script])
        .env("TESTED", variable)
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 1];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut said)
        .unwrap();
    Started(child)
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn another_process_with_the_same_number_is_not_the_same() {
    let own = std::process::id();
    let start = process_start(own);
    assert!(start.is_some() && is_same_process(own, start));
    assert!(!is_same_process(own, start.map(|ticks| ticks - 1)));
    assert!(!process_exists(0) && !process_exists(u32::MAX));
}

#[test]
fn a_process_that_ended_but_was_not_collected_does_not_exist() {
    let mut child = Command::new("true").spawn().unwrap();
    until("it ends", || !process_exists(child.id()));
    assert_eq!(process_start(child.id()), None);
    let table = ProcessTable::read();
    assert!(table.living().all(|process| process.pid != child.id()));
    // Its status is its parent's: it is not reaped where that is said.
    table.reap_orphans(Some(child.id()));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_program_is_found_under_any_name() {
    let folder = tempfile::tempdir().unwrap();
    let strange = folder.path().join("a) S 1 1 (b");
    std::os::unix::fs::symlink("/bin/sleep", &strange).unwrap();
    let mut child = Command::new(&strange).arg("600").spawn().unwrap();
    let found = || Process::read(child.id()).map(|process| process.parent);
    assert_eq!(found(), Some(std::process::id()));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn descendants_are_found_by_their_parents_and_by_a_mark() {
    let mark = format!("descendants-{}", std::process::id());
    let shell = start("sh -c 'sleep 600 & echo; wait' & wait", &mark);
    let table = ProcessTable::read();
    let below = table.descendants_of(shell.0.id());
    assert_eq!(below.len(), 2, "the inner shell and its sleep");
    let variable = format!("TESTED={mark}").into_bytes();
    let mut marked = table.with_descendants(|process| process.has_variable(&variable));
    marked.sort_unstable();
    let mut expected = [vec![shell.0.id()], below].concat();
    expected.sort_unstable();
    assert_eq!(marked, expected);
    assert!(
        !table
            .with_descendants(|_| true)
            .contains(&std::process::id())
    );
}

/// Those of a tree that are left; collects the leader when it has ended.
fn left(shell: &mut Started) -> Vec<u32> {
    let _ = shell.0.try_wait();
    let leader = shell.0.id();
    ProcessTable::read().with_descendants(|process| process.group == leader)
}

#[test]
fn a_tree_that_complies_is_asked_and_not_killed() {
    let script = "trap 'exit 7' TERM; echo; while :; do sleep 0.01; done";
    let mut shell = start(script, "");
    let mut ending = Ending::within(Duration::from_secs(600));
    loop {
        let left = left(&mut shell);
        if left.is_empty() {
            break;
        }
        ending.signal(Some(shell.0.id()), &left);
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(!ending.is_killing());
    assert_eq!(shell.0.wait().unwrap().code(), Some(7));
}

#[test]
fn a_tree_that_does_not_comply_is_killed_also_when_it_is_stopped() {
    let script = "trap '' TERM; sh -c 'trap \"\" TERM; echo; while :; do sleep 600; done' & wait";
    let mut shell = start(script, "");
    signal_group(shell.0.id(), Signal::STOP);
    let mut ending = Ending::within(Duration::from_secs(600));
    ending.hasten(Duration::from_millis(20));
    ending.hasten(Duration::from_secs(600));
    loop {
        let left = left(&mut shell);
        if left.is_empty() {
            break;
        }
        ending.signal(Some(shell.0.id()), &left);
        assert!(!ending.is_hopeless(Duration::from_secs(20)));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(ending.is_killing());
}

#[test]
fn numbers_that_mean_more_than_one_process_are_passed_over() {
    // Were these sent, this test would not live to tell.
    signal_group(0, Signal::KILL);
    signal_group(u32::MAX, Signal::KILL);
    signal_each(&[0, u32::MAX], Signal::KILL);
    Ending::within(Duration::ZERO).signal(Some(0), &[]);
    // To the system the first would be every process. The signals are ones that
    // nobody minds but the shell that waits for them. It acts on the lower number
    // first: had it got both, it would end by the first.
    let script = "trap 'exit 9' URG; trap 'exit 8' WINCH; echo; while :; do sleep 0.005; done";
    let mut shell = start(script, "");
    signal_group(1, Signal::URG);
    signal_each(&[shell.0.id()], Signal::WINCH);
    assert_eq!(shell.0.wait().unwrap().code(), Some(8));
}
