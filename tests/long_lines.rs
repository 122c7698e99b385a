//! A hundred megabytes on one line take the memory of a short one: where secrets are looked
//! for in a file, and where a terminal is recorded.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use missiond_pty::host::{HostFiles, RecordedEvent, Recording};
use serde_json::{Value, json};

use crate::harness::TestHome;
use crate::scripted_agent::Agents;
use crate::slots::{spawn, wait_for_text};

const LONG: usize = 100_000_000;
/// So many megabytes at most, of which most are the program itself.
const MOST: u64 = 96;

fn token() -> String {
    ["ghp_", "k3Xq9Lw2Rt7VbNcQf5HjZp", "Gs1YuE8oDmKiAb"].concat()
}

/// One line with a secret at its beginning, over each of many places where a reader may cut
/// it, and at its end; where they are.
fn write_line(file: &Path) -> Vec<usize> {
    let token = token();
    let mut places = vec![0];
    places.extend((1..LONG >> 20).map(|megabyte| (megabyte << 20) - 17));
    places.push(LONG - token.len());
    let mut line = vec![b'-'; LONG];
    // Blanks around them, or they would be part of a longer word.
    for &at in &places {
        line[at..at + token.len()].copy_from_slice(token.as_bytes());
        if at > 0 {
            line[at - 1] = b' ';
        }
        if let Some(after) = line.get_mut(at + token.len()) {
            *after = b' ';
        }
    }
    std::fs::File::create(file)
        .unwrap()
        .write_all(&line)
        .unwrap();
    places
}

/// What a program printed, and the most memory it was seen to have, in megabytes.
fn watched(command: &mut std::process::Command) -> (Vec<u8>, u64) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reads = std::thread::spawn(move || {
        let mut printed = Vec::new();
        std::io::Read::read_to_end(&mut stdout, &mut printed).unwrap();
        printed
    });
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(Agents::peak_of(child.id()).unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    (reads.join().unwrap(), most)
}

#[test]
fn every_secret_on_a_line_of_a_hundred_megabytes_is_found_within_bounded_memory() {
    let home = TestHome::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.txt");
    let places = write_line(&file);
    let mut command = home.command(&["guard", "scan", "long.txt", "--json"]);
    let (printed, most) = watched(command.current_dir(folder.path()));
    let printed = String::from_utf8(printed).unwrap();
    let found: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let expected: Vec<_> = places
        .iter()
        .map(|&at| {
            let end = at + token().len();
            json!({"file": "long.txt", "line": 1, "start": at, "end": end, "kind": "github-token"})
        })
        .collect();
    assert_eq!(found, expected);
    assert!(most > 0, "it was watched");
    assert!(most < MOST, "it had {most} MB");
}

#[test]
fn a_line_of_a_hundred_megabytes_is_recorded_without_its_secret_within_bounded_memory() {
    let home = TestHome::with_config("[recording]\nkeep_mb = 400\n");
    home.start();
    let before = Agents::peak_of(home.pid()).unwrap();
    let secret = token();
    let file = home.path().join("secret");
    std::fs::write(&file, &secret).unwrap();
    let script = format!(
        "head -c {LONG} /dev/zero | tr '\\0' x; printf ' '; cat secret; echo; echo all shown; sleep 600"
    );
    let slot = spawn(&home, "long", &script);
    wait_for_text(&home, "long", "all shown");
    let records = HostFiles::records(&home.home().slots_dir()).unwrap();
    let host = Agents::peak_of(records[0].host_pid).unwrap();
    assert!(host < MOST, "the host had {host} MB");
    let grown = Agents::peak_of(home.pid()).unwrap() - before;
    assert!(grown < MOST, "the daemon grew by {grown} MB");

    std::fs::remove_file(&file).unwrap();
    let path = PathBuf::from(slot["program"]["recording"].as_str().unwrap());
    let screen = path.with_extension("screen");
    crate::harness::wait_for("the screen to be kept beside it", || screen.exists());
    let kept = std::fs::read_to_string(&screen).unwrap();
    assert!(!kept.contains(&secret["ghp_".len()..]), "{kept}");
    let (mut letters, mut end) = (0, Vec::new());
    for event in Recording::open(&path).unwrap().read().unwrap() {
        if let (_, RecordedEvent::Output(bytes)) = event.unwrap() {
            letters += bytes.iter().filter(|&&byte| byte == b'x').count();
            end.extend(bytes);
            end.drain(..end.len().saturating_sub(200));
        }
    }
    assert_eq!(letters, LONG);
    let end = String::from_utf8_lossy(&end).into_owned();
    let hidden = "*".repeat(secret.len() - "ghp_".len());
    assert!(end.contains(&format!(" ghp_{hidden}\r\n")), "{end}");
}
