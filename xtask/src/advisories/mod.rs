//! Whether anything in the program has a known weakness: every crate of `Cargo.lock`
//! against the advisories of RustSec, every npm package of the page by `npm audit`.
//!
//! cargo-deny and cargo-audit take minutes to build on a machine that does not have
//! them, so the advisories are read here. Where they cannot be had, the stage is
//! skipped with a sentence; it never passes unseen. What is ignored stands in
//! `deny.toml` with its reason, where cargo-deny finds it too.

mod advisory;
mod database;
mod npm;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use semver::Version;

use crate::dist::timestamp;
use crate::report::Ran;
use crate::run;
use advisory::{Advisory, Kind};

pub(crate) use npm::check as check_npm;

/// A week without a new advisory is rare: a copy whose newest is this old says little
/// about today.
const OLD: Duration = Duration::from_hours(60 * 24);

/// A crate of the lock file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Locked {
    name: String,
    version: Version,
}

/// What the advisories say about the crates.
#[derive(Debug, Default, PartialEq, Eq)]
struct Findings {
    vulnerable: Vec<String>,
    /// Unmaintained, unsound in a corner, and the like: to be known, no failure.
    notices: Vec<String>,
    /// Ignored, with the reason.
    ignored: Vec<String>,
    /// Ignored, and nothing is there that they are about.
    needless: Vec<String>,
}

/// `cargo xtask advisories [--db DIR]`.
pub(crate) fn advisories(arguments: &[String]) -> Result<(), String> {
    let folder = match arguments {
        [] => None,
        [option, folder] if option == "--db" => Some(PathBuf::from(folder)),
        _ => return Err("`cargo xtask advisories` takes `--db DIR` and nothing else".to_owned()),
    };
    for ran in [check_crates(folder), npm::check()] {
        if let Some(why) = ran?.skip_reason() {
            println!("skipped: {why}");
        }
    }
    Ok(())
}

/// Holds the crates of the lock file against a database.
pub(crate) fn check_crates(folder: Option<PathBuf>) -> Result<Ran, String> {
    let folder = match database::find(folder)? {
        Ok(folder) => folder,
        Err(why) => return Ok(Ran::skipped(why)),
    };
    let advisories = database::read(&folder)?;
    let crates = locked_crates(&read(&run::root().join("Cargo.lock"))?)?;
    let ignored = ignored(&read(&run::root().join("deny.toml"))?)?;
    let findings = compare(&crates, &advisories, &ignored);
    let newest = newest_day(&advisories);
    println!(
        "{} crates, {} advisories, the newest of {newest}",
        crates.len(),
        advisories.len()
    );
    for notice in findings.notices.iter().chain(&findings.ignored) {
        println!("  {notice}");
    }
    for id in &findings.needless {
        println!("  deny.toml ignores {id}, which is about nothing in Cargo.lock: remove it");
    }
    if !findings.vulnerable.is_empty() {
        return Err(format!(
            "{} known weaknesses; update the crate, or ignore it in deny.toml with a reason:\n  {}",
            findings.vulnerable.len(),
            findings.vulnerable.join("\n  ")
        ));
    }
    if *newest < *day_before_now(OLD) {
        return Ok(Ran::skipped(format!(
            "nothing was found, but the newest advisory in {} is of {newest}: update that copy",
            folder.display()
        )));
    }
    Ok(Ran::default())
}

fn newest_day(advisories: &[Advisory]) -> &str {
    let days = advisories.iter().map(|advisory| advisory.date.as_str());
    days.max().unwrap_or_default()
}

/// The day that was so long ago, as advisories write it.
fn day_before_now(ago: Duration) -> String {
    let then = SystemTime::now().duration_since(UNIX_EPOCH);
    let then = then.unwrap_or_default().saturating_sub(ago);
    let mut day = timestamp(then.as_secs());
    day.truncate("2026-01-31".len());
    day
}

fn compare(
    crates: &[Locked],
    advisories: &[Advisory],
    ignored: &BTreeMap<String, String>,
) -> Findings {
    let mut findings = Findings::default();
    let mut needed = Vec::new();
    for locked in crates {
        let about = advisories
            .iter()
            .filter(|advisory| advisory.package == locked.name)
            .filter(|advisory| advisory.affects(&locked.version));
        for advisory in about {
            let Locked { name, version } = locked;
            let line = format!("{} {name} {version}: {}", advisory.id, advisory.title);
            match (ignored.get(&advisory.id), advisory.kind) {
                (_, Kind::Withdrawn) => {}
                (Some(reason), _) => {
                    needed.push(&advisory.id);
                    findings.ignored.push(format!("{line} (ignored, {reason})"));
                }
                (None, Kind::Weakness) => findings.vulnerable.push(line),
                (None, Kind::Notice) => findings.notices.push(line),
            }
        }
    }
    let needless = ignored.keys().filter(|id| !needed.contains(id));
    findings.needless = needless.cloned().collect();
    findings
}

/// The crates of a lock file that come from elsewhere; ours have no source.
fn locked_crates(lock: &str) -> Result<Vec<Locked>, String> {
    let lock: toml::Table = lock
        .parse()
        .map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let foreign = packages
        .into_iter()
        .flatten()
        .filter(|package| package.get("source").is_some());
    foreign
        .map(|package| {
            let text = |key| package.get(key).and_then(toml::Value::as_str).unwrap_or("");
            let version = Version::parse(text("version"))
                .map_err(|error| format!("Cargo.lock: {}: {error}", text("name")))?;
            Ok(Locked {
                name: text("name").to_owned(),
                version,
            })
        })
        .collect()
}

