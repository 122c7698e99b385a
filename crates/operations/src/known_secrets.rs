//! Values that are secret whatever they look like, taught to this process before it stores
//! anything: what a person names in `secrets`, and what signs the webhook. The daemon's own
//! keys and tokens are taught where they are made and read.

use std::io::{self, Read};

use missiond_config::Config;
use missiond_secrets::{Detector, MOST_KNOWN};

/// Learns all that the configuration names. An error is a sentence without a value in it:
/// what was named as secret and cannot be read would be stored in clear.
pub fn learn(config: &Config) -> Result<(), String> {
    let mut values = Vec::new();
    for file in &config.secrets.files {
        let text = read(file).map_err(|error| format!("`secrets.files`: {file}: {error}"))?;
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        values.extend(lines.filter(|line| !line.is_empty()).map(<[u8]>::to_vec));
    }
    for name in &config.secrets.variables {
        match std::env::var_os(name) {
            Some(value) => values.push(value.into_encoded_bytes()),
            None => tracing::warn!(name, "a variable of `secrets.variables` is not set"),
        }
    }
    let webhook = &config.notifications.webhook_secret_file;
    if !webhook.is_empty() {
        // Whether it can be used is said where it is.
        values.extend(read(webhook).ok());
    }
    let all = Detector::learn(values);
    all.then_some(())
        .ok_or_else(|| format!("`secrets` names more than {MOST_KNOWN} values"))
}

/// At most 64 KB, which no file of values comes near.
fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(64 * 1024)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
