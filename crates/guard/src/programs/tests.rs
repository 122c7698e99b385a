//! The data files can be read, and name each program once.

use super::profile;
use super::profile::{Kind, check_names};

#[test]
fn every_profile_is_read_and_no_program_has_two() {
    check_names();
    for name in ["git", "find", "tar", "cargo", "python3.12", "gcc-13", "npm"] {
        assert!(profile(name).is_some(), "{name}");
    }
    assert!(profile("no-such-program").is_none());
    let git = profile("git").unwrap();
    assert_eq!(git.options.get("-c"), Some(&Kind::Config));
    assert_eq!(
        git.subcommands["log"].options.get("--output"),
        Some(&Kind::Writes)
    );
}