/// The advisories that `deny.toml` ignores, each with a reason that begins with the day
/// of the decision.
fn ignored(config: &str) -> Result<BTreeMap<String, String>, String> {
    let config: toml::Table = config
        .parse()
        .map_err(|error| format!("deny.toml: {error}"))?;
    let listed = config
        .get("advisories")
        .and_then(|advisories| advisories.get("ignore"))
        .and_then(toml::Value::as_array);
    let mut ignored = BTreeMap::new();
    for entry in listed.into_iter().flatten() {
        let text = |key| entry.get(key).and_then(toml::Value::as_str).unwrap_or("");
        let (id, reason) = (text("id"), text("reason"));
        if !begins_with_day(reason) {
            return Err(format!(
                "deny.toml: an ignored advisory is {{ id = \"RUSTSEC-…\", reason = \
                 \"2026-01-31: why\" }}, this is {entry}"
            ));
        }
        ignored.insert(id.to_owned(), reason.to_owned());
    }
    Ok(ignored)
}

fn begins_with_day(reason: &str) -> bool {
    let Some((day, why)) = reason.split_once(": ") else {
        return false;
    };
    let lengths: Vec<_> = day.split('-').map(str::len).collect();
    let digits = day
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    lengths == [4, 2, 2] && digits && !why.trim().is_empty()
}

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
        [[package]]
        name = "ours"
        version = "0.1.0"

        [[package]]
        name = "leaky"
        version = "1.4.2"
        source = "registry+https://github.com/rust-lang/crates.io-index"

        [[package]]
        name = "leaky"
        version = "2.0.1"
        source = "registry+https://github.com/rust-lang/crates.io-index"

        [[package]]
        name = "old"
        version = "0.3.0"
        source = "registry+https://github.com/rust-lang/crates.io-index"
    "#;

    fn about(id: &str, package: &str, more: &str, versions: &str) -> Advisory {
        let text = format!(
            "```toml\n[advisory]\nid = \"{id}\"\npackage = \"{package}\"\ndate = \"2026-01-02\"\n\
             {more}\n[versions]\n{versions}\n```\n\n# What is wrong with {package}\n"
        );
        Advisory::parse(&text).unwrap()
    }

    #[test]
    fn a_vulnerable_version_is_found_and_a_patched_one_is_not() {
        let crates = locked_crates(LOCK).unwrap();
        assert_eq!(crates.len(), 3, "ours is not looked up");
        let advisories = [
            about("RUSTSEC-1", "leaky", "", "patched = [\">= 2.0.1\"]"),
            about("RUSTSEC-2", "leaky", "", "patched = [\">= 1.4.2\"]"),
            about(
                "RUSTSEC-3",
                "leaky",
                "",
                "patched = []\nunaffected = [\"< 2.0\"]",
            ),
            about(
                "RUSTSEC-4",
                "leaky",
                "withdrawn = \"2026-02-01\"",
                "patched = []",
            ),
            about(
                "RUSTSEC-5",
                "old",
                "informational = \"unmaintained\"",
                "patched = []",
            ),
            about("RUSTSEC-6", "absent", "", "patched = []"),
        ];
        let line = |id: &str, what: &str, name: &str| {
            format!("RUSTSEC-{id} {what}: What is wrong with {name}")
        };
        let expected = Findings {
            vulnerable: vec![
                line("1", "leaky 1.4.2", "leaky"),
                line("3", "leaky 2.0.1", "leaky"),
            ],
            notices: vec![line("5", "old 0.3.0", "old")],
            ..Findings::default()
        };
        assert_eq!(compare(&crates, &advisories, &BTreeMap::new()), expected);

        let listed = "[advisories]\nignore = [\n\
            { id = \"RUSTSEC-1\", reason = \"2026-03-04: we never call it\" },\n\
            { id = \"RUSTSEC-9\", reason = \"2026-03-04: gone\" },\n]";
        let findings = compare(&crates, &advisories, &ignored(listed).unwrap());
        assert_eq!(findings.vulnerable, [line("3", "leaky 2.0.1", "leaky")]);
        let reason = "(ignored, 2026-03-04: we never call it)";
        let whole = format!("{} {reason}", line("1", "leaky 1.4.2", "leaky"));
        assert_eq!(findings.ignored, [whole]);
        assert_eq!(findings.needless, ["RUSTSEC-9"]);
    }

    #[test]
    fn nothing_is_ignored_without_a_day_and_a_reason() {
        for entry in [
            "\"RUSTSEC-1\"",
            "{ id = \"RUSTSEC-1\" }",
            "{ id = \"RUSTSEC-1\", reason = \"we never call it\" }",
            "{ id = \"RUSTSEC-1\", reason = \"2026-03-04: \" }",
        ] {
            let listed = format!("[advisories]\nignore = [{entry}]");
            assert!(ignored(&listed).is_err(), "{entry}");
        }
        assert_eq!(
            ignored("[advisories]\nyanked = \"deny\"").unwrap(),
            BTreeMap::new()
        );
    }

    #[test]
    fn days_are_compared_as_advisories_write_them() {
        let today = day_before_now(Duration::ZERO);
        assert!(begins_with_day(&format!("{today}: today")), "{today}");
        assert!(day_before_now(OLD) < today);
        let advisories = [
            about("RUSTSEC-1", "leaky", "", "patched = []"),
            about("RUSTSEC-2", "leaky", "", "patched = []"),
        ];
        assert_eq!(
            (newest_day(&advisories), newest_day(&[])),
            ("2026-01-02", "")
        );
    }

    #[test]
    fn the_ignores_of_this_repository_can_be_read() {
        ignored(&read(&run::root().join("deny.toml")).unwrap()).unwrap();
    }
}
