//! Whether a command writes below a pattern on paths, for rules on writing alone. Rules on
//! all that is done with a file look at every word; here a program that is known to read
//! only may name the file.

use super::path::PathPattern;
use super::place::{Meets, Place};
use super::request::Request;
use super::script::{Script, run_touches};
use crate::programs::{Fact, profile};
use crate::shell::Run;

/// What a command of a request writes below a pattern; none where it is no command.
pub(crate) fn command_writes(request: &Request, pattern: &PathPattern) -> Option<Meets> {
    let script = Script::of(request)?;
    let base = &request.base;
    let mut most = Meets::No;
    for (_, traced) in script.plausible() {
        let Ok(traced) = traced else {
            most = most.max(script.touches(pattern, &|_| true));
            continue;
        };
        for access in traced.accesses.iter().filter(|access| access.writes) {
            let place = Place::of(&access.path, access.folder.as_deref(), base);
            most = most.max(place.meets(pattern, base, false));
        }
        for run in &traced.runs {
            for fact in &run.facts {
                if let Fact::Writes(path) = fact {
                    let place = Place::of(path, run.folder.as_deref(), base);
                    most = most.max(place.meets(pattern, base, false));
                }
            }
            if !is_known_whole(run) {
                most = most.max(run_touches(run, pattern, base).min(Meets::Maybe));
            }
        }
    }
    Some(most)
}

/// Whether all that a program does with its words is known.
fn is_known_whole(run: &Run) -> bool {
    let name = run.argv[0].known().unwrap_or_default();
    let known = name.rsplit('/').next().and_then(profile).is_some();
    let open = run.facts.iter().any(|fact| {
        matches!(
            fact,
            Fact::Risk(_) | Fact::Unknown(_) | Fact::Hidden(_) | Fact::Code(_) | Fact::Program(_)
        )
    });
    known && !open
}
