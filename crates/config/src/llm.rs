//! Providers of models, which of them answers what, and what all that may cost.

use std::collections::BTreeMap;

use missiond_core::CliEngine;
use missiond_net::http::check_private;
use serde::{Deserialize, Serialize};

use crate::keys::{InvalidValue, key_types, section};

key_types! { Tables: Vec<ProviderConfig>; Text: KeptTexts; }

section! {
    pub struct LlmConfig: "llm." {
        /// Providers of models: `[[llm.providers]]` with `name`, `format` (`anthropic`,
        /// `responses`, `chat`, `gemini` or `ollama`) and, if wanted, `url`, one of
        /// `key_file`, `key_command` and `key_env`, `models` (other names for models),
        /// `free`, `at_once`, `requests_per_minute`, `tokens_per_minute` and `day_usd`.
        live providers: Vec<ProviderConfig> = Vec::new();
        /// Models for small questions, as `provider/model`; the next one is asked where
        /// the first cannot be.
        live fast: Vec<String> = Vec::new();
        /// Models for what is neither small nor hard, as `provider/model`.
        live default: Vec<String> = Vec::new();
        /// Models for hard questions, as `provider/model`.
        live premium: Vec<String> = Vec::new();
        /// Engines whose agents reach their model through the daemon, which keeps the
        /// key, for example `["claude", "codex"]`. A CLI that is logged in by
        /// subscription should not be here.
        live engines: Vec<String> = Vec::new();
        /// Use the models of an Ollama that runs on this machine, without being told.
        live find_ollama: bool = true;
        /// What all requests of a day (in UTC) may cost together, in US dollars; 0 is no
        /// limit.
        live day_usd: f64 = 0.0, in 0..=1_000_000;
        /// What the requests of one run of an agent may cost, in US dollars; 0 is no
        /// limit.
        live execution_usd: f64 = 0.0, in 0..=1_000_000;
        /// What the requests of all runs for one task may cost, in US dollars; 0 is no
        /// limit.
        live task_usd: f64 = 0.0, in 0..=1_000_000;
        /// What one request may cost at most, in US dollars; 0 is no limit.
        live request_usd: f64 = 0.0, in 0..=1_000_000;
        /// Seconds a provider may be silent before its answer is taken to be broken off.
        live silence_secs: u64 = 120, in 1..=3600;
        /// Seconds a whole answer may take.
        live answer_secs: u64 = 1800, in 1..=86_400;
        /// What of prompts and answers is kept with a request: `nothing`, or `masked`,
        /// the text without secrets.
        live keep: KeptTexts = KeptTexts::Nothing, one of ["nothing", "masked"];
        /// Days until kept prompts and answers are forgotten.
        live keep_days: u32 = 30, in 1..=3650;
    }
}

/// What of prompts and answers is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeptTexts {
    #[default]
    Nothing,
    Masked,
}

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderFormat {
    Anthropic,
    Responses,
    Chat,
    Gemini,
    Ollama,
}

/// A provider of models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    pub name: String,
    pub format: ProviderFormat,
    /// The vendor's own when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A file that only its owner can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// A program and its arguments; the key is what it prints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_command: Vec<String>,
    /// A variable of the daemon's environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Models under other names: what is asked for, and what is sent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
    /// Its models cost nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free: bool,
    #[serde(default = "default_at_once")]
    pub at_once: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_minute: Option<u32>,
    /// What its requests of a day may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day_usd: Option<f64>,
}

const fn default_at_once() -> u32 {
    64
}

const MAX_PROVIDERS: usize = 100;

impl ProviderConfig {
    /// Where it is, without a final slash.
    #[must_use]
    pub fn base_url(&self) -> &str {
        let url = self.url.as_deref().unwrap_or(match self.format {
            ProviderFormat::Anthropic => "https://api.anthropic.com",
            ProviderFormat::Responses | ProviderFormat::Chat => "https://api.openai.com",
            ProviderFormat::Gemini => "https://generativelanguage.googleapis.com",
            ProviderFormat::Ollama => "http://127.0.0.1:11434",
        });
        url.trim_end_matches('/')
    }

