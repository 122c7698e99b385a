//! What an error of a provider means. Three kinds of "too much" are kept apart,
//! because each wants something else: a rate limit is waited for, an overload is
//! tried again or elsewhere, a spent quota is left alone until its reset.

use std::time::Duration;

use missiond_core::Timestamp;
use missiond_net::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::format::{Format, text};

/// The most of an error's text that is kept.
const MAX_MESSAGE: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    /// The provider's own words.
    pub message: String,
    /// The provider's name for it.
    pub code: String,
    /// So long it wants to be left alone.
    pub retry_after: Option<Duration>,
    /// Until then nothing is left of a quota.
    pub resets_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Too many requests or tokens in a short time.
    RateLimit,
    /// The provider has too much to do.
    Overload,
    /// A quota or the money is used up.
    Quota,
    /// The key is wrong, or may not do this.
    Key,
    /// There is no such model, or not for this key.
    NoModel,
    /// The conversation is longer than the model reads.
    ContextTooLong,
    /// The request is larger than the provider takes.
    TooLarge,
    /// The provider refuses what it is about.
    Policy,
    /// The request is wrong in another way.
    Invalid,
    /// The provider failed.
    Server,
    /// Nobody was reached: nothing was sent.
    Unreachable,
    /// The connection broke, or the answer was none.
    Broken,
    /// Nothing came for too long.
    Timeout,
}

impl FailureKind {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Overload => "overload",
            Self::Quota => "quota",
            Self::Key => "key",
            Self::NoModel => "no_model",
            Self::ContextTooLong => "context_too_long",
            Self::TooLarge => "too_large",
            Self::Policy => "policy",
            Self::Invalid => "invalid",
            Self::Server => "server",
            Self::Unreachable => "unreachable",
            Self::Broken => "broken",
            Self::Timeout => "timeout",
        }
    }

    /// Whether it says something about the provider's health, not about the request.
    #[must_use]
    pub const fn is_of_provider(self) -> bool {
        matches!(
            self,
            Self::Overload | Self::Server | Self::Unreachable | Self::Broken | Self::Timeout
        )
    }
}

/// Reads an answer that is an error.
#[must_use]
pub fn read_failure(
    format: Format,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Failure {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    // Gemini sends a list at some addresses.
    let parsed = parsed.get(0).unwrap_or(&parsed);
    let error = match &parsed["error"] {
        Value::Null => parsed,
        error => error,
    };
    let message = error.as_str().unwrap_or_else(|| text(error, "message"));
    let message = match message {
        "" => String::from_utf8_lossy(&body[..body.len().min(MAX_MESSAGE)])
            .trim()
            .to_owned(),
        message => message.chars().take(MAX_MESSAGE).collect(),
    };
    let code = ["code", "type", "status"]
        .into_iter()
        .find_map(|member| error[member].as_str())
        .unwrap_or_default();
    let wait = asked_wait(headers, error, now);
    let signs = Signs {
        format,
        status: status.as_u16(),
        code,
        kind: text(error, "type"),
        message: message.to_ascii_lowercase(),
        error,
    };
    let kind = signs.kind_of_failure();
    Failure {
        kind,
        code: code.to_owned(),
        retry_after: wait,
        resets_at: (kind == FailureKind::Quota)
            .then(|| reset(headers, error, now).or(wait.map(|wait| now.plus(wait))))
            .flatten(),
        message: if message.is_empty() {
            status.to_string()
        } else {
            message
        },
    }
}

struct Signs<'a> {
    format: Format,
    status: u16,
    code: &'a str,
    kind: &'a str,
    message: String,
    error: &'a Value,
}

