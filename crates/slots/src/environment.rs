//! The environment a slot's program is given: a short list of what the daemon
//! has, and what the caller asked for. Everything else, secrets above all, stays
//! with the daemon.

use std::collections::BTreeMap;

/// Passed on from the daemon's own environment.
const PASSED_ON: [&str; 16] = [
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// The whole environment of a program.
pub(super) fn environment(
    own: impl Iterator<Item = (String, String)>,
    wanted: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut environment: BTreeMap<_, _> = own
        .filter(|(name, _)| PASSED_ON.contains(&name.as_str()) || name.starts_with("LC_"))
        .collect();
    environment.insert("TERM".to_owned(), "xterm-256color".to_owned());
    environment.insert("COLORTERM".to_owned(), "truecolor".to_owned());
    environment.extend(wanted.clone());
    environment
}

/// Why a variable cannot be given to a program.
pub(super) fn refusal(wanted: &BTreeMap<String, String>) -> Option<String> {
    wanted.iter().find_map(|(name, value)| {
        let bad = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        bad.then(|| format!("`{}` cannot be a variable", name.escape_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_daemon_stay_with_it_and_what_was_asked_for_wins() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let own = [
            pair("PATH", "/bin"),
            pair("LC_ALL", "C.UTF-8"),
            pair("SOME_API_KEY", "secret"),
            pair("LD_PRELOAD", "/tmp/x.so"),
            pair("TERM", "dumb"),
        ];
        let wanted = BTreeMap::from([pair("PATH", "/opt/bin"), pair("MINE", "1")]);
        let expected = BTreeMap::from([
            pair("COLORTERM", "truecolor"),
            pair("LC_ALL", "C.UTF-8"),
            pair("MINE", "1"),
            pair("PATH", "/opt/bin"),
            pair("TERM", "xterm-256color"),
        ]);
        assert_eq!(environment(own.into_iter(), &wanted), expected);
    }
}
