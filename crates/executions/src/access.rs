//! Who may speak for an execution: whoever holds the token that was written into
//! its access file, as the user it was granted to, until it expires or is taken
//! back.
//!
//! The database has the hash of a token and never the token, so it lives through
//! a restart of the daemon and a copied database opens nothing. A token is 256
//! random bits and is looked up by its hash: how long that takes tells nothing
//! about any token that exists, and nowhere are two secrets compared.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use missiond_api::{AccessFile, AccessToken, Home};
use missiond_core::{ExecutionId, Timestamp};
use missiond_journal::Digest;
use missiond_os::files;
use missiond_runtime::blocking;
use missiond_store::capabilities::{self, Capability, TokenHash};
use missiond_store::{MissionDb, StoreError};

use crate::error::ExecutionError;

/// How long a capability is good for. An execution that ends earlier takes it
/// along; one that is still there after a month has been forgotten.
const LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// Why somebody is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a token that was never granted")]
    UnknownToken,
    #[error("the token of {granted}")]
    OtherExecution { granted: ExecutionId },
    #[error("the token of user {granted} from user {found}")]
    OtherUser { granted: u32, found: u32 },
    #[error("a token that expired at {at}")]
    Expired { at: Timestamp },
    #[error("a token that was taken back at {at}")]
    Revoked { at: Timestamp },
}

impl Refusal {
    /// What the one who tried is told: whether a token is right for something
    /// else is not theirs to learn.
    pub fn answer(self) -> &'static str {
        match self {
            Self::UnknownToken | Self::OtherExecution { .. } | Self::OtherUser { .. } => {
                "this token does not open this execution"
            }
            Self::Expired { .. } => "the access to this execution has expired",
            Self::Revoked { .. } => "the access to this execution was taken back: it has ended",
        }
    }
}

/// Why the question could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("refused: {0}")]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where the access file of a launch is.
pub fn file_in(folder: &Path) -> PathBuf {
    folder.join("access.json")
}

/// Lets the agent of an execution speak to this daemon: the path of its access
/// file, which is made in `folder`.
pub async fn grant(
    db: &MissionDb,
    home: &Home,
    execution: ExecutionId,
    folder: &Path,
    now: Timestamp,
) -> Result<PathBuf, ExecutionError> {
    grant_for(db, home, execution, folder, now, LIFETIME).await
}

async fn grant_for(
    db: &MissionDb,
    home: &Home,
    execution: ExecutionId,
    folder: &Path,
    now: Timestamp,
    lifetime: Duration,
) -> Result<PathBuf, ExecutionError> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).map_err(|error| ExecutionError::Random(error.to_string()))?;
    let token = AccessToken::from_bits(bits);
    let capability = Capability {
        token: hash(&token),
        execution,
        uid: rustix::process::geteuid().as_raw(),
        expires_at: now.plus(lifetime),
        revoked_at: None,
    };
    db.write(move |tx| Box::pin(async move { capabilities::grant(tx, &capability).await }))
        .await?;
    let path = file_in(folder);
    let file = AccessFile {
        socket: home.socket(),
        execution,
        token,
    };
    let place = path.clone();
    let made = move || {
        files::create_private_dir(place.parent().unwrap_or(Path::new("/")))
            .and_then(|()| file.create(&place))
    };
    blocking(made)
        .await
        .map_err(|source| unwritable(&path, &source))?;
    Ok(path)
}

/// Whether a process of this user with this token may speak for this execution.
pub async fn check(
    db: &MissionDb,
    token: TokenHash,
    execution: ExecutionId,
    uid: u32,
    now: Timestamp,
) -> Result<(), AccessError> {
    let found = db
        .read(move |tx| Box::pin(async move { capabilities::find(tx, &token).await }))
        .await?;
    Ok(judge(found.as_ref(), execution, uid, now)?)
}

/// What a token is known by.
pub fn hash(token: &AccessToken) -> TokenHash {
    TokenHash(Digest::of(token.reveal().as_bytes()).to_string())
}

