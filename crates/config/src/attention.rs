//! What agents may do without anybody being asked, and how people hear that
//! they are.

use missiond_core::CliEngine;
use missiond_guard::permissions::{Effect, PathPattern, Pattern, Rule, Scope};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionsConfig {
    pub rules: Vec<PermissionRuleConfig>,
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
}

/// How people hear of a question that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NotificationsConfig {
    pub desktop: bool,
    /// Empty means none.
    pub webhook_url: String,
    /// Empty means that nothing is signed.
    pub webhook_secret_file: String,
    pub dwell_secs: u64,
    pub cooldown_secs: u64,
}

impl Default for NotificationsConfig {
    fn default() -> Self {
        Self {
            desktop: false,
            webhook_url: String::new(),
            webhook_secret_file: String::new(),
            dwell_secs: 20,
            cooldown_secs: 120,
        }
    }
}

impl NotificationsConfig {
    /// What is wrong with the webhook, with its key.
    pub(super) fn trouble(&self) -> Option<(&'static str, String)> {
        let url = &self.webhook_url;
        if !url.is_empty() && !is_safe(url) {
            let message = "must begin with https://, or with http:// and an address of this \
                 machine (127.0.0.1, [::1] or localhost)";
            return Some(("notifications.webhook_url", message.to_owned()));
        }
        let file = &self.webhook_secret_file;
        let absolute = std::path::Path::new(file).is_absolute();
        (!file.is_empty() && !absolute).then(|| {
            let message = "must be an absolute path".to_owned();
            ("notifications.webhook_secret_file", message)
        })
    }
}

fn is_safe(url: &str) -> bool {
    let Ok(uri) = url.parse::<hyper::Uri>() else {
        return false;
    };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let here = || {
        let address = host.parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    };
    match uri.scheme_str() {
        Some("https") => !host.is_empty(),
        Some("http") => here(),
        _ => false,
    }
}

impl PermissionRuleConfig {
    /// The rule it stands for, named by its place in the file.
    #[must_use]
    pub fn rule(&self, place: usize) -> Rule {
        let everything = || "*".parse().expect("a star is a pattern");
        Rule {
            name: format!("config-{place}"),
            effect: self.effect,
            tool: self.tool.clone().unwrap_or_else(everything),
            argument: self.argument.clone(),
            path: self.path.clone(),
            server: self.server.clone(),
            scope: Scope {
                engine: self.engine.clone(),
                slot: self.slot.clone(),
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
}