    fn problem(&self) -> Option<String> {
        let name = &self.name;
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
            return Some(format!(
                "`{name}` must be letters, digits, `-`, `_` and `.`, at most 64"
            ));
        }
        if let Err(error) = check_private(self.base_url()) {
            return Some(format!("{} of `{name}` {error}", self.base_url()));
        }
        if self.base_url().contains(['?', '#']) {
            return Some(format!("{} of `{name}` has a query", self.base_url()));
        }
        let keys = [
            self.key_file.is_some(),
            !self.key_command.is_empty(),
            self.key_env.is_some(),
        ];
        if keys.into_iter().filter(|given| *given).count() > 1 {
            return Some(format!(
                "`{name}` has more than one of key_file, key_command and key_env"
            ));
        }
        if self
            .key_file
            .as_ref()
            .is_some_and(|file| !file.starts_with('/'))
        {
            return Some(format!("key_file of `{name}` must be an absolute path"));
        }
        let counts = [
            Some(self.at_once),
            self.requests_per_minute,
            self.tokens_per_minute,
        ];
        if counts.contains(&Some(0)) {
            return Some(format!("a limit of `{name}` is 0: leave it out"));
        }
        if self
            .day_usd
            .is_some_and(|usd| !(0.0..=1_000_000.0).contains(&usd))
        {
            return Some(format!("day_usd of `{name}` must be 0 to 1000000"));
        }
        None
    }
}

impl LlmConfig {
    /// Whether agents of an engine reach their model through the daemon.
    #[must_use]
    pub fn is_for(&self, engine: &CliEngine) -> bool {
        self.engines.iter().any(|name| name == engine.name())
    }

    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        let refuse = |message: String| Err(InvalidValue::new("llm.providers", message));
        if self.providers.len() > MAX_PROVIDERS {
            return refuse(format!("has more than {MAX_PROVIDERS} providers"));
        }
        for (index, provider) in self.providers.iter().enumerate() {
            let number = index + 1;
            if let Some(problem) = provider.problem() {
                return refuse(format!("provider {number}: {problem}"));
            }
            let earlier = &self.providers[..index];
            if earlier.iter().any(|other| other.name == provider.name) {
                return refuse(format!(
                    "provider {number}: `{}` is there twice",
                    provider.name
                ));
            }
        }
        let lists = [
            ("llm.fast", &self.fast),
            ("llm.default", &self.default),
            ("llm.premium", &self.premium),
        ];
        for (key, models) in lists {
            for model in models {
                let provider = model.split_once('/').map(|(provider, _)| provider);
                let known = |name: &str| {
                    name == FOUND_OLLAMA || self.providers.iter().any(|one| one.name == name)
                };
                let message = match provider {
                    None => format!("`{model}` must be written as provider/model"),
                    Some(name) if !known(name) => {
                        format!("`{model}` is of `{name}`, which `llm.providers` has not")
                    }
                    Some(_) => continue,
                };
                return Err(InvalidValue::new(key, message));
            }
        }
        for name in &self.engines {
            if let Err(error) = name.parse::<CliEngine>() {
                return Err(InvalidValue::new("llm.engines", error.to_string()));
            }
        }
        Ok(())
    }
}

/// What an Ollama is called that was found without being configured.
pub const FOUND_OLLAMA: &str = "ollama";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Config;

    fn refused(text: &str) -> String {
        let parsed = Config::parse(Path::new("c"), text);
        parsed.unwrap_err().to_string()
    }

    #[test]
    fn a_provider_is_taken_with_what_it_leaves_out() {
        let text = "[llm]\nfast = [\"a/small\", \"ollama/tiny\"]\n[[llm.providers]]\n\
             name = \"a\"\nformat = \"anthropic\"\nkey_env = \"KEY\"\n";
        let config = Config::parse(Path::new("c"), text).unwrap();
        let provider = &config.llm.providers[0];
        assert_eq!(provider.base_url(), "https://api.anthropic.com");
        assert_eq!((provider.at_once, provider.free), (64, false));
    }

    #[test]
    fn a_provider_that_cannot_be_is_refused() {
        for (more, expected) in [
            ("name = \"a b\"\nformat = \"chat\"", "must be letters"),
            ("name = \"a\"\nformat = \"grpc\"", "unknown variant `grpc`"),
            (
                "name = \"a\"\nformat = \"chat\"\nurl = \"http://models.example\"",
                "http://models.example of `a` is not on this machine",
            ),
            (
                "name = \"a\"\nformat = \"chat\"\nkey_env = \"A\"\nkey_file = \"/k\"",
                "more than one of",
            ),
            (
                "name = \"a\"\nformat = \"chat\"\nkey_file = \"k\"",
                "absolute",
            ),
            (
                "name = \"a\"\nformat = \"chat\"\nat_once = 0",
                "is 0: leave it out",
            ),
            (
                "name = \"a\"\nformat = \"chat\"\nkey = \"sk\"",
                "unknown field `key`",
            ),
        ] {
            let error = refused(&format!("[[llm.providers]]\n{more}\n"));
            assert!(error.contains(expected), "{error}");
        }
        let unknown = refused("[llm]\nfast = [\"b/x\"]\n");
        assert!(
            unknown.contains("line 2") && unknown.contains("is of `b`"),
            "{unknown}"
        );
        assert!(refused("[llm]\nfast = [\"x\"]\n").contains("provider/model"));
    }
}
