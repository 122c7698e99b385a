//! How much of what closed slots showed is kept: `recording.keep_total_mb` of all,
//! `recording.keep_agent_mb` of the slots of one agent, and `recording.keep_days`. The
//! recordings of open slots count and stay; of the others those that ended first are deleted
//! first, each slot's whole.
//!
//! An agent's slots are its own and those it started, as their recordings say. So what it has
//! recorded pushes out its own recordings, and not those of the person.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use missiond_api::Home;
use missiond_config::{Config, RecordingConfig};
use missiond_core::SlotId;
use missiond_pty::CastReader;
use missiond_runtime::blocking;
use tokio::sync::watch;

/// Between two looks at the folder.
const PAUSE: Duration = Duration::from_secs(600);

/// Deletes what is too much now and then. `open` tells the slots that write to a
/// recording, or may at any moment.
pub(super) async fn run(
    home: Home,
    config: watch::Receiver<Arc<Config>>,
    open: impl Fn() -> io::Result<HashSet<SlotId>>,
) {
    loop {
        let limits = Limits::of(&config.borrow().recording);
        let swept = match (list(home.recordings_dir()).await, open()) {
            (Ok(listed), Ok(open)) => {
                let surplus = surplus(listed, &open, &limits, SystemTime::now());
                blocking(move || delete(&surplus)).await
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        match swept {
            Ok(0) => {}
            Ok(bytes) => tracing::info!(bytes, "old recordings deleted"),
            Err(error) => tracing::warn!(%error, "old recordings not deleted"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limits {
    bytes: u64,
    /// Of the slots of one agent.
    agent_bytes: u64,
    age: Option<Duration>,
}

impl Limits {
    fn of(config: &RecordingConfig) -> Self {
        let days = u64::from(config.keep_days);
        Self {
            bytes: config.keep_total_mb << 20,
            agent_bytes: config.keep_agent_mb << 20,
            age: (days > 0).then(|| Duration::from_secs(days * 24 * 60 * 60)),
        }
    }
}

/// All files of what one slot showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlotRecording {
    slot: SlotId,
    /// The slot of the agent that started it; its own where none did.
    agent: SlotId,
    files: Vec<PathBuf>,
    bytes: u64,
    /// When something was last shown.
    ended: SystemTime,
}

/// What there is. It is listed before it is asked which slots are open: one that opens
/// afterwards has none among these.
pub(super) async fn list(folder: PathBuf) -> io::Result<Vec<SlotRecording>> {
    blocking(move || recordings(&folder)).await
}

fn recordings(folder: &Path) -> io::Result<Vec<SlotRecording>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Some(slot) = slot_of(&entry.file_name().to_string_lossy()) else {
            continue;
        };
        let about = match entry.metadata() {
            Ok(about) if about.is_file() => about,
            Ok(_) => continue,
            // Its host has deleted it this moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let recording = found.entry(slot).or_insert_with(|| SlotRecording {
            slot,
            agent: slot,
            files: Vec::new(),
            bytes: 0,
            ended: SystemTime::UNIX_EPOCH,
        });
        recording.files.push(entry.path());
        recording.bytes += about.len();
        // What draws the last screen may be written long after it.
        if entry.path().extension().is_some_and(|kind| kind == "cast") {
            recording.ended = recording.ended.max(about.modified()?);
            if recording.agent == slot {
                recording.agent = agent_of(&entry.path()).unwrap_or(slot);
            }
        }
    }
    Ok(found.into_values().collect())
}

/// Who had it started, as the first line of a recording says. One that cannot be read is
/// nobody's but its slot's.
fn agent_of(file: &Path) -> Option<SlotId> {
    let reader = CastReader::new(BufReader::new(std::fs::File::open(file).ok()?)).ok()?;
    let source = reader.header().mission.as_ref()?;
    source.agent.as_ref()?.parse().ok()
}

/// Whether another slot of an agent may be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    Made,
    None,
}

/// Deletes of what this agent's closed slots showed as much as is over the limit.
pub(super) async fn make_room(
    mut theirs: Vec<SlotRecording>,
    open: HashSet<SlotId>,
    agent: SlotId,
    megabytes: u64,
) -> io::Result<Room> {
    blocking(move || {
        theirs.retain(|recording| recording.agent == agent || recording.slot == agent);
        let all: u64 = theirs.iter().map(|recording| recording.bytes).sum();
        let limits = Limits {
            bytes: megabytes << 20,
            agent_bytes: u64::MAX,
            age: None,
        };
        let surplus = surplus(theirs, &open, &limits, SystemTime::now());
        let left = all - delete(&surplus)?;
        Ok(if left <= limits.bytes {
            Room::Made
        } else {
            Room::None
        })
    })
    .await
}

/// `SLOT.cast`, a later file of it `SLOT.2.cast`, those of a program that followed in the
/// slot `SLOT-2.cast` and `SLOT-2.2.cast`, and what draws the last screen, `SLOT.screen`.
fn slot_of(name: &str) -> Option<SlotId> {
    let (stem, kind) = name.split_once('.')?;
    let kind = kind.rsplit('.').next();
    kind.filter(|kind| ["cast", "screen"].contains(kind))?;
    let whole = stem.parse().ok();
    whole.or_else(|| stem.rsplit_once('-')?.0.parse().ok())
}

fn surplus(
    mut recordings: Vec<SlotRecording>,
    open: &HashSet<SlotId>,
    limits: &Limits,
    now: SystemTime,
) -> Vec<SlotRecording> {
    let mut bytes: u64 = recordings.iter().map(|recording| recording.bytes).sum();
    // A slot alone that no agent started may be a person's own, and has no such limit.
    let started = recordings.iter().filter(|one| one.agent != one.slot);
    let mut of_agents: BTreeMap<SlotId, u64> = started.map(|one| (one.agent, 0)).collect();
    for recording in &recordings {
        if let Some(of_agent) = of_agents.get_mut(&recording.agent) {
            *of_agent += recording.bytes;
        }
    }
    recordings.retain(|recording| !open.contains(&recording.slot));
    recordings.sort_by_key(|recording| (recording.ended, recording.slot));
    let mut surplus = Vec::new();
    for recording in recordings {
        let age = now.duration_since(recording.ended).unwrap_or_default();
        let of_agent = of_agents.get_mut(&recording.agent);
        let is_agents_too_much = of_agent
            .as_ref()
            .is_some_and(|sum| **sum > limits.agent_bytes);
        let is_too_much = bytes > limits.bytes || is_agents_too_much;
        if is_too_much || limits.age.is_some_and(|oldest| age > oldest) {
            bytes -= recording.bytes;
            if let Some(of_agent) = of_agent {
                *of_agent -= recording.bytes;
            }
            surplus.push(recording);
        }
    }
    surplus
}

/// How many bytes went.
fn delete(surplus: &[SlotRecording]) -> io::Result<u64> {
    let mut bytes = 0;
    for recording in surplus {
        for file in &recording.files {
            match std::fs::remove_file(file) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        bytes += recording.bytes;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, bytes: usize, ended: SystemTime) {
        let path = folder.join(name);
        std::fs::write(&path, vec![b'x'; bytes]).unwrap();
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(ended).unwrap();
    }

    #[test]
    fn the_oldest_of_closed_slots_go_until_the_rest_has_room() {
        let folder = tempfile::tempdir().unwrap();
        let ids: Vec<_> = (0..4).map(|_| SlotId::generate()).collect();
        let day = Duration::from_secs(24 * 60 * 60);
        let now = SystemTime::now();
        let days_ago = |days: u32| now - day * days;
        write(folder.path(), &format!("{}.cast", ids[0]), 100, days_ago(9));
        write(
            folder.path(),
            &format!("{}.2.cast", ids[0]),
            100,
            days_ago(5),
        );
        write(
            folder.path(),
            &format!("{}-2.cast", ids[0]),
            50,
            days_ago(4),
        );
        write(
            folder.path(),
            &format!("{}-2.screen", ids[0]),
            50,
            days_ago(4),
        );
        write(folder.path(), &format!("{}.cast", ids[1]), 100, days_ago(3));
        write(folder.path(), &format!("{}.cast", ids[2]), 100, days_ago(2));
        write(folder.path(), &format!("{}.cast", ids[3]), 100, days_ago(8));
        write(folder.path(), "notes.txt", 100, days_ago(99));
        let open = HashSet::from([ids[3]]);
        let deleted = |bytes, age: Option<u32>| {
            let limits = Limits {
                bytes,
                agent_bytes: u64::MAX,
                age: age.map(|days| day * days),
            };
            let listed = recordings(folder.path()).unwrap();
            let surplus = surplus(listed, &open, &limits, now);
            surplus.iter().map(|r| r.slot).collect::<Vec<_>>()
        };
        assert_eq!(deleted(600, None), []);
        assert_eq!(deleted(599, None), [ids[0]]);
        assert_eq!(deleted(299, None), [ids[0], ids[1]]);
        // What is open is never deleted, however little room there is.
        assert_eq!(deleted(0, None), [ids[0], ids[1], ids[2]]);
        assert_eq!(deleted(600, Some(3)), [ids[0]]);

        let listed = recordings(folder.path()).unwrap();
        let limits = Limits {
            bytes: 299,
            agent_bytes: u64::MAX,
            age: None,
        };
        let gone = surplus(listed, &open, &limits, now);
        assert_eq!(delete(&gone).unwrap(), 400);
        assert_eq!(delete(&gone).unwrap(), 400, "twice is once");
        let mut left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut kept = vec![
            format!("{}.cast", ids[2]),
            format!("{}.cast", ids[3]),
            "notes.txt".to_owned(),
        ];
        kept.sort();
        assert_eq!(left, kept);
    }

    #[tokio::test]
    async fn what_an_agent_has_recorded_pushes_out_its_own_alone() {
        let folder = tempfile::tempdir().unwrap();
        let ids: Vec<_> = (0..4).map(|_| SlotId::generate()).collect();
        let now = SystemTime::now();
        let [agent, first, second, persons] = ids[..] else {
            panic!("four")
        };
        let hour = Duration::from_secs(3600);
        let record = |slot: SlotId, by: Option<SlotId>, hours: u32| {
            let by = by.map_or_else(String::new, |by| format!("\"agent\":\"{by}\""));
            let header =
                format!("{{\"version\":2,\"width\":80,\"height\":24,\"mission\":{{{by}}}}}\n");
            let path = folder.path().join(format!("{slot}.cast"));
            let body = header + &"x".repeat(1 << 20);
            std::fs::write(&path, body).unwrap();
            let file = std::fs::File::options().append(true).open(path).unwrap();
            file.set_modified(now - hour * hours).unwrap();
        };
        record(persons, None, 9);
        record(agent, None, 0);
        record(first, Some(agent), 3);
        record(second, Some(agent), 2);
        let limits = |agent_mb: u64| Limits {
            bytes: u64::MAX,
            agent_bytes: agent_mb << 20,
            age: None,
        };
        let open = HashSet::from([agent]);
        let gone = |agent_mb| {
            let listed = recordings(folder.path()).unwrap();
            let surplus = surplus(listed, &open, &limits(agent_mb), now);
            surplus.iter().map(|r| r.slot).collect::<Vec<_>>()
        };
        assert_eq!(gone(4), []);
        assert_eq!(gone(3), [first]);
        assert_eq!(gone(0), [first, second]);

        let room = |open: &[SlotId], megabytes| {
            let listed = recordings(folder.path()).unwrap();
            make_room(listed, open.iter().copied().collect(), agent, megabytes)
        };
        assert_eq!(room(&ids, 2).await.unwrap(), Room::None);
        assert_eq!(room(&[agent, second], 3).await.unwrap(), Room::Made);
        assert!(!folder.path().join(format!("{first}.cast")).exists());
        assert!(folder.path().join(format!("{second}.cast")).exists());
        assert!(folder.path().join(format!("{persons}.cast")).exists());
    }
}
