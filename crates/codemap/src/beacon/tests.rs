//! Beacons whose code changes, moves, is renamed, or goes.

use super::*;
use crate::index::tests::index;

const AUTH: &str = "\
/// Checks it.
pub fn check_token(header: &str, keys: &KeyStore) -> Result<Claims, AuthError> {
    let token = header.strip_prefix(\"Bearer \").ok_or(AuthError::Missing)?;
    let claims = keys.verify(token)?;
    if claims.expired() { return Err(AuthError::Expired); }
    Ok(claims)
}
";

fn anchor() -> Anchor {
    let index = index(&[("src/auth.rs", AUTH), ("src/other.rs", OTHER)]);
    Anchor::of(&index.find("check_token")[0])
}

const OTHER: &str = "\
pub fn check_disk(path: &Path) -> Result<Space, DiskError> {
    let space = statvfs(path)?;
    if space.free < LOW { return Err(DiskError::Full); }
    Ok(space)
}
";

fn follow_in(files: &[(&str, &str)]) -> Result<String, usize> {
    match follow(&anchor(), &index(files)) {
        FollowOutcome::Found(found) => {
            let kind = match found.kind {
                MatchKind::Alike(_) => "Alike".to_owned(),
                kind => format!("{kind:?}"),
            };
            Ok(format!(
                "{kind} {}:{}",
                found.node.path,
                found.node.qualified()
            ))
        }
        FollowOutcome::Lost(suggestions) => Err(suggestions.len()),
    }
}

#[test]
fn a_beacon_stays_while_its_code_is_edited() {
    let here = follow_in(&[("src/auth.rs", AUTH)]);
    assert_eq!(here.unwrap(), "Unchanged src/auth.rs:check_token");
    let edited = format!("use x;\n{}", AUTH.replace("expired()", "is_over(now)"));
    let here = follow_in(&[("src/auth.rs", &edited)]);
    assert_eq!(here.unwrap(), "Edited src/auth.rs:check_token");
}

#[test]
fn a_beacon_follows_its_code_to_another_file_and_name() {
    let moved = follow_in(&[("src/http/guard.rs", AUTH), ("src/auth.rs", OTHER)]);
    assert_eq!(moved.unwrap(), "Moved src/http/guard.rs:check_token");
    let indented = format!("impl Guard {{\n{}}}\n", AUTH.replace('\n', "\n    "));
    let moved = follow_in(&[("src/guard.rs", &indented)]);
    assert_eq!(moved.unwrap(), "Moved src/guard.rs:Guard::check_token");
    let renamed = AUTH.replace("check_token", "authenticate");
    let moved = follow_in(&[("src/auth.rs", &renamed), ("src/other.rs", OTHER)]);
    assert_eq!(moved.unwrap(), "Renamed src/auth.rs:authenticate");
}

#[test]
fn a_beacon_follows_code_that_moved_and_changed_a_little() {
    let changed = AUTH
        .replace("check_token", "verify_token")
        .replace("if claims.expired()", "if claims.expired_at(now)");
    let moved = follow_in(&[("src/http/guard.rs", &changed), ("src/other.rs", OTHER)]);
    assert_eq!(moved.unwrap(), "Alike src/http/guard.rs:verify_token");
}

#[test]
fn a_beacon_is_lost_rather_than_put_somewhere_else() {
    let gone = follow_in(&[("src/other.rs", OTHER)]);
    assert!(gone.is_err(), "{gone:?}");
    // Two copies: which is meant cannot be known, and both are named.
    let copies = follow_in(&[("src/one.rs", AUTH), ("src/two.rs", AUTH)]);
    assert_eq!(copies, Err(2));
    // The same name for something else.
    let other = "pub fn check_token(tree: &Tree) -> usize { tree.leaves().count() + tree.depth() }";
    let gone = follow_in(&[("src/parse.rs", other)]);
    assert!(gone.is_err(), "{gone:?}");
}

#[test]
fn a_lost_beacon_is_found_when_its_code_is_back() {
    assert!(follow_in(&[("src/other.rs", OTHER)]).is_err());
    let back = follow_in(&[("src/auth.rs", AUTH), ("src/other.rs", OTHER)]);
    assert_eq!(back.unwrap(), "Unchanged src/auth.rs:check_token");
}

#[test]
fn a_file_can_be_a_beacon() {
    let before = index(&[("src/auth.rs", AUTH), ("src/other.rs", OTHER)]);
    let anchor = Anchor::of(&before.find("src/auth.rs")[0]);
    let after = index(&[("src/http/auth.rs", AUTH), ("src/other.rs", OTHER)]);
    let FollowOutcome::Found(found) = follow(&anchor, &after) else {
        panic!("lost");
    };
    assert_eq!(
        (&*found.node.path, found.kind),
        ("src/http/auth.rs", MatchKind::Moved)
    );
}
