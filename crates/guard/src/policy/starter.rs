//! The policy that the program brings. Its rules on commands and files are those of the
//! starter rules; hosts are its own. For networks it holds where a person has said nothing
//! about them; for all else where their policy says `starter = true`.

use std::sync::LazyLock;

use super::file::{Policy, PolicySource};
use super::read::read;
use super::rule::{Access, PolicyRule, Subject};
use crate::batch::starter_as_rules;

/// Its rules on networks.
const NETWORKS: &str = include_str!("starter.toml");

/// What `mission policy init` writes.
pub const NEW_POLICY: &str = include_str!("new.toml");

static STARTER: LazyLock<Policy> = LazyLock::new(|| {
    let mut policy = read(PolicySource::Starter, NETWORKS).unwrap_or_else(|problems| {
        // A test reads it; a build that cannot has no starter policy and allows nothing.
        let mut policy = Policy::empty(PolicySource::Starter);
        policy.warnings = problems;
        policy
    });
    for (line, rule) in starter_as_rules() {
        let subject = match (rule.argument, rule.path) {
            (Some(pattern), None) => Subject::Shell(pattern),
            (None, Some(path)) => {
                let reads = ["read", "grep", "glob", "ls"]
                    .iter()
                    .any(|name| rule.tool.as_str().eq_ignore_ascii_case(name));
                let access = if reads { Access::Read } else { Access::Both };
                Subject::Files { path, access }
            }
            _ => continue,
        };
        let known = policy.rules.iter().any(|known| known.subject == subject);
        if !known {
            policy.rules.push(PolicyRule {
                name: format!("starter.rules:{line}"),
                line,
                effect: rule.effect,
                subject,
                because: None,
            });
        }
    }
    policy
});

/// The starter policy.
#[must_use]
pub fn starter() -> &'static Policy {
    &STARTER
}
