//! A question as an HTTP POST to an address of the person's own.
//!
//! The body is signed with a secret from a file, together with the time, so that
//! who receives it can tell it from anything else and from an old one sent again.
//! A receiver that cannot be reached is tried a few times; redirections are not
//! followed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use missiond_config::NotificationsConfig;
use missiond_core::{Question, Timestamp};
use missiond_net::http::{
    self, AddressError, Connections, HttpClient, HttpError, Method, StatusCode,
};
use missiond_os::hex;
use serde_json::json;
use sha2::Sha256;

/// For one try, from the connection to the last byte.
const LIMIT: Duration = Duration::from_secs(10);
/// Before each further try.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// What a receiver answers is thrown away, but not without end.
const MOST_ANSWER: usize = 64 * 1024;
const MOST_SECRET: u64 = 4096;

#[derive(Debug, thiserror::Error)]
pub(super) enum WebhookError {
    #[error("the secret in {} cannot be read: {source}", path.display())]
    Secret { path: PathBuf, source: io::Error },
    #[error("the secret in {} is empty or longer than 4 KB", .0.display())]
    SecretSize(PathBuf),
    #[error("{} can be read by others: `chmod 600` it", .0.display())]
    SecretOpen(PathBuf),
    #[error("the address {0}")]
    Address(#[from] AddressError),
    #[error("the request cannot be made: {0}")]
    Request(String),
    #[error("the receiver cannot be reached: {0}")]
    Connection(#[from] HttpError),
    #[error("the receiver answered {0}")]
    Status(StatusCode),
    #[error("the receiver did not answer within {} s", LIMIT.as_secs())]
    Timeout,
}

impl WebhookError {
    /// Whether it may go better a moment later.
    fn may_pass(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Timeout => true,
            Self::Status(status) => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
            _ => false,
        }
    }
}

pub(super) async fn send(
    config: &NotificationsConfig,
    question: &Question,
    at: Timestamp,
) -> Result<(), WebhookError> {
    let secret = if config.webhook_secret_file.is_empty() {
        None
    } else {
        Some(read_secret(Path::new(&config.webhook_secret_file)).await?)
    };
    let body = json!({"event": "question_waits", "sent_at": at, "question": question}).to_string();
    let mut pauses = PAUSES.iter();
    loop {
        let tried = tokio::time::timeout(
            LIMIT,
            post(&config.webhook_url, question, at, &body, secret.as_deref()),
        );
        let outcome = tried.await.unwrap_or(Err(WebhookError::Timeout));
        match (outcome, pauses.next()) {
            (Ok(()), _) => return Ok(()),
            (Err(error), Some(pause)) if error.may_pass() => {
                tracing::debug!(%error, "webhook request retried");
                tokio::time::sleep(*pause).await;
            }
            (Err(error), _) => return Err(error),
        }
    }
}

async fn post(
    url: &str,
    question: &Question,
    at: Timestamp,
    body: &str,
    secret: Option<&[u8]>,
) -> Result<(), WebhookError> {
    let mut request = http::request(Method::POST, http::check_private(url)?)
        .header("content-type", "application/json")
        .header(
            "user-agent",
            concat!("missiond/", env!("CARGO_PKG_VERSION")),
        )
        .header("x-mission-delivery", question.id.to_string())
        .header("x-mission-timestamp", at.to_string());
    if let Some(secret) = secret {
        let signature = signature(secret, &at.to_string(), body);
        request = request.header("x-mission-signature", signature);
    }
    let request = request
        .body(body.to_owned().into())
        .map_err(|error| WebhookError::Request(error.to_string()))?;
    let response = HttpClient::new(Connections::Closed).send(request).await?;
    let status = response.status();
    // Read to its end, so that the receiver sees an orderly close.
    let _ = response.into_body().read_to_end(MOST_ANSWER).await;
    if status.is_success() {
        Ok(())
    } else {
        Err(WebhookError::Status(status))
    }
}

/// `sha256=` and the HMAC of the time, a dot and the body.
fn signature(secret: &[u8], at: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length will do");
    mac.update(at.as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    format!("sha256={}", hex::encode(&mac.finalize().into_bytes()))
}

async fn read_secret(path: &Path) -> Result<Vec<u8>, WebhookError> {
    use std::os::unix::fs::MetadataExt;

    let unreadable = |source| WebhookError::Secret {
        path: path.to_owned(),
        source,
    };
    let metadata = tokio::fs::metadata(path).await.map_err(unreadable)?;
    if metadata.mode() & 0o077 != 0 {
        return Err(WebhookError::SecretOpen(path.to_owned()));
    }
    if metadata.len() > MOST_SECRET {
        return Err(WebhookError::SecretSize(path.to_owned()));
    }
    let bytes = tokio::fs::read(path).await.map_err(unreadable)?;
    let secret = bytes.trim_ascii_end().to_vec();
    if secret.is_empty() {
        Err(WebhookError::SecretSize(path.to_owned()))
    } else {
        Ok(secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_can_be_made_by_any_other_program() {
        // printf '1.{}' | openssl dgst -sha256 -hmac key
        assert_eq!(
            signature(b"key", "1", "{}"),
            "sha256=1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224"
        );
    }

    #[tokio::test]
    async fn a_secret_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "s3cret\n").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        let refused = read_secret(&file).await;
        assert!(
            matches!(refused, Err(WebhookError::SecretOpen(_))),
            "{refused:?}"
        );
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(read_secret(&file).await.unwrap(), b"s3cret");
    }
}
