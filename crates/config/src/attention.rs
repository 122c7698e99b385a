//! What agents may do without anybody being asked, and how people hear that
//! they are.

use std::path::Path;

use missiond_core::CliEngine;
use missiond_guard::permissions::{Effect, PathPattern, Pattern, Rule, Scope};
use missiond_net::http::check_private;
use serde::{Deserialize, Serialize};

use crate::keys::{InvalidValue, key_types, section};

key_types! { Tables: Vec<PermissionRuleConfig>; }

section! {
    pub struct PermissionsConfig: "permissions." {
        /// Rules on what agents may do, each a table: `effect` (allow, ask or deny),
        /// `tool`, `argument`, `path`, `server`, `engine`, `slot`. What is left out is
        /// everything. With `by_sight = true` one that allows also holds for dialogs that
        /// are known from a screen alone.
        live rules: Vec<PermissionRuleConfig> = Vec::new();
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PermissionRuleConfig {
    pub effect: Effect,
    /// Any when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Pattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<Pattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathPattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Pattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<CliEngine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_sight: bool,
}

section! {
    /// How people hear of a question that waits.
    pub struct NotificationsConfig: "notifications." {
        /// Show a notification on the desktop (notify-send, or osascript on macOS) when a
        /// question waits.
        live desktop: bool = false;
        /// POST a question that waits to this address: https, or http to this machine.
        /// Empty means none.
        live webhook_url: String = String::new(), shown as host_of;
        /// A file of mode 0600 with the secret that signs what is posted. Empty means
        /// unsigned.
        live webhook_secret_file: String = String::new();
        /// Seconds a question must have waited before anybody is notified.
        live dwell_secs: u64 = 20, in 0..=86_400;
        /// Seconds after a notification in which nobody is notified about the same slot.
        live cooldown_secs: u64 = 120, in 0..=86_400;
    }
}

/// An address without its path, its query and a name before the host, which are what a
/// webhook keeps secret.
fn host_of(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return String::new();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, secret) = rest.split_at(end);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    match secret {
        "" | "/" => format!("{scheme}://{host}{secret}"),
        _ => format!("{scheme}://{host}/…"),
    }
}

impl NotificationsConfig {
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let url = &self.webhook_url;
        if !url.is_empty() && check_private(url).is_err() {
            let message = "must begin with https://, or with http:// and an address of this \
                 machine (127.0.0.1, [::1] or localhost)";
            return Err(InvalidValue::new("notifications.webhook_url", message));
        }
        let file = &self.webhook_secret_file;
        if !file.is_empty() && !Path::new(file).is_absolute() {
            let key = "notifications.webhook_secret_file";
            return Err(InvalidValue::new(key, "must be an absolute path"));
        }
        Ok(())
    }
}

impl PermissionRuleConfig {
    /// The rule it stands for, named by its number in the file.
    #[must_use]
    pub fn rule(&self, number: usize) -> Rule {
        let everything = || "*".parse().expect("a star is a pattern");
        Rule {
            name: format!("config-{number}"),
            effect: self.effect,
            tool: self.tool.clone().unwrap_or_else(everything),
            argument: self.argument.clone(),
            path: self.path.clone(),
            server: self.server.clone(),
            scope: Scope {
                engine: self.engine.clone(),
                slot: self.slot.clone(),
                by_sight: self.by_sight,
                ..Scope::default()
            },
            expires_at: None,
            uses_left: None,
        }
    }
}

impl PermissionsConfig {
    /// Every rule, or what is wrong with one.
    pub fn rules(&self) -> Result<Vec<Rule>, String> {
        let rules = self.rules.iter().enumerate().map(|(index, rule)| {
            let rule = rule.rule(index + 1);
            match rule.check() {
                Ok(()) => Ok(rule),
                Err(error) => Err(format!("rule {}: {error}", index + 1)),
            }
        });
        rules.collect()
    }

    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        match self.rules() {
            Ok(_) => Ok(()),
            Err(error) => Err(InvalidValue::new("permissions.rules", error)),
        }
    }
}
