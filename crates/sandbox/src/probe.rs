//! Whether walls can be built here, found out by building one and trying it from inside.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::refusal;
use crate::place::Place;
use crate::profile::Profile;
use crate::wall::{Network, Wall};

/// One part of the wall, and what a program inside could do.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Probed {
    pub wall: &'static str,
    pub holds: bool,
    pub detail: String,
}

/// Where the programs of the tries are, whatever the PATH of whoever asks.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Each is a line for a shell that succeeds when the wall does not hold, behind the programs
/// without which it says nothing.
const TRIES: [(&str, &str, &str, &str); 7] = [
    (
        "files",
        "read-only and absent",
        "touch ls grep",
        "touch /etc/mission-probe || ls -A \"$HOME\" | grep -q '^\\.ssh$'",
    ),
    (
        "mounts",
        "no other view",
        "mount",
        "mount -t tmpfs none /tmp || mount -o remount,rw /usr",
    ),
    (
        "namespaces",
        "none inside",
        "unshare",
        "unshare --user true",
    ),
    (
        "processes",
        "only its own",
        "ls wc",
        "test $(ls -d /proc/[0-9]* | wc -l) -gt 12",
    ),
    (
        "privileges",
        "none, and none to be had",
        "grep",
        "! grep -q '^CapPrm:.0*$' /proc/self/status || ! grep -q '^NoNewPrivs:.1' /proc/self/status",
    ),
    (
        "system calls",
        "filtered",
        "grep",
        "! grep -q '^Seccomp:.2' /proc/self/status",
    ),
    (
        "network",
        "a loopback of its own",
        "grep",
        "test $(grep -c : /proc/net/dev) -gt 1",
    ),
];

/// Builds the wall for a folder and tries each part of it.
pub fn probe(profile: Profile, folder: &Path, variables: &BTreeMap<String, String>) -> Vec<Probed> {
    let shell = Path::new("/bin/sh");
    let mut place = Place::new(profile, folder);
    place.network = Network::None;
    let refused = |detail: String| {
        vec![Probed {
            wall: "sandbox",
            holds: false,
            detail,
        }]
    };
    let wall = match place.wall(shell, variables) {
        Ok(Some(wall)) => wall,
        Ok(None) => return refused("the profile `open` has no wall".to_owned()),
        Err(error) => return refused(format!("{} cannot be used: {error}", folder.display())),
    };
    let mut found = Vec::new();
    for (name, what, needs, line) in TRIES {
        let (holds, detail) = match try_it(&wall, needs, line, variables) {
            Ok(Outcome::Holds) => (true, what.to_owned()),
            Ok(Outcome::Passed) => (false, "a program inside passed it".to_owned()),
            Ok(Outcome::NotTried) => (true, format!("not tried: it takes {needs}")),
            Err(why) => return refused(why),
        };
        found.push(Probed {
            wall: name,
            holds,
            detail,
        });
    }
    found
}

enum Outcome {
    Holds,
    Passed,
    /// A program for it is not installed.
    NotTried,
}

fn try_it(
    wall: &Wall,
    needs: &str,
    line: &str,
    variables: &BTreeMap<String, String>,
) -> Result<Outcome, String> {
    let command = wall
        .command(Path::new("/bin/sh"))
        .map_err(|error| format!("no own program: {error}"))?;
    let output = Command::new(&command.program)
        .args(&command.arguments)
        .args([
            "-c",
            &format!(
                "for program in {needs}; do command -v $program >/dev/null || exit 5; done; \
                 if {{ {line}; }} >/dev/null 2>&1; then exit 3; else exit 4; fi"
            ),
        ])
        .env_clear()
        .envs(variables)
        .env("PATH", PATH)
        .env(command.variable.0, &command.variable.1)
        .current_dir(&wall.folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{} cannot be run: {error}", command.program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match (refusal(wall, &said), output.status.code()) {
        (Some(why), _) => Err(why.to_owned()),
        (None, Some(3)) => Ok(Outcome::Passed),
        (None, Some(4)) => Ok(Outcome::Holds),
        (None, Some(5)) => Ok(Outcome::NotTried),
        (None, _) => Err(format!(
            "the probe ended with {}: {}",
            output.status,
            said.trim()
        )),
    }
}
