//! Who may reach this daemon over HTTP.
//!
//! A browser shows a one-time code and is given a session; a program has a token.
//! Both are 256 random bits. The database has them hashed with a key that is in a
//! private file of the home, so they outlive the daemon, a copied database opens
//! nothing, and neither does a row that another machine puts into a shared one.
//! They are looked up by their hash, and what is compared is compared in a time
//! that depends on nothing.

mod codes;
mod key;

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use missiond_api::{ApiError, Home};
use missiond_core::{AccessId, AccessKind, Clock, ErrorCode, Scopes, Timestamp};
use missiond_secrets::Detector;
use missiond_store::http_access::{self, Access};
use missiond_store::{MissionDb, StoreError};
use parking_lot::Mutex;
use tokio::sync::watch;

use codes::Codes;
use key::Key;

/// How long a browser stays logged in.
pub const SESSION: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long a login link can be used.
const CODE: Duration = Duration::from_secs(120);

/// A use is noted at most this often, so that reading costs no writing.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// Tokens that are masked in every form at most; of more their own form alone is known.
const LEARNED: usize = 64;

/// No secret of ours is longer; what is longer is not looked at.
const LONGEST_SECRET: usize = 128;

#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("the name of a token is one line of text with more than blanks in it")]
    Name,
    #[error("nothing that lets in is called `{0}`; `mission token list` shows what there is")]
    Unknown(String),
    #[error("the system gives no random bits: {0}")]
    Random(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AccessError> for ApiError {
    fn from(error: AccessError) -> Self {
        let code = match &error {
            AccessError::Name => ErrorCode::InvalidParams,
            AccessError::Unknown(_) => ErrorCode::NotFound,
            AccessError::Random(_) => ErrorCode::Internal,
            AccessError::Store(error) => error.code(),
        };
        Self::new(code, error.to_string())
    }
}

/// Something that lets its holder in. Its text is for the holder alone, so it is
/// not shown where things are debugged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// Behind `msn_`, by which it is known where it must not be stored.
    fn random() -> Result<Self, AccessError> {
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(|error| AccessError::Random(error.to_string()))?;
        Ok(Self(format!("msn_{}", BASE64.encode(bits))))
    }

    /// What somebody has shown; nothing for what cannot be one of ours.
    pub fn shown(text: &str) -> Option<Self> {
        let plausible = !text.is_empty() && text.len() <= LONGEST_SECRET;
        plausible.then(|| Self(text.to_owned()))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

#[derive(Debug)]
pub struct HttpAccess {
    key: Key,
    db: MissionDb,
    clock: Arc<dyn Clock>,
    codes: Codes,
    /// Changed whenever something was taken back: who serves for long looks
    /// again whether it still may.
    revocations: watch::Sender<u64>,
    /// Tokens that are masked in every form.
    learned: Mutex<HashSet<AccessId>>,
}

impl HttpAccess {
    pub fn new(home: &Home, db: MissionDb, clock: Arc<dyn Clock>) -> io::Result<Self> {
        Ok(Self {
            key: Key::load_or_make(&home.http_dir())?,
            db,
            clock,
            codes: Codes::default(),
            revocations: watch::Sender::new(0),
            learned: Mutex::default(),
        })
    }

    /// A code that logs one browser in, and until when.
    pub fn login_code(&self) -> Result<(Secret, Timestamp), AccessError> {
        let code = Secret::random()?;
        let expires_at = self.clock.now().plus(CODE);
        self.codes.put(self.key.hash(&code), expires_at);
        Ok((code, expires_at))
    }

    /// Takes a code, which is used up by this. Nothing when it was never given
    /// out, has been used or has expired.
    pub async fn log_in(
        &self,
        code: &Secret,
        browser: &str,
    ) -> Result<Option<(Access, Secret)>, AccessError> {
        let now = self.clock.now();
        if !self.codes.redeem(&self.key.hash(code), now) {
            return Ok(None);
        }
        let granted = self.grant(
            AccessKind::Session,
            browser.to_owned(),
            Scopes::NONE,
            Some(SESSION),
        );
        granted.await.map(Some)
    }

    /// A token for a program.
    pub async fn create_token(
        &self,
        name: &str,
        scopes: Scopes,
        lifetime: Option<Duration>,
    ) -> Result<(Access, Secret), AccessError> {
        let name = name.trim();
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(AccessError::Name);
        }
        let granted = self.grant(AccessKind::Token, name.to_owned(), scopes, lifetime);
        let (access, token) = granted.await?;
        self.learn(&access, &token);
        Ok((access, token))
    }

    /// Whose secret this is, if it lets in as this kind now.
    pub async fn check(
        &self,
        kind: AccessKind,
        secret: &Secret,
    ) -> Result<Option<Access>, StoreError> {
        let hash = self.key.hash(secret);
        let home = self.key.name().to_owned();
        let sought = hash.clone();
        let found = self
            .db
            .read(move |tx| Box::pin(async move { http_access::find(tx, &home, &sought).await }))
            .await?;
        let now = self.clock.now();
        let Some(access) = found.filter(|access| {
            access.kind == kind
                && access.is_valid(now)
                && key::same(access.secret_hash.as_bytes(), hash.as_bytes())
        }) else {
            return Ok(None);
        };
        self.learn(&access, secret);
        if access
            .last_used_at
            .is_none_or(|last| last.plus(NOTED_EVERY) <= now)
        {
            let id = access.id;
            self.db
                .write(move |tx| Box::pin(http_access::used(tx, id, now)))
                .await?;
        }
        Ok(Some(access))
    }

    /// Tokens are masked in every form they take, from when they are made or first shown: of
    /// those that nobody shows only the hash is here.
    fn learn(&self, access: &Access, secret: &Secret) {
        let mut learned = self.learned.lock();
        if access.kind == AccessKind::Token && learned.len() < LEARNED && learned.insert(access.id)
        {
            Detector::learn([secret.reveal()]);
        }
    }

    /// What a page must send beside its cookie. Who has not the cookie cannot
    /// know it, and a form of another page cannot send it.
    pub fn csrf(&self, session: &Secret) -> String {
        self.key.csrf(session)
    }

    pub fn is_csrf(&self, session: &Secret, shown: &str) -> bool {
        key::same(self.csrf(session).as_bytes(), shown.as_bytes())
    }

    /// What lets in now.
    pub async fn list(&self) -> Result<Vec<Access>, AccessError> {
        let (home, now) = (self.key.name().to_owned(), self.clock.now());
        let listed = self
            .db
            .read(move |tx| Box::pin(async move { http_access::list(tx, &home, now).await }))
            .await?;
        Ok(listed)
    }

    /// What somebody who may come in now is called.
    pub async fn name_of(&self, id: AccessId) -> Result<Option<String>, AccessError> {
        let listed = self.list().await?;
        let found = listed.into_iter().find(|access| access.id == id);
        Ok(found.map(|access| access.name))
    }

    /// Takes back what has this id or name.
    pub async fn revoke(&self, reference: &str) -> Result<Vec<Access>, AccessError> {
        let (home, now) = (self.key.name().to_owned(), self.clock.now());
        let sought = reference.to_owned();
        let revoked = self
            .db
            .write(move |tx| {
                Box::pin(async move { http_access::revoke(tx, &home, &sought, now).await })
            })
            .await?;
        if revoked.is_empty() {
            let shown = reference.chars().take(100).collect();
            return Err(AccessError::Unknown(shown));
        }
        self.revocations.send_modify(|count| *count += 1);
        Ok(revoked)
    }

    /// Changes whenever something was taken back.
    pub fn revocations(&self) -> watch::Receiver<u64> {
        self.revocations.subscribe()
    }

    /// Whether what let somebody in still does.
    pub async fn still_good(&self, id: AccessId) -> Result<bool, AccessError> {
        Ok(self.list().await?.iter().any(|access| access.id == id))
    }

    async fn grant(
        &self,
        kind: AccessKind,
        name: String,
        scopes: Scopes,
        lifetime: Option<Duration>,
    ) -> Result<(Access, Secret), AccessError> {
        let secret = Secret::random()?;
        let now = self.clock.now();
        let access = Access {
            id: AccessId::generate(),
            home: self.key.name().to_owned(),
            kind,
            name,
            secret_hash: self.key.hash(&secret),
            scopes,
            created_at: now,
            expires_at: lifetime.map(|lifetime| now.plus(lifetime)),
            last_used_at: None,
            revoked_at: None,
        };
        let stored = access.clone();
        self.db
            .write(move |tx| Box::pin(async move { http_access::grant(tx, &stored).await }))
            .await?;
        Ok((access, secret))
    }
}

#[cfg(test)]
mod tests;
