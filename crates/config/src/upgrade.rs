//! What `mission upgrade` believes of a release.

use std::path::Path;

use missiond_net::http::check_private;

use crate::keys::{InvalidValue, section};

section! {
    pub struct UpgradeConfig: "upgrade." {
        /// The minisign key that releases must be signed with: its text, or the absolute path
        /// of its file. Empty means the one this program was built with; `--key` is used
        /// before both.
        live key: String = String::new();
        /// Where `mission upgrade` looks for a release when it is given none: the address
        /// (https://) or the absolute path of a folder with archives and their SHA256SUMS.
        live url: String = String::new();
    }
}

/// How minisign writes a public key: 42 bytes in base64, the first two of which are `Ed`.
const KEY_LENGTH: usize = 56;
const KEY_START: &str = "RW";

impl UpgradeConfig {
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let is_place = check_private(&self.url).is_ok() || Path::new(&self.url).is_absolute();
        if !self.url.is_empty() && !is_place {
            let message = "must be an address (https://) or an absolute path";
            return Err(InvalidValue::new("upgrade.url", message));
        }
        let last_line = self.key.trim().lines().last().unwrap_or_default();
        let is_key = last_line.len() == KEY_LENGTH && last_line.starts_with(KEY_START);
        if self.key.is_empty() || is_key || Path::new(&self.key).is_absolute() {
            return Ok(());
        }
        let message = format!(
            "must be a minisign key, {KEY_LENGTH} characters that begin with {KEY_START}, or the \
             absolute path of its file"
        );
        Err(InvalidValue::new("upgrade.key", message))
    }
}
