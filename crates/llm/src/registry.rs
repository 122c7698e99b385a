//! The providers of the configuration, as the gate and the clients use them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use missiond_config::{FOUND_OLLAMA, LlmConfig, ProviderConfig, ProviderFormat};

use crate::formats::Format;
use crate::gate::{BreakerLimits, Limits, PaceLimits};
use crate::keys::KeySource;

/// A provider of models.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    pub name: String,
    pub format: Format,
    /// Without a final slash.
    pub base_url: String,
    pub key: KeySource,
    /// What is sent for a model that is asked for under another name.
    pub models: BTreeMap<String, String>,
    pub free: bool,
    pub limits: Limits,
    /// In millionths of a dollar.
    pub day: Option<u64>,
    /// It was found, not configured.
    pub found: bool,
}

const BREAKER: BreakerLimits = BreakerLimits {
    window: Duration::from_secs(60),
    least: 5,
    open: Duration::from_secs(10),
    most: Duration::from_secs(300),
};

impl Provider {
    fn of(config: &ProviderConfig) -> Self {
        let key = if let Some(file) = &config.key_file {
            KeySource::File(PathBuf::from(file))
        } else if let Some(variable) = &config.key_env {
            KeySource::Variable(variable.clone())
        } else if config.key_command.is_empty() {
            KeySource::None
        } else {
            KeySource::Command(config.key_command.clone())
        };
        Self {
            name: config.name.clone(),
            format: format(config.format),
            base_url: config.base_url().to_owned(),
            key,
            models: config.models.clone(),
            free: config.free || config.format == ProviderFormat::Ollama,
            limits: Limits {
                at_once: config.at_once,
                pace: PaceLimits {
                    requests: config.requests_per_minute,
                    tokens: config.tokens_per_minute,
                },
                breaker: BREAKER,
            },
            day: config.day_usd.map(microdollars),
            found: false,
        }
    }

    /// An Ollama that runs on this machine.
    pub(crate) fn found_ollama(base_url: &str) -> Self {
        Self {
            name: FOUND_OLLAMA.to_owned(),
            format: Format::Ollama,
            base_url: base_url.to_owned(),
            key: KeySource::None,
            models: BTreeMap::new(),
            free: true,
            limits: Limits {
                at_once: 2,
                pace: PaceLimits::default(),
                breaker: BREAKER,
            },
            day: None,
            found: true,
        }
    }

    /// The name a model is sent under.
    #[must_use]
    pub fn model<'m>(&'m self, asked: &'m str) -> &'m str {
        self.models.get(asked).map_or(asked, String::as_str)
    }

    /// The address of a path of the provider's. A base URL may end with the version that
    /// its paths begin with, as the clients of many servers want it.
    #[must_use]
    pub fn address(&self, path: &str) -> String {
        let base = ["/v1beta", "/v1"]
            .into_iter()
            .find_map(|version| {
                let below = path.strip_prefix(version)?;
                below.starts_with('/').then_some(())?;
                self.base_url.strip_suffix(version)
            })
            .unwrap_or(&self.base_url);
        format!("{base}{path}")
    }
}

const fn format(configured: ProviderFormat) -> Format {
    match configured {
        ProviderFormat::Anthropic => Format::Anthropic,
        ProviderFormat::Responses => Format::Responses,
        ProviderFormat::Chat => Format::Chat,
        ProviderFormat::Gemini => Format::Gemini,
        ProviderFormat::Ollama => Format::Ollama,
    }
}

/// Dollars as they are counted.
#[must_use]
pub(crate) fn microdollars(usd: f64) -> u64 {
    (usd * 1e6).round().max(0.0) as u64
}

/// Every provider of the configuration, in its order.
#[must_use]
pub(crate) fn providers(config: &LlmConfig) -> Vec<Provider> {
    config.providers.iter().map(Provider::of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_or_may_not_end_with_the_version() {
        let at = |base: &str, path: &str| Provider::found_ollama(base).address(path);
        assert_eq!(at("http://h", "/v1/models"), "http://h/v1/models");
        assert_eq!(at("http://h/v1", "/v1/models"), "http://h/v1/models");
        assert_eq!(at("http://h/x/v1", "/v1/models"), "http://h/x/v1/models");
        assert_eq!(
            at("http://h/v1", "/v1beta/models"),
            "http://h/v1/v1beta/models"
        );
        assert_eq!(
            at("http://h/v1beta", "/v1beta/models"),
            "http://h/v1beta/models"
        );
    }
}
