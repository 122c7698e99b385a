//! The second wall: Landlock. The view of the file system already lacks what is not to be
//! seen, and what is to be read only is mounted so; this says the same again by another
//! part of the kernel, so that a hole in one is not a hole in the wall.

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::wall::{Kind, Wall};

/// What the wall asks for; a kernel that has less gives what it has, and at least the
/// first version of it.
const WANTED: ABI = ABI::V6;

/// Where every program may write: devices, which are bound one by one, and its own
/// processes. What of `/proc` is the machine's is mounted read-only.
const ALWAYS: [&str; 2] = ["/dev", "/proc"];

pub(crate) fn restrict(wall: &Wall) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("no Landlock: {error}");
    let everything = AccessFs::from_all(WANTED);
    let reading = AccessFs::from_read(WANTED);
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .map_err(|error| failed(&error))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)
        .map_err(|error| failed(&error))?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)
        .map_err(|error| failed(&error))?;
    let mut ruleset = ruleset.create().map_err(|error| failed(&error))?;
    let mut add = |path: &std::path::Path, access: BitFlags<AccessFs>| {
        let Ok(beneath) = PathFd::new(path) else {
            // Not there: nothing to allow.
            return Ok(());
        };
        // Rights of folders mean nothing on a file.
        let access = if path.is_dir() {
            access
        } else {
            access & AccessFs::from_file(WANTED)
        };
        let rule = PathBeneath::new(beneath, access);
        (&mut ruleset)
            .add_rule(rule)
            .map(drop)
            .map_err(|error| failed(&error))
    };
    add(std::path::Path::new("/"), reading)?;
    for path in ALWAYS {
        add(std::path::Path::new(path), everything)?;
    }
    for entry in &wall.view {
        if matches!(entry.kind, Kind::Write | Kind::Private) {
            add(&entry.path, everything)?;
        }
    }
    let status = ruleset.restrict_self().map_err(|error| failed(&error))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err("no Landlock: this kernel has none (it came with Linux 5.13)".to_owned());
    }
    Ok(())
}