fn judge(
    found: Option<&Capability>,
    execution: ExecutionId,
    uid: u32,
    now: Timestamp,
) -> Result<(), Refusal> {
    let capability = found.ok_or(Refusal::UnknownToken)?;
    if capability.execution != execution {
        return Err(Refusal::OtherExecution {
            granted: capability.execution,
        });
    }
    if capability.uid != uid {
        return Err(Refusal::OtherUser {
            granted: capability.uid,
            found: uid,
        });
    }
    if let Some(at) = capability.revoked_at {
        return Err(Refusal::Revoked { at });
    }
    if capability.expires_at <= now {
        let at = capability.expires_at;
        return Err(Refusal::Expired { at });
    }
    Ok(())
}

fn unwritable(path: &Path, source: &io::Error) -> ExecutionError {
    let path = path.display();
    ExecutionError::Invalid(format!(
        "the access file {path} cannot be written: {source}"
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use missiond_store::DbUrl;

    use super::*;

    const OWN: u32 = 1000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_767_528_000_000_000 + seconds * 1_000_000)
    }

    #[test]
    fn only_the_right_token_of_the_right_user_at_the_right_time_opens() {
        let execution = ExecutionId::generate();
        let other = ExecutionId::generate();
        let capability = Capability {
            token: TokenHash("x".to_owned()),
            execution,
            uid: OWN,
            expires_at: at(10),
            revoked_at: None,
        };
        let judged = |execution, uid, now| judge(Some(&capability), execution, uid, now);
        assert_eq!(judged(execution, OWN, at(9)), Ok(()));
        assert_eq!(
            judged(other, OWN, at(9)),
            Err(Refusal::OtherExecution { granted: execution })
        );
        assert_eq!(
            judged(execution, 0, at(9)),
            Err(Refusal::OtherUser {
                granted: OWN,
                found: 0
            })
        );
        assert_eq!(
            judged(execution, OWN, at(10)),
            Err(Refusal::Expired { at: at(10) })
        );
        let revoked = Capability {
            revoked_at: Some(at(5)),
            ..capability.clone()
        };
        assert_eq!(
            judge(Some(&revoked), execution, OWN, at(6)),
            Err(Refusal::Revoked { at: at(5) })
        );
        assert_eq!(
            judge(None, execution, OWN, at(6)),
            Err(Refusal::UnknownToken)
        );
        let told = Refusal::answer;
        assert_eq!(
            told(Refusal::UnknownToken),
            told(Refusal::OtherExecution { granted: execution }),
            "a stranger's guess learns nothing"
        );
    }

    #[tokio::test]
    async fn a_granted_token_is_in_its_file_alone_and_outlives_the_database_connection() {
        let folder = tempfile::tempdir().unwrap();
        let url = DbUrl::sqlite(folder.path().join("mission.db"));
        let home = Home::under(folder.path());
        let execution = ExecutionId::generate();
        let uid = rustix::process::geteuid().as_raw();
        let db = MissionDb::open(&url).await.unwrap();
        let launch = folder.path().join("launch");
        let path = grant_for(
            &db,
            &home,
            execution,
            &launch,
            at(0),
            Duration::from_secs(60),
        )
        .await
        .unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&launch), mode(&path)), (0o700, 0o600));
        let access = AccessFile::read(&path).unwrap();
        assert_eq!(
            (&access.socket, access.execution),
            (&home.socket(), execution)
        );
        db.close().await.unwrap();

        let stored = std::fs::read(folder.path().join("mission.db")).unwrap();
        let token = access.token.reveal().as_bytes();
        assert!(!stored.windows(token.len()).any(|bytes| bytes == token));

        let db = MissionDb::open(&url).await.unwrap();
        let token = hash(&access.token);
        let now = async |now| check(&db, token.clone(), execution, uid, now).await;
        assert!(now(at(59)).await.is_ok());
        let expired = now(at(60)).await.unwrap_err();
        assert!(matches!(
            expired,
            AccessError::Refused(Refusal::Expired { .. })
        ));
        db.write(move |tx| Box::pin(capabilities::revoke(tx, execution, at(5))))
            .await
            .unwrap();
        let revoked = now(at(6)).await.unwrap_err();
        assert!(matches!(
            revoked,
            AccessError::Refused(Refusal::Revoked { .. })
        ));
    }
}
