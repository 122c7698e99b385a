//! Who may call what, as the table of the reference.

use std::fmt::Write;

use missiond_core::{Principal, Scope, SlotId};

use crate::{CATALOGUE, Decision};

/// The table of the reference, a line for each operation.
#[must_use]
pub fn authority_table() -> String {
    let mut table = String::from(
        "| operation | a person | a program's token needs | a person's own agent | the agent of a \
         slot | a tool server, a check, who cannot be told |\n|---|---|---|---|---|---|\n",
    );
    let agent = Principal::Agent {
        slot: SlotId::generate(),
        execution: None,
    };
    for spec in CATALOGUE {
        let mark = |principal: &Principal| match spec.decide(principal) {
            Decision::Allowed => "yes".to_owned(),
            Decision::IfOwn(own) => own.words().to_owned(),
            Decision::Refused(_) => "no".to_owned(),
        };
        let scope = spec.scope().map_or("no token has it", Scope::name);
        let _ = writeln!(
            table,
            "| `{}` | {} | {scope} | {} | {} | {} |",
            spec.name,
            mark(&Principal::Person),
            mark(&Principal::Commander),
            mark(&agent),
            mark(&Principal::Untold),
        );
    }
    table
}
