//! Whether every dependency is allowed by `deny.toml`.
//!
//! The test command checks licences and sources itself: cargo-deny takes minutes to
//! build on a machine that does not have it. Security advisories are in `advisories`.
//! `cargo xtask deny` asks cargo-deny for everything.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::run;

/// Where all crates come from, as cargo names it.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks every package in the lock file; returns how many there are.
pub(crate) fn check() -> Result<usize, String> {
    let config = std::fs::read_to_string(run::root().join("deny.toml"))
        .map_err(|error| format!("deny.toml: {error}"))?;
    let config: toml::Table = config
        .parse()
        .map_err(|error| format!("deny.toml: {error}"))?;
    let allowed: BTreeSet<&str> = config["licenses"]["allow"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_str)
        .collect();
    let metadata = run::output(&mut run::cargo(&["metadata", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let refused = packages.iter().filter_map(|package| {
        let licence = package["license"].as_str().unwrap_or("none");
        (!permits(licence, &allowed)).then(|| format!("{} ({licence})", package["name"]))
    });
    // What is in the workspace has no source.
    let foreign = packages.iter().filter_map(|package| {
        let source = package["source"].as_str()?;
        (source != CRATES_IO).then(|| format!("{} from {source}", package["name"]))
    });
    let refused: Vec<_> = refused.chain(foreign).collect();
    if refused.is_empty() {
        Ok(packages.len())
    } else {
        Err(format!(
            "licences or sources that deny.toml does not allow: {}",
            refused.join(", ")
        ))
    }
}

fn has_cargo_deny() -> bool {
    run::output(&mut run::cargo(&["deny", "--version"])).is_ok()
}

/// `cargo xtask deny`: all that `deny.toml` asks for, by cargo-deny.
pub(crate) fn deny() -> Result<(), String> {
    if !has_cargo_deny() {
        return Err(
            "cargo-deny is not installed: `cargo install --locked cargo-deny`, or check the \
             licences alone with `cargo xtask licences`"
                .to_owned(),
        );
    }
    run::run(&mut run::cargo(&["deny", "check"]))
}

/// Evaluates an SPDX expression: every part of an AND, any part of an OR. The
/// old form with a slash means OR.
fn permits(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let expression = expression.trim();
    let split = |operator: &str| {
        let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
        for (place, letter) in expression.char_indices() {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ if depth == 0 && place >= start && expression[place..].starts_with(operator) => {
                    parts.push(&expression[start..place]);
                    start = place + operator.len();
                }
                _ => {}
            }
        }
        parts.push(&expression[start..]);
        parts
    };
    for operator in [" OR ", "/"] {
        let parts = split(operator);
        if parts.len() > 1 {
            return parts.into_iter().any(|part| permits(part, allowed));
        }
    }
    let parts = split(" AND ");
    if parts.len() > 1 {
        return parts.into_iter().all(|part| permits(part, allowed));
    }
    match expression
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
    {
        Some(inner) => permits(inner, allowed),
        None => allowed.contains(expression),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read_as_spdx_means_them() {
        let allowed = BTreeSet::from(["MIT", "Apache-2.0", "Unicode-3.0"]);
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR GPL-3.0) AND Unicode-3.0",
            "MIT AND (Apache-2.0 OR GPL-3.0)",
        ] {
            assert!(permits(good, &allowed), "{good}");
        }
        for bad in [
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR Apache-2.0) AND GPL-3.0",
            "none",
            "",
        ] {
            assert!(!permits(bad, &allowed), "{bad}");
        }
    }
}