impl Signs<'_> {
    fn says(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.message.contains(word))
    }

    fn is_code(&self, codes: &[&str]) -> bool {
        codes.contains(&self.code) || codes.contains(&self.kind)
    }

    fn is_quota(&self) -> bool {
        let codes = [
            "usage_limit_reached",
            "insufficient_quota",
            "billing_hard_limit_reached",
            "billing_not_active",
            "credit_balance_too_low",
            "billing_error",
        ];
        let words = [
            "credit balance is too low",
            "spend limit",
            "usage limit",
            "exceeded your current quota, please check your plan and billing",
        ];
        // Gemini names the quota that was used up; one that is per day is gone for the day.
        let details = self.error["details"].as_array().into_iter().flatten();
        let of_day = details
            .flat_map(|detail| detail["violations"].as_array().into_iter().flatten())
            .any(|violation| text(violation, "quotaId").contains("PerDay"));
        let words_count = self.format != Format::Gemini && self.says(&words);
        self.status == 402 || self.is_code(&codes) || words_count || of_day
    }

    fn kind_of_failure(&self) -> FailureKind {
        match self.status {
            400..=499 if self.is_quota() => FailureKind::Quota,
            429 => FailureKind::RateLimit,
            401 | 403 => FailureKind::Key,
            404 => FailureKind::NoModel,
            413 => FailureKind::TooLarge,
            408 => FailureKind::Timeout,
            529 | 503 => FailureKind::Overload,
            500..=599
                if self.is_code(&["overloaded_error", "server_is_overloaded", "slow_down"]) =>
            {
                FailureKind::Overload
            }
            500..=599 => FailureKind::Server,
            _ if self.is_code(&["invalid_api_key"]) || self.says(&["api key not valid"]) => {
                FailureKind::Key
            }
            _ if self.is_code(&["context_length_exceeded"])
                || self.says(&[
                    "prompt is too long",
                    "context window",
                    "maximum context length",
                ]) =>
            {
                FailureKind::ContextTooLong
            }
            _ if self.is_code(&["model_not_found"]) => FailureKind::NoModel,
            _ if self.is_code(&["content_policy_violation", "content_filter"]) => {
                FailureKind::Policy
            }
            _ => FailureKind::Invalid,
        }
    }
}

/// So long the provider wants to be left alone, by whatever sign it gives.
fn asked_wait(headers: &HeaderMap, error: &Value, now: Timestamp) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok();
    if let Some(millis) =
        header("retry-after-ms").and_then(|value| value.trim().parse::<f64>().ok())
    {
        return bounded(millis / 1000.0);
    }
    if let Some(value) = header("retry-after") {
        let value = value.trim();
        return match value.parse::<f64>() {
            Ok(seconds) => bounded(seconds),
            Err(_) => until(http_date(value)?, now),
        };
    }
    let details = error["details"].as_array().into_iter().flatten();
    let delay = details
        .filter_map(|detail| detail["retryDelay"].as_str())
        .find_map(written_duration);
    delay.or_else(|| {
        let both = ["x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"];
        // Of what is not used up, nobody has to wait for the reset.
        let spent = both.into_iter().filter(|name| {
            let left = name.replace("-reset-", "-remaining-");
            header(&left).is_some_and(|left| left.trim() == "0")
        });
        spent
            .filter_map(|name| written_duration(header(name)?))
            .max()
    })
}

/// When a quota is there again.
fn reset(headers: &HeaderMap, error: &Value, now: Timestamp) -> Option<Timestamp> {
    let seconds = error["resets_at"].as_i64();
    let header = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<i64>().ok();
    let at = seconds.or_else(|| {
        let used = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
        // Of two windows the one that is used up counts.
        ["secondary", "primary"].into_iter().find_map(|window| {
            (used(&format!("x-codex-{window}-used-percent"))? >= 100.0)
                .then(|| header(&format!("x-codex-{window}-reset-at")))
                .flatten()
        })
    });
    let at = at.and_then(|seconds| Some(Timestamp::from_micros(seconds.checked_mul(1_000_000)?)));
    let within = error["resets_in_seconds"].as_u64();
    at.or_else(|| within.map(|seconds| now.plus(Duration::from_secs(seconds.min(MAX_WAIT)))))
        .filter(|at| *at > now && *at < now.plus(Duration::from_secs(MAX_WAIT)))
}

/// No wait and no quota is longer than this: what says more is not believed.
const MAX_WAIT: u64 = 40 * 24 * 3600;

fn bounded(seconds: f64) -> Option<Duration> {
    let fits = seconds.is_finite() && (0.0..=MAX_WAIT as f64).contains(&seconds);
    fits.then(|| Duration::from_secs_f64(seconds))
}

fn until(at: Timestamp, now: Timestamp) -> Option<Duration> {
    let micros = u64::try_from(at.as_micros() - now.as_micros()).unwrap_or(0);
    bounded(micros as f64 / 1e6)
}

fn http_date(value: &str) -> Option<Timestamp> {
    let parsed = jiff::fmt::rfc2822::parse(value).ok()?;
    Some(Timestamp::from_micros(parsed.timestamp().as_microsecond()))
}

/// `6m0s`, `1.5s`, `20ms`, `1h2m`.
pub(crate) fn written_duration(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (unit, more) = rest.split_at(end);
        seconds += number
            * match unit {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return None,
            };
        rest = more;
    }
    bounded(seconds)
}
