//! Values that a person knows to be secret and that no form tells.

use std::path::Path;

use crate::keys::{InvalidValue, section};

/// Each costs memory in everything that masks.
const MOST: usize = 32;

section! {
    /// Where the values are that are masked wherever they appear. What is named here is a
    /// place, never the value.
    pub struct SecretsConfig: "secrets." {
        /// Files, by their absolute paths, each with a value on every line that is masked
        /// wherever it appears, also in base64, hexadecimal and encoded for an address. One
        /// that is taken out of the list is masked until the daemon is restarted.
        live files: Vec<String> = Vec::new();
        /// Names of variables in the daemon's environment whose values are masked in the same
        /// way.
        live variables: Vec<String> = Vec::new();
    }
}

impl SecretsConfig {
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        if let Some(file) = self
            .files
            .iter()
            .find(|file| !Path::new(file).is_absolute())
        {
            let message = format!("takes absolute paths, and `{file}` is none");
            return Err(InvalidValue::new("secrets.files", message));
        }
        let is_name = |name: &String| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if self.variables.iter().any(|name| !is_name(name)) {
            // What stands there may be the value itself, so it is not said again.
            let message = "takes names of environment variables, and one of them is none; the \
                 value itself never belongs in this file";
            return Err(InvalidValue::new("secrets.variables", message));
        }
        let (key, count) = if self.files.len() > MOST {
            ("secrets.files", self.files.len())
        } else {
            ("secrets.variables", self.variables.len())
        };
        if count > MOST {
            let message = format!("takes at most {MOST}, and there are {count}");
            return Err(InvalidValue::new(key, message));
        }
        Ok(())
    }
}
