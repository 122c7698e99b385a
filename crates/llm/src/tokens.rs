//! Tokens with which the agent of one execution, and nobody else, reaches its model.

use missiond_core::{BoardTaskId, ExecutionId};
use missiond_os::hex;
use missiond_store::{StoreError, llm};
use sha2::{Digest, Sha256};

use crate::Llm;

/// Says in a log or a leak what it is.
const PREFIX: &str = "mission-model-";

/// What an agent is given: where, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// `http://127.0.0.1:PORT/llm`; behind it stands the name of a face.
    pub base_url: String,
    pub token: String,
}

/// Why an agent cannot be given access.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error(
        "agents of this engine reach their model through the daemon (`llm.engines`), which \
         needs HTTP: set `http.enabled = true` and restart it"
    )]
    NoHttp,
    #[error("no random number could be had: {0}")]
    Random(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Llm {
    /// A token that is good while this execution runs.
    pub async fn grant(&self, execution: ExecutionId) -> Result<Access, AccessError> {
        let address = self.address().ok_or(AccessError::NoHttp)?;
        let mut bits = [0; 32];
        getrandom::fill(&mut bits).map_err(|error| AccessError::Random(error.to_string()))?;
        let token = format!("{PREFIX}{}", hex::encode(&bits));
        let (hash, now) = (hashed(&token), self.clock.now());
        self.ledger
            .db
            .write(move |tx| {
                Box::pin(async move { llm::grant_token(tx, &hash, execution, now).await })
            })
            .await?;
        let mut near = address;
        if near.ip().is_unspecified() {
            near.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        Ok(Access {
            base_url: format!("http://{near}/llm"),
            token,
        })
    }

    /// The execution that a token is of, if that still runs, and its task. The token is
    /// looked up by its hash: no comparison tells how much of it was right.
    pub(crate) async fn whose(
        &self,
        token: &str,
    ) -> Result<Option<(ExecutionId, Option<BoardTaskId>)>, StoreError> {
        if !token.starts_with(PREFIX) || token.len() != PREFIX.len() + 64 {
            return Ok(None);
        }
        let hash = hashed(token);
        self.ledger
            .db
            .read(move |tx| Box::pin(async move { llm::execution_of_token(tx, &hash).await }))
            .await
    }
}

fn hashed(token: &str) -> String {
    hex::encode(&Sha256::digest(token.as_bytes()))
}
